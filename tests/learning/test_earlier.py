"""A run that begins with what earlier ones taught, and keeps it."""

import json
import logging
import pickle

import numpy as np
import pandas
import pytest
from tests.learning.made import MIXED, learn_cheaply, loss, saved, told
from tests.test_damaged_files import changed, cut, flipped

import infold
from infold import Categorical, Float, Learned, Optimizer, methods
from infold.learning.lessons import Lessons

BOX = [(0.0, 1.0)] * 4


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setattr("infold.learning.learned.learn_in_cube", learn_cheaply)


def sphere(x) -> float:
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


def asked(optimizer: Optimizer, n: int = 8) -> list:
    points = []
    for _ in range(n):
        points.append(np.asarray(optimizer.ask()).tolist())
        optimizer.tell(points[-1], sphere(points[-1]))
    return points


def attempt(load, path):
    try:
        return load(path), ""
    except ValueError as error:
        return None, str(error)


def same(a: Lessons, b: Lessons) -> bool:
    return json.dumps(a.to_json()) == json.dumps(b.to_json())


def test_the_same_runs_teach_the_same_twice(tmp_path, monkeypatch):
    monkeypatch.undo()  # with the numerics
    saved(tmp_path)
    first, second = (infold.learn(str(tmp_path / "*.json")) for _ in range(2))
    assert first.to_text() == second.to_text()


def test_maximized_runs_teach_what_negated_ones_do():
    small = infold.learn([told(seed=i) for i in range(3)])
    large = infold.learn([told(seed=i, direction="maximize") for i in range(3)])
    assert small.to_text() == large.to_text()


def test_order_of_parameters_teaches_the_same():
    runs = [told({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)}, seed=i) for i in range(3)]
    turned = []
    for run in runs:
        copy = Optimizer({"b": Float(0.0, 1.0), "a": Float(0.0, 1.0)}, method="random")
        for evaluation in run.evaluations:
            copy.tell(evaluation.point, evaluation.value)
        turned.append(copy)
    assert infold.learn(runs).to_text() == infold.learn(turned).to_text()


def test_what_was_learned_is_the_same_after_a_file(tmp_path):
    learned = infold.learn([told(MIXED, seed=i) for i in range(3)])
    learned.save(tmp_path / "features.json")
    again = Learned.load(tmp_path / "features.json")
    assert again.to_text() == learned.to_text()
    assert str(again) == str(learned)
    assert same(again.seen_from(learned.space), learned.seen_from(learned.space))
    learned.save(tmp_path / "features.json")  # lessons may be replaced


def test_other_files_are_not_overwritten_by_lessons(tmp_path):
    learned = infold.learn(told())
    (path,) = saved(tmp_path, 1)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"run-0.json is not .* and is not overwritten"):
        learned.save(path)
    assert path.read_bytes() == before


def test_damaged_lessons_load_or_are_refused_by_name(tmp_path, rng):
    path = tmp_path / "features.json"
    infold.learn([told(seed=i) for i in range(3)]).save(path)
    raw = path.read_bytes()
    n_refused = 0
    for i in range(60):
        edits = (flipped, cut, lambda r, g: changed(r, g, True), lambda r, g: changed(r, g, False))
        path.write_bytes(edits[i % 4](raw, rng))
        learned, error = attempt(Learned.load, path)
        assert str(path) in error or len(str(learned)) < 2000
        n_refused += learned is None
    assert n_refused > 10


def test_lessons_of_another_version_are_refused(tmp_path):
    path = tmp_path / "features.json"
    path.write_text(json.dumps({"format": "infold-lessons", "version": 9}))
    with pytest.raises(ValueError, match=r"features.json has version 9: .* reads version 1"):
        infold.minimize(sphere, BOX, earlier=path, n_trials=1)


def test_printing_says_what_was_found_by_parameter():
    learned = infold.learn([told(MIXED, seed=i) for i in range(3)])
    text = str(learned)
    assert "3 runs, 36 evaluations" in text
    assert set(learned.relevance) <= set(MIXED)
    assert "Learned: 3 runs" in repr(learned)
    assert all(set(point) == set(MIXED) for point in learned.points)


