"""Thresholds by capacity and by cost are those that trying all of them finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.evaluation.choosing import costs, threshold_flagging, usual_range
from cfad_core.evaluation.tally import Tally


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9).map(float), min_size=1, max_size=30), st.integers(0, 30))
def test_as_many_are_flagged_as_asked_or_fewer_where_scores_tie(scores: list[float], count: int) -> None:
    people = Tally.of(np.array(scores))
    flagged = int(people.above(threshold_flagging(people, count)))
    assert flagged <= count
    more = [int(people.above(t)) for t in [*scores, min(scores) - 1.0]]
    assert flagged == max((one for one in more if one <= count), default=0)


def test_of_thresholds_that_flag_the_same_people_the_one_nearby_is_kept() -> None:
    people = Tally.of(np.arange(10.0))
    assert threshold_flagging(people, 3, near=6.5) == 6.5
    assert threshold_flagging(people, 3, near=7.5) == threshold_flagging(people, 3) == 6.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=40), st.sampled_from([0.3, 1.0, 7.0]))
def test_the_cheapest_is_the_cheapest_of_all(people: list[tuple[int, bool]], missed: float) -> None:
    score, odd = np.array([float(one) for one, _ in people]), np.array([one for _, one in people])
    found = costs(Tally.of(score), Tally.of(score[odd]), missed, seed=0)
    flags = [score > t for t in [*score, -1.0]]
    each = [missed * (odd & ~flag).sum() + (~odd & flag).sum() for flag in flags]
    assert found.least * len(score) == pytest.approx(min(each))
    best = threshold_flagging(Tally.of(score), found.cheapest)
    assert missed * (odd & (score <= best)).sum() + (~odd & (score > best)).sum() == pytest.approx(min(each))
    assert found.nobody * len(score) == pytest.approx(missed * odd.sum())
    assert found.cost[0] == pytest.approx(found.nobody)
    assert found.cost[-1] * len(score) == pytest.approx((~odd).sum())


def test_counts_of_bins_cost_what_their_people_cost() -> None:
    rng = np.random.default_rng(0)
    odd = rng.random(3_000) < 0.1
    score = np.asarray(np.round(rng.normal(size=3_000) + 1.5 * odd, 1), dtype=np.float64)
    values, place = np.unique(score, return_inverse=True)
    people, anomalies = (Tally(values, np.bincount(place[some], minlength=len(values))) for some in (odd | True, odd))
    found = costs(people, anomalies, 5.0, seed=0)
    exact = costs(Tally.of(score), Tally.of(score[odd]), 5.0, seed=0)
    assert found.cheapest == exact.cheapest
    assert found.least == pytest.approx(exact.least)
    assert found.range == exact.range


def test_other_samples_say_where_the_cheapest_may_lie() -> None:
    rng = np.random.default_rng(1)

    def found(n: int) -> tuple[float, float, float]:
        odd = rng.random(n) < 0.1
        score = rng.normal(size=n) + 2.0 * odd
        one = costs(Tally.of(score), Tally.of(score[odd]), 5.0, seed=0)
        return one.range.low, one.cheapest / n, one.range.high

    for n in (200, 20_000):
        low, best, high = found(n)
        assert low - 0.01 <= best <= high + 0.01
    few, many = found(200), found(20_000)
    assert few[2] - few[0] > 2.0 * (many[2] - many[0])


def test_how_many_to_expect() -> None:
    low, high = usual_range(0.05, 1_000)
    assert (low, high) == (39, 62)
    assert usual_range(0.0, 100) == (0, 0)
