"""Runs that are killed or terminated at random moments: nothing lost, nothing left running.

The number of each comes from INFOLD_KILLS and INFOLD_TERMINATIONS; issue 17 asks for 50 and 20.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.leftovers import is_left, marked, wait_until

import infold

N_KILLS = int(os.environ.get("INFOLD_KILLS", "6"))
N_TERMINATIONS = int(os.environ.get("INFOLD_TERMINATIONS", "4"))
SPACE = '[a]\ntype = "float"\nlow = -1.0\nhigh = 1.0\n'
# Each kind starts processes of its own, which must not stay either.
MODULE = """
import subprocess, sys, time
def objective(p):
    subprocess.run(["sleep", "0.03"], check=True)
    time.sleep(0.02)
    return p["a"] ** 2
"""
PROGRAM = """
import sys, subprocess, time
subprocess.run(["sleep", "0.03"], check=True)
a = float(sys.argv[1])
with open("finished.txt", "a") as file:
    file.write(f"{a!r}\\n")
print(a ** 2)
"""
SCRIPT = """
import infold, mine
if __name__ == "__main__":
    infold.minimize(mine.objective, infold.Space.from_toml("space.toml"), method="random",
                    n_trials=100_000, workers=2, checkpoint="run.jsonl")
"""
KINDS = {
    "functions": ["-m", "infold", "minimize", "mine.py:objective"],
    "programs": [
        "-m",
        "infold",
        "minimize",
        "--command",
        f"{sys.executable} -S -E program.py {{a}}",
    ],
    "python": ["script.py"],
}
OPTIONS = ["--space", "space.toml", "--method", "random", "--trials", "100000", "--workers", "2"]
OPTIONS += ["--checkpoint", "run.jsonl"]


def prepare(folder: Path) -> None:
    for name, text in (
        ("space.toml", SPACE),
        ("mine.py", MODULE),
        ("program.py", PROGRAM),
        ("script.py", SCRIPT),
    ):
        (folder / name).write_text(text)


def begin(kind: str, folder: Path) -> tuple[subprocess.Popen, str]:
    environment, mark = marked()
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment["PYTHONPATH"]])
    words = [sys.executable, *KINDS[kind], *([] if kind == "python" else OPTIONS)]
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return process, mark


def told(path: Path) -> list[tuple[float, float]]:
    """Return points and values of the lines that are complete."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    found = [json.loads(line) for line in lines if '"event": "evaluation"' in line]
    return [(line["x"]["a"], line["y"]) for line in found]


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGKILL, N_KILLS), (signal.SIGTERM, N_TERMINATIONS)],
    ids=["kill", "terminate"],
)
def test_ended_at_random_moments_a_run_loses_nothing_and_leaves_nothing(
    number, times, tmp_path, rng
):
    folders = {kind: tmp_path / kind for kind in KINDS}
    for folder in folders.values():
        folder.mkdir()
        prepare(folder)
    for i in range(times):
        kind = list(KINDS)[i % len(KINDS)]
        path = folders[kind] / "run.jsonl"
        before = told(path)
        process, mark = begin(kind, folders[kind])
        if i % 5 == 4:  # while it starts
            time.sleep(rng.uniform(0.0, 3.0))
        else:
            wait_until(lambda: len(told(path)) > len(before))  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.5))
        seen = told(path)
        process.send_signal(number)
        process.wait(timeout=30)
        deadline = time.monotonic() + 5.0
        while (left := is_left(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, [process.cmdline() for process in left]
        now = told(path)
        assert now[: len(seen)] == seen
        assert all(y == a**2 for a, y in now)
        if path.exists():
            assert len(infold.Optimizer.load(path)) == len(now)
            assert len(infold.Optimizer.load(path).pending) <= 3
        if number == signal.SIGTERM and len(seen) > len(before):
            assert process.returncode == 128 + number
    for folder in folders.values():
        points = [a for a, _ in told(folder / "run.jsonl")]
        assert len(set(points)) == len(points)
    if number == signal.SIGTERM:
        # Nothing that a program has finished was thrown away: all of it is in the run file.
        finished = (folders["programs"] / "finished.txt").read_text().split()
        kept = {a for a, _ in told(folders["programs"] / "run.jsonl")}
        assert {float(a) for a in finished} == kept