def test_a_run_resumes_exactly_without_the_earlier_files(tmp_path):
    paths = saved(tmp_path)
    whole = Optimizer(BOX, method="random", n_initial=6, seed=5, earlier=paths)
    file = tmp_path / "new.jsonl"
    cut_short = Optimizer(BOX, method="random", n_initial=6, seed=5, earlier=paths)
    asked(cut_short, 3)
    cut_short.save(file)
    for path in paths:
        path.unlink()
    again = Optimizer.load(file)
    assert again.lessons is not None
    assert same(again.lessons, whole.lessons)
    expected = asked(whole, 12)
    assert asked(again, 9) == expected[3:]
    assert json.loads(file.read_text().splitlines()[0])["version"] == 3
    text = Optimizer.from_text(again.to_text())
    assert same(text.lessons, whole.lessons)


def test_files_without_lessons_are_as_they_were(tmp_path):
    told().save(tmp_path / "run.jsonl")
    head = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])
    assert head["version"] == 2
    assert "earlier" not in head


def test_damaged_lessons_in_a_run_file_are_refused_by_name(tmp_path, rng):
    path = tmp_path / "run.jsonl"
    optimizer = Optimizer(BOX, method="random", seed=0, earlier=[told(seed=i) for i in range(3)])
    optimizer.save(path)
    lines = path.read_text().splitlines()
    head = json.loads(lines[0])
    others = ({}, None, {**head["earlier"], "dimension": 5}, {**head["earlier"], "points": [[2.0]]})
    for other in others:
        path.write_text("\n".join([json.dumps({**head, "earlier": other}), *lines[1:]]) + "\n")
        with pytest.raises(ValueError, match=r"run.jsonl, line 1"):
            Optimizer.load(path)
    for _ in range(40):
        path.write_bytes(changed("\n".join(lines).encode(), rng, bool(rng.integers(2))))
        optimizer, error = attempt(Optimizer.load, path)
        assert optimizer is not None or str(path) in error


def test_a_checkpoint_goes_on_without_looking_at_earlier_runs(tmp_path):
    paths = saved(tmp_path)
    options = {"method": "random", "seed": 1, "checkpoint": tmp_path / "new.jsonl"}
    infold.minimize(sphere, BOX, n_trials=4, earlier=paths, **options)
    for path in paths:
        path.unlink()
    result = infold.minimize(sphere, BOX, n_trials=6, earlier=paths, **options)
    assert result.nit == 6
    assert result.optimizer.lessons is not None


def test_a_checkpoint_that_began_without_lessons_goes_on_without_them(tmp_path, caplog):
    options = {"method": "random", "seed": 1, "checkpoint": tmp_path / "new.jsonl"}
    infold.minimize(sphere, BOX, n_trials=2, **options)
    infold.minimize(sphere, BOX, n_trials=3, earlier=told(), **options)
    assert "goes on as it began" in caplog.text


def test_points_of_earlier_runs_come_first_and_say_so():
    runs = [told(seed=i) for i in range(3)]
    optimizer = Optimizer(BOX, method="random", seed=3, earlier=runs)
    points = asked(optimizer, 3)
    best = min(loss(runs[0], run.best[0]) for run in runs)
    assert min(loss(runs[0], np.array(point)) for point in points) <= best + 1e-9
    assert optimizer.evaluations[0].proposed_by.startswith("design/")
    assert optimizer.history.proposals[0].by == "design"


def test_runs_that_teach_nothing_are_named_and_do_no_harm(caplog):
    flat = (np.random.default_rng(0).uniform(size=(5, 4)), np.ones(5))
    empty, single = told(n=0), told(n=1)
    failed = Optimizer(BOX, method="random", seed=0)
    failed.tell(failed.ask(), None, error="it broke")
    result = infold.minimize(
        sphere, BOX, method="random", n_trials=3, earlier=[flat, empty, single, failed]
    )
    assert result.nit == 3
    assert result.optimizer.lessons is None
    for i, why in enumerate(("values are equal", "is empty", "one evaluation", "no evaluation")):
        assert f"nothing is learned from earlier[{i}]" in caplog.text
        assert why in caplog.text
    with pytest.raises(ValueError, match="no run with values that differ"):
        infold.learn([flat, empty])


def test_one_bad_run_among_good_ones_is_left_out(caplog):
    learned = infold.learn([told(seed=0), told(n=1), told(seed=1)])
    assert learned.lessons.n_runs == 2
    assert "earlier[1]" in caplog.text


