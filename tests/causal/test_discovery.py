from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.linear_model import LinearRegression

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.joint import JointFit
from cfad_core.causal.discovery.moments import Moments, collect_moments
from cfad_core.causal.discovery.refit import fit_on_graph, squared_error, supported_edges
from cfad_core.causal.discovery.score_matching import _Objective
from cfad_core.causal.discovery.search import learn_model
from cfad_core.causal.graph import find_cycle, structural_hamming_distance
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import AuditCancelled, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.sets.synthetic import generate_synthetic, simulate
from tests.conftest import Recorder

NAMES = ["S", "A", "B", "C", "D"]
COLUMNS, SELECTED = (Columns(tuple(NAMES), "S", rows_were_selected=selected) for selected in (False, True))
TRUE = np.zeros((5, 5))
TRUE[0, 1], TRUE[1, 2], TRUE[0, 3], TRUE[2, 4], TRUE[3, 4] = 0.9, -0.8, 0.7, 0.9, 0.8
QUICK_PAPER = DiscoveryConfig(mode="paper", batch_size=256, rounds=6, steps_per_round=40, decoder_steps=100)


def draw_world(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    s = rng.choice([-1.0, 1.0], n)
    return simulate(TRUE, [0, 1, 2, 3, 4], s, rng.standard_normal((5, n))).T.copy()


def messages(moments: Moments, c: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(moments.slope > 0.0, moments.slope * x, Spline(moments.basis, c)(x))


def test_the_sums_do_not_depend_on_the_batches() -> None:
    x = draw_world(500)
    whole, parts = (collect_moments(x, 10, size, Progress()) for size in (500, 7))
    np.testing.assert_allclose(whole.splines, parts.splines, atol=1e-12)
    np.testing.assert_allclose(whole.cross, parts.cross, atol=1e-12)


def test_the_objective_is_the_mean_squared_error() -> None:
    x = draw_world(300)
    moments = collect_moments(x, 10, 64, Progress())
    rng = np.random.default_rng(1)
    weights, c = rng.normal(size=(5, 5)), moments.normalised(rng.normal(size=10))
    residual = x - messages(moments, c, x) @ weights - moments.intercept(weights, c)
    assert squared_error(moments, weights, c) == pytest.approx(0.5 * (residual**2).sum(axis=1).mean())
    assert np.abs(residual.mean(axis=0)).max() < 1e-10


def test_the_gradient_of_the_augmented_lagrangian() -> None:
    x = draw_world(200)
    moments = collect_moments(x, 8, 64, Progress())
    belongs = np.zeros((5, 4))  # the last two columns are one variable
    belongs[[0, 1, 2, 3, 4], [0, 1, 2, 3, 3]] = 1.0
    problem = JointFit(moments, ~np.eye(5, dtype=bool), belongs, 0.05)
    z = np.random.default_rng(2).uniform(0.1, 0.5, 2 * problem.n_edges + 8)
    error = check_grad(
        lambda v: problem.value_and_gradient(v, 3.0, 0.7)[0], lambda v: problem.value_and_gradient(v, 3.0, 0.7)[1], z
    )
    assert error < 1e-4


def test_the_score_matching_objective_is_the_textbook_one() -> None:
    """Against autograd on log p(x | s) of one row at a time."""
    import torch

    x = draw_world(6)
    basis = SplineBasis(-9.0, 9.0, 8)
    rng = np.random.default_rng(4)
    a = torch.from_numpy(TRUE * rng.normal(1.0, 0.1, TRUE.shape))
    c, b = torch.from_numpy(rng.normal(size=8)), torch.from_numpy(rng.normal(size=5))
    log_sigma = torch.tensor(0.2, dtype=torch.float64)
    moments = dataclasses.replace(collect_moments(x, 8, 64, Progress()), basis=basis)
    objective = _Objective(x, moments, TRUE != 0, sensitive=0)
    objective.penalty = torch.zeros(8, 8, dtype=torch.float64)

    def log_density(row: np.ndarray) -> float:
        noise = (row - messages(moments, c.numpy(), row) @ (a.numpy() * (TRUE != 0)) - b.numpy())[1:]
        return float(-0.5 * (noise**2).sum() / np.exp(2 * 0.2))

    total, h = 0.0, 1e-4
    for row in x:
        for k in range(1, 5):
            step = np.zeros(5)
            step[k] = h
            up, middle, down = log_density(row + step), log_density(row), log_density(row - step)
            total += 0.5 * ((up - down) / (2 * h)) ** 2 + (up - 2 * middle + down) / h**2
    assert float(objective(a, c, b, log_sigma)) == pytest.approx(total / len(x), rel=1e-4)


def test_columns_with_two_values_act_linearly() -> None:
    rng = np.random.default_rng(3)
    s, other = rng.choice([-1.0, 1.0], 2000), rng.choice([0.0, 7.0], 2000)
    x = np.column_stack([s, other, 1.5 * s - 0.4 * other + rng.normal(0.0, 0.5, 2000)])
    scm = learn_model(x, Columns(("S", "other", "effect"), "S"), knowledge=Knowledge(roots=("other",)))
    assert scm.slope is not None
    np.testing.assert_allclose(scm.slope, [1.0 / s.std(), 1.0 / other.std(), 0.0])
    np.testing.assert_allclose((scm.weights * scm.slope[:, None])[:2, 2], [1.5, -0.4], atol=0.03)
    moved = scm.twins(x) - x
    np.testing.assert_allclose(moved[:, 2], -2.0 * 1.5 * s, atol=0.1)


def test_a_table_of_two_valued_columns_alone_has_a_graph() -> None:
    rng = np.random.default_rng(3)
    s = rng.choice([-1.0, 1.0], 500)
    x = np.column_stack([s, np.where(rng.random(500) < 0.8, s, -s), rng.choice([0.0, 1.0], 500)])
    scm = learn_model(x, Columns(("S", "copy", "other"), "S"))
    assert scm.affected_names == ("copy",)


def test_edges_must_earn_their_weights() -> None:
    """An added regressor's share of the residual sum of squares, against scikit-learn's."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 4))
    x[:, 3] += 0.3 * x[:, 0] + 0.8 * x[:, 1]
    moments = collect_moments(x, 8, 64, Progress())
    line = Spline.interpolating(moments.basis, np.linspace(-4, 4, 50), np.linspace(-4, 4, 50)).coefficients
    edges = np.zeros((4, 4), dtype=bool)
    edges[:3, 3] = True

    def squares(parents: list[int]) -> float:
        fit = LinearRegression().fit(x[:, parents], x[:, 3])
        return float(((x[:, 3] - fit.predict(x[:, parents])) ** 2).sum())

    without = [squares([k for k in range(3) if k != j]) for j in range(3)]
    by_hand = [400 * np.log(rest / squares([0, 1, 2])) > np.log(400) for rest in without]
    assert supported_edges(moments, edges, moments.normalised(line), np.eye(4))[:3, 3].tolist() == by_hand
    assert by_hand == [True, True, False]


@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.05])
def test_of_two_causes_with_the_same_information_one_stays(noise: float) -> None:
    rng = np.random.default_rng(8)
    s = rng.choice([-1.0, 1.0], 1000)
    a = 1.5 * s + rng.normal(size=1000)
    b = 0.9 * a + rng.normal(size=1000)
    x = np.column_stack([s, a, a + noise * rng.normal(size=1000), b])
    names = ("S", "a", "copy of a", "b")
    knowledge = Knowledge(tiers=(("S",), ("a", "copy of a"), ("b",)))
    scm = learn_model(x, Columns(names, "S"), knowledge=knowledge)
    assert {"b"} <= set(scm.affected_names)
    moved = (scm.twins(x) - x) * -s[:, None]
    np.testing.assert_allclose(moved[:, 3].mean(), 2 * 1.5 * 0.9, atol=0.3)


def test_a_category_is_one_variable_that_must_earn_all_its_weights() -> None:
    rng = np.random.default_rng(6)
    level = rng.integers(0, 3, 600)
    one_hot = np.eye(3)[level]
    noise, effect = rng.normal(size=600), one_hot @ [0.0, 1.0, 2.0] + rng.normal(size=600)
    s = rng.choice([-1.0, 1.0], 600)
    x = np.column_stack([s, one_hot, noise, effect])
    names = ("S", "c = 0", "c = 1", "c = 2", "noise", "effect")
    variables = ("S", "c", "c", "c", "noise", "effect")
    scm = learn_model(x, Columns(names, "S", variables), knowledge=Knowledge(roots=("c", "noise")))
    known, strengths = scm.strengths()
    assert {(known[j], known[i]) for j, i in np.argwhere(strengths)} == {("c", "effect")}


def test_joint_discovery_finds_a_small_world() -> None:
    x = draw_world(4000)
    scm = learn_model(x, COLUMNS, seed=0)
    assert structural_hamming_distance(scm.weights != 0, TRUE != 0) == 0
    rng = np.random.default_rng(9)
    s, noise = rng.choice([-1.0, 1.0], 500), rng.standard_normal((5, 500))
    here, there = (simulate(TRUE, [0, 1, 2, 3, 4], sign * s, noise).T.astype(np.float64) for sign in (1.0, -1.0))
    flipped = here * np.array([-1.0, 1, 1, 1, 1])
    error = np.linalg.norm(scm.twins(here) - there, axis=1).mean()
    assert error < 0.15 * np.linalg.norm(flipped - there, axis=1).mean()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 4])
def test_selected_rows_still_give_the_true_graph(seed: int) -> None:
    data = generate_synthetic(seed)
    names = list(data.adjacency.columns)
    columns = Columns(tuple(names), "S", rows_were_selected=True)
    scm = learn_model(data.train[names].to_numpy(float), columns, seed=seed)
    assert structural_hamming_distance(scm.weights != 0, data.adjacency.to_numpy() != 0) <= 3
    here, there = data.test[names].to_numpy(float), data.test_counterfactual[names].to_numpy(float)
    flipped = here.copy()
    flipped[:, 0] *= -1.0
    error = np.linalg.norm(scm.twins(here) - there, axis=1).mean()
    assert error < 0.20 * np.linalg.norm(flipped - there, axis=1).mean()


def test_score_matching_is_used_for_selected_rows_only() -> None:
    x = draw_world(800)
    for columns in (SELECTED, COLUMNS):
        recorder = Recorder()
        learn_model(x, columns, progress=recorder)
        assert ("edge selection" in recorder.stages()) == columns.rows_were_selected
    rounded = x.copy()
    rounded[:, 2] = np.round(rounded[:, 2])
    recorder = Recorder()
    learn_model(rounded, SELECTED, progress=recorder)
    assert "edge selection" not in recorder.stages()


def test_paper_mode_learns_a_dag_and_a_function() -> None:
    recorder = Recorder()
    x = draw_world(1500)
    scm = learn_model(x, COLUMNS, config=QUICK_PAPER, progress=recorder)
    assert find_cycle(scm.weights != 0) == []
    assert scm.weights[:, 0].any() == np.False_
    before = 0.5 * x.var(axis=0).sum()
    after = 0.5 * ((x - scm.reconstruct(x)) ** 2).sum(axis=1).mean()
    assert after < before
    discovery = [values for stage, _, _, values in recorder.heard if stage == "discovery"]
    assert {"loss", "h", "edges"} <= set(discovery[0])
    assert recorder.stages() == ["discovery", "refit"]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6))
def test_any_data_give_a_dag_that_respects_knowledge(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(80, d)) @ rng.normal(size=(d, d))
    x[:, 0] = np.where(np.arange(80) % 2, 1.0, -1.0)
    names = [f"V{k}" for k in range(d)]
    knowledge = Knowledge(forbidden=(("V0", "V1"),), required=(("V2", "V1"),))
    config = DiscoveryConfig(rounds=3, basis_size=6, prune=0.01)
    scm = learn_model(x, Columns(tuple(names), "V0"), config=config, knowledge=knowledge, seed=seed)
    assert find_cycle(scm.weights != 0) == []
    assert scm.weights[0, 1] == 0.0
    assert scm.weights[2, 1] != 0.0
    assert not scm.weights[:, 0].any()


@pytest.mark.slow
@pytest.mark.parametrize("config", [DiscoveryConfig(), QUICK_PAPER], ids=["joint", "paper"])
def test_the_same_seed_gives_the_same_model(config: DiscoveryConfig) -> None:
    x = draw_world(400)
    first, second = (learn_model(x, COLUMNS, config=config, seed=5) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.f.coefficients, second.f.coefficients)


def test_roots_stay_roots() -> None:
    scm = learn_model(draw_world(1000), COLUMNS, knowledge=Knowledge(roots=("D",)))
    assert not scm.weights[:, 4].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "stage"),
    [
        (DiscoveryConfig(), "discovery"),
        (DiscoveryConfig(), "edge selection"),
        (DiscoveryConfig(), "refit"),
        (QUICK_PAPER, "discovery"),
        (QUICK_PAPER, "refit"),
    ],
)
def test_discovery_can_be_cancelled(config: DiscoveryConfig, stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
        learn_model(draw_world(800), SELECTED, config=config, progress=recorder)
    assert sum(heard == stage for heard, *_ in recorder.heard) == 1  # it stopped at once


def test_refitting_an_empty_graph_is_fine() -> None:
    x = draw_world(200)
    moments = collect_moments(x, 8, 64, Progress())
    weights, _ = fit_on_graph(moments, np.zeros((5, 5), dtype=bool), np.ones(8), Progress())
    assert not weights.any()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x: x[:20], "at least 50 rows; got 20"),
        (lambda x: np.where(x == x[0, 1], np.nan, x), "finite numbers"),
        (lambda x: np.where(x == x[0, 1], np.inf, x), "finite numbers"),
        (lambda x: np.column_stack([np.ones(len(x)), x[:, 1:]]), "'S' must hold -1 and \\+1"),
        (lambda x: x[:, :3], r"Expected rows of 5 variables; got an array of shape \(300, 3\)"),
    ],
)
def test_unusable_rows_are_refused(spoil: Callable[[Floats], Floats], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        learn_model(spoil(draw_world(300)), COLUMNS)
