"""Bayesian optimization in learned low-dimensional feature spaces."""
