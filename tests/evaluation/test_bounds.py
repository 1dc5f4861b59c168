"""Bounds from flag rates: against all couplings, of small groups and in general."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.evaluation.bounds import Bounds, flag_rate_bounds
from cfad_core.evaluation.intervals import Interval

MANY = 10**12  # people, so that sampling adds nothing
RATES = st.floats(0.0, 1.0)


@pytest.mark.parametrize("flagged", list(itertools.product(range(6), repeat=2)))
def test_every_way_to_give_people_twins(flagged: tuple[int, int]) -> None:
    """5 people of each group: the twins of one group are the other group, in any order. Both bounds are reached."""
    first, second = ([k < count for k in range(5)] for count in flagged)
    ratios = [
        sum(person != twin for person, twin in zip(first, order, strict=True)) / 5.0
        for order in itertools.permutations(second)
    ]
    bounds = flag_rate_bounds(flagged[0] / 5.0, flagged[1] / 5.0, 5, 5)
    assert (min(ratios), max(ratios)) == pytest.approx((bounds.low, bounds.high), abs=1e-12)


@given(RATES, RATES, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_every_mean_over_the_groups_lies_within(r_a: float, r_b: float, in_a: float, in_b: float, w_a: float) -> None:
    """Each group has a coupling of its own; the groups are of any size."""
    least, most = max(0.0, r_a + r_b - 1.0), min(r_a, r_b)  # share flagged together with their twins
    within = [r_a + r_b - 2.0 * (least + share * (most - least)) for share in (in_a, in_b)]
    ratio = w_a * within[0] + (1.0 - w_a) * within[1]
    bounds = flag_rate_bounds(r_a, r_b, MANY, MANY)
    assert bounds.low - 1e-9 <= ratio <= bounds.high + 1e-9
    assert bounds == flag_rate_bounds(r_b, r_a, MANY, MANY)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((0.05, 0.09), (0.04, 0.14)),
        ((0.9, 0.8), (0.1, 0.3)),
        ((0.0, 0.0), (0.0, 0.0)),
        ((1.0, 1.0), (0.0, 0.0)),
        ((0.0, 1.0), (1.0, 1.0)),
        ((0.5, 0.5), (0.0, 1.0)),
    ],
)
def test_known_bounds(rates: tuple[float, float], expected: tuple[float, float]) -> None:
    bounds = flag_rate_bounds(*rates, 100, 200)
    assert (bounds.low, bounds.high) == pytest.approx(expected, abs=1e-12)


def test_sampling_widens_by_standard_errors() -> None:
    bounds = flag_rate_bounds(0.1, 0.3, 100, 400)
    r_a, r_b = 11.0 / 102.0, 121.0 / 402.0
    error = np.sqrt(r_a * (1.0 - r_a) / 102.0 + r_b * (1.0 - r_b) / 402.0)
    wide = bounds.with_sampling()
    assert bounds.error == pytest.approx(error)
    assert (wide.low, wide.high) == pytest.approx((0.2 - 1.6449 * error, 0.4 + 1.6449 * error))
    assert wide.error == 0.0
    assert wide.with_sampling() == wide


@pytest.mark.parametrize("rates", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
def test_sampling_never_leaves_what_a_share_can_be(rates: tuple[float, float]) -> None:
    wide = flag_rate_bounds(*rates, 10, 10).with_sampling()
    assert wide.low == 0.0
    assert 0.05 < wide.high <= 1.0  # that nobody of ten is flagged does not mean that nobody can be


@pytest.mark.parametrize("rates", [(0.02, 0.1), (0.05, 0.4), (0.7, 0.9)])
def test_widened_bounds_hold_the_extremes_in_nineteen_of_twenty_samples(rates: tuple[float, float]) -> None:
    """Either end is one-sided: 95 %."""
    rng, n = np.random.default_rng(0), (150, 600)
    counts = rng.binomial(n, rates, (4000, 2)) / np.array(n)
    wide = [flag_rate_bounds(float(a), float(b), *n).with_sampling() for a, b in counts]
    true = flag_rate_bounds(*rates, *n)
    assert 0.93 < np.mean([one.low <= true.low for one in wide]) < 0.985
    assert 0.93 < np.mean([one.high >= true.high for one in wide]) < 0.985


PLAIN = Bounds(0.1, 0.3)


@pytest.mark.parametrize(
    ("interval", "contained", "excluded", "clipped"),
    [
        (Interval(0.15, 0.25), True, False, Interval(0.15, 0.25)),
        (Interval(0.1, 0.3), True, False, Interval(0.1, 0.3)),
        (Interval(0.05, 0.25), False, False, Interval(0.1, 0.25)),
        (Interval(0.15, 0.4), False, False, Interval(0.15, 0.3)),
        (Interval(0.05, 0.15), False, False, Interval(0.1, 0.15)),
        (Interval(0.05, 0.09), False, True, Interval(0.05, 0.09)),
        (Interval(0.31, 0.5), False, True, Interval(0.31, 0.5)),
    ],
)
def test_an_interval_against_bounds(interval: Interval, contained: bool, excluded: bool, clipped: Interval) -> None:
    assert PLAIN.contains(interval) is contained
    assert PLAIN.excludes(interval) is excluded
    assert PLAIN.clip(interval) == clipped


def test_sampling_is_allowed_for() -> None:
    bounds = Bounds(0.1, 0.3, 0.02)
    assert bounds.contains(Interval(0.07, 0.33))
    assert not bounds.contains(Interval(0.06, 0.33))
    assert not bounds.excludes(Interval(0.04, 0.068))
    assert bounds.clip(Interval(0.0, 0.9)).low == pytest.approx(0.1 - 1.6449 * 0.02)


@given(RATES, RATES, st.lists(RATES, min_size=2, max_size=2), st.integers(1, 500), st.integers(1, 500))
def test_what_is_clipped_is_contained(r_a: float, r_b: float, ends: list[float], n_a: int, n_b: int) -> None:
    low, high = sorted(ends)
    bounds, interval = flag_rate_bounds(r_a, r_b, n_a, n_b), Interval(low, high)
    clipped = bounds.clip(interval)
    assert clipped.low <= clipped.high
    assert bounds.contains(clipped) != bounds.excludes(interval)
    assert bounds.clip(clipped) == clipped


def test_what_is_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="flag rate of the second group must be between 0 and 1; it is 1.2"):
        flag_rate_bounds(0.1, 1.2, 5, 5)
    with pytest.raises(ValueError, match="first group must have at least one person; it has 0"):
        flag_rate_bounds(0.1, 0.2, 0, 5)
