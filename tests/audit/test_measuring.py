"""The uncertainty of an audit, measured on worlds so small that the answer is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cfad_core.audit import measuring
from cfad_core.audit.measuring import Subject, _illegal, measure_stability
from cfad_core.audit.stability import Stability
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import Search
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.twins import TwinDraws
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.data.groups import Groups
from cfad_core.data.variables import Variable
from cfad_core.detectors.protocol import InputScaling
from tests.conftest import Recorder, identity_spline

NAMES = ("S", "A", "B")
LIMIT = 10.0


def linear(to_a: float, a_to_b: float) -> StructuralModel:
    """A = to_a S + u, B = a_to_b A + u."""
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = to_a, a_to_b
    return StructuralModel(NAMES, "S", weights, np.zeros(3), identity_spline(-40.0, 40.0))


def score(people: Floats) -> dict[str, Floats]:
    return {"a": people[:, 1], "b": people[:, 2]}


def encoding() -> Encoding:
    numbers = tuple(Variable(name, "number", low=-LIMIT, high=LIMIT) for name in ("A", "B"))
    return Encoding("S", Groups(("x", "y")), numbers, "raw")


def measured(n: int = 200, model: StructuralModel | None = None) -> Subject:
    rng = np.random.default_rng(0)
    model = model or linear(2.0, 1.0)
    noise = rng.normal(size=(2 * n, 3))
    s = rng.choice([-1.0, 1.0], 2 * n)
    a = 2.0 * s + noise[:, 1]
    x = np.column_stack([s, a, a + noise[:, 2]])
    return Subject(
        train=x[:n],
        own=np.arange(n // 2),
        model=model,
        encoding=encoding(),
        factual=x[n:],
        counterfactual=model.counterfactual(x[n:]),
        score=score,
        thresholds={"a": 0.5, "b": 0.7},
        inputs=InputScaling(np.zeros(2), np.array([1.0, 2.0])),
    )


def search(x: Floats, knowledge: Knowledge | None = None) -> Search:
    config = DiscoveryConfig(basis_size=8)
    return Search.prepare(x, Columns(tuple(NAMES), "S"), config, knowledge or Knowledge())


def stub(
    monkeypatch: pytest.MonkeyPatch, models: list[StructuralModel]
) -> Callable[[Subject], tuple[Stability, list[tuple[Rows, Rows]]]]:
    """Measure with these models in place of learned ones; also tells the splits."""

    def run(audit: Subject) -> tuple[Stability, list[tuple[Rows, Rows]]]:
        seen: list[tuple[Rows, Rows]] = []

        def learn(
            x: Floats, search: Search, splits: list[tuple[Rows, Rows]], seed: int, progress: Progress
        ) -> list[StructuralModel]:
            seen.extend(splits)
            return models

        monkeypatch.setattr(measuring, "learn_from_halves", learn)
        return measure_stability(audit, search(audit.train), len(models), 5, Progress()), seen

    return run


def test_halves_share_no_row_and_have_both_groups_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = measured()
    _, splits = stub(monkeypatch, [linear(2.0, 1.0)] * 6)(audit)
    assert len(splits) == 3
    for first, second in splits:
        assert not set(first) & set(second)
        assert sorted([*first, *second]) == list(range(200))
        for sign in (-1.0, 1.0):
            here, there = ((audit.train[rows, 0] == sign).sum() for rows in (first, second))
            assert abs(int(here) - int(there)) <= 1
    assert len({first.tobytes() for first, _ in splits}) == 3


def test_graphs_that_agree_leave_no_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = measured()
    found, _ = stub(monkeypatch, [linear(2.0, 1.0)] * 4)(audit)
    for method, scores in score(audit.factual).items():
        assert found.model_error(method, scores, audit.thresholds[method]) == 0.0
        np.testing.assert_allclose(found.returned[method], np.tile(scores, (2, 1)), atol=1e-12)
        np.testing.assert_allclose(
            found.twin_scores[method], np.tile(score(audit.counterfactual)[method], (4, 1)), atol=1e-12
        )


def test_model_error_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """There by one graph (2, or 3), back by its neighbour (1.5, or 3): A is off by -2 s (2 - 1.5), or right."""
    audit = measured()
    found, _ = stub(monkeypatch, [linear(2.0, 1.0), linear(1.5, 1.0), linear(3.0, 1.0), linear(3.0, 1.0)])(audit)
    s, a = audit.factual[:, 0], audit.factual[:, 1]
    np.testing.assert_allclose(found.returned["a"], [a - s, a], atol=1e-12)
    wrong = ((a - s > 0.5) != (a > 0.5)).mean()
    assert wrong > 0.0
    assert found.model_error("a", a, 0.5) == pytest.approx((wrong + 0.0) / 2.0)
    moved = [a - 2.0 * s * effect for effect in (2.0, 1.5, 3.0, 3.0)]
    np.testing.assert_allclose(found.twin_scores["a"], moved, atol=1e-12)
    np.testing.assert_allclose(found.graphs[:, 0, 1], [2.0, 1.5, 3.0, 3.0])


def test_categories_are_fitted_to_what_each_model_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    audit, fit = measured(), TwinDraws.fit
    fitted: list[tuple[StructuralModel, Floats]] = []

    def spy(scm: StructuralModel, x: Floats, rng: np.random.Generator) -> TwinDraws:
        fitted.append((scm, x))
        return fit(scm, x, rng)

    monkeypatch.setattr(TwinDraws, "fit", staticmethod(spy))
    models = [linear(effect, 1.0) for effect in (1.0, 2.0, 3.0, 4.0)]
    _, splits = stub(monkeypatch, models)(audit)
    halves = [rows for split in splits for rows in split]
    assert [scm for scm, _ in fitted] == [*models, audit.model]
    for (_, x), rows in zip(fitted, [*halves, audit.own], strict=True):
        assert np.array_equal(x, audit.train[rows])


def test_graphs_tell_strengths_without_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = stub(monkeypatch, [linear(-2.0, 1.0), linear(2.0, 0.0)] * 2)(measured())
    assert found.graphs[:, 0, 1].tolist() == [2.0, 2.0, 2.0, 2.0]
    assert found.edge_frequency[1, 2] == 0.5


def test_cut_edges_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = measured()
    found, _ = stub(monkeypatch, [linear(2.0, 1.0)] * 4)(audit)
    s, a, b = audit.factual.T
    whole = {
        "a": ((a - 4.0 * s > 0.5) != (a > 0.5)).mean(),
        "b": ((b - 4.0 * s > 0.7) != (b > 0.7)).mean(),
    }
    assert found.edge_cuts.people == 200
    assert found.edge_cuts.edges == (("S", "A"), ("A", "B"))
    assert found.edge_cuts.whole == pytest.approx(whole)
    np.testing.assert_allclose(found.edge_cuts.without["a"], [0.0, whole["a"]])  # B's cause or not, A moves
    np.testing.assert_allclose(found.edge_cuts.without["b"], [0.0, 0.0])
    assert found.edge_cuts.carrier("a") == (("S", "A"), 1.0)


def test_edges_that_no_path_uses_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = measured(model=linear(0.0, 1.0))
    found, _ = stub(monkeypatch, [linear(0.0, 1.0)] * 4)(audit)
    assert found.edge_cuts.edges == ()
    assert found.edge_cuts.whole == {"a": 0.0, "b": 0.0}
    assert found.edge_cuts.without["a"].shape == (0,)
    assert found.without_path == 4
    assert not found.plausibility.out_of_range.any()


def test_twins_are_compared_with_training_rows_of_their_new_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a loop; the scaling halves B."""
    audit = measured()
    found, _ = stub(monkeypatch, [linear(2.0, 1.0)] * 4)(audit)

    def nearest(person: Floats) -> float:
        others = audit.train[audit.train[:, 0] == person[0]]
        return float(np.hypot(others[:, 1] - person[1], (others[:, 2] - person[2]) / 2.0).min())

    twins = np.array([nearest(person) for person in audit.counterfactual])
    people = np.array([nearest(person) for person in audit.factual])
    np.testing.assert_allclose(found.plausibility.distance, twins, atol=1e-9)
    assert found.plausibility.real_median == pytest.approx(np.median(people))
    for sign in (-1.0, 1.0):
        limit = np.quantile(people[audit.factual[:, 0] == sign], 0.99)
        np.testing.assert_allclose(found.plausibility.usual[audit.counterfactual[:, 0] == sign], limit)
    assert found.plausibility.far.mean() < 0.1  # twins of the true model are people like others
    astray = measured(model=linear(-20.0, 1.0))
    assert stub(monkeypatch, [linear(2.0, 1.0)] * 4)(astray)[0].plausibility.far.all()


