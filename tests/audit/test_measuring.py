"""What is uncertain about an audit, measured on worlds so small that the answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from cfad_core.audit import measuring
from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.judging import judge_people
from cfad_core.audit.measuring import Subject, _illegal, measure_stability
from cfad_core.audit.stability import Stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.data.groups import Groups
from cfad_core.data.variables import Variable
from cfad_core.detectors.protocol import InputScaling
from tests.audit.worlds import TWO_GROUPS, linear_model
from tests.causal.worlds import learn_given
from tests.conftest import Recorder

LIMIT = 10.0
GROUPS = Groups("S", ("x", "y"), (("x",), ("y",)))


def score(people: Floats, whose: Rows | None = None) -> dict[str, Floats]:
    return {"a": people[:, 1], "b": people[:, 2]}


def encoding() -> Encoding:
    numbers = tuple(Variable(name, "number", low=-LIMIT, high=LIMIT) for name in ("A", "B"))
    return Encoding((GROUPS,), numbers, "raw")


def measured(n: int = 200, model: CausalModel | None = None) -> Subject:
    rng = np.random.default_rng(0)
    model = model or linear_model(2.0, 1.0)
    noise = rng.normal(size=(2 * n, 3))
    s = rng.choice([-1.0, 1.0], 2 * n)
    a = 2.0 * s + noise[:, 1]
    x = np.column_stack([s, a, a + noise[:, 2]])
    return Subject(
        train=x[:n],
        model=model,
        encoding=encoding(),
        factual=x[n:],
        twins=model.twins(x[n:])[None],
        plan=TWO_GROUPS,
        score=score,
        thresholds={"a": 0.5, "b": 0.7},
        inputs=InputScaling(np.zeros(2), np.array([1.0, 2.0])),
    )


def measure(audit: Subject, models: list[AdditiveModel] | None = None, progress: Progress | None = None) -> Stability:
    models = models or [linear_model(2.0, 1.0)] * 4
    judgement = judge_people(models, audit.factual, audit.plan, audit.score, 5, Progress())
    return measure_stability(audit, models, judgement, 5, progress or Progress())


def test_graphs_that_agree_leave_no_model_error() -> None:
    audit = measured()
    found = measure(audit)
    for method, scores in score(audit.factual).items():
        assert found.model_error(method, scores, audit.thresholds[method]) == 0.0
        np.testing.assert_allclose(found.returned[method][:, 0], np.tile(scores, (2, 1)), atol=1e-12)
        np.testing.assert_allclose(found.returned_by_same[method][:, 0], np.tile(scores, (2, 1)), atol=1e-12)


def test_model_error_by_hand() -> None:
    """There by one graph (2, or 3), back by its neighbour (1.5, or 3): A is off by -2 s (2 - 1.5), or right."""
    audit = measured()
    models = [linear_model(effect, 1.0) for effect in (2.0, 1.5, 3.0, 3.0)]
    found = measure(audit, models)
    s, a = audit.factual[:, 0], audit.factual[:, 1]
    np.testing.assert_allclose(found.returned["a"][:, 0], [a - s, a], atol=1e-12)
    wrong = ((a - s > 0.5) != (a > 0.5)).mean()
    assert wrong > 0.0
    assert found.model_error("a", a, 0.5) == pytest.approx((wrong + 0.0) / 2.0)
    np.testing.assert_allclose(found.graphs[:, 0, 1], [2.0, 1.5, 3.0, 3.0])
    assert (found.variables, found.sensitive, found.seed) == (("S", "A", "B"), ("S",), 5)


def test_graphs_tell_strengths_without_signs() -> None:
    found = measure(measured(), [linear_model(-2.0, 1.0), linear_model(2.0, 0.0)] * 2)
    assert found.graphs[:, 0, 1].tolist() == [2.0, 2.0, 2.0, 2.0]
    assert found.edge_frequency[1, 2] == 0.5


def test_cut_edges_by_hand() -> None:
    audit = measured()
    (cuts,) = measure(audit).edge_cuts
    s, a, b = audit.factual.T
    whole = {
        "a": ((a - 4.0 * s > 0.5) != (a > 0.5)).mean(),
        "b": ((b - 4.0 * s > 0.7) != (b > 0.7)).mean(),
    }
    assert cuts.people == 200
    assert cuts.edges == (("S", "A"), ("A", "B"))
    assert cuts.whole == pytest.approx(whole)
    np.testing.assert_allclose(cuts.without["a"], [0.0, whole["a"]])  # B's cause or not, A moves
    np.testing.assert_allclose(cuts.without["b"], [0.0, 0.0])
    assert cuts.carrier("a") == (("S", "A"), 1.0)


def test_edges_of_a_learned_model_are_cut_too() -> None:
    """The same world by mechanisms: the same answers within what 200 rows say."""
    train = measured().train
    model = learn_given(train, ("S", "A", "B"), (("S", "A"), ("A", "B")))
    audit = measured(model=model)
    (by_hand,), (found,) = measure(measured()).edge_cuts, measure(audit).edge_cuts
    assert set(found.edges) == set(by_hand.edges)
    for method in ("a", "b"):
        assert found.whole[method] == pytest.approx(by_hand.whole[method], abs=0.1)
        assert found.without[method][found.edges.index(("S", "A"))] == 0.0
    assert found.without["b"][found.edges.index(("A", "B"))] == 0.0
    assert found.without["a"][found.edges.index(("A", "B"))] == found.whole["a"]


def test_edges_that_no_path_uses_are_not_asked_about() -> None:
    audit = measured(model=linear_model(0.0, 1.0))
    found = measure(audit, [linear_model(0.0, 1.0)] * 4)
    (cuts,) = found.edge_cuts
    assert cuts.edges == ()
    assert cuts.whole == {"a": 0.0, "b": 0.0}
    assert cuts.without["a"].shape == (0,)
    assert found.without_path == 4
    assert not found.plausibility.out_of_range.any()


def test_twins_are_compared_with_training_rows_of_their_new_group() -> None:
    """Against a loop; the scaling halves B."""
    audit = measured()
    found = measure(audit)

    def nearest(person: Floats) -> float:
        others = audit.train[audit.train[:, 0] == person[0]]
        return float(np.hypot(others[:, 1] - person[1], (others[:, 2] - person[2]) / 2.0).min())

    twins = np.array([nearest(person) for person in audit.twins[0]])
    people = np.array([nearest(person) for person in audit.factual])
    np.testing.assert_allclose(found.plausibility.distance, twins[None], atol=1e-9)
    assert found.plausibility.real_median == pytest.approx(np.median(people))
    for sign in (-1.0, 1.0):
        limit = np.quantile(people[audit.factual[:, 0] == sign], 0.99)
        np.testing.assert_allclose(found.plausibility.usual[audit.twins[:, :, 0] == sign], limit)
    assert found.plausibility.far.mean() < 0.1  # twins of the true model are people like others
    assert measure(measured(model=linear_model(-20.0, 1.0))).plausibility.far.all()


def test_people_of_groups_that_training_has_not_seen() -> None:
    """Two attributes, of whose four combinations nobody in training has the last: twins there are like nobody."""
    rng = np.random.default_rng(1)
    plan = plan_comparisons(("s", "t"), (("x", "y"), ("u", "v")))
    train, factual = (np.column_stack([np.arange(n) % k, rng.normal(size=(n, 2))]) for n, k in ((90, 3), (40, 4)))
    state = factual[:, 0].astype(np.intp)
    targets = np.stack([plan.targets(state, move) for move in range(3)]).astype(np.float64)
    twins = np.concatenate([targets[:, :, None], np.tile(factual[:, 1:], (3, 1, 1))], axis=2)
    audit = replace(measured(), train=train, factual=factual, twins=twins, plan=plan)
    found = measuring._plausibility(audit, rng, Progress())
    nearest = [
        np.hypot(*((train[train[:, 0] == person[0], 1:] - person[1:]) / [1.0, 2.0]).T).min()
        for person in factual[state < 3]
    ]
    assert found.real_median == pytest.approx(np.median(nearest))
    assert np.isfinite(found.usual).all()
    assert np.isfinite(found.distance).all()
    unseen = targets == 3.0
    assert unseen.any()
    assert (found.distance > found.usual)[unseen].all()
    assert (found.distance[~unseen] < 1e6).all()
    json.dumps(found.to_dict(), allow_nan=False)


def test_whose_twin_is_illegal_by_hand() -> None:
    variables = (
        Variable("age", "number", offset=40.0, scale=10.0, low=20.0, high=60.0),  # columns -2 to 2
        Variable("job", "category", levels=("x", "y", "z")),
        Variable("owner", "category", levels=("no", "yes")),
        Variable("since", "date", offset=0.0, scale=100.0, low=0.0, high=300.0, marks_missing=True),
    )
    plan = Encoding((GROUPS,), variables, "range")
    person = np.array([1.0, 0.0, 3.0, -3.0, -3.0, -3.0, 1.0, -3.0])
    cases: list[tuple[dict[int, float], bool, bool]] = [
        ({}, False, False),
        ({1: 2.0}, False, False),  # 60 years: the oldest that training saw
        ({1: 2.01}, True, False),
        ({1: -2.01}, True, False),
        ({2: 1.6, 3: -1.6}, False, False),  # less than a quarter of the way from x to y
        ({2: 1.4}, False, True),  # more
        ({3: -1.4}, False, True),
        ({2: -3.0, 3: 3.0}, False, False),  # at y
        ({5: -1.6}, False, False),
        ({5: -1.4}, False, True),
        ({5: 1.4}, False, True),
        ({5: 1.6}, False, False),
        ({6: 3.0}, False, False),
        ({6: 3.1}, True, False),
        ({6: -0.1}, True, False),
        ({7: 0.0}, False, True),  # neither there nor missing
        ({7: 3.0}, False, False),
        ({1: 9.0, 5: 0.0}, True, True),
    ]
    twins = np.tile(person, (len(cases), 1))
    twins[:, 0] = -1.0
    for k, (changes, _, _) in enumerate(cases):
        twins[k, list(changes)] = list(changes.values())
    beyond, between = _illegal(plan, np.tile(person, (len(cases), 1)), twins)
    assert beyond.tolist() == [case[1] for case in cases]
    assert between.tolist() == [case[2] for case in cases]
    odd = np.array([[1.0, 9.0, 0.0, 0.0, 0.0, 0.0, 9.0, -3.0]])  # a person that training has not seen the like of
    assert [found.tolist() for found in _illegal(plan, odd, odd * np.array([-1.0, *[1.0] * 7]))] == [[False], [False]]


def test_of_many_people_some_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_MOST_ASKED", 30)
    found = measure(measured())
    assert [cuts.people for cuts in found.edge_cuts] == [30]
    assert found.plausibility.distance.shape == (1, 200)  # of all of them


def test_progress_reports_every_step() -> None:
    recorder = Recorder()
    measure(measured(), progress=recorder)
    assert [(stage, step, total) for stage, step, total, _ in recorder.heard] == [
        ("uncertainty", 1, 2),
        ("uncertainty", 2, 2),
    ]
    with pytest.raises(AuditCancelled, match="during 'uncertainty'"):
        measure(measured(), progress=Recorder(stop_in="uncertainty"))
