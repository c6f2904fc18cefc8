"""Evaluation of the objective: in this process, in others, on executors, by programs."""
