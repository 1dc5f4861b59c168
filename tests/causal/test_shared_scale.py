"""The search where columns share a scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.joint import JointFit
from cfad_core.causal.discovery.moments import collect_moments
from cfad_core.causal.discovery.shared_scale import SharedScale
from cfad_core.causal.spline import Spline
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress
from tests.causal.test_discovery import NAMES, TRUE, draw_world

QUIET = Progress()


def prepare(x: Floats, *, selected: bool = False) -> SharedScale:
    columns = Columns(tuple(NAMES[: x.shape[1]]), "S", rows_were_selected=selected)
    return SharedScale.prepare(x, columns, DiscoveryConfig(basis_size=10), Knowledge(), QUIET)


@pytest.mark.parametrize("selected", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_all_rows_and_halves_give_the_true_graph_in_any_unit(selected: bool, factor: float) -> None:
    """Whether weights decide which edges there are, or, since rows were selected, score matching."""
    x = draw_world(3000)
    x[:, 1:] *= factor
    search = prepare(x, selected=selected)
    assert search.search.by_score == selected
    for rows in (None, np.arange(1500), np.arange(1500, 3000)):
        assert ((search.learn(rows, 3, QUIET).weights != 0.0) == (TRUE != 0.0)).all()


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
    s, a = rng.choice([-1.0, 1.0], 400), rng.normal(size=400)
    x = np.column_stack([s, a, 0.5 * a + np.sqrt(0.75) * rng.normal(size=400)])
    search = prepare(x)
    halves = [rng.permutation(400)[:200] for _ in range(20)]
    found = {
        (bool(edges[1, 2]), bool(edges[2, 1]))
        for edges in (search.learn(rows, seed, QUIET).weights != 0.0 for seed, rows in enumerate(halves))
    }
    assert {(True, False), (False, True)} <= found
