"""Run files edited at random load or are refused by name, and none is written.

INFOLD_RUN_FILE_EDITS says how many edits are tried.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.test_runfile import new

import infold
from infold import Optimizer
from infold.learning.lessons import FeatureMap, Lessons, Metric

N_EDITS = int(os.environ.get("INFOLD_RUN_FILE_EDITS", "100"))
DATA = Path(__file__).parent / "data"
OTHERS = [None, True, 0, -1, 3, 1e300, 10**30, 0.5, "", "text", [], [1], {}, {"a": 1}]


def flipped(raw: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
    return bytes(damaged)


def cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: rng.integers(len(raw))]


def shuffled(raw: bytes, rng: np.random.Generator) -> bytes:
    """Lines doubled, left out or exchanged."""
    lines = raw.splitlines(keepends=True)
    i, j = rng.integers(len(lines), size=2)
    action = rng.integers(3)
    if action == 0:
        lines.insert(j, lines[i])
    elif action == 1:
        del lines[i]
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def places(value) -> list:
    """All tables and lists of a JSON value with the keys in them."""
    keys = range(len(value)) if isinstance(value, list) else ()
    if isinstance(value, dict):
        keys = list(value)
    here = [(value, key) for key in keys]
    return here + [place for key in keys for place in places(value[key])]


def changed(raw: bytes, rng: np.random.Generator, remove: bool) -> bytes:
    lines = [json.loads(line) for line in raw.splitlines()]
    # Half of the edits are in the head, whose keys are many and all matter.
    line = lines[0] if rng.uniform() < 0.5 else lines[rng.integers(len(lines))]
    holders = places(line)
    holder, key = holders[rng.integers(len(holders))]
    if remove:
        del holder[key]
    else:
        holder[key] = OTHERS[rng.integers(len(OTHERS))]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


EDITS = {
    "flipped": flipped,
    "cut": cut,
    "lines": shuffled,
    "removed": lambda raw, rng: changed(raw, rng, remove=True),
    "swapped": lambda raw, rng: changed(raw, rng, remove=False),
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> list[bytes]:
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    written = []
    optimizer = new("random", direction="maximize")
    optimizer.save(path)
    for i in range(6):
        x = optimizer.ask(fixed={"kind": "b"} if i == 4 else None)
        optimizer.tell(x, None if i == 2 else x["x"], error="it broke" if i == 2 else None)
    asked = optimizer.ask(3)
    optimizer.forget(asked[1])
    optimizer.expect({**asked[0], "n": 3})
    optimizer.save(path, {"note": [1, {"a": None}]})
    written.append(path.read_bytes())
    path.unlink()
    lessons = Lessons(
        dimension=7,
        points=np.full((2, 7), 0.5),
        centre=np.full(7, 0.5),
        metric=Metric(log_lengthscale=np.zeros(7), known=np.ones(7, dtype=bool)),
        features=FeatureMap(weights=np.eye(2, 7)),
        n_runs=3,
        n_evaluations=30,
    )
    optimizer = new("random", earlier=lessons)
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.save(path)
    written.append(path.read_bytes())
    for name in ("random", "full_space", "mgpc"):
        old = DATA / f"version-1-{name}.json"
        written.append(json.dumps(json.loads(old.read_bytes())).encode())
        optimizer = Optimizer.load(old)
        path.unlink()
        optimizer.save(path)
        optimizer.expect(optimizer.points[0])
        optimizer.tell(optimizer.points[0], 1.0)
        optimizer.save(path)
        written.append(path.read_bytes())
    return written


def attempt(path: Path) -> tuple[Optimizer | None, str]:
    try:
        return Optimizer.load(path), ""
    except (ValueError, OSError) as error:
        return None, str(error)


def test_files_edited_at_random_load_or_are_refused_by_name_and_none_is_written(
    tmp_path, originals, rng, capsys
):
    path = tmp_path / "run.jsonl"
    outcomes = dict.fromkeys(("loaded", "refused"), 0)
    for i in range(N_EDITS):
        kind = list(EDITS)[i % len(EDITS)]
        edited = EDITS[kind](originals[rng.integers(len(originals))], rng)
        path.write_bytes(edited)
        before = path.stat()
        optimizer, error = attempt(path)
        if optimizer is not None:
            outcomes["loaded"] += 1
            Optimizer.from_text(optimizer.to_text())  # what is written then can be read
            assert len(repr(optimizer)) < 300
        else:
            outcomes["refused"] += 1
            assert str(path) in error, (kind, error)
            calls = []
            with pytest.raises((ValueError, OSError), match=re.escape(str(path))):
                infold.minimize(calls.append, checkpoint=path, n_trials=3)
            assert calls == []
        assert path.read_bytes() == edited
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        assert os.listdir(tmp_path) == ["run.jsonl"]
    assert min(outcomes.values()) > N_EDITS // 20
    with capsys.disabled():
        if N_EDITS > 100:
            print(f"\n{N_EDITS} edits: {outcomes}")
