"""Sums over rows, against numpy on all rows at once."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from cfad_core.causal.discovery.moments import Moments, Sums, collect_moments
from cfad_core.core.progress import Progress

QUIET = Progress()


def draw_table(seed: int, n: int = 230) -> np.ndarray:
    """S, a number, a column of two values, a number far from zero."""
    rng = np.random.default_rng(seed)
    s, pair = rng.choice([-1.0, 1.0], n), rng.choice([-3.0, 3.0], n)
    number = rng.normal(size=n) + s
    return np.column_stack([s, number, pair, 5.0 + 0.5 * number + rng.uniform(-1.0, 1.0, n)])


def assert_same(found: Moments | Sums, expected: Moments | Sums, tolerance: float = 1e-9) -> None:
    for field in fields(expected):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(theirs, np.ndarray):
            np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=tolerance, err_msg=field.name)
        else:
            assert mine == theirs, field.name


@pytest.mark.parametrize("seed", range(5))
def test_rows_may_be_added_in_any_pieces(seed: int) -> None:
    x = draw_table(seed)
    rng = np.random.default_rng(seed)
    nothing = Sums.prepare(x, 9)
    some = nothing
    for part in np.split(rng.permutation(len(x)), np.sort(rng.integers(0, len(x) + 1, 3))):
        some = some.add(x[part], int(rng.integers(1, 90)), QUIET)
    assert_same(some.moments(), collect_moments(x, 9, 4096, QUIET))
    assert nothing.n_rows == 0  # a sum is not changed by adding to it
    assert not nothing.squares.any()
    assert not nothing.products.any()


@pytest.mark.parametrize("seed", range(5))
def test_the_moments_are_those_of_numpy(seed: int) -> None:
    x = draw_table(seed)
    found = collect_moments(x, 9, 50, QUIET)
    values = found.basis.matrix(x[:, [1, 3]]).reshape(len(x), 18)
    everything = np.cov(np.column_stack([values, x]).T, bias=True)
    assert found.n_rows == len(x)
    assert found.curved.tolist() == [1, 3]
    np.testing.assert_allclose(found.slope, [1.0 / x[:, 0].std(), 0.0, 1.0 / x[:, 2].std(), 0.0])
    np.testing.assert_allclose(found.mean, x.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(x.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(found.spline_mean.ravel(), values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.splines.reshape(18, 18), everything[:18, :18], atol=1e-12)
    np.testing.assert_allclose(found.cross.reshape(18, 4), everything[:18, 18:], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_subtracting_rows_is_summing_the_others(seed: int) -> None:
    x = draw_table(seed)
    rng = np.random.default_rng(seed)
    mine = rng.random(len(x)) < rng.uniform(0.1, 0.9)
    nothing = Sums.prepare(x, 9)
    whole = nothing.add(x, 64, QUIET)
    rest = whole.without(nothing.add(x[mine], 64, QUIET))
    assert rest.n_rows == (~mine).sum()
    assert_same(rest, nothing.add(x[~mine], 64, QUIET))
    assert_same(rest.moments(), nothing.add(x[~mine], 64, QUIET).moments())
    assert_same(whole, nothing.add(x, 64, QUIET), 0.0)  # nor is a sum changed by subtracting from it


def test_numbers_far_from_zero_keep_their_covariance() -> None:
    """A mean of 1e8 squared is 1e16, and would swallow a variance of 1 whole."""
    x = draw_table(0)
    far = x + np.array([0.0, 1e8, 0.0, 1e8])
    np.testing.assert_allclose(collect_moments(far, 9, 64, QUIET).covariance, np.cov(x.T, bias=True), atol=1e-6)


def test_a_table_of_two_values_needs_no_splines() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.choice([-1.0, 1.0], 90), rng.choice([-3.0, 3.0], 90), np.full(90, 2.0)])
    nothing = Sums.prepare(x, 9)
    found = nothing.add(x, 32, QUIET).without(nothing.add(x[:30], 32, QUIET)).moments()
    rest = x[30:]
    assert found.n_rows == 60
    assert found.curved.tolist() == []
    assert found.splines.shape == (0, 9, 0, 9)
    assert found.cross.shape == (0, 9, 3)
    np.testing.assert_allclose(found.slope, [1.0 / x[:, 0].std(), 1.0 / x[:, 1].std(), 1.0])  # of all rows
    np.testing.assert_allclose(found.covariance, np.cov(rest.T, bias=True), atol=1e-12)
    between, towards = found.contract(np.ones(9))
    scaled = rest * found.slope
    np.testing.assert_allclose(between, np.cov(scaled.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(towards, np.cov(scaled.T, rest.T, bias=True)[:3, 3:], atol=1e-12)
