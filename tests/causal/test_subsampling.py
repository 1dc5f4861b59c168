from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.optimize import check_grad

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.joint import JointFit
from cfad_core.causal.discovery.moments import collect_moments
from cfad_core.causal.discovery.search import Search
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.spline import Spline
from cfad_core.causal.subsampling import _emphasis, learn_from_halves
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from tests.causal.test_discovery import NAMES, TRUE, draw_world
from tests.conftest import Recorder

QUIET = Progress()
Splits = list[tuple[np.ndarray, np.ndarray]]


def prepare(x: np.ndarray, knowledge: Knowledge | None = None, *, selected: bool = False) -> Search:
    config = DiscoveryConfig(basis_size=10)
    columns = Columns(tuple(NAMES[: x.shape[1]]), "S", rows_were_selected=selected)
    return Search.prepare(x, columns, config, knowledge or Knowledge())


def halve(n: int, pairs: int, seed: int = 0) -> Splits:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(pairs)]
    return [(np.sort(order[: n // 2]), np.sort(order[n // 2 :])) for order in orders]


def edges(model: StructuralModel) -> set[tuple[str, str]]:
    return {(model.names[j], model.names[i]) for j, i in np.argwhere(model.weights != 0.0)}


@pytest.mark.parametrize("selected", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_warm_start_finds_what_a_cold_one_finds(selected: bool) -> None:
    """Whether weights decide which edges there are, or, since rows were selected, score matching."""
    x = draw_world(3000)
    search = prepare(x, selected=selected)
    assert search.by_score == selected
    splits = halve(len(x), 1)
    models = learn_from_halves(x, search, splits, seed=3, progress=QUIET)
    assert len(models) == 2 * len(splits)
    halves = [rows for split in splits for rows in split]
    for model, rows in zip(models, halves, strict=True):
        cold = search.learn(x[rows], collect_moments(x[rows], 10, 4096, QUIET), np.random.default_rng(9), QUIET)
        assert edges(model) == edges(cold)
        assert (model.weights != 0.0).tolist() == (TRUE != 0.0).tolist()
        moved, expected = (one.counterfactual(x[:200]) - x[:200] for one in (model, cold))
        assert np.abs(moved - expected).mean() < 0.05  # of moves that are 2 on average
    assert len({model.weights.tobytes() for model in models}) == len(models)


def test_each_model_knows_its_own_half_only() -> None:
    """In the first half of the rows S lifts A by 2, in the second it lowers A by 2."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1.0, 1.0], 800)
    regime = np.where(np.arange(800) < 400, 2.0, -2.0)
    x = np.column_stack([s, regime * s + rng.normal(size=800)])
    early, late = np.arange(400), np.arange(400, 800)
    search = prepare(x, Knowledge(required=(("S", "A"),), complete=True))
    people = np.array([[-1.0, 0.0]])
    splits = [(early, late), (late, early)]
    models = learn_from_halves(x, search, splits, seed=0, progress=QUIET)
    moved = [model.counterfactual(people)[0, 1] for model in models]
    gap = [x[rows][s[rows] > 0, 1].mean() - x[rows][s[rows] < 0, 1].mean() for rows in (early, late)]
    np.testing.assert_allclose(
        moved, [gap[0], gap[1], gap[1], gap[0]], atol=1e-6
    )  # least squares on S: the group means
    np.testing.assert_allclose(gap, [4.0, -4.0], atol=0.4)


def test_the_same_seed_gives_the_same_models() -> None:
    x = draw_world(600)
    search, splits = prepare(x), halve(600, 2)
    first, again = (learn_from_halves(x, search, splits, seed=5, progress=QUIET) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.weights, other.weights)
        assert np.array_equal(one.f.coefficients, other.f.coefficients)
        assert np.array_equal(one.intercept, other.intercept)


def test_the_rows_are_left_as_they_were() -> None:
    x = draw_world(400)
    before = x.copy()
    learn_from_halves(x, prepare(x), halve(400, 1), seed=0, progress=QUIET)
    assert np.array_equal(x, before)


def test_knowledge_holds_in_every_half() -> None:
    x = draw_world(600)
    known = Knowledge(forbidden=(("S", "A"), ("S", "C")), required=(("C", "B"),))
    for model in learn_from_halves(x, prepare(x, known), halve(600, 2), seed=0, progress=QUIET):
        assert not {("S", "A"), ("S", "C")} & edges(model)
        assert ("C", "B") in edges(model)
        assert not model.weights[:, 0].any()


def test_a_complete_graph_is_the_graph_of_every_half() -> None:
    x = draw_world(600)
    ready = (("S", "A"), ("A", "B"), ("S", "D"))
    for model in learn_from_halves(x, prepare(x, Knowledge(required=ready, complete=True)), halve(600, 2), 0, QUIET):
        assert edges(model) == set(ready)


def test_knowledge_that_leaves_no_edge() -> None:
    x = draw_world(300)
    models = learn_from_halves(x, prepare(x, Knowledge(roots=tuple(NAMES[1:]))), halve(300, 1), 0, QUIET)
    for model in models:
        assert edges(model) == set()
        assert np.array_equal(model.counterfactual(x)[:, 1:], x[:, 1:])


@pytest.mark.parametrize("seed", range(4))
def test_a_half_may_lack_the_only_row_with_a_value(seed: int) -> None:
    """A column that is constant in one half, whether of two values or of three, breaks nothing and is alone there."""
    x = draw_world(240, seed)
    rare = np.zeros((240, 2))
    rare[7], rare[11, 1] = 1.0, 2.0
    x = np.column_stack([x[:, :3], rare])
    splits = halve(240, 2, seed)
    models = learn_from_halves(x, prepare(x), splits, seed, QUIET)
    assert any(np.ptp(x[rows, 3]) == 0.0 for split in splits for rows in split)
    for model, rows in zip(models, (rows for split in splits for rows in split), strict=True):
        constant = np.flatnonzero(np.ptp(x[rows], axis=0) == 0.0)
        assert not model.weights[constant].any()
        assert not model.weights[:, constant].any()
        assert np.abs(model.counterfactual(x) - x).max() < 10.0


def test_columns_that_are_constant_in_a_half_are_not_each_others_cause() -> None:
    """Nothing causes anything here; what rounding leaves of two constant columns must not pass for an edge."""
    rng = np.random.default_rng(6)
    one, other = (np.where(np.arange(240) == k, 3.0, -3.0) for k in (7, 11))
    x = np.column_stack([rng.choice([-1.0, 1.0], 240), rng.normal(size=(240, 2)), one, other])
    splits = halve(240, 3, seed=6)
    assert any(not {7, 11} & set(rows) for split in splits for rows in split)
    for model in learn_from_halves(x, prepare(x), splits, 6, QUIET):
        assert not edges(model)


def test_progress_reports_each_model_and_nothing_else() -> None:
    x = draw_world(300)
    recorder = Recorder()
    learn_from_halves(x, prepare(x), halve(300, 2), seed=0, progress=recorder)
    assert recorder.heard == [("subsample models", k, 4, {}) for k in (1, 2, 3, 4)]


class Impatient(Progress):
    """Asks to stop when it was asked for the n-th time."""

    def __init__(self, n: int) -> None:
        self.left, self.heard = n, 0

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.heard += 1

    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("n", [1, 2, 10])
def test_it_stops_in_the_middle_of_a_model(n: int) -> None:
    x = draw_world(300)
    impatient = Impatient(n)
    with pytest.raises(AuditCancelled, match="during 'subsample models'"):
        learn_from_halves(x, prepare(x), halve(300, 2), seed=0, progress=impatient)
    assert impatient.left == 0
    assert impatient.heard == 0  # no model was finished yet


def test_it_stops_after_a_model() -> None:
    x = draw_world(300)
    recorder = Recorder(stop_in="subsample models")
    with pytest.raises(AuditCancelled, match="during 'subsample models'"):
        learn_from_halves(x, prepare(x), halve(300, 2), seed=0, progress=recorder)
    assert len(recorder.heard) == 1


def test_graphs_assume_other_noise() -> None:
    """Each up to 1.5 (or 4) times as much or as little; all columns of a variable the same; each graph its own."""
    x = np.column_stack([draw_world(300)[:, :3], np.sign(draw_world(300, 1)[:, 1:3])])
    variables = ("S", "A", "B", "C", "C")
    for comparable, largest in ((True, 1.5), (False, 4.0)):
        columns = Columns(tuple(NAMES), "S", variables, comparable_units=comparable)
        search = Search.prepare(x, columns, DiscoveryConfig(), Knowledge())
        found = np.array([_emphasis(search, np.random.default_rng(seed)) for seed in range(400)])
        assert found.shape == (400, 5)
        assert np.array_equal(found[:, 3], found[:, 4])
        assert np.array_equal(found[3], _emphasis(search, np.random.default_rng(3)))
        noise = found**-0.5
        assert 0.98 * largest < noise.max() <= largest
        assert 1.0 / largest <= noise.min() < 1.02 / largest
        np.testing.assert_allclose(np.log(noise[:, :4]).mean(axis=0), 0.0, atol=0.16)  # as often more as less


def test_emphasis_weighs_the_squared_errors() -> None:
    """The objective is half the mean of the weighted squares, and its gradient that of finite differences."""
    x = draw_world(200)
    moments = collect_moments(x, 8, 64, QUIET)
    weight = np.array([1.0, 0.3, 2.0, 0.7, 1.6])
    problem = JointFit(moments, ~np.eye(5, dtype=bool), np.eye(5), 0.05, weight)
    z = np.random.default_rng(2).uniform(0.1, 0.5, problem.size)
    weights, c = problem.unpack(z)
    message = np.where(moments.slope > 0.0, moments.slope * x, Spline(moments.basis, c)(x))
    residual = x - message @ weights - moments.intercept(weights, c)
    by_hand = 0.5 * (residual**2 @ weight).mean() + 0.05 * z[:40].sum() + c @ problem.penalty @ c
    assert problem.value_and_gradient(z, 0.0, 0.0)[0] == pytest.approx(by_hand)
    error = check_grad(
        lambda v: problem.value_and_gradient(v, 3.0, 0.7)[0], lambda v: problem.value_and_gradient(v, 3.0, 0.7)[1], z
    )
    assert error < 1e-4


def test_a_direction_that_depends_on_the_noise_comes_out_either_way() -> None:
    """Of two numbers alone nothing but the noise says which is the cause; which of S, never."""
    rng = np.random.default_rng(0)
    s = rng.choice([-1.0, 1.0], 400)
    a = rng.normal(size=400)
    x = np.column_stack([s, a, 0.5 * a + np.sqrt(0.75) * rng.normal(size=400)])
    models = learn_from_halves(x, prepare(x), halve(400, 10), seed=0, progress=QUIET)
    found = [edges(model) & {("A", "B"), ("B", "A")} for model in models]
    assert {("A", "B")} in found
    assert {("B", "A")} in found
