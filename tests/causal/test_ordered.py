"""Levels cut from one number, against levels that have no order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.mechanisms import Category
from cfad_core.causal.ordered import fit_ordered, level_order, shares_of
from tests.causal.worlds import given, groups, learn

COLUMNS = Columns(
    ("S", "x", "c = 0", "c = 1", "c = 2", "c = 3"),
    "S",
    ("S", "x", "c", "c", "c", "c"),
    {"S": "category", "x": "number", "c": "category"},
    comparable_units=False,
)


def test_shares_by_hand() -> None:
    found = shares_of(np.array([0.0, 1.0]), np.array([-1.0, 1.0]))
    np.testing.assert_allclose(found[0], [expit(-1.0), expit(1.0) - expit(-1.0), 1.0 - expit(1.0)])
    np.testing.assert_allclose(found[1], [expit(-2.0), 0.5 - expit(-2.0), 0.5])


def test_the_fit_has_the_highest_likelihood() -> None:
    """Against a search without gradients, from other numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2)) * [1.0, 5.0] + [0.0, 40.0]
    latent = X @ [0.8, 0.2] - 8.0 + rng.logistic(size=800)
    y = (latent[:, None] > [-1.0, 0.5, 2.0]).sum(axis=1)
    found = fit_ordered(X, y, 4)

    def loss(z: np.ndarray) -> float:
        cuts = np.cumsum([z[0], np.exp(z[1]), np.exp(z[2])])
        return -float(np.log(shares_of((X - [0.0, 40.0]) @ z[3:], cuts)[np.arange(800), y]).mean())

    best = minimize(loss, np.array([-0.5, 0.1, 0.1, 0.5, 0.1]), method="Nelder-Mead", options={"maxiter": 4000})
    own = np.log(shares_of(X @ found.weights, found.cuts)[np.arange(800), y]).mean()
    assert found.mean_log_likelihood == pytest.approx(own, abs=1e-9)
    assert own >= -best.fun - 2e-5
    np.testing.assert_allclose(found.weights, best.x[3:], atol=0.02)
    assert (np.diff(found.cuts) > 0.0).all()


def test_the_order_of_levels_is_found_whatever_they_are_called() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    place = ((2.0 * x + rng.logistic(size=3000))[:, None] > [-1.5, 0.0, 1.5]).sum(axis=1)
    names = np.array([2, 0, 3, 1])  # of the places
    found = level_order(x[:, None], names[place], 4)
    by_place = found[names]
    assert by_place.tolist() in ([0, 1, 2, 3], [3, 2, 1, 0])


@pytest.mark.parametrize("seed", range(6))
def test_ordered_and_nominal_levels_are_distinguished(seed: int) -> None:
    """S and a number act on four levels: through one latent number that is cut, or on each level by itself."""
    rng = np.random.default_rng(seed)
    n = 3000
    s, x = groups(n, rng), rng.normal(size=n)
    latent = 0.8 * s + 1.2 * x + rng.logistic(size=n)
    cut = (latent[:, None] > [-1.5, 0.0, 1.5]).sum(axis=1)
    scores = np.outer(s, [0.8, -0.8, 0.0, 0.3]) + np.outer(x, [0.0, 0.9, -0.9, 0.4]) + rng.gumbel(size=(n, 4))
    for level, is_ordered in ((rng.permutation(4)[cut], True), (scores.argmax(axis=1), False)):
        model = learn(np.column_stack([s, x, np.eye(4)[level]]), COLUMNS, given((("S", "c"), ("x", "c"))))
        mechanism = model.mechanisms[2]
        assert isinstance(mechanism, Category)
        assert mechanism.is_ordered is is_ordered
