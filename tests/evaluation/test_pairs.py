"""Pairs of groups: against plain loops, today's numbers of two groups, other labels, and known truths."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.states import States
from cfad_core.evaluation.bounds import flag_rate_bounds, flag_rates_bounds
from cfad_core.evaluation.group_metrics import GroupScores
from cfad_core.evaluation.intervals import Interval, ResampledScores, draw_people, interval
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable, worst_line
from cfad_core.evaluation.pairs import FlagCounts, PairScores, compared_with

THRESHOLDS = (-9.0, -0.5, 0.0, 0.3, 1.0, 9.0)
NAMES = ("Asian", "Black", "White", "none", "other")


@dataclasses.dataclass(frozen=True)
class Case:
    score: np.ndarray
    twins: np.ndarray
    group: np.ndarray
    names: tuple[str, ...]

    def scores(self, **options: Any) -> PairScores:
        return PairScores(self.score, self.twins, self.group, self.names, **options)

    def twin(self, b: int, d: int, target: int, i: int) -> float:
        own = self.group[i]
        return float(self.twins[b, d, target - (target > own), i])


def draw_case(k: int = 3, m: int = 90, models: int = 6, draws: int = 1, seed: int = 0) -> Case:
    """With ties, and with scores that equal a threshold."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=m), 1)
    twins = np.round(score + rng.normal(0.2, 0.7, (models, draws, k - 1, m)), 1)
    return Case(score, twins, rng.integers(0, k, m), NAMES[:k])


def same(one: Interval | None, other: Interval | None) -> bool:
    assert one is not None
    assert other is not None
    return (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-12)


def contains(outer: Interval | None, inner: Interval | None) -> bool:
    assert outer is not None
    assert inner is not None
    return outer.low <= inner.low and inner.high <= outer.high


# Against loops


@pytest.mark.parametrize(("k", "draws"), [(2, 1), (3, 1), (3, 2), (5, 1)])
@pytest.mark.parametrize("t", THRESHOLDS)
def test_shares_against_a_plain_loop(k: int, draws: int, t: float) -> None:
    case = draw_case(k, draws=draws)
    table = case.scores().at(t)
    assert len(table.pairs) == k * (k - 1)
    states = States((k,))
    for u, v in itertools.permutations(range(k), 2):
        people = np.flatnonzero(case.group == u)
        rising = falling = 0
        for b, d, i in itertools.product(range(6), range(draws), people):
            number = next(x for x in range(k - 1) if states.other(np.array([u]), x)[0] == v)
            here, there = case.score[i] > t, case.twins[b, d, number, i] > t
            rising, falling = rising + int(there and not here), falling + int(here and not there)
        pair, total = table.pair(u, v), 6 * draws * len(people)
        assert (pair.n, pair.interval, pair.simultaneous, pair.bounds) == (len(people), None, None, None)
        assert pair.ratio == pytest.approx((rising + falling) / total, abs=1e-12)
        assert pair.newly_flagged == pytest.approx(rising / total, abs=1e-12)
        assert pair.newly_cleared == pytest.approx(falling / total, abs=1e-12)
        assert table.ratios()[u, v] == pair.ratio


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("t", THRESHOLDS)
def test_any_other_group_against_a_plain_loop(draws: int, reference: int | None, t: float) -> None:
    case, compared = draw_case(4, draws=draws), compared_with(4, reference)
    table = case.scores(compared=compared, seed=4).at(t)

    def changes(b: int, i: int) -> float:
        """In what share of the draws."""
        targets = np.flatnonzero(compared[case.group[i]])
        outcomes = [{bool(case.twin(b, d, int(v), i) > t) for v in targets} for d in range(draws)]
        return float(np.mean([len(some | {bool(case.score[i] > t)}) > 1 for some in outcomes]))

    by_hand = np.array([[changes(b, i) for i in range(90)] for b in range(6)])
    for rows, found in (
        (np.arange(90), table.any_other),
        *((np.flatnonzero(case.group == u), table.any_other_by_group[u]) for u in range(4)),
    ):
        assert found.n == len(rows)
        assert found.ratio == pytest.approx(by_hand[:, rows].mean(), abs=1e-12)
        drawn = [draw_people(len(rows), 4, b) for b in range(6)]
        values = [(by_hand[b, rows[some]].sum() + unseen) / (len(rows) + 1) for b, (some, unseen) in enumerate(drawn)]
        assert same(found.interval, widened(interval(np.minimum(1.0, values)), found.ratio))


