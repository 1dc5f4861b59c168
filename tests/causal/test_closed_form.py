"""Peer check: twins by a model that was learned from data, against linear algebra on the weights of the true world."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import learn_model
from cfad_core.core.config import Knowledge

NAMES = ["S", "A", "B", "C", "D"]
WEIGHTS = np.zeros((5, 5))
WEIGHTS[0, 1], WEIGHTS[1, 2], WEIGHTS[0, 3], WEIGHTS[2, 4], WEIGHTS[3, 4] = 0.9, -0.8, 0.7, 0.9, 0.8
EDGES = tuple((NAMES[j], NAMES[i]) for j, i in np.argwhere(WEIGHTS))
N = 20_000


def linear_world(n: int, seed: int) -> np.ndarray:
    """x = W^T x + u, the noise of all alike; S is -1 or +1."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, 5))
    noise[:, 0] = rng.choice([-1.0, 1.0], n)
    return noise @ np.linalg.inv(np.eye(5) - WEIGHTS)


@pytest.mark.parametrize(
    "knowledge",
    [Knowledge(), Knowledge(required=EDGES, complete=True)],
    ids=["discovered graph", "ready graph"],
)
def test_learned_twins_are_those_of_linear_algebra(knowledge: Knowledge) -> None:
    """x' = x + (s' - s) T with T = (I - W^T)^-1 e_S, the total effects of S.

    The standard error of a weight is sigma / (sd(cause) sqrt(n)) <= 1 / sqrt(20,000) = 0.007. A total effect is a sum
    of products of at most three weights below 1, over at most two paths, so its standard error is below
    sqrt(5) * 0.007 = 0.016; s' - s = 2 doubles it. Four standard errors are 0.13, for the average move. One person's
    own move also has what the splines of f bend where data are few: 0.15 as root mean square.
    """
    x, people = linear_world(N, seed=0), linear_world(2000, seed=1)
    scm = learn_model(x, Columns(tuple(NAMES), "S"), knowledge=knowledge)
    assert ((scm.weights != 0.0) == (WEIGHTS != 0.0)).all()
    effects = np.linalg.inv(np.eye(5) - WEIGHTS.T)[:, 0]
    np.testing.assert_allclose(effects, [1.0, 0.9, -0.72, 0.7, -0.088])  # D: 0.9 * -0.8 * 0.9 + 0.7 * 0.8
    moved = (scm.twins(people) - people) / (-2.0 * people[:, :1])
    np.testing.assert_allclose(moved.mean(axis=0), effects, atol=0.065)
    assert np.sqrt(((moved - effects) ** 2).mean(axis=0)).max() < 0.075
