"""What can be fitted to evaluations and asked for predictions."""