def test_any_other_group_by_hand() -> None:
    """One model, three groups: the first person changes in none, the second in one, the third in both others."""
    case = Case(
        np.array([0.0, 0.0, 1.0]), np.array([[[[0.0, 1.0, 0.0], [0.5, 0.0, 0.0]]]]), np.array([0, 1, 2]), NAMES[:3]
    )
    table = case.scores().at(0.5)  # a score of 0.5 is not above it
    assert [one.ratio for one in table.any_other_by_group] == [0.0, 1.0, 1.0]
    assert table.any_other.ratio == pytest.approx(2.0 / 3.0)
    assert [(pair.source, pair.target) for pair in table.pairs if pair.ratio] == [(1, 0), (2, 0), (2, 1)]
    assert [pair.newly_cleared for pair in table.pairs] == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]


# As today with two groups


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("t", THRESHOLDS)
def test_two_groups_are_what_they_are_today(draws: int, t: float) -> None:
    case = draw_case(2, models=20, draws=draws)
    table = case.scores(seed=7).at(t)
    for u in (0, 1):
        rows = case.group == u
        curve = ScoreCurve(case.score[rows], case.twins[:, :, 0, rows].reshape(-1, rows.sum())).at(t)
        pair = table.pair(u, 1 - u)
        assert (pair.ratio, pair.newly_flagged, pair.newly_cleared) == pytest.approx(
            (float(curve.changing_ratio), float(curve.newly_flagged), float(curve.newly_cleared)), abs=1e-12
        )
        today = ResampledScores(case.score[rows], case.twins[:, :, 0, rows], np.ones(rows.sum()), seed=7).at(t)
        assert same(pair.interval, widened(today.changing_ratio, pair.ratio))
        assert same(table.any_other_by_group[u].interval, pair.interval)
        assert table.any_other_by_group[u].ratio == pair.ratio
    signs = States((2,)).codes[case.group]
    everybody = ResampledScores(case.score, case.twins[:, :, 0], signs, seed=7).at(t)
    assert same(table.any_other.interval, widened(everybody.changing_ratio, table.any_other.ratio))


def widened(found: Interval | None, ratio: float | None) -> Interval:
    assert found is not None
    assert ratio is not None
    return Interval(min(found.low, ratio), max(found.high, ratio))


# Labels


def relabelled(case: Case, place: np.ndarray) -> Case:
    """Group u becomes group ``place[u]``; everything else stays."""
    k, group = len(case.names), place[case.group]
    twins = np.empty_like(case.twins)
    for i, v in itertools.product(range(len(case.score)), range(k)):
        own = case.group[i]
        if v != own:
            twins[:, :, place[v] - (place[v] > group[i]), i] = case.twins[:, :, v - (v > own), i]
    return Case(case.score, twins, group, tuple(case.names[u] for u in np.argsort(place)))


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_other_labels_permute_the_table(order: tuple[int, ...]) -> None:
    case, place = draw_case(4), np.array(order)
    other = relabelled(case, place)
    one, moved = case.scores(seed=1), other.scores(seed=1)
    for t in (-0.5, 0.3):
        before = one.at(t, flag_counts(case.score, case.group, 4, t))
        after = moved.at(t, flag_counts(other.score, other.group, 4, t))
        for pair in before.pairs:
            u, v = int(place[pair.source]), int(place[pair.target])
            assert after.pair(u, v) == dataclasses.replace(pair, source=u, target=v)
        assert [after.any_other_by_group[u].ratio for u in place] == [x.ratio for x in before.any_other_by_group]
        assert after.any_other.ratio == before.any_other.ratio
        assert same(after.any_other.interval, before.any_other.interval)
        assert [after.n[u] for u in place] == list(before.n)
    back = relabelled(other, np.argsort(place))
    assert (back.twins == case.twins).all()


