"""Objectives that worker processes can import."""

import math
import os
import re
import subprocess
import time

import infold


def sphere(x) -> float:
    return float(sum(v * v for v in x))


def slow_sphere(x) -> float:
    time.sleep(0.02)
    return sphere(x)


def deadly(x) -> float:
    """Takes its process with it where the first coordinate is large."""
    if x[0] > 0.5:
        os._exit(9)
    return sphere(x)


def logged(x) -> float:
    """Write a line to the file named second; kill the process early where the first is large."""
    with open(x[1], "a") as file:
        file.write(f"{x[0]}\n")
    time.sleep(0.5 if x[0] > 0.5 else 1.5)
    return deadly(x[:1])


def named(p) -> float:
    return p["a"] ** 2 + p["n"] + (p["kind"] == "bad") + p["flag"]


def mixed_space() -> dict:
    """30 parameters of every kind."""
    return {
        **{f"x{i}": infold.Float(-1.0, 1.0) for i in range(12)},
        **{f"rate{i}": infold.Float(1e-5, 1.0, log=True) for i in range(6)},
        **{f"n{i}": infold.Int(1, 20) for i in range(6)},
        **{f"kind{i}": infold.Categorical(["a", "b", "c"]) for i in range(4)},
        **{f"flag{i}": infold.Bool() for i in range(2)},
    }


def mixed(p: dict) -> float:
    """Minimum 0 at x = 0.3, rate = 1e-3, n = 7, kind = "b", flag = True."""
    value = sum((p[f"x{i}"] - 0.3) ** 2 for i in range(12))
    value += sum(0.2 * (math.log10(p[f"rate{i}"]) + 3.0) ** 2 for i in range(6))
    value += sum(((p[f"n{i}"] - 7) / 8) ** 2 for i in range(6))
    value += sum({"a": 0.5, "b": 0.0, "c": 1.0}[p[f"kind{i}"]] for i in range(4))
    return float(value + sum(0.5 * (not p[f"flag{i}"]) for i in range(2)))


def half_a_second(x) -> float:
    time.sleep(0.5)
    return sphere(x)


def counted(x) -> float:
    """Write a line to the file that is named first, and take a while."""
    with open(x[0], "a") as file:
        file.write("called\n")
    time.sleep(0.5)
    return 1.0


def busy(x) -> float:
    """Start a program and a fork, then hold the interpreter's lock for a minute."""
    subprocess.Popen(["sleep", "60"])
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    return float(len(re.findall("(a*)*b", "a" * 40)))
