"""Laws of the run file: exact continuation, constant cost, nothing spoiled, everything checked."""

import contextlib
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.chained import Chained

from infold import Bool, Categorical, Float, Int, Optimizer, runfile
from infold.runfile import files, packing

SPACE = {
    "rate": Float(1e-4, 1.0, log=True),
    "n": Int(1, 50, log=True),
    "kind": Categorical(["a", "b", "c"]),
    "flag": Bool(),
    "x": Float(-1.0, 0.3),
}
DATA = Path(__file__).parent / "data"
NEXT = [0.5142210479825735, 0.6886177335457992, 0.75, 0.25, 0.75]


def new(method=None, **settings) -> Optimizer:
    return Optimizer(SPACE, method=method or Chained(), n_initial=4, seed=3, **settings)


def advance(optimizer: Optimizer, n: int, path: Path | None = None) -> None:
    for _ in range(n):
        x = optimizer.ask()
        optimizer.tell(x, x["x"] ** 2, seconds=0.5)
        if path is not None:
            optimizer.save(path)


def record(optimizer: Optimizer) -> list:
    """Everything that is kept but for the times at which it was told."""
    evaluations = [
        (repr(e.point), e.unit.tobytes(), repr(e.value), e.error, e.seconds, e.proposed_by)
        for e in optimizer.evaluations
    ]
    history = optimizer.history
    pending = [repr(point) for point in optimizer.pending]
    return [*evaluations, pending, history.pending.tobytes(), repr(history.proposals)]


def play(seed: int, between) -> list:
    """A run of batches, failures, tells out of order, unasked and rounded, expectations, points
    taken back, fixed parameters; then five asks.

    After each event `between` gives the optimizer that goes on.
    """
    rng = np.random.default_rng(seed)
    optimizer = new()
    for _ in range(50):
        actions = ["ask", "ask", "batch", "tell", "tell", "tell", "user", "expect"]
        action = rng.choice([*actions, "rounded", "forget", "fixed"])
        if action == "ask":
            optimizer.ask()
        elif action == "fixed":
            optimizer.ask(fixed={"kind": "b", "x": float(rng.uniform(-1.0, 0.3))})
        elif action == "forget" and optimizer.pending:
            optimizer.forget(optimizer.pending[rng.integers(len(optimizer.pending))])
        elif action == "rounded" and optimizer.pending:
            x = optimizer.pending[rng.integers(len(optimizer.pending))]
            rounded = {**x, "x": np.float32(x["x"]), "rate": float(f"{x['rate']:.6g}")}
            optimizer.tell(rounded, float(rng.normal()))
        elif action == "batch":
            optimizer.ask(int(rng.integers(1, 6)))
        elif action == "tell" and optimizer.pending:
            x = optimizer.pending[rng.integers(len(optimizer.pending))]
            failed = rng.uniform() < 0.3
            value = None if failed else float(rng.normal())
            optimizer.tell(x, value, error="it broke" if failed else None, seconds=rng.uniform())
        elif action == "user":
            optimizer.tell(optimizer.space.decode(rng.uniform(size=7)), float(rng.normal()))
        elif action == "expect":
            optimizer.expect(optimizer.space.decode(rng.uniform(size=7)))
        optimizer = between(optimizer)
    for _ in range(5):
        optimizer.ask()
        optimizer = between(optimizer)
    return record(optimizer)


def reload(path: Path) -> Optimizer:
    return Optimizer.load(path, method=Chained())


@pytest.mark.parametrize("seed", range(8))
def test_run_saved_and_loaded_after_every_event_equals_the_uninterrupted_one(tmp_path, seed):
    def through_file(optimizer):
        optimizer.save(tmp_path / "run.jsonl")
        return reload(tmp_path / "run.jsonl")

    def through_text(optimizer):
        return Optimizer.from_text(optimizer.to_text(), method=Chained())

    expected = play(seed, lambda optimizer: optimizer)
    assert play(seed, through_file) == expected
    assert play(seed, through_text) == expected


