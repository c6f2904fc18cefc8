"""Fit 40 parameters of a differential equation to measurements.

A substance flows through a chain of 20 tanks. Tank i passes it on at the rate k_i and loses it at
the rate l_i. We measure the last tank and every fourth one on the way, and look for all 40 rates.

    pip install infold
    python ode.py
"""

import numpy as np
from scipy.integrate import solve_ivp

import infold

N = 20
MEASURED = [3, 7, 11, 15, 19]
TIMES = np.linspace(0.0, 60.0, 31)


def measurements(passed_on, lost):
    """Return the contents of the measured tanks over time."""

    def change(t, x):
        out = passed_on * x
        return np.concatenate([[0.0], out[:-1]]) - out - lost * x

    start = np.eye(N)[0]  # everything is in the first tank
    solved = solve_ivp(change, (0.0, TIMES[-1]), start, t_eval=TIMES, rtol=1e-6)
    return solved.y[MEASURED]


truth = np.random.default_rng(1)
DATA = measurements(truth.uniform(0.3, 1.5, N), truth.uniform(0.001, 0.02, N))


def misfit(p):
    passed_on = np.array([p[f"k{i}"] for i in range(N)])
    lost = np.array([p[f"l{i}"] for i in range(N)])
    error = measurements(passed_on, lost) - DATA
    return np.sqrt(np.mean(error**2)) / DATA.max()


space = {f"k{i}": infold.Float(0.1, 5.0, log=True) for i in range(N)}
space |= {f"l{i}": infold.Float(1e-4, 0.1, log=True) for i in range(N)}

if __name__ == "__main__":
    result = infold.minimize(misfit, space, n_trials=250, noise=0.0, seed=0)
    print(f"misfit {result.func_vals[0]:.2%} at the centre of all ranges,")
    print(f"{np.nanmin(result.func_vals[:50]):.2%} after 50 evaluations, ")
    print(f"{result.fun:.2%} after {len(result.func_vals)}")
    infold.report.write(result, "ode.html")
    print("ode.html has the report: slices, importance, how well the model predicts")
