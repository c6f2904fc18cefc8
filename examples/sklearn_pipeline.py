"""Tune a scikit-learn pipeline: numbers on a log scale, whole numbers, choices and switches.

pip install infold scikit-learn
python sklearn_pipeline.py
"""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import infold

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]

space = {
    "scaler": infold.Categorical(["standard", "min-max"]),
    "components": infold.Int(2, 60),
    "whiten": infold.Bool(),
    "kernel": infold.Categorical(["rbf", "laplacian", "sigmoid"]),
    "gamma": infold.Float(1e-4, 10.0, log=True),
    "landmarks": infold.Int(10, 300, log=True),
    "alpha": infold.Float(1e-4, 1e2, log=True),
}


def pipeline(p):
    return make_pipeline(
        StandardScaler() if p["scaler"] == "standard" else MinMaxScaler(),
        PCA(p["components"], whiten=p["whiten"], random_state=0),
        Nystroem(kernel=p["kernel"], gamma=p["gamma"], n_components=p["landmarks"], random_state=0),
        RidgeClassifier(alpha=p["alpha"]),
    )


def accuracy(p):
    return cross_val_score(pipeline(p), X, y, cv=3).mean()


if __name__ == "__main__":
    default = make_pipeline(StandardScaler(), Nystroem(random_state=0), RidgeClassifier())
    before = cross_val_score(default, X, y, cv=3).mean()
    result = infold.minimize(accuracy, space, direction="maximize", n_trials=40, seed=0)
    print(f"accuracy {result.fun:.4f}; with scikit-learn's defaults {before:.4f}")
    for name, value in result.x.items():
        print(f"  {name} = {value}")
    importance = result.optimizer.model().relevance()
    print("what matters most:", ", ".join(sorted(importance, key=importance.get)[:-4:-1]))
