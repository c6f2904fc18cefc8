"""What the record says about proposals is true of the points that were evaluated."""

import numpy as np
import pytest

from infold import Float, Int, Optimizer
from infold.methods import Proposal, Suggestion


def test_predictions_in_the_record_have_the_users_sign():
    optimizer = Optimizer([(-1.0, 1.0)] * 3, method="full_space", direction="maximize", seed=0)
    for _ in range(20):
        x = optimizer.ask()
        optimizer.tell(x, 100.0 - float(np.sum(x**2)))
    for evaluation in optimizer.evaluations[12:]:
        assert evaluation.diagnostics["mean"] == pytest.approx(evaluation.value, abs=5.0)


def test_a_replaced_point_does_not_carry_the_prediction_of_another():
    class Stuck:
        def suggest(self, history, q, key, cache=None):
            return Suggestion(history.x[:1], (Proposal("", {"mean": 1.0}),))

    optimizer = Optimizer({"n": Int(0, 9)}, method=Stuck(), n_initial=1, seed=0)
    optimizer.tell({"n": 3}, 1.0)
    optimizer.tell(optimizer.ask(), 2.0)
    evaluation = optimizer.evaluations[-1]
    assert evaluation.proposed_by == "Stuck/replaced"
    assert evaluation.diagnostics == {"instead_of": {"mean": 1.0}}


def test_no_column_of_the_table_hides_another():
    names = ("value", "evaluation.value", "seconds")
    optimizer = Optimizer({name: Float(0.0, 1.0) for name in names}, method="random", seed=0)
    x = optimizer.ask()
    optimizer.tell(x, 7.0, seconds=2.0)
    frame = optimizer.to_frame()
    assert {name: frame[name][0] for name in names} == x
    assert frame["evaluation.evaluation.value"][0] == 7.0
    assert frame["evaluation.seconds"][0] == 2.0


def test_asking_the_model_at_new_numbers_of_points_compiles_nothing_new():
    import jax

    optimizer = Optimizer([(-1.0, 1.0)] * 3, method="full_space", seed=0)
    points = np.random.default_rng(0).uniform(-1, 1, size=(30, 3))
    for x in points[:15]:
        optimizer.tell(x, float(np.sum(x**2)))
    model = optimizer.model()
    model.predict(points[:1])
    compiled = []

    def listen(event, seconds, **details):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(details.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        for n in (2, 7, 30):
            model.predict(points[:n])
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []


def test_the_model_answers_in_double_precision_however_it_is_asked():
    optimizer = Optimizer([(-1.0, 1.0)] * 3, method="full_space", seed=0)
    for x in np.random.default_rng(0).uniform(-1, 1, size=(9, 3)):
        optimizer.tell(x, float(np.sum(x**2)))
    fitted = optimizer.model().fitted
    assert fitted.predict(np.full((2, 3), 0.5))[0].dtype == np.float64
    assert fitted.leave_one_out()[0].dtype == np.float64