# Intervals


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6), st.floats(-1.0, 2.0), st.booleans())
def test_simultaneous_intervals_contain_single_ones(k: int, seed: int, t: float, with_bounds: bool) -> None:
    case = draw_case(k, m=60, seed=seed)
    counts = flag_counts(case.score, case.group, k, t) if with_bounds else None
    table = case.scores(seed=seed).at(t, counts)
    for pair in table.pairs:
        if pair.ratio is None:
            continue
        assert contains(pair.simultaneous, pair.interval)
        assert pair.simultaneous is not None
        assert 0.0 <= pair.simultaneous.low <= pair.simultaneous.high <= 1.0
        if not with_bounds:
            assert contains(pair.interval, Interval(pair.ratio, pair.ratio))
    json.dumps(table.to_dict(), allow_nan=False)


def test_intervals_stay_within_what_flag_rates_allow() -> None:
    """Of 2,000 people of each group 10 % and 11 % are flagged; twins are made such that many more change."""
    rng = np.random.default_rng(0)
    score, twins = rng.uniform(size=4000), rng.uniform(size=(20, 1, 1, 4000))
    group = np.repeat([0, 1], 2000)
    counts = FlagCounts((200, 220), (2000, 2000))
    bounds = flag_rate_bounds(0.1, 0.11, 2000, 2000)
    table = PairScores(score, twins, group, ("a", "b"), seed=0).at(0.87, counts)
    for pair in table.pairs:
        assert pair.bounds == bounds
        for found in (pair.interval, pair.simultaneous):
            assert found is not None
            assert found.high == pytest.approx(bounds.with_sampling().high)  # one pair of groups: as looked at alone
    free = PairScores(score, twins, group, ("a", "b"), seed=0).at(0.87)
    assert free.pairs[0].bounds is None
    assert free.pairs[0].interval is not None
    assert free.pairs[0].interval.low < bounds.with_sampling().high < free.pairs[0].interval.high
    assert table.any_other.bounds == flag_rates_bounds([0.1, 0.11], [2000, 2000])


def test_bounds_of_several_pairs_allow_for_looking_at_them() -> None:
    case = draw_case(3, m=900, models=20)
    counts = flag_counts(case.score, case.group, 3, 0.3)
    found, free = case.scores(seed=0).at(0.3, counts), case.scores(seed=0).at(0.3)
    errors = 2.12805  # standard errors that are beyond by chance once in 20 x 3 times
    for pair, plain in zip(found.pairs, free.pairs, strict=True):
        assert pair.bounds is not None
        assert plain.interval is not None
        assert plain.simultaneous is not None
        assert pair.interval == pair.bounds.clip(plain.interval)
        clipped = pair.bounds.with_sampling(errors).clip(plain.simultaneous)
        assert pair.simultaneous is not None
        assert (pair.simultaneous.low, pair.simultaneous.high) == pytest.approx((clipped.low, clipped.high), abs=1e-6)


def test_bounds_of_any_other_group_with_a_reference() -> None:
    """People of other groups are compared with one group, those of the reference with two."""
    case = draw_case(3, m=600)
    counts = FlagCounts((5, 30, 60), (100, 200, 300))
    table = case.scores(compared=compared_with(3, 1), seed=0).at(0.3, counts)
    first, second, third = (one.bounds for one in table.any_other_by_group)
    assert first == flag_rate_bounds(0.05, 0.15, 100, 200)
    assert second == flag_rates_bounds([0.15, 0.05, 0.2], [200, 100, 300])
    assert third == flag_rate_bounds(0.2, 0.15, 300, 200)
    assert first is not None
    assert second is not None
    assert third is not None
    sizes = np.bincount(case.group) / 600.0
    whole = table.any_other.bounds
    assert whole is not None
    assert whole.low == pytest.approx(sizes @ [first.low, second.low, third.low])
    assert whole.high == pytest.approx(sizes @ [first.high, second.high, third.high])
    assert whole.error == pytest.approx(sizes @ [first.error, second.error, third.error])
    unknown = case.scores(compared=compared_with(3, 1)).at(0.3, FlagCounts((0, 30, 60), (0, 200, 300)))
    assert (unknown.any_other.bounds, unknown.any_other_by_group[0].bounds, unknown.pair(0, 1).bounds) == (None,) * 3
    assert unknown.pair(1, 2).bounds is not None


