"""Chance that belongs to a row: uniform, independent, and nobody else's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from cfad_core.causal.chance import row_keys, uniforms
from cfad_core.core.arrays import Floats

STREAMS = [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 3, 10), (1, 3, 10), (0, 4, 10), (0, 3, 11)]


def rows(n: int = 20_000, kind: str = "noise") -> Floats:
    if kind == "noise":
        return np.random.default_rng(0).normal(size=(n, 3))
    return np.column_stack([np.arange(n) // 200, np.arange(n) % 200]).astype(
        np.float64
    )  # numbers that are nearly alike


@pytest.mark.parametrize("kind", ["noise", "grid"])
@pytest.mark.parametrize("stream", STREAMS)
def test_they_are_uniform(kind: str, stream: tuple[int, ...]) -> None:
    found = uniforms(row_keys(rows(kind=kind), 7), *stream)
    assert 0.0 < found.min() < found.max() < 1.0
    assert kstest(found, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("kind", ["noise", "grid"])
def test_streams_and_seeds_are_independent(kind: str) -> None:
    """Chi-square on 10 x 10 cells of every pair; and of neighbouring rows."""
    x = rows(kind=kind)
    sets = [uniforms(row_keys(x, 7), *stream) for stream in STREAMS] + [uniforms(row_keys(x, 8), 0)]
    pairs = [(one, other) for k, one in enumerate(sets) for other in sets[:k]]
    pairs += [(one[1:], one[:-1]) for one in sets]
    worst = 1.0
    for one, other in pairs:
        cells = np.bincount((10 * one).astype(int) * 10 + (10 * other).astype(int), minlength=100)
        expected = len(one) / 100
        worst = min(worst, float(chi2.sf(((cells - expected) ** 2 / expected).sum(), 99)))
    assert worst * len(pairs) > 0.001


def test_a_row_has_its_own_numbers_wherever_it_stands() -> None:
    x = rows(50)
    keys, order = row_keys(x, 3), np.random.default_rng(1).permutation(50)
    assert np.array_equal(row_keys(x[order], 3), keys[order])
    assert np.array_equal(row_keys(np.asfortranarray(x)[::2], 3), keys[::2])
    assert all(row_keys(x[k : k + 1], 3)[0] == keys[k] for k in range(50))
    assert len(np.unique(keys)) == 50
    assert not (row_keys(x, 4) == keys).any()


def test_a_key_depends_on_every_cell_and_its_place() -> None:
    x = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)], [0.0, 2.0], [-0.0, 2.0]])
    keys = row_keys(x, 0)
    assert keys[0] == keys[2]
    assert keys[4] == keys[5]  # the same number
    assert len(np.unique(keys)) == 4


def test_large_and_negative_seeds_are_seeds() -> None:
    x = rows(5)
    found = {row_keys(x, seed).tobytes() for seed in (-1, 0, 1, 2**32, 2**64 - 2)}
    assert len(found) == 5
