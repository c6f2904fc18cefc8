"""Optimizers side by side."""
