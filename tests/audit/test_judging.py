"""What other causal models say, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cfad_core.audit import judging
from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.judging import draws_of, judge_people, sample_of
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from tests.audit.worlds import TWO_GROUPS, linear_model
from tests.causal.test_several_groups import TWO, TWO_EDGES, two_attributes
from tests.causal.worlds import given, learn, learn_mixed, mixed_rows
from tests.conftest import Recorder

QUIET = Progress()


def score(people: Floats, whose: Rows | None = None) -> dict[str, Floats]:
    return {"a": people[:, 1], "b": people[:, 2]}


def people(n: int = 60) -> Floats:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.choice([-1.0, 1.0], n), rng.normal(size=(n, 2))])


def test_every_model_makes_as_many_twins_as_are_needed() -> None:
    assert [draws_of(models) for models in (0, 1, 2, 3, 4, 8, 15, 16, 17, 40)] == [16, 16, 8, 6, 4, 2, 2, 1, 1, 1]


def test_twins_by_hand() -> None:
    """Four models with other effects, four twins each: of additive models all four are the same."""
    x = people()
    found = judge_people([linear_model(effect, 1.0) for effect in (2.0, 1.5, 3.0, 3.0)], x, TWO_GROUPS, score, 5, QUIET)
    s, a, b = x.T
    moved = [-2.0 * s * effect for effect in (2.0, 1.5, 3.0, 3.0) for _ in range(4)]
    np.testing.assert_allclose(found.twin_scores["a"][:, 0], a + moved, atol=1e-12)
    np.testing.assert_allclose(found.twin_scores["b"][:, 0], b + moved, atol=1e-12)
    np.testing.assert_allclose(found.returned["a"][:, 0], [a - s, a], atol=1e-12)
    np.testing.assert_allclose(found.returned_by_same["a"][:, 0], [a, a], atol=1e-12)
    assert np.array_equal(found.went, np.arange(60))
    assert np.array_equal(found.people, np.arange(60))
    assert found.people.dtype == np.int64


def test_where_levels_are_drawn_twins_differ_by_draw() -> None:
    model, x = learn_mixed(600), mixed_rows(200, seed=1)

    def owner(some: Floats, whose: Rows) -> dict[str, Floats]:
        return {"owner": some[:, 7]}

    models: list[CausalModel] = [model, model]
    found = judge_people(models, x, TWO_GROUPS, owner, 0, QUIET)
    assert found.twin_scores["owner"].shape == (16, 1, 200)
    for draw in range(8):
        expected = model.twins(x, draw)[:, 7]
        assert np.array_equal(found.twin_scores["owner"][draw, 0], expected)
        assert np.array_equal(found.twin_scores["owner"][8 + draw, 0], expected)
    assert len({row.tobytes() for row in found.twin_scores["owner"][:8]}) == 8
    assert np.array_equal(found.returned["owner"][0, 0], model.twins(model.twins(x))[:, 7])
    assert np.array_equal(found.returned["owner"], found.returned_by_same["owner"])


def test_every_model_makes_twins_for_every_move() -> None:
    """Two attributes: each move of either, and one to other groups of both, which take turns from twin to twin."""
    plan = plan_comparisons(("S", "T"), (("0", "1"), ("0", "1", "2")))
    models: list[CausalModel] = [learn(two_attributes(800, seed=k), TWO, given(TWO_EDGES), seed=k) for k in range(4)]
    x = two_attributes(90, seed=9)

    def scores(some: Floats, whose: Rows) -> dict[str, Floats]:
        return {"b": some[:, 2], "c": some[:, 3]}

    found = judge_people(models, x, plan, scores, 5, QUIET)
    assert found.twin_scores["b"].shape == (16, 4, 90)
    state = plan.states.of_codes(x[:, 0])
    for r, move in itertools.product(range(16), range(4)):
        twins = models[r // 4].twins(x, r % 4, to=plan.targets(state, move, turn=r))
        assert np.array_equal(found.twin_scores["b"][r, move], twins[:, 2])
        assert np.array_equal(found.twin_scores["c"][r, move], twins[:, 3])
    assert found.returned["b"].shape == found.returned_by_same["b"].shape == (2, 3, 90)
    for pair, (k, comparison) in itertools.product(range(2), enumerate(plan.comparisons)):
        there = models[2 * pair].twins(x, to=plan.in_turn(state, comparison, turn=pair))
        back, by_same = (models[2 * pair + other].twins(there, to=state) for other in (1, 0))
        assert np.array_equal(found.returned["b"][pair, k], back[:, 2])
        assert np.array_equal(found.returned_by_same["b"][pair, k], by_same[:, 2])
        same = np.isclose(found.returned_by_same["b"][pair, k], x[:, 2], atol=1e-9)  # nothing is drawn
        assert same.mean() > 0.9  # but who is beyond all that was seen is cut off


def test_of_many_people_some_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_JUDGED", 25)
    x = people()
    found, again, other = (
        judge_people([linear_model(2.0, 1.0)] * 2, x, TWO_GROUPS, score, seed, QUIET) for seed in (5, 5, 6)
    )
    assert found.people.shape == (25,)
    assert np.array_equal(found.people, np.unique(found.people))
    assert found.people.max() > 25
    assert np.array_equal(found.people, again.people)
    assert not np.array_equal(found.people, other.people)
    np.testing.assert_allclose(found.twin_scores["a"][0, 0], (x[:, 1] - 4.0 * x[:, 0])[found.people], atol=1e-12)


def test_a_sample_is_all_or_a_part() -> None:
    rows = np.arange(10)
    assert sample_of(rows, 10, np.random.default_rng(0)) is rows
    some = sample_of(rows, 4, np.random.default_rng(0))
    assert len(set(some)) == 4
    assert some.tolist() == sorted(some)


def test_one_judge_has_nobody_to_return_by_and_none_says_nothing() -> None:
    one = judge_people([linear_model(2.0, 1.0)], people(), TWO_GROUPS, score, 0, QUIET)
    assert one.twin_scores["a"].shape == (16, 1, 60)
    assert one.returned == one.returned_by_same == {}
    nobody = judge_people([], people(), TWO_GROUPS, score, 0, QUIET)
    assert nobody.twin_scores == {}
    assert len(nobody.people) == 60


def test_progress_and_stopping() -> None:
    recorder = Recorder()
    judge_people([linear_model(2.0, 1.0)] * 4, people(), TWO_GROUPS, score, 0, recorder)
    assert recorder.stages() == ["judging"]
    steps = [step for _, step, _, _ in recorder.heard]
    assert steps == sorted(steps)
    assert steps[-1] == recorder.heard[-1][2] == 16
    with pytest.raises(AuditCancelled, match="during 'judging'"):
        judge_people([linear_model(2.0, 1.0)] * 4, people(), TWO_GROUPS, score, 0, Recorder(stop_in="judging"))
