"""Draw the pictures of docs/how-it-works.md; takes a few minutes.

python docs/how-it-works/draw.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import infold
from infold import methods

HERE = Path(__file__).parent
INK, BLUE, RED, GREY = "#1c2733", "#1f6fb2", "#d1495b", "#8894a0"


def keep(figure, name: str) -> None:
    path = HERE / f"{name}.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)  # a third of the size
    print(f"{name}.png drawn")


def one_step() -> None:
    """A Gaussian process in one dimension, and the point it asks for."""

    def objective(x: np.ndarray) -> np.ndarray:
        return np.sin(3.0 * x) + 0.6 * x**2 - 0.4 * x

    method = methods.by_name("full_space", noise=0.0, clip_outliers=False)
    optimizer = infold.Optimizer([(-2.0, 2.0)], method=method, n_initial=4, seed=3)
    grid = np.linspace(-2.0, 2.0, 201)[:, None]
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    for _ in range(4):
        x = optimizer.ask()
        optimizer.tell(x, float(objective(x)[0]))
    for ax in panels:
        known = len(optimizer)
        following = optimizer.ask()
        mean, deviation = optimizer.model().predict(list(grid))
        ax.fill_between(
            grid[:, 0],
            mean - 1.96 * deviation,
            mean + 1.96 * deviation,
            color=BLUE,
            alpha=0.2,
            linewidth=0,
        )
        ax.plot(grid[:, 0], mean, color=BLUE)
        ax.plot(grid[:, 0], objective(grid[:, 0]), "--", color=GREY)
        ax.plot(np.array(optimizer.points)[:known, 0], optimizer.values[:known], "o", color=INK)
        ax.axvline(following[0], color=RED)
        ax.set(title=f"{known} evaluations", xlabel="x")
        optimizer.tell(following, float(objective(following)[0]))
    panels[0].set(ylim=(-2.5, 5.0))
    keep(figure, "one-step")


def run(method: str, n: int, problem: str = "product-of-sines-linear") -> infold.Optimizer:
    objective = infold.problems.get(problem)
    optimizer = infold.Optimizer(
        [(0.0, 1.0)] * objective.dimension, method=method, initial="uniform", seed=1
    )
    for i in range(n):
        x = optimizer.ask()
        optimizer.tell(x, objective.observe(x, 1, i))
    return optimizer


def feature_space(constrained: infold.Optimizer) -> None:
    """The response surface, and the acquisition function, in two principal directions."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    infold.plot.features(constrained, near=True, ax=panels[0])
    infold.plot.features(constrained, near=True, layer="acquisition", ax=panels[1])
    panels[0].set_title("response surface")
    panels[1].set_title("acquisition function")
    keep(figure, "feature-space")


def away_from_the_data(constrained: infold.Optimizer) -> None:
    """What features decode to on a straight way from the best point, in random directions."""
    model = constrained.model()
    start = model.encode(constrained.best[0])[0]
    rng = np.random.default_rng(0)
    steps = np.linspace(0.0, 4.0, 80)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.0), sharey=True, layout="constrained")
    for ax in panels:
        direction = rng.normal(size=len(start))
        direction /= np.linalg.norm(direction)
        decoded = np.array([model.decode(start + t * direction) for t in steps])
        ax.plot(steps, decoded[:, :20], color=BLUE, linewidth=1, alpha=0.7)
        ax.axhline(0.5, color=GREY, linestyle="--")
        ax.set(xlabel="distance from the best point in feature space")
    panels[0].set_ylabel("decoded coordinates")
    keep(figure, "away-from-the-data")


def constraint(constrained: infold.Optimizer, free: infold.Optimizer) -> None:
    """The best value so far, with the Lipschitz constraint and without."""
    figure, ax = plt.subplots(figsize=(6, 3.0), layout="constrained")
    for optimizer, label, shade in ((constrained, "mgpc", BLUE), (free, "mgp", GREY)):
        best = np.minimum.accumulate(optimizer.values)
        ax.step(np.arange(1, len(best) + 1), best, where="post", color=shade, label=label)
    ax.set(xlabel="evaluation", ylabel="best value so far")
    ax.legend(frameon=False)
    keep(figure, "constraint")


def default_method(optimizer: infold.Optimizer) -> None:
    """Convergence, trust region and experts of `auto`."""
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.0), layout="constrained")
    infold.plot.convergence(optimizer, ax=panels[0])
    infold.plot.region(optimizer, ax=panels[1])
    infold.plot.evidence(optimizer, ax=panels[2])
    keep(figure, "auto")


if __name__ == "__main__":
    infold.cache_compilations()
    one_step()
    default_method(run("auto", 120))
    learned = run("mgpc", 150)
    feature_space(learned)
    away_from_the_data(learned)
    constraint(learned, run("mgp", 150))