def test_only_compared_pairs_count() -> None:
    """With fewer pairs looked at, intervals may be narrower, and never are wider."""
    case = draw_case(5, m=2000, models=20)
    all_pairs, few = case.scores(seed=0).at(0.3), case.scores(compared=compared_with(5, 2), seed=0).at(0.3)
    assert (all_pairs.looked_at, few.looked_at) == (20, 8)
    assert {(pair.source, pair.target) for pair in few.pairs} == {
        *((2, v) for v in (0, 1, 3, 4)),
        *((u, 2) for u in (0, 1, 3, 4)),
    }
    for pair in few.pairs:
        whole = all_pairs.pair(pair.source, pair.target)
        assert (pair.ratio, pair.interval) == (whole.ratio, whole.interval)
        assert contains(whole.simultaneous, pair.simultaneous)
        assert whole.simultaneous != pair.simultaneous
    with pytest.raises(KeyError, match="People of group 0 are not compared with their twins in group 1"):
        few.pair(0, 1)
    assert np.isnan(few.ratios()[0, 1])


def test_people_who_are_compared_with_nobody_do_not_count() -> None:
    """Everybody is moved to the second group alone, whose own people have nowhere to go."""
    case, compared = draw_case(3, m=300, models=20), compared_with(3)
    compared &= np.arange(3) == 1
    table = case.scores(compared=compared, seed=5).at(0.3)
    assert [(pair.source, pair.target) for pair in table.pairs] == [(0, 1), (2, 1)]
    assert table.n == tuple(np.bincount(case.group).tolist())
    assert table.any_other_by_group[1] == AnyOther(table.n[1])
    moved = np.flatnonzero(case.group != 1)
    column = np.where(case.group == 0, 0, 1)
    twins = case.twins[:, :, column, np.arange(300)][:, :, moved]
    alone = ResampledScores(case.score[moved], twins, case.group[moved], seed=5).at(0.3).changing_ratio
    curve = ScoreCurve(case.score[moved], twins.reshape(-1, len(moved))).at(0.3)
    assert table.any_other.n == len(moved)
    assert table.any_other.ratio == pytest.approx(float(curve.changing_ratio), abs=1e-12)
    assert same(table.any_other.interval, widened(alone, table.any_other.ratio))
    nobody = case.scores(compared=np.zeros((3, 3), dtype=bool), seed=5).at(0.3)
    assert (nobody.pairs, nobody.any_other) == ((), AnyOther(0))


def test_bounds_where_some_are_compared_with_nobody() -> None:
    case, compared = draw_case(3, m=300), compared_with(3)
    compared &= np.arange(3) == 1
    counts = FlagCounts((5, 30, 60), (100, 200, 300))
    table = case.scores(compared=compared, seed=0).at(0.3, counts)
    first, second, third = (one.bounds for one in table.any_other_by_group)
    assert (first, second, third) == (
        flag_rate_bounds(0.05, 0.15, 100, 200),
        None,
        flag_rate_bounds(0.2, 0.15, 300, 200),
    )
    assert first is not None
    assert third is not None
    share = (case.group == 0).sum() / (case.group != 1).sum()
    assert table.any_other.bounds is not None
    assert table.any_other.bounds.low == pytest.approx(share * first.low + (1.0 - share) * third.low)