@pytest.mark.parametrize("seed", range(8))
def test_run_saved_and_loaded_at_random_moments_equals_the_uninterrupted_one(tmp_path, seed):
    path = tmp_path / "run.jsonl"
    rng = np.random.default_rng(seed + 100)

    def at_times(optimizer):
        if rng.uniform() < 0.6:
            optimizer.save(path, {"moment": rng.integers(3).item()})
            if rng.uniform() < 0.2:
                return reload(path)
        return optimizer

    assert play(seed, at_times) == play(seed, lambda optimizer: optimizer)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_appended_says_the_same_as_what_is_written_at_once(tmp_path, seed):
    path = tmp_path / "run.jsonl"

    def compare(optimizer):
        optimizer.save(path)
        copies = [reload(path), Optimizer.from_text(optimizer.to_text(), method=Chained())]
        for copy in copies:
            assert record(copy) == record(optimizer)
            assert copy._record.n_asked == optimizer._record.n_asked
            assert copy._record.known == optimizer._record.known
            copy._catch_up()
            assert packing.pack(copy._cache) == packing.pack(optimizer._cache)
        return optimizer

    play(seed, compare)


def test_suggestions_are_made_again_at_the_next_ask_and_not_when_loading(tmp_path):
    calls = []

    class Counting(Chained):
        def suggest(self, *arguments):
            calls.append(1)
            return super().suggest(*arguments)

    optimizer = new(Counting())
    optimizer.save(tmp_path / "run.jsonl")
    advance(optimizer, 4 + 27, tmp_path / "run.jsonl")
    assert len(calls) == 27
    calls.clear()
    loaded = Optimizer.load(tmp_path / "run.jsonl", method=Counting())
    loaded.tell(loaded.space.decode(np.full(7, 0.5)), 1.0)
    loaded.save(tmp_path / "run.jsonl")
    assert calls == []
    loaded.ask()
    assert len(calls) == 7 + 1
    calls.clear()
    new(Counting(with_cache=False)).save(tmp_path / "run.jsonl")
    advance(Optimizer.load(tmp_path / "run.jsonl", method=Counting(with_cache=False)), 20)
    assert len(calls) == 16  # without a cache there is nothing to make again


