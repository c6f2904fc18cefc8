"""Tuning of classifiers: mixed hyper-parameters, log loss on held-out data. Needs scikit-learn."""

import functools
import warnings
from typing import Any

import numpy as np

from infold.comparison.suite.benchmark import Benchmark
from infold.space import Bool, Categorical, Float, Int, Space

_WORST = 5.0  # stands for larger losses and for training that diverged


def boosting(name: str) -> Benchmark:
    """Return the problem of tuning gradient-boosted trees on the breast cancer data."""
    space = Space(
        {
            "learning_rate": Float(1e-3, 1.0, log=True),
            "n_estimators": Int(5, 60, log=True),
            "max_depth": Int(1, 8),
            "max_leaf_nodes": Int(2, 64, log=True),
            "min_samples_split": Int(2, 60, log=True),
            "min_samples_leaf": Int(1, 60, log=True),
            "min_impurity_decrease": Float(1e-6, 1e-1, log=True),
            "ccp_alpha": Float(1e-6, 1e-1, log=True),
            "subsample": Float(0.2, 1.0),
            "max_features": Float(0.05, 1.0),
            "loss": Categorical(("log_loss", "exponential")),
            "init": Categorical(("prior", "zero")),
        }
    )

    def value(point: Any) -> float:
        from sklearn.ensemble import GradientBoostingClassifier

        settings = dict(point)
        settings["init"] = None if settings["init"] == "prior" else "zero"
        total = 0.0
        for x, y, x_held, y_held in _folds("breast_cancer", 300, 2):
            model = GradientBoostingClassifier(**settings, random_state=0).fit(x, y)
            total += _log_loss(model.predict_proba(x_held), y_held)
        return min(total / 2, _WORST)

    return Benchmark(name=name, space=space, function=value)


def mlp(name: str) -> Benchmark:
    """Return the problem of tuning a multilayer perceptron on the digits data."""
    space = Space(
        {
            "n_layers": Int(1, 3),
            "width_1": Int(4, 64, log=True),
            "width_2": Int(4, 64, log=True),
            "width_3": Int(4, 64, log=True),
            "activation": Categorical(("relu", "tanh", "logistic", "identity")),
            "solver": Categorical(("adam", "sgd")),
            "scaling": Categorical(("none", "columns", "range")),
            "alpha": Float(1e-6, 10.0, log=True),
            "batch_size": Int(16, 256, log=True),
            "learning_rate": Categorical(("constant", "invscaling", "adaptive")),
            "learning_rate_init": Float(1e-4, 1.0, log=True),
            "power_t": Float(0.1, 1.0),
            "max_iter": Int(2, 25, log=True),
            "momentum": Float(0.0, 0.99),
            "nesterovs_momentum": Bool(),
            "beta_1": Float(0.5, 0.99),
            "beta_2": Float(0.9, 0.9999),
            "epsilon": Float(1e-10, 1e-2, log=True),
        }
    )

    def value(point: Any) -> float:
        from sklearn.neural_network import MLPClassifier

        settings = dict(point)
        widths = [settings.pop(f"width_{i}") for i in (1, 2, 3)]
        hidden = widths[: settings.pop("n_layers")]
        scaling = settings.pop("scaling")
        x, y, x_held, y_held = _folds("digits", 600, 2)[0]
        if scaling == "columns":
            centre, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
        else:
            centre, spread = 0.0, 16.0 if scaling == "range" else 1.0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # training is stopped early, or diverges
                model = MLPClassifier(hidden_layer_sizes=hidden, random_state=0, **settings)
                model.fit((x - centre) / spread, y)
                predicted = model.predict_proba((x_held - centre) / spread)
        except ValueError:  # the weights are no numbers any more
            return _WORST
        return min(_log_loss(predicted, y_held), _WORST)

    return Benchmark(name=name, space=space, function=value)


@functools.cache
def _folds(data: str, n_rows: int, n_folds: int) -> list[tuple[np.ndarray, ...]]:
    """Return training and held-out parts of so many rows of a data set of scikit-learn."""
    import sklearn.datasets

    x, y = getattr(sklearn.datasets, f"load_{data}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n_rows]
    parts = np.array_split(order, n_folds)
    folds: list[tuple[np.ndarray, ...]] = []
    for held in parts:
        kept = np.setdiff1d(order, held)
        folds.append((x[kept], y[kept], x[held], y[held]))
    return folds


def _log_loss(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean of -log p of the true classes, which are 0, 1, ..."""
    p = probabilities[np.arange(len(labels)), labels]
    if not np.all(np.isfinite(p)):
        return _WORST
    return float(np.mean(-np.log(np.maximum(p, 1e-15))))