def test_whose_twin_is_illegal_by_hand() -> None:
    variables = (
        Variable("age", "number", offset=40.0, scale=10.0, low=20.0, high=60.0),  # columns -2 to 2
        Variable("job", "category", levels=("x", "y", "z")),
        Variable("owner", "category", levels=("no", "yes")),
        Variable("since", "date", offset=0.0, scale=100.0, low=0.0, high=300.0, marks_missing=True),
    )
    plan = Encoding("S", Groups(("a", "b")), variables, "range")
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


def test_of_many_people_some_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_MOST_JUDGED", 50)
    monkeypatch.setattr(measuring, "_MOST_ASKED", 30)
    audit = measured()
    found, _ = stub(monkeypatch, [linear(2.0, 1.0)] * 4)(audit)
    assert found.people.shape == (50,)
    assert found.people.dtype == np.int64
    assert np.array_equal(found.people, np.unique(found.people))
    assert found.people.max() > 50
    np.testing.assert_allclose(found.twin_scores["a"][0], audit.counterfactual[found.people, 1], atol=1e-12)
    np.testing.assert_allclose(found.returned["a"][0], audit.factual[found.people, 1], atol=1e-12)
    assert found.edge_cuts.people == 30
    assert len(found.plausibility.distance) == 200  # of all of them


