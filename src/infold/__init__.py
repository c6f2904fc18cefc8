"""Bayesian optimization of expensive functions of many variables, in a feature space learned from the evaluations."""

from infold import problems
from infold.minimize import minimize
from infold.optimizer import Optimizer
from infold.space import Float, Space

__all__ = ["Float", "Optimizer", "Space", "minimize", "problems"]
