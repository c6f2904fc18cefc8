"""Measurements: what the library costs and what it finds."""
