"""What all figures share: colours, new axes, and names that stay as they are."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOFT = "#8894a0"
ACCENT = "#1f6fb2"
WARM = "#d1495b"
ORANGE = "#e08e2b"
LINES = 16  # parameters that a figure has room for


def axes_of(ax: "Axes | None", width: float = 6.0, height: float = 4.0) -> "Axes":
    """Return the axes to draw into: those given, or new ones of this size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("infold.plot needs matplotlib: pip install 'infold[plot]'") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def needed(figure: Any, what: str) -> Any:
    """Return what is to be drawn; raise ValueError where there is none."""
    if figure is None:
        raise ValueError(f"there is nothing to draw: the run has no {what}")
    return figure


def plain_text(name: str) -> str:
    """Return a name that matplotlib does not read as mathematics."""
    return name.replace("$", r"\$")
