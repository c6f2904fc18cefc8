"""Tune the controllers of six robot arms, one after the other; each run learns from those before.

The arms are of one series, but each has links of other lengths and weights and carries another
load. A motor follows its orders with a delay, so that gains which are too large make the arm swing.
We look for the ten settings with which the hand stays closest to its path.

    pip install infold
    python robot_arms.py

Each run is kept in a file, and the next one is given all files before it. For comparison each arm
is also tuned from scratch.
"""

from math import cos, hypot, sin, sqrt

import numpy as np

import infold

N_ARMS = 6
N_TRIALS = 30
STEP = 0.002  # seconds
LIMITS = (400.0, 200.0)  # of the torques, in Nm

SPACE = {}
for joint in ("shoulder", "elbow"):
    SPACE |= {
        f"{joint} stiffness": infold.Float(10.0, 10000.0, log=True),
        f"{joint} damping": infold.Float(1.0, 1000.0, log=True),
        f"{joint} integral": infold.Float(1.0, 10000.0, log=True),
        f"{joint} weight": infold.Float(0.0, 2.0),  # how much of its weight is held up beforehand
        f"{joint} smoothing": infold.Float(0.002, 0.1, log=True),  # of the measured speed, seconds
    }


def path(t):
    """Return where both joints should be: a smooth move within 0.8 s, then a rest."""
    s = min(t / 0.8, 1.0)
    s = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    return 0.2 + 1.0 * s, 0.6 - 1.4 * s


def arm(number):
    """Return a function of the settings: how far the hand of this arm is from its path, in mm."""
    rng = np.random.default_rng([3, number])
    l1, l2 = rng.uniform(0.3, 0.6, size=2)  # lengths in m
    m1, m2 = rng.uniform(2.0, 6.0), rng.uniform(1.0, 3.0)  # masses at the ends of the links in kg
    load = rng.uniform(0.0, 3.0)
    heavy = m2 + load

    def error(p):
        gains = [
            [p[f"{joint} {what}"] for what in ("stiffness", "damping", "integral", "smoothing")]
            for joint in ("shoulder", "elbow")
        ]
        held = [p["shoulder weight"], p["elbow weight"]]
        q, v, torque = list(path(0.0)), [0.0, 0.0], [0.0, 0.0]
        speed, summed, before = [0.0, 0.0], [0.0, 0.0], list(path(0.0))
        total, n = 0.0, 600
        for k in range(n):
            wanted = path(k * STEP)
            # What the controller knows of the weight leaves out the load.
            lean = 9.81 * l2 * cos(q[0] + q[1])
            known = [9.81 * (m1 + m2) * l1 * cos(q[0]) + m2 * lean, m2 * lean]
            for j, (stiffness, damping, integral, smoothing) in enumerate(gains):
                speed[j] += STEP / (smoothing + STEP) * (v[j] - speed[j])
                gap = wanted[j] - q[j]
                summed[j] += STEP * gap
                asked = stiffness * gap + integral * summed[j] + held[j] * known[j]
                asked += damping * ((wanted[j] - before[j]) / STEP - speed[j])
                asked = max(-LIMITS[j], min(LIMITS[j], asked))
                torque[j] += STEP / 0.02 * (asked - torque[j])  # the motor's delay
            before = wanted
            # The equations of motion of two links with masses at their ends.
            a, b = heavy * l2**2, heavy * l1 * l2 * cos(q[1])
            h = heavy * l1 * l2 * sin(q[1])
            m11, m12, m22 = (m1 + heavy) * l1**2 + a + 2 * b, a + b, a
            f1 = torque[0] + h * (2 * v[0] * v[1] + v[1] ** 2) - 0.5 * v[0]
            f1 -= 9.81 * (m1 + heavy) * l1 * cos(q[0]) + heavy * lean
            f2 = torque[1] - h * v[0] ** 2 - 0.5 * v[1] - heavy * lean
            det = m11 * m22 - m12**2
            v = [
                v[0] + STEP * (m22 * f1 - m12 * f2) / det,
                v[1] + STEP * (m11 * f2 - m12 * f1) / det,
            ]
            q = [q[0] + STEP * v[0], q[1] + STEP * v[1]]
            x = l1 * (cos(q[0]) - cos(wanted[0])) + l2 * (cos(sum(q)) - cos(sum(wanted)))
            y = l1 * (sin(q[0]) - sin(wanted[0])) + l2 * (sin(sum(q)) - sin(sum(wanted)))
            total += hypot(x, y) ** 2
        return 1000.0 * sqrt(total / n)

    return error


def tune(number, earlier=None, checkpoint=None):
    """Return how good the best settings were after each evaluation."""
    result = infold.minimize(
        arm(number),
        SPACE,
        n_trials=N_TRIALS,
        noise=0.0,
        seed=number,
        earlier=earlier,
        checkpoint=checkpoint,
    )
    return np.fmin.accumulate(result.func_vals)


def main():
    files = [f"arm-{number}.jsonl" for number in range(N_ARMS)]
    print("error in mm after 5, 10 and 30 evaluations; behind the line, from scratch")
    for number, file in enumerate(files):
        known = files[:number]
        curves = [tune(number, earlier=known or None, checkpoint=file)]
        if known:
            curves.append(tune(number))
        parts = (" ".join(f"{curve[n - 1]:6.2f}" for n in (5, 10, N_TRIALS)) for curve in curves)
        print(f"arm {number}:", " | ".join(parts))
    print()
    print(infold.learn(files))


if __name__ == "__main__":
    main()
