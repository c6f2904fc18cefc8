"""The user's parameters and their place in the unit cube."""

from infold.space.parameters import Bool, Categorical, Float, Int, Parameter
from infold.space.space import Point, Space

__all__ = ["Bool", "Categorical", "Float", "Int", "Parameter", "Point", "Space"]
