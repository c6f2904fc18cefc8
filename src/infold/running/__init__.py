"""A run in progress: its file, what ends it, signals, and the loop that evaluates."""
