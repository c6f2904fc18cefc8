"""Comparison with other optimizers: the same data for all, timed in one run."""
