"""Laws of the record: events in, the same record and the same history out."""

import numpy as np
import pytest

from infold import Categorical, Float, Int, Space
from infold.acquisition.discrete import known
from infold.record import Ask, Evaluation, History, Pending, Proposal, Record, to_frame

SPACE = Space.of({"x": Float(0, 1), "n": Int(0, 9), "kind": Categorical(["a", "b"])})


def point(x: float, n: int = 3) -> dict:
    return {"x": x, "n": n, "kind": "a"}


def pending(x: float, proposed_by: str = "mgpc/random", **diagnostics) -> Pending:
    return Pending.at(point(x), SPACE, proposed_by, diagnostics)


def evaluation(x: float, value: float = 1.0, proposed_by: str = "design", **rest) -> Evaluation:
    unit = SPACE.encode(point(x))
    return Evaluation(
        point=point(x), unit=unit, value=value, told_at=0.0, proposed_by=proposed_by, **rest
    )


def test_an_evaluation_ends_the_wait_for_one_pending_point_like_it():
    record = Record(SPACE, 1.0)
    record.add(Ask((pending(0.1), pending(0.2), pending(0.1)), 0))
    record.add(evaluation(0.1))
    assert [p.point["x"] for p in record.pending] == [0.2, 0.1]
    record.add(evaluation(0.5))
    assert len(record.pending) == 2
    assert record.n_asked == 3
    assert record.known == {SPACE.identity(point(x)) for x in (0.1, 0.2, 0.5)}


def test_history_has_proposals_of_evaluated_and_then_of_pending_points():
    record = Record(SPACE, -1.0)
    record.add(evaluation(0.1, 2.0, "design"))
    record.add(evaluation(0.2, np.nan, "mgpc/wide/replaced", diagnostics={"a": 1}))
    record.add(evaluation(0.3, 3.0, "mgpc"))
    record.add(pending(0.4, "mgpc/random", b=2))
    history = record.history
    np.testing.assert_array_equal(history.y, [-2.0, np.nan, -3.0])
    np.testing.assert_array_equal(history.x[:, 0], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(history.pending, [SPACE.encode(point(0.4))])
    assert history.proposals == (
        Proposal("design", {}),
        Proposal("wide/replaced", {"a": 1}),
        Proposal("", {}),
        Proposal("random", {"b": 2}),
    )
    assert history.rounding.coordinates.tolist() == [False, True, True, True]


def test_an_empty_record_has_an_empty_history():
    history = Record(SPACE, 1.0).history
    assert history.x.shape == history.pending.shape == (0, 4)
    assert history.proposals == ()


def test_the_record_of_an_earlier_time_takes_the_same_events_again():
    record = Record(SPACE, 1.0)
    record.add(Ask((pending(0.1), pending(0.2)), 0))
    record.add(evaluation(0.2))
    earlier = record.as_of(len(record.evaluations), record.pending, record.n_asked)
    events = [Ask((pending(0.3),), 2), evaluation(0.1), pending(0.6), evaluation(0.7)]
    for event in events:
        record.add(event)
        earlier.add(event)
    np.testing.assert_array_equal(earlier.history.x, record.history.x)
    np.testing.assert_array_equal(earlier.history.pending, record.history.pending)
    assert earlier.n_asked == record.n_asked == 3


def test_history_knows_what_the_space_snaps_to(rng):
    """Discrete points recognize themselves to the last bit, logarithms included."""
    space = Space.of(
        {"n": Int(1, 1000, log=True), "m": Int(-3, 12), "k": Categorical(["a", "b", "c"])}
    )
    units = rng.uniform(size=(200, space.dimension))
    places = np.array([space.encode(space.decode(unit)) for unit in units])
    history = History(places, np.zeros(200))
    assert np.all(known(space.rounding.snap(units), history.everywhere))


@pytest.mark.parametrize("named", [True, False])
def test_frames_have_the_parameters_first(named):
    space = SPACE if named else Space.of(list(SPACE.parameters.values()))
    told = [
        evaluation(0.1),
        evaluation(0.2, np.nan, error="broke", diagnostics={"fit": [1], "a": 2}),
    ]
    if not named:
        told = [Evaluation(**{**vars(e), "point": list(e.point.values())}) for e in told]
    frame = to_frame(told, space)
    parameters = ["x", "n", "kind"] if named else ["x0", "x1", "x2"]
    rest = ["value", "failed", "error", "seconds", "told_at", "proposed_by", "a"]
    assert list(frame.columns) == [*parameters, *rest]
    assert frame["failed"].tolist() == [False, True]
    assert frame["told_at"][0].isoformat() == "1970-01-01T00:00:00+00:00"
