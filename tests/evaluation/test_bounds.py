"""Bounds from flag rates: against all couplings, of small groups and in general."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cfad_core.evaluation.bounds import Bounds, flag_rate_bounds, flag_rates_bounds
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


# Any of several groups


@pytest.mark.parametrize("k", [2, 3, 4])
def test_every_joint_law_of_outcomes_by_linear_programming(k: int) -> None:
    """The share of people whose outcomes differ in k worlds, least and most, over all laws with the same flag rates."""
    worlds = np.array(list(itertools.product((0.0, 1.0), repeat=k)))
    differ = (worlds.min(axis=1) != worlds.max(axis=1)).astype(np.float64)
    rng = np.random.default_rng(k)
    cases = [*rng.uniform(size=(12, k)), *rng.uniform(0.0, 0.2, (6, k)), *rng.uniform(0.85, 1.0, (6, k))]
    for rates in [*cases, np.zeros(k), np.ones(k), np.full(k, 0.5), np.arange(k) / (k - 1.0)]:
        laws = {
            "A_eq": np.vstack([worlds.T, np.ones(len(worlds))]),
            "b_eq": np.append(rates, 1.0),
            "bounds": (0.0, 1.0),
        }
        least, most = linprog(differ, **laws).fun, -linprog(-differ, **laws).fun
        bounds = flag_rates_bounds(rates.tolist(), [MANY] * k)
        assert (bounds.low, bounds.high) == pytest.approx((least, most), abs=1e-9)


@given(RATES, RATES, st.integers(1, 500), st.integers(1, 500))
def test_two_groups_are_a_case_of_several(r_a: float, r_b: float, n_a: int, n_b: int) -> None:
    several, two = flag_rates_bounds([r_a, r_b], [n_a, n_b]), flag_rate_bounds(r_a, r_b, n_a, n_b)
    assert (several.low, several.high, several.error) == pytest.approx((two.low, two.high, two.error), abs=1e-12)


@given(st.lists(RATES, min_size=2, max_size=12))
def test_bounds_of_several_are_in_order_whatever_the_order(rates: list[float]) -> None:
    bounds = flag_rates_bounds(rates, [MANY] * len(rates))
    assert 0.0 <= bounds.low <= bounds.high + 1e-12
    assert bounds.high <= 1.0
    again = flag_rates_bounds(rates[::-1], [MANY] * len(rates))
    assert (again.low, again.high) == pytest.approx((bounds.low, bounds.high), abs=1e-12)
    for one, other in itertools.combinations(rates, 2):  # to look at more groups finds more
        pair = flag_rate_bounds(one, other, MANY, MANY)
        assert pair.low <= bounds.low
        assert pair.high <= bounds.high + 1e-12 or bounds.high == pytest.approx(len(rates) - sum(rates), abs=1e-9)


@pytest.mark.parametrize(
    "rates", [(0.1,) * 3, (0.1,) * 5, (0.05,) * 12, (0.02, 0.1, 0.11), (0.05, 0.06, 0.2, 0.21, 0.5), (0.9, 0.95, 0.99)]
)
def test_widened_bounds_of_several_hold_the_extremes(rates: tuple[float, ...]) -> None:
    """The low end of equal rates is beyond as often as that of two equal rates is: once in ten times."""
    rng, k = np.random.default_rng(0), len(rates)
    n = [600, 150, 300, 450, 200, 250, 350, 400, 500, 550, 100, 180][:k]
    true = flag_rates_bounds(rates, n)
    wide = [flag_rates_bounds(some.tolist(), n).with_sampling() for some in rng.binomial(n, rates, (2000, k)) / n]
    least = 0.88 if true.low == 0.0 else 0.93
    assert np.mean([one.low <= true.low + 1e-12 for one in wide]) > least
    assert np.mean([one.high >= true.high - 1e-12 for one in wide]) > 0.93


def test_what_are_no_rates_is_refused() -> None:
    with pytest.raises(ValueError, match="The flag rate of group 3 must be between 0 and 1; it is -0.1"):
        flag_rates_bounds([0.1, 0.2, -0.1], [5, 5, 5])
    with pytest.raises(ValueError, match="Group 2 must have at least one person; it has 0. Leave the bounds out"):
        flag_rates_bounds([0.1, 0.2, 0.1], [5, 0, 5])
    for rates, counts in (([0.1], [5]), ([0.1, 0.2], [5])):
        with pytest.raises(ValueError, match="flag rates of at least two groups, each with its number of people"):
            flag_rates_bounds(rates, counts)
