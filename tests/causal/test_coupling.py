"""From a person's level to their twin's: whatever the way, twins have the other world's probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from cfad_core.causal.mechanisms.coupling import along_order, by_gumbel, fewest_moves
from cfad_core.core.arrays import Floats

PAIRS = [
    ([0.8, 0.2], [0.3, 0.7]),
    ([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]),
    ([0.1, 0.1, 0.8], [0.6, 0.3, 0.1]),
    ([0.4, 0.4, 0.2], [0.4, 0.4, 0.2]),
    ([0.05, 0.25, 0.3, 0.4], [0.4, 0.05, 0.35, 0.2]),
]
N = 40_000


def chance(seed: int) -> Callable[[int], Floats]:
    return lambda purpose: np.random.default_rng([seed, purpose]).random(N)


def ordered(level: np.ndarray, p: Floats, q: Floats, drawn: Callable[[int], Floats]) -> np.ndarray:
    return along_order(level, p, q, drawn(0))


COUPLINGS = {"ordered": ordered, "nominal": by_gumbel, "fewest": fewest_moves}


def people(p: list[float], q: list[float]) -> tuple[np.ndarray, Floats, Floats]:
    """Levels with exactly the probabilities p, and p and q of each person."""
    level = np.repeat(np.arange(len(p)), np.round(np.array(p) * N).astype(int))
    return level, np.tile(p, (N, 1)), np.tile(q, (N, 1))


@pytest.mark.parametrize("way", COUPLINGS)
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_twins_have_the_probabilities_of_the_other_world(way: str, p: list[float], q: list[float]) -> None:
    now = COUPLINGS[way](*people(p, q), chance(1))
    counts = np.bincount(now, minlength=len(q))
    expected = N * np.array(q)
    assert float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(q) - 1)) > 1e-3


@pytest.mark.parametrize("way", COUPLINGS)
def test_where_nothing_changes_nobody_moves(way: str) -> None:
    level, p, _ = people([0.4, 0.4, 0.2], [0.4, 0.4, 0.2])
    assert np.array_equal(COUPLINGS[way](level, p, p, chance(2)), level)


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_fewest_moves_are_the_fewest(p: list[float], q: list[float]) -> None:
    """Nobody can do with fewer than half the difference of the shares; who moves leaves a level that loses."""
    level, here, there = people(p, q)
    moved = {way: (couple(level, here, there, chance(3)) != level).mean() for way, couple in COUPLINGS.items()}
    must = 0.5 * np.abs(np.array(p) - q).sum()
    error = 4.0 * np.sqrt(0.25 / N)
    assert moved["fewest"] == pytest.approx(must, abs=error)
    assert min(moved.values()) > must - error
    now = fewest_moves(level, here, there, chance(3))
    loses = np.array(q) < p
    assert loses[level[now != level]].all()
    assert not loses[now[now != level]].any()


def test_of_two_levels_all_ways_agree() -> None:
    """As many move, in the one direction that they must, and each with the probability 1 - q / p."""
    for p, q in (([0.8, 0.2], [0.3, 0.7]), ([0.1, 0.9], [0.6, 0.4])):
        level, here, there = people(p, q)
        loser = int(np.argmax(np.array(p) - q))
        for couple in COUPLINGS.values():
            now = couple(level, here, there, chance(4))
            assert (now[level != loser] == level[level != loser]).all()
            stayed = (now[level == loser] == loser).mean()
            assert stayed == pytest.approx(q[loser] / p[loser], abs=0.015)


def test_along_an_order_nobody_overtakes() -> None:
    """The transport is the one of quantiles: shares by hand."""
    level, p, q = people([0.5, 0.3, 0.2], [0.2, 0.5, 0.3])
    now = ordered(level, p, q, chance(5))
    table = np.zeros((3, 3))
    np.add.at(table, (level, now), 1.0 / N)
    np.testing.assert_allclose(table, [[0.2, 0.3, 0.0], [0.0, 0.2, 0.1], [0.0, 0.0, 0.2]], atol=0.01)


def test_gumbel_against_noise_that_is_drawn() -> None:
    """Draw the noise of every level, see who wins here and there: the same table of moves."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    noise = np.random.default_rng(0).gumbel(size=(200_000, 3))
    here, there = (np.log(p) + noise).argmax(axis=1), (np.log(q) + noise).argmax(axis=1)
    expected = np.zeros((3, 3))
    np.add.at(expected, (here, there), 1.0 / len(noise))
    level, first, second = people(list(p), list(q))
    found = np.zeros((3, 3))
    np.add.at(found, (level, by_gumbel(level, first, second, chance(6))), 1.0 / N)
    np.testing.assert_allclose(found, expected, atol=0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_each_person_by_their_own_probabilities(seed: int, levels: int) -> None:
    """Every level that comes out is one, and probabilities of (nearly) 0 are respected."""
    rng = np.random.default_rng(seed)
    n = 300
    p, q = (rng.dirichlet(np.full(levels, 0.3), n) + 1e-6 for _ in range(2))
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    level = np.array([rng.choice(levels, p=row) for row in p])
    for couple in COUPLINGS.values():
        now = couple(level, p, q, lambda purpose: np.random.default_rng([seed, purpose]).random(n))
        assert now.min() >= 0
        assert now.max() < levels
        assert (q[np.arange(n), now] > 1e-5).mean() > 0.98
