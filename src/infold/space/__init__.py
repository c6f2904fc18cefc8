"""The user's parameters and their place in the unit cube."""

from infold.space.categories import Bool, Categorical
from infold.space.numbers import Float, Int
from infold.space.parameter import Parameter
from infold.space.space import Point, Space

__all__ = ["Bool", "Categorical", "Float", "Int", "Parameter", "Point", "Space"]