def test_the_seed_decides() -> None:
    case = draw_case()
    one, again, other = (case.scores(seed=seed).at(0.3) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert (one.ratios()[~np.eye(3, dtype=bool)] == other.ratios()[~np.eye(3, dtype=bool)]).all()


def world_of(
    rng: np.random.Generator, sizes: tuple[int, ...], truth: np.ndarray, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Twins (20, 1, k - 1, m) whose models err together: all by what the whole table errs, each by that of its half.

    Half of an error is shared by all pairs, neighbours err in opposite directions, and whoever changes in one group is
    likelier to change in another one.
    """
    k = len(sizes)
    size = error * truth

    def errors(count: int) -> np.ndarray:
        shared, own = rng.normal(size=(count, 1, 1)), rng.normal(size=(count, k, k - 1))
        found: np.ndarray = size * np.sqrt(0.5) * (shared + own)
        return found

    half = errors(10)
    ratio = np.abs(truth + errors(1) + np.stack([half, -half], axis=1).reshape(20, k, k - 1))
    group = np.repeat(np.arange(k), sizes)
    alike = rng.uniform(size=len(group)) < 0.5
    ease = np.where(alike, rng.uniform(size=len(group)), rng.uniform(size=(k - 1, len(group))))
    changed = ease < ratio[:, group].transpose(0, 2, 1)
    return changed[:, None].astype(np.float64), group


def holding(sizes: tuple[int, ...], low: float, high: float, error: float) -> np.ndarray:
    """In each of 120 worlds: the share of single intervals that hold their truth, whether all do, (120, 4).

    Then whether all simultaneous intervals do, and that of the worst pair.
    """
    rng, k, found = np.random.default_rng(3), len(sizes), []
    for seed in range(120):
        truth = rng.uniform(low, high, (k, k - 1))
        twins, group = world_of(rng, sizes, truth, error)
        table = PairScores(np.zeros(len(group)), twins, group, NAMES[:k], seed=seed).at(0.5)
        single, together = {}, {}
        for pair in table.pairs:
            true, place = truth[pair.source, pair.target - (pair.target > pair.source)], (pair.source, pair.target)
            assert pair.interval is not None
            assert pair.simultaneous is not None
            single[place] = bool(pair.interval.low <= true <= pair.interval.high)
            together[place] = bool(pair.simultaneous.low <= true <= pair.simultaneous.high)
        assert table.worst is not None
        worst = together[table.worst.source, table.worst.target]
        found.append((np.mean(list(single.values())), all(single.values()), all(together.values()), worst))
    return np.array(found, dtype=np.float64)


@pytest.mark.slow
def test_all_intervals_hold_their_truths_nine_times_in_ten() -> None:
    """Of 1,000 worlds of each kind, with other seeds, all intervals did together in 94 %, 95 % and 97 %."""
    cases = [
        holding((300,) * 3, 0.01, 0.1, 0.1),
        holding((600,) * 3, 0.005, 0.05, 0.3),
        holding((400, 300, 200, 100, 40), 0.005, 0.1, 0.2),
    ]
    for case in cases:
        single, all_single, together, worst = case.mean(axis=0)
        assert 0.87 <= single <= 0.96
        assert all_single < 0.8  # single intervals are not made for that
        assert together >= 0.87  # the standard error is 0.02
        assert worst >= 0.9
    assert 0.9 <= np.concatenate(cases)[:, 2].mean() <= 0.985  # it is 0.955, with a standard error of 0.011


# The worst pair, in words


def test_the_worst_pair_and_its_rivals() -> None:
    def pair(u: int, v: int, ratio: float, low: float, high: float) -> Pair:
        return Pair(u, v, 500, ratio, 0.0, ratio, Interval(ratio, ratio), Interval(low, high))

    pairs = (
        pair(0, 1, 0.02, 0.01, 0.03),
        pair(0, 2, 0.05, 0.02, 0.08),
        pair(1, 0, 0.061, 0.04, 0.089),
        pair(1, 2, 0.01, 0.0, 0.0399),
        pair(2, 0, 0.03, 0.02, 0.04),
        Pair(2, 1, 0),
    )
    table = table_of(pairs)
    assert table.worst is pairs[2]
    assert table.rivals == (pairs[1], pairs[4])
    assert worst_line(table, "race") == (
        "Most outcomes change for people of race Black, had they been Asian: 6.1 % (4.0 % to 8.9 %, allowing for "
        "looking at 5 pairs). 2 other pairs may be as high."
    )
    alone = table_of(pairs[2:4])
    assert worst_line(alone, "race").endswith("(4.0 % to 8.9 %, allowing for looking at 2 pairs).")
    assert worst_line(table_of(pairs[2:3]), "race").endswith("Asian: 6.1 % (4.0 % to 8.9 %).")
    unmeasured = table_of((dataclasses.replace(pairs[2], interval=None, simultaneous=None),))
    assert worst_line(unmeasured, "race").endswith("Asian: 6.1 %; the uncertainty was not measured.")
    assert unmeasured.rivals == ()
    assert worst_line(table_of((Pair(0, 1, 0),)), "race") == "Nobody was judged."


def table_of(pairs: tuple[Pair, ...], n: tuple[int | None, ...] = (500, 500, 500)) -> PairTable:
    return PairTable(0.5, NAMES[:3], n, pairs, AnyOther(1500, 0.1), (AnyOther(500, 0.1),) * 3)


def test_that_nobody_changes_is_said() -> None:
    case = draw_case(3, m=300, models=20)
    still = dataclasses.replace(case, twins=np.broadcast_to(case.score, case.twins.shape))
    table = still.scores(seed=0).at(0.3)
    assert np.nanmax(table.ratios()) == 0.0
    top = max(pair.simultaneous.high for pair in table.pairs if pair.simultaneous is not None)
    assert 0.005 < top < 0.06  # one or a few of 100 people
    assert worst_line(table, "race") == (
        f"Nobody's outcome changes between groups of race, in any of 6 pairs (up to {100 * top:.1f} % is possible in "
        "one of them)."
    )
    assert worst_line(still.scores().at(0.3), "race").endswith("in any of 6 pairs.")


# Small and empty groups


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_group_without_people(k: int, seed: int | None) -> None:
    case = draw_case(k)
    group = np.minimum(case.group, k - 2)
    table = PairScores(case.score, case.twins, group, case.names, seed=seed).at(0.3)
    for v in range(k - 1):
        assert table.pair(k - 1, v) == Pair(k - 1, v, 0)
        assert table.pair(v, k - 1).ratio is not None
        assert (table.pair(v, k - 1).simultaneous is None) is (seed is None)
    assert table.any_other_by_group[k - 1] == AnyOther(0)
    assert table.n[k - 1] == 0
    assert table.looked_at == (k - 1) ** 2
    json.dumps(table.to_dict(), allow_nan=False)


def test_nobody_at_all() -> None:
    table = PairScores(np.zeros(0), np.zeros((4, 1, 2, 0)), np.zeros(0, dtype=np.intp), NAMES[:3], seed=0).at(0.5)
    assert (table.worst, table.any_other) == (None, AnyOther(0))
    assert worst_line(table, "race") == "Nobody was judged."
    json.dumps(table.to_dict(), allow_nan=False)


def test_what_is_written() -> None:
    table = draw_case(3).scores(seed=0).at(0.3, FlagCounts((10, 10, 10), (30, 30, 30)))
    found = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert [group["name"] for group in found["groups"]] == list(NAMES[:3])
    assert [group["n"] for group in found["groups"]] == list(table.n)
    worst = table.worst
    assert worst is not None
    assert found["worst"] == {"source": NAMES[worst.source], "target": NAMES[worst.target]}
    first, pair = found["pairs"][0], table.pairs[0]
    assert (first["source"], first["target"], first["n"], first["ratio"]) == ("Asian", "Black", pair.n, pair.ratio)
    assert pair.simultaneous is not None
    assert first["simultaneous"] == {"low": pair.simultaneous.low, "high": pair.simultaneous.high}
    assert set(first["bounds"]) == {"low", "high", "error"}
    assert found["any_other"]["people"]["ratio"] == table.any_other.ratio
    assert found["any_other"]["groups"]["White"]["n"] == table.n[2]


@pytest.mark.parametrize(
    ("sizes", "hidden", "hides_all"),
    [
        ((50, 40, 0), (), False),
        ((50, 40, 10), (), False),
        ((50, 40, 9), (2,), True),
        ((9, 40, 9), (0, 2), False),
        ((4, 40, 5), (0, 2), True),
        ((60, 1, 0), (1,), True),
    ],
)
def test_small_groups_are_suppressed(sizes: tuple[int, ...], hidden: tuple[int, ...], hides_all: bool) -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), sizes)
    score, twins = rng.normal(size=len(group)), rng.normal(size=(4, 1, 2, len(group)))
    counts = flag_counts(score, group, 3, 0.3)
    table = PairScores(score, twins, group, NAMES[:3], seed=0).at(0.3, counts)
    shown = table.suppressed()
    assert shown.n == tuple(None if u in hidden else n for u, n in enumerate(sizes))
    for pair, before in zip(shown.pairs, table.pairs, strict=True):
        if pair.source in hidden:
            assert pair == Pair(before.source, before.target, None)
        elif pair.target in hidden:
            assert pair == Pair(before.source, before.target, before.n)
        else:
            assert pair == before
    for u, one in enumerate(shown.any_other_by_group):
        assert (one.n, one.ratio) == ((None, None) if u in hidden else (sizes[u], table.any_other_by_group[u].ratio))
        assert one.bounds is None or not hidden
    assert (shown.any_other == AnyOther(None)) is hides_all
    assert (shown is table) is not bool(hidden)
    assert shown.suppressed() == shown
    assert shown.looked_at == table.looked_at
    json.dumps(shown.to_dict(), allow_nan=False)


# What does not fit


def flag_counts(score: Floats, group: Rows, groups: int, threshold: float) -> FlagCounts:
    names = [str(k) for k in range(groups)]
    return GroupScores(score, None, group, names, seed=0).flag_counts(threshold)


def test_flag_counts_by_hand() -> None:
    found = flag_counts(np.array([0.1, 0.5, 0.9, 0.6]), np.array([0, 0, 2, 2]), 4, 0.5)
    assert found == FlagCounts((0, 0, 2, 0), (2, 0, 2, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ("a", "b")}, "1 other groups and 90 people; got shape"),
        ({"names": ("a", "b", "a")}, "at least two groups, each once; got"),
        ({"group": np.full(90, 3)}, "a group from 0 to 2 for each of 90 people"),
        ({"group": np.zeros(5, dtype=np.intp)}, "a group from 0 to 2 for each of 90 people"),
        ({"twins": np.zeros((0, 1, 2, 90))}, "2 other groups and 90 people; got shape"),
        ({"twins": np.zeros((2, 1, 2, 90))}, "even number of models, 4 or more; there are 2"),
        ({"twins": np.zeros((5, 1, 2, 90))}, "even number of models, 4 or more; there are 5"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(draw_case(), **change).scores(seed=0)
    with pytest.raises(ValueError, match=r"Expected which of 3 x 3 pairs"):
        draw_case().scores(compared=np.ones((2, 2), dtype=np.bool_))


def test_clipping_never_hides_a_contradiction() -> None:
    """An interval that flag rates exclude comes back as it is, also within the simultaneous one."""
    group, twins = np.repeat([0, 1], 500), np.ones((20, 1, 1, 1000))
    table = PairScores(np.zeros(1000), twins, group, ("a", "b"), seed=0).at(0.5, FlagCounts((0, 0), (10**6, 10**6)))
    for pair in table.pairs:
        assert pair.bounds is not None
        assert (pair.bounds.low, pair.bounds.high) == (0.0, 0.0)
        assert pair.interval is not None
        assert pair.interval.low > 0.9
        assert contains(pair.simultaneous, pair.interval)
