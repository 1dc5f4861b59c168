"""Counts of bins say what the scores themselves say, at every edge; and between them as wrong as is stated, at most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.evaluation.counts import ScoreCounts, edges_for
from cfad_core.evaluation.densities import score_densities
from cfad_core.evaluation.group_metrics import GroupScores
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.tally import Tally, area_under_roc, average_precision

Case = tuple[Floats, Rows, Bools]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n = draw(st.integers(1, 40))
    score = np.array(draw(st.lists(st.integers(0, 9).map(float), min_size=n, max_size=n)))
    group = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return score, group, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def counted(case: Case, edges: Floats, cut: int = 0) -> ScoreCounts:
    """In two parts, cut anywhere."""
    none = ScoreCounts.none(edges, 3, labelled=True)
    score, group, labels = case
    first, second = (
        none.with_people(score[part], group[part], labels[part]) for part in (slice(None, cut), slice(cut, None))
    )
    return first + second


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(0, 40))
def test_where_every_score_is_an_edge_nothing_is_lost(case: Case, cut: int) -> None:
    score, _, labels = case
    edges = np.append(np.unique(score), np.inf)
    people, anomalies = counted(case, edges, cut).cells.tallies()
    exact, odd = Tally.of(score), Tally.of(score[labels])
    assert anomalies is not None
    thresholds = np.linspace(-1.0, 10.0, 50)
    assert (people.above(thresholds) == exact.above(thresholds)).all()
    assert (people.n, anomalies.n, people.median) == (exact.n, odd.n, exact.median)
    shares = np.linspace(0.0, 1.0, 11)
    assert people.quantile(shares) == pytest.approx(np.quantile(score, shares))
    assert area_under_roc(anomalies, people) == pytest.approx(area_under_roc(odd, exact))
    assert average_precision(anomalies, people) == pytest.approx(average_precision(odd, exact))
    ranks = np.arange(len(score))
    assert (people.at_rank(ranks) == np.sort(score)).all()


@settings(max_examples=50, deadline=None)
@given(cases())
def test_metrics_of_groups_are_those_of_the_scores(case: Case) -> None:
    score, group, labels = case
    names = ("a", "b", "c")
    edges = np.append(np.unique(score), np.inf)
    exact, found = (
        GroupScores(score, labels, group, names, seed=3),
        counted(case, edges).cells.group_scores(names, seed=3),
    )
    for threshold in (-1.0, 3.0, 4.5):
        assert found.at(threshold).to_dict() == exact.at(threshold).to_dict()
        assert found.flag_counts(threshold) == exact.flag_counts(threshold)


@settings(max_examples=50, deadline=None)
@given(cases())
def test_coarse_bins_are_exact_at_edges_and_too_high_by_less_than_a_bin_between(case: Case) -> None:
    score = case[0]
    edges = np.array([2.0, 5.0, np.inf])
    tally, exact = counted(case, edges).cells.tallies()[0], Tally.of(score)
    assert (tally.above(np.array([2.0, 5.0])) == exact.above(np.array([2.0, 5.0]))).all()
    between = np.linspace(-1.0, 10.0, 34)
    wrong = tally.above(between) - exact.above(between)
    assert (wrong >= 0.0).all()
    assert (wrong <= tally.error * len(score) + 1e-9).all()


def test_groups_are_taken_together_and_left_out() -> None:
    case = (np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 2, 2]), np.array([True, False, False, True]))
    found = counted(case, np.array([1.0, 2.0, 3.0, 4.0, np.inf])).grouped(np.array([0, 2]), np.array([1, 1]), 2)
    assert found.people.tolist() == [0, 3]
    people, anomalies = found.cells.tallies(1)
    assert anomalies is not None
    assert (people.n, anomalies.n, float(people.above(2.5))) == (3, 2, 2.0)


def test_a_curve_counts_everybody_but_changes_those_who_have_twins() -> None:
    score, twins = np.array([1.0, 5.0]), np.array([3.0, 5.0])
    everybody = (Tally(np.array([1.0, 2.0, 5.0]), np.array([70, 20, 10])), None)
    at = ScoreCurve(score, twins, everybody=everybody).at(2.0)
    assert (at.n, float(at.flag_rate), float(at.changing_ratio)) == (100, 0.1, 0.5)


def test_densities_of_counts_are_those_of_the_scores() -> None:
    score = np.random.default_rng(0).gamma(2.0, size=50_000)
    none = ScoreCounts.none(edges_for(score[:20_000], np.zeros(0)), 1, labelled=False)
    tally, _ = none.with_people(score, np.zeros(50_000, dtype=np.intp), None).cells.tallies()
    found, exact = (score_densities({"a": some}, bins=40) for some in (tally, score))
    assert np.abs(found.density["a"] - exact.density["a"]).max() < 0.01 * exact.density["a"].max()
    assert found.edges[-1] == exact.edges[-1]


def test_thresholds_are_edges_and_most_bins_are_where_thresholds_lie() -> None:
    score = np.random.default_rng(1).lognormal(size=50_000)
    edges = edges_for(score, np.array([1.2345, np.nan]))
    assert 1.2345 in edges
    assert edges[-1] == np.inf
    assert (np.diff(edges) > 0.0).all()
    counts = ScoreCounts.none(edges, 1, labelled=False).with_people(score, np.zeros(50_000, dtype=np.intp), None)
    assert counts.error < 0.0005
    top = Tally(counts.cells.tallies()[0].ascending[edges > np.quantile(score, 0.9)])
    assert top.n > len(edges) * 0.4


def test_nobody_and_scores_that_are_all_the_same() -> None:
    none = ScoreCounts.none(edges_for(np.zeros(0), np.array([0.5])), 2, labelled=True)
    assert np.isnan(none.cells.tallies()[0].median)
    assert none.error == 0.0
    same = none.with_people(np.full(3, 7.0), np.zeros(3, dtype=np.intp), np.zeros(3, dtype=np.bool_))
    assert float(same.cells.tallies()[0].above(6.0)) == 3.0
    assert same.cells.tallies()[0].ascending[-1] == 7.0