def test_saving_an_evaluation_costs_the_same_however_many_there_are(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = new("random")
    optimizer.save(path)
    growth = {}
    for n in (10, 3000):
        while len(optimizer) < n:
            optimizer.tell(optimizer.space.decode(np.random.default_rng(n).uniform(size=7)), 1.0)
        optimizer.save(path)
        before = path.stat()
        optimizer.tell(optimizer.space.decode(np.full(7, 0.5)), 1.0)
        optimizer.save(path)
        assert path.stat().st_ino == before.st_ino
        growth[n] = path.stat().st_size - before.st_size
    assert growth[10] == pytest.approx(growth[3000], abs=8)  # digits of the time
    before = path.stat()
    optimizer.save(path)
    assert path.stat().st_size == before.st_size
    assert len(Optimizer.load(path)) == 3001


def test_file_of_a_run_with_a_cache_of_a_megabyte_stays_small(tmp_path):
    """Random numbers cannot be compressed: a megabyte of them is 1.4 MB in base64."""
    path = tmp_path / "run.jsonl"
    optimizer = new(Chained(cache_size=1 << 17))
    sizes = []
    for _ in range(100):
        advance(optimizer, 1, path)
        sizes.append(path.stat().st_size)
    assert max(sizes) < 2 * 1.4e6 + 2e5
    states = [line for line in path.read_text().splitlines() if '"event": "state"' in line]
    assert 1 <= len(states) <= 2
    assert len(reload(path)) == 100
    print(f"largest {max(sizes) / 1e6:.2f} MB, in the end {sizes[-1] / 1e6:.2f} MB")


def test_superseded_lines_never_outweigh_the_others_by_much(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = new()
    for i in range(300):
        optimizer.save(path, {"note": str(i) * 500})
    assert path.stat().st_size < 40_000
    assert runfile.read(path)["metadata"] == {"note": "299" * 500}


def test_compaction_of_many_pending_points_is_rare(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        "infold.runfile.files.replace",
        lambda path, text, replace=files.replace: written.append(len(text)) or replace(path, text),
    )
    optimizer = new("random")
    asked = optimizer.ask(2000)
    for x in asked[:200]:
        optimizer.tell(x, 1.0)
        optimizer.save(tmp_path / "run.jsonl")
    assert len(written) <= 2


def test_file_that_another_hand_changed_is_written_anew(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = new("random")
    advance(optimizer, 5, path)
    other = Optimizer.load(path)
    advance(other, 2, path)
    advance(optimizer, 1, path)
    assert record(Optimizer.load(path)) == record(optimizer)
    path.unlink()
    advance(optimizer, 1, path)
    assert record(Optimizer.load(path)) == record(optimizer)
    elsewhere = tmp_path / "elsewhere.jsonl"
    advance(optimizer, 1, elsewhere)
    assert record(Optimizer.load(elsewhere)) == record(optimizer)
    assert len(Optimizer.load(path)) == len(optimizer) - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("somebody's notes", "is not a run file of infold and is not overwritten"),
        ('{"format": "notes"}\n', "is not a run file of infold and is not overwritten"),
        ('{"format": "infold-run", "version": 4}\n{"a": 1}\n', "has version 4 and is not overwr"),
        ('{"format": "infold-run", "version": 2, "me', "is not a run file of infold and is not"),
        ("\n", "is not a run file of infold and is not overwritten"),
    ],
)
def test_what_is_not_a_run_file_of_a_known_version_is_never_overwritten(tmp_path, text, message):
    path = tmp_path / "run.jsonl"
    optimizer = new("random")
    path.write_text(text)
    for _ in range(2):
        with pytest.raises(ValueError, match=message) as found:
            optimizer.save(path)
        assert str(path) in str(found.value)
        assert path.read_text() == text
        path.unlink()
        advance(optimizer, 2, path)
        path.write_text(text)  # also where it took the place of our own file
    path.write_text("")
    optimizer.save(path)
    assert record(Optimizer.load(path)) == record(optimizer)


def test_pipes_and_devices_are_refused_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (pipe, "/dev/null", tmp_path / "link"):
        for use in (Optimizer.load, new("random").save):
            with pytest.raises(ValueError, match="is a pipe or a device: expected a file"):
                use(path)
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_a_new_file_that_does_not_fit_leaves_room_for_an_append(tmp_path, monkeypatch):
    """Superseded lines outweigh the others: the file would be written anew, were there room."""
    path = tmp_path / "run.jsonl"
    optimizer = new()
    optimizer.save(path)

    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("infold.runfile.files.replace", full)
    for i in range(100):
        optimizer.save(path, {"note": str(i) * 500})
    assert Optimizer.load(path, method=Chained()).metadata == {"note": "99" * 500}


@pytest.mark.parametrize("metadata", [3, [1], {"a": object()}, {"a": float("nan")}])
def test_metadata_that_no_file_can_hold_are_refused_and_not_kept(tmp_path, metadata):
    optimizer = new("random")
    with pytest.raises(ValueError, match="metadata"):
        optimizer.save(tmp_path / "run.jsonl", metadata)
    assert optimizer.metadata == {}
    assert os.listdir(tmp_path) == []


def test_changed_settings_and_metadata_are_saved(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = new("random")
    optimizer.save(path, {"note": "one"})
    optimizer.n_initial = 7
    optimizer.save(path)
    assert Optimizer.load(path).n_initial == 7
    optimizer.metadata["note"] = "two"
    optimizer.save(path)
    assert Optimizer.load(path).metadata == {"note": "two"}
    with pytest.raises((TypeError, ValueError)):
        optimizer.save(path, {"note": object()})
    assert Optimizer.load(path).metadata == {"note": "two"}


def test_disk_full_while_appending_takes_the_line_back(tmp_path):
    """The kernel refuses to write more than so many bytes, as a full disk would."""
    path = tmp_path / "run.jsonl"
    optimizer = new("random")
    advance(optimizer, 20, path)
    before = path.read_bytes()
    advance(optimizer, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 1, 60):
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                optimizer.save(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
    inode = path.stat().st_ino
    optimizer.save(path)
    assert path.stat().st_ino == inode
    assert record(Optimizer.load(path)) == record(optimizer)


def test_file_cut_anywhere_in_its_last_append_loads_without_what_is_torn(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    optimizer = new()
    advance(optimizer, 6, path)
    before = path.stat().st_size
    advance(optimizer, 1, path)
    whole = path.read_bytes()
    assert whole[before:].count(b"\n") == 2
    for end in range(before, len(whole)):
        path.write_bytes(whole[:end])
        caplog.clear()
        loaded = reload(path)
        assert len(loaded) == (7 if end >= len(whole) - 1 else 6)
        is_whole = whole[end - 1 : end] == b"\n" or whole[end : end + 1] == b"\n"
        assert ("cut short" in caplog.text) == (not is_whole)
        if end % 50 == 0:
            loaded.ask()
            loaded.save(path)
            assert record(reload(path)) == record(loaded)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def written(tmp_path) -> Path:
    path = tmp_path / "run.jsonl"
    optimizer = new()
    optimizer.save(path)
    asked = optimizer.ask(3)
    optimizer.tell(asked[1], None, error="it broke")
    optimizer.tell(asked[0], 2.5, seconds=1.5)
    advance(optimizer, 4)
    optimizer.expect(asked[0])
    optimizer.save(path, {"note": "hello"})
    return path


def test_run_file_is_readable_without_infold(written):
    head, *events = lines(written)
    assert (head["format"], head["version"]) == ("infold-run", 2)
    assert head["method"] == {"own": "Chained"}
    assert events[0] == {"event": "state", "n_asked": 0, "cache": {}}
    assert {"event": "metadata", "metadata": {"note": "hello"}} in events
    ask = next(e for e in events if e["event"] == "ask")
    assert ask["n_asked"] == 0
    assert [set(point["x"]) for point in ask["points"]] == [set(SPACE)] * 3
    told = [e for e in events if e["event"] == "evaluation"]
    assert told[0]["y"] is None
    assert told[0]["error"] == "it broke"
    assert told[1]["y"] == 2.5
    assert told[1]["seconds"] == 1.5
    assert [e["proposed_by"] for e in told][:3] == ["design"] * 3
    assert told[-1]["proposed_by"] == "Chained"
    assert told[-1]["diagnostics"]["shape"] == [1, 0]
    assert events[-1]["event"] == "pending"


def edited(path: Path, number: int, **fields) -> None:
    data = lines(path)
    data[number - 1].update(fields)
    kept = [{k: v for k, v in line.items() if v != "removed"} for line in data]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


@pytest.mark.parametrize(
    ("number", "fields", "message"),
    [
        (1, {"version": 99}, "has version 99: this infold reads versions 1 to 3"),
        (1, {"format": "notes"}, "is not a run file of infold"),
        (1, {"seed": "removed"}, "line 1: seed is missing: expected a whole number of at least 0"),
        (1, {"seed": True}, "line 1: seed = True: expected a whole number"),
        (1, {"n_initial": 0}, "line 1: n_initial = 0: expected a whole number of at least 1"),
        (1, {"direction": "up"}, "line 1: direction = 'up': expected one of minimize, maximize"),
        (1, {"initial": "grid"}, "line 1: initial = 'grid': expected one of"),
        (1, {"space": {}}, r"line 1: space = \{\}: expected a table with named and parameters"),
        (1, {"space": {"named": True, "parameters": {"a": 3}}}, "line 1: a = 3: expected a table"),
        (1, {"method": {"kind": "Chained", "settings": {}}}, "line 1: "),
        (1, {"metadata": 3}, "line 1: metadata = 3: expected a table"),
        (2, {"n_asked": -1}, "line 2: n_asked = -1: expected a whole number of at least 0"),
        (2, {"cache": [1]}, r"line 2: cache = \[1\]: expected a table"),
        (
            2,
            {"cache": {"a": "float64:3:raw:AAAA"}},
            r"line 2: cache\['a'\] is no array: expected 24",
        ),
        (
            2,
            {"cache": {"a": "object::raw:AAAA"}},
            r"line 2: cache\['a'\] is no array: expected num",
        ),
        (2, {"event": "party"}, "line 2: event = 'party': expected one of metadata, ask"),
        (4, {"points": []}, r"line 4: points = \[\]: expected at least one"),
        (4, {"points": [3]}, "line 4: 3: expected a table"),
        (4, {"n_asked": 1}, "line 4: n_asked = 1: expected 0"),
        (5, {"x": "removed"}, "line 5: x is missing: expected a point"),
        (5, {"x": {"rate": 1.0}}, "line 5: x has no 'n': expected the parameters rate, n"),
        (5, {"y": "removed"}, "line 5: y is missing: expected a number, or null"),
        (5, {"y": "1.5"}, "line 5: y = '1.5': expected a number"),
        (5, {"error": 3}, "line 5: error = 3: expected text"),
        (5, {"proposed_by": None}, "line 5: proposed_by = None: expected text"),
        (5, {"diagnostics": [1]}, r"line 5: diagnostics = \[1\]: expected a table"),
        (5, {"seconds": -1}, "line 5: seconds = -1.0: expected a number of at least 0"),
        (2, {"n_asked": 1 << 40}, "line 2: n_asked = 1099511627776: expected at most"),
        (3, {"event": "forget", "x": "removed"}, "line 3: x is missing"),
        (4, {"fixed": {"colour": 1}}, "line 4: fixed has the key 'colour'"),
        (4, {"fixed": {"n": "a"}}, r"line 4: fixed\['n'\] = 'a': expected a number"),
        (5, {"constraints": ["a"]}, "line 5: constraints = 'a': expected numbers"),
    ],
)
def test_damage_is_named_by_file_and_line_and_nothing_is_written(written, number, fields, message):
    edited(written, number, **fields)
    before = written.read_bytes()
    with pytest.raises(ValueError, match=message) as found:
        reload(written)
    assert str(written) in str(found.value)
    assert written.read_bytes() == before


def test_forgotten_points_that_were_not_pending_are_named_by_line(written):
    with written.open("a") as file:
        x = json.dumps({"rate": 0.5, "n": 1, "kind": "a", "flag": True, "x": 0.0})
        file.write(f'{{"event": "forget", "x": {x}}}\n')
    number = len(lines(written))
    with pytest.raises(ValueError, match=f"line {number}: x = .*: expected a point that is pend"):
        reload(written)


WRONG_TYPES = """
import json, sys
from infold import Optimizer

path = sys.argv[1]
for names, value, message in (
    (["search", "n_candidates"], "many", "n_candidates = 'many': expected a whole number"),
    (["search", "vary_best"], 3, "vary_best = 3: expected bool"),
    (["model", "transform"], "yes", "transform = 'yes': expected bool"),
    (["model", "warm_training_iterations"], 1.5, "warm_training_iterations = 1.5: expected"),
    (["acquisition"], 3, "acquisition = 3: expected a Acquisition"),
    (["name"], 5, "name = 5: expected str"),
):
    Optimizer([(0.0, 1.0)] * 4, method="full_space", seed=0).save(path)
    head, rest = open(path).read().split("\\n", 1)
    head = json.loads(head)
    table = head["method"]
    for name in names[:-1]:
        table = table[name]
    table[names[-1]] = value
    open(path, "w").write(json.dumps(head) + "\\n" + rest)
    try:
        Optimizer.load(path)
    except ValueError as error:
        assert str(error).startswith(f"{path}, line 1: {message}"), error
    else:
        raise AssertionError(names)
"""


def test_settings_of_the_wrong_type_are_found_when_loading(tmp_path):
    """In a process of its own: here types are checked at run time anyway."""
    command = [sys.executable, "-c", WRONG_TYPES, str(tmp_path / "run.jsonl")]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a run file of infold, or is cut short"),
        ('{"format": "infold-run", "version": 1, "evalu', "is not a run file of infold, or is cut"),
        ('{"format": "infold-run", "version": 2, "meta', "is not a run file of infold, or is cut"),
        ('{"format": "something"}', "is not a run file of infold"),
        ("[1, 2]", "is not a run file of infold"),
        ("[" * 100_000, "is not a run file of infold, or is cut short"),
        ('{"format": "infold-run", "version": 1}', "it lacks metadata, space"),
    ],
)
def test_foreign_and_truncated_files_are_named(tmp_path, text, message):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as found:
        Optimizer.load(path)
    assert str(path) in str(found.value)


@contextlib.contextmanager
def naming(path: Path):
    """Errors that do not name the file are failures of the test."""
    try:
        yield
    except ValueError as error:
        if str(path) not in str(error):
            raise AssertionError(f"{path} is not named") from error
        raise


@pytest.mark.parametrize("version", [1, 2])
def test_file_with_bytes_changed_at_random_loads_or_is_refused_by_name(tmp_path, version, rng):
    path = tmp_path / "run.jsonl"
    if version == 1:
        shutil.copy(DATA / "version-1-random.json", path)
    else:
        optimizer = new("random")
        advance(optimizer, 5, path)
        optimizer.ask(2)
        optimizer.save(path)
    whole = path.read_bytes()
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(damaged))
            if rng.uniform() < 0.5:
                damaged[at] = rng.integers(256)
            else:
                del damaged[at : at + rng.integers(1, 40)]
        path.write_bytes(damaged)
        with contextlib.suppress(ValueError), naming(path):
            Optimizer.load(path)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("name", ["random", "full_space", "mgpc"])
def test_files_of_version_1_load_and_continue(tmp_path, name):
    path = tmp_path / "run.json"
    shutil.copy(DATA / f"version-1-{name}.json", path)
    old = json.loads(path.read_text())
    optimizer = Optimizer.load(path)
    assert optimizer.points == [e["x"] for e in old["evaluations"]]
    assert [e.failed for e in optimizer.evaluations] == [i == 2 for i in range(7)]
    assert optimizer.evaluations[0].proposed_by == "unknown"
    assert np.isnan(optimizer.evaluations[0].told_at)
    assert optimizer.pending == old["pending"]
    assert optimizer.metadata == {"note": name}
    assert json.loads(path.read_text()) == old
    x = optimizer.ask()
    optimizer.tell(x, 1.0)
    optimizer.save(path)
    assert lines(path)[0]["version"] == 2
    again = Optimizer.load(path)
    assert record(again) == record(optimizer)
    assert repr(again.ask()) == repr(optimizer.ask())


def test_random_run_of_version_1_continues_as_the_old_infold_did():
    """The next point was written down with the version that wrote the file."""
    optimizer = Optimizer.load(DATA / "version-1-random.json")
    np.testing.assert_allclose(optimizer.space.encode(optimizer.ask()), NEXT, rtol=0, atol=1e-12)


def test_settings_that_are_gone_do_not_stop_a_file_of_version_1(tmp_path):
    data = json.loads((DATA / "version-1-full_space.json").read_text())
    data["method"]["settings"]["colour"] = "red"
    (tmp_path / "run.json").write_text(json.dumps(data))
    assert len(Optimizer.load(tmp_path / "run.json")) == 7


def test_method_of_the_users_own_is_named_and_must_be_given(written):
    with pytest.raises(ValueError, match="line 1: the method Chained is not one of infold's own"):
        Optimizer.load(written)
    assert reload(written).method == Chained()
    with pytest.raises(ValueError, match="pass it as method="):
        Optimizer.from_text(written.read_text())


def test_another_method_of_the_users_own_is_noted(written, caplog):
    class Other(Chained):
        pass

    Optimizer.load(written, method=Other())
    assert "the run was made with Chained and continues with" in caplog.text


def test_a_method_other_than_that_of_the_file_is_refused(tmp_path):
    from infold.methods import RandomSearch

    path = tmp_path / "run.jsonl"
    new(RandomSearch()).save(path)
    assert Optimizer.load(path, method=RandomSearch()).method == RandomSearch()
    with pytest.raises(ValueError, match=r"line 1: method = Chained\(.*\): .* RandomSearch\("):
        Optimizer.load(path, method=Chained())
    with pytest.raises(ValueError, match=r"design='uniform'\): .* RandomSearch\(design='sobol'\)"):
        Optimizer.load(path, method=RandomSearch(design="uniform"))


def test_caches_survive_exactly(rng):
    cache = {
        "a": {"b": {"c": rng.normal(size=(3, 4, 5))}, "empty": {}},
        "zeros": np.zeros((100, 100)),
        "scalar": np.array(1.5),
        "nothing": np.empty((0, 3)),
        "special": np.array([np.nan, np.inf, -0.0]),
        "whole": np.arange(5),
        "single": rng.normal(size=4).astype(np.float32),
        "truth": np.array([True, False]),
        "number": 3,
        "flag": True,
    }
    packed = json.loads(json.dumps(packing.pack(cache), allow_nan=False))
    assert len(packed["zeros"]) < 1000
    again = packing.unpack(packed)

    def compare(a, b):
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            for key in a:
                compare(a[key], b[key])
        else:
            assert type(a) is type(b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b)
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()

    compare(cache, again)


def test_what_a_cache_cannot_keep_is_left_out_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        packed = packing.pack({"forest": object(), "a": {"names": np.array(["b"])}, 3: np.ones(1)})
    assert packed == {"a": {}}
    assert "cache['forest'] is not kept in the run file" in caplog.text
    assert "cache['a']['names'] is not kept" in caplog.text


def test_links_stay_links_and_modes_are_kept_when_appending_and_replacing(tmp_path):
    target, link = tmp_path / "target.jsonl", tmp_path / "run.jsonl"
    optimizer = new("random")
    optimizer.save(target)
    target.chmod(0o640)
    link.symlink_to(target)
    for _ in range(2):
        advance(optimizer, 1, link)
        optimizer = Optimizer.load(link)
        advance(optimizer, 2, link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert len(Optimizer.load(target)) == 6
    assert sorted(os.listdir(tmp_path)) == ["run.jsonl", "target.jsonl"]