def test_misuse_is_an_error_before_the_first_evaluation(tmp_path):
    calls = []
    for earlier, message in (
        (told({"a": Float(0.0, 1.0)}), "no parameter in common"),
        (np.ones((3, 2)), "2 parameters without names: expected 4"),
        ([], "at least one"),
        (tmp_path / "none.json", "none.json"),
    ):
        with pytest.raises((ValueError, OSError), match=message):
            infold.minimize(calls.append, BOX, n_trials=2, earlier=earlier)
    learned = infold.learn(told())
    with pytest.raises(ValueError, match="lessons beside other sources"):
        infold.minimize(calls.append, BOX, n_trials=2, earlier=[learned, told()])
    with pytest.raises(ValueError, match="the lessons have 4 coordinates: expected 3"):
        infold.minimize(calls.append, BOX[:3], n_trials=2, earlier=learned.lessons)
    assert calls == []


def test_lessons_may_be_given_in_every_form(tmp_path):
    learned = infold.learn([told(seed=i) for i in range(3)])
    learned.save(tmp_path / "features.json")
    forms = (learned, [learned], learned.lessons, tmp_path / "features.json")
    texts = {
        json.dumps(Optimizer(BOX, seed=0, earlier=form).lessons.to_json()["points"])
        for form in forms
    }
    assert len(texts) == 1


@pytest.mark.parametrize("choices", [(None, "gini"), (None, 4, 8), (None, 0.5), (None, True)])
def test_tables_teach_what_their_run_does_where_a_choice_is_none(tmp_path, choices):
    space = {"x": (0.0, 1.0), "choice": Categorical(choices)}
    run, path = told(space), tmp_path / "run.csv"
    run.to_frame().to_csv(path, index=False)
    forms = (run, run.to_frame(), path, pandas.read_csv(path))
    assert len({infold.learn(form, space=space).to_text() for form in forms}) == 1


def test_empty_cells_are_no_values_where_no_choice_is_none(tmp_path):
    frame, path = pandas.DataFrame({"x": [0.1, 0.2], "n": [np.nan, 4.0]}), tmp_path / "run.csv"
    frame.to_csv(path, index=False)
    space = {"x": Categorical((None, 0.1, 0.2)), "n": Categorical((4, 8))}
    with pytest.raises(ValueError, match=r"run.csv, line 2: n is empty: expected a value"):
        infold.learn(path, space=space)
    with pytest.raises(ValueError, match=r"row 0\[1\] = nan: expected finite numbers"):
        infold.learn(frame, space=space)


def test_designs_without_values_are_taken(rng):
    t = rng.uniform(size=(40, 2))
    designs = np.clip(np.stack([np.cos(t[:, 0] + s * t[:, 1]) for s in range(6)], axis=1), 0, 1)
    learned = infold.learn(designs)
    assert learned.lessons.n_designs == 40 or learned.lessons.empty
    result = infold.minimize(
        sphere,
        [(0.0, 1.0)] * 6,
        method="random",
        n_trials=2,
        earlier=[designs, told(BOX * 1 + BOX[:2])],
    )
    assert result.nit == 2


def test_a_pickled_run_keeps_what_it_learned():
    optimizer = Optimizer(BOX, method="random", seed=0, earlier=told())
    copy = pickle.loads(pickle.dumps(optimizer))
    assert same(copy.lessons, optimizer.lessons)
    assert asked(copy, 3) == asked(optimizer, 3)


def test_learning_says_so(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="infold"):
        infold.learn(told())
    assert "learning from 1 earlier run" in caplog.text
    infold.learn(told(), progress=True)
    assert "learning from earlier runs" in capsys.readouterr().out
    told_parts = []
    infold.learn(
        [told(seed=i) for i in range(2)], progress=lambda part, doing: told_parts.append(part)
    )
    assert all(0.0 <= part <= 1.0 for part in told_parts)


def test_reports_say_which_points_came_from_earlier_runs(tmp_path):
    from infold.report.figures.record import proposers
    from infold.report.subject import Subject

    optimizer = Optimizer(BOX, method="random", n_initial=6, seed=3, earlier=[told(), told(seed=1)])
    asked(optimizer, 8)
    optimizer.save(tmp_path / "run.jsonl")
    names = {e.proposed_by for e in Optimizer.load(tmp_path / "run.jsonl").evaluations}
    assert names == {"design/earlier", "design", "random"}
    assert set(proposers(Subject(optimizer)).names) == names


def test_the_default_method_resumes_exactly_with_what_it_was_taught():
    auto = methods.by_name("auto")
    runs = [told(seed=i) for i in range(3)]
    whole, part = (Optimizer(BOX, method=auto, n_initial=4, seed=2, earlier=runs) for _ in range(2))
    expected = asked(whole, 8)
    before = asked(part, 6)
    again = Optimizer.from_text(part.to_text(), method=auto)
    assert before + asked(again, 2) == expected
