"""The kernel estimate finds densities that are known, whatever their form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.smoothing import bandwidth, improved_sheather_jones, silverman, smoothed

CELLS = 2048


def counted(scores: Floats) -> tuple[Floats, Floats, float]:
    """The counts of cells, their middles, and their width."""
    room = 0.5 * float(np.ptp(scores))
    edges = np.linspace(scores.min() - room, scores.max() + room, CELLS + 1)
    counts = np.histogram(scores, edges)[0].astype(np.float64)
    return counts, (edges[1:] + edges[:-1]) / 2.0, float(edges[1] - edges[0])


def error(counts: Floats, places: Floats, step: float, true: Callable[[Floats], Floats], width: float) -> float:
    return float(((smoothed(counts, width) / counts.sum() / step - true(places)) ** 2).sum() * step)


def test_the_area_and_the_mean_stay() -> None:
    counts, places, _ = counted(np.random.default_rng(0).normal(size=300))
    for width in (1.5, 10.0, 60.0):
        found = smoothed(counts, width)
        assert found.sum() == pytest.approx(300.0)
        assert found @ places == pytest.approx(counts @ places, abs=1e-3)
        assert found.min() >= 0.0


def test_it_is_the_sum_of_normal_kernels() -> None:
    scores = np.array([-1.0, 0.2, 0.3, 1.7])
    counts, places, step = counted(scores)
    found = smoothed(counts, 0.25 / step) / step
    exact = norm.pdf(places[:, None], scores, 0.25).sum(axis=1)
    assert np.abs(found - exact).max() < 0.005 * exact.max()


def test_what_falls_beyond_an_end_is_reflected() -> None:
    counts = np.zeros(100)
    counts[0] = 1.0
    at = np.arange(100)
    exact = norm.pdf(at, 0.0, 5.0) + norm.pdf(at, -1.0, 5.0)
    assert np.abs(smoothed(counts, 5.0) - exact).max() < 1e-6


Parts = tuple[tuple[float, float, float], ...]
"""Of a mixture of normal distributions: share, mean and standard deviation of each."""


def draw(n: int, parts: Parts) -> Floats:
    rng = np.random.default_rng(1)
    shares, means, widths = np.array(parts).T
    part = rng.choice(len(parts), n, p=shares)
    found: Floats = means[part] + widths[part] * rng.normal(size=n)
    return found


def density(parts: Parts) -> Callable[[Floats], Floats]:
    return lambda x: np.sum([share * norm.pdf(x, mean, width) for share, mean, width in parts], axis=0)


@pytest.mark.parametrize("n", [100, 5_000])
@pytest.mark.parametrize(
    "parts",
    [
        ((1.0, 0.0, 1.0),),  # a log-normal is this one on its logarithmic scale
        ((0.5, -2.0, 0.5), (0.5, 2.0, 0.5)),
        ((0.7, 0.0, 1.0), (0.3, 1.0, 0.1)),
    ],
)
def test_the_bandwidth_is_nearly_as_good_as_the_best_there_is(n: int, parts: Parts) -> None:
    counts, places, step = counted(draw(n, parts))
    best = min(error(counts, places, step, density(parts), width) for width in np.geomspace(1.0, 400.0, 60))
    found = error(counts, places, step, density(parts), bandwidth(counts, n))
    assert found < 2.0 * best + 1e-4


def test_two_peaks_stay_two() -> None:
    parts = ((0.5, -3.0, 0.3), (0.5, 3.0, 0.3))
    counts, places, step = counted(draw(2_000, parts))
    width = bandwidth(counts, 2_000)
    usual, found = (error(counts, places, step, density(parts), one) for one in (silverman(counts, 2_000), width))
    assert found < 0.05 * usual
    curve = smoothed(counts, width)
    tops = np.flatnonzero((curve[1:-1] > curve[:-2]) & (curve[1:-1] > curve[2:]) & (curve[1:-1] > 0.1 * curve.max()))
    assert len(tops) == 2


def test_equal_scores_and_nobody_have_no_width() -> None:
    counts = np.zeros(CELLS)
    assert silverman(counts, 0) == bandwidth(counts, 0) == 0.0
    counts[7] = 50.0
    assert bandwidth(counts, 50) == 0.0
    assert smoothed(counts, 0.0) == pytest.approx(counts)


def test_it_never_smooths_more_than_the_usual_rule() -> None:
    counts = np.zeros(CELLS)
    counts[[100, 900, 1500]] = 20.0
    assert 0.0 < bandwidth(counts, 60) <= silverman(counts, 60)
    assert improved_sheather_jones(np.ones(CELLS), 10) is None  # even: no derivative to go by