def test_end_to_end_on_a_tiny_world() -> None:
    audit = measured()
    plan = search(audit.train)
    found, again, other = (measure_stability(audit, plan, 4, seed, Progress()) for seed in (1, 1, 2))
    assert (found.variables, found.sensitive, found.seed) == (NAMES, "S", 1)
    assert found.graphs.shape == (4, 3, 3)
    for method in ("a", "b"):
        assert found.twin_scores[method].shape == (4, 200)
        assert found.returned[method].shape == (2, 200)
        assert np.array_equal(found.twin_scores[method], again.twin_scores[method])
        assert np.array_equal(found.returned[method], again.returned[method])
        assert not np.array_equal(found.twin_scores[method], other.twin_scores[method])
    assert np.array_equal(found.graphs, again.graphs)
    assert not np.array_equal(found.graphs, other.graphs)
    assert found.edge_frequency[0, 1] == 1.0  # S -> A cannot be missed
    assert found.reach["B"] == 1.0
    assert found.without_path == 0
    at = found.resampled("a", audit.factual[:, 1], audit.factual[:, 0]).at(0.5)
    truth = ((audit.counterfactual[:, 1] > 0.5) != (audit.factual[:, 1] > 0.5)).mean()
    assert at.changing_ratio is not None
    assert at.changing_ratio.median == pytest.approx(truth, abs=0.1)  # 200 people, sampled anew: standard error 0.03
    assert found.model_error("a", audit.factual[:, 1], 0.5) < 0.1


def test_progress_reports_every_step() -> None:
    audit, recorder = measured(), Recorder()
    measure_stability(audit, search(audit.train), 4, 0, recorder)
    assert recorder.stages() == ["subsample models", "uncertainty"]
    steps = [(step, total) for stage, step, total, _ in recorder.heard if stage == "uncertainty"]
    assert steps == [(step, 8) for step in (1, 3, 4, 6, 7, 8)]  # four worlds, two of them with a way back, and two more


def test_categories_are_drawn_in_every_graph() -> None:
    """S -> C with 20 % and 70 %: graphs score twins at C's two levels only."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1.0, 1.0], 800)
    c = np.where(rng.random(800) < np.where(s > 0, 0.7, 0.2), 3.0, -3.0)
    x = np.column_stack([s, c, rng.normal(size=800)])
    weights = np.zeros((3, 3))
    weights[0, 1] = 1.5
    scm = StructuralModel(NAMES, "S", weights, np.zeros(3), identity_spline(), np.array([1.0, 1.0 / 3.0, 0.0]))
    audit = Subject(
        train=x[:500],
        own=np.arange(500),
        model=scm,
        encoding=Encoding(
            "S", Groups(("x", "y")), (Variable("A", "category", levels=("0", "1")), Variable("B", "number")), "range"
        ),
        factual=x[500:],
        counterfactual=scm.counterfactual(x[500:]),
        score=score,
        thresholds={"a": 0.0, "b": 0.0},
        inputs=InputScaling(np.zeros(2), np.ones(2)),
    )
    ready = Knowledge(required=(("S", "A"),), complete=True)
    found = measure_stability(audit, search(x[:500], ready), 4, 0, Progress())
    assert set(np.unique(found.twin_scores["a"])) == {-3.0, 3.0}
    moved = (found.twin_scores["a"] != audit.factual[:, 1]).mean(axis=1)
    np.testing.assert_allclose(moved, 0.5, atol=0.15)  # the halves' own shares, and 300 people
    assert len({world.tobytes() for world in found.twin_scores["a"]}) == 4
    assert found.plausibility.between_levels.all()  # 1.5 S moves the own twins by 3, half of the way or beyond the end
