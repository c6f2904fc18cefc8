"""The study: the paper's experiments, baselines that only it needs, claims and figures."""
