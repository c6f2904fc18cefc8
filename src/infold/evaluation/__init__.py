"""Where the objective runs: here, in processes, in programs, on executors."""
