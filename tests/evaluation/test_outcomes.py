from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, roc_auc_score

from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.tally import Tally


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 30))
    grid = st.integers(0, 6).map(float)  # ties on purpose
    score, other = (np.array(draw(st.lists(grid, min_size=n, max_size=n))) for _ in range(2))
    labels = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return score, other, labels


def every_threshold(score: Floats, other: Floats) -> Floats:
    """Thresholds at which anything can change, ascending, with one below all scores."""
    return np.concatenate([[-np.inf], np.unique(np.concatenate([score, other]))])


@settings(max_examples=100, deadline=None)
@given(cases())
def test_areas_are_those_of_scikit_learn(case: tuple[Floats, Floats, Bools]) -> None:
    score, other, labels = case
    curve = ScoreCurve(score, other, labels)
    if labels.all() or not labels.any():
        assert (curve.auc_roc, curve.auc_pr) == (None, None)
    else:
        assert curve.auc_roc == pytest.approx(roc_auc_score(labels, score), abs=1e-12)
        assert curve.auc_pr == pytest.approx(average_precision_score(labels, score), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(cases())
def test_every_threshold_agrees_with_a_loop_and_with_scikit_learn(case: tuple[Floats, Floats, Bools]) -> None:
    score, other, labels = case
    curve = ScoreCurve(score, other, labels)
    thresholds = every_threshold(score, other)
    at = curve.at(thresholds)
    for k, t in enumerate(thresholds):
        here, there = score > t, other > t
        assert at.flag_rate[k] == pytest.approx(here.mean())
        assert at.above_median[k] == (score > np.median(score)).mean()
        assert at.flag_rate_counterfactual[k] == pytest.approx(there.mean())
        assert at.changing_ratio[k] == pytest.approx((here != there).mean())
        assert at.newly_flagged[k] == pytest.approx((~here & there).mean())
        assert at.newly_cleared[k] == pytest.approx((here & ~there).mean())
        matrix = [[at.true_negative[k], at.false_positive[k]], [at.false_negative[k], at.true_positive[k]]]
        by_hand = [[int((seen & is_flagged).sum()) for is_flagged in (~here, here)] for seen in (~labels, labels)]
        assert matrix == by_hand
        if labels.all() or not labels.any():
            assert np.isnan(at.macro_f1[k])  # one class only: undefined
        elif k == len(thresholds) // 2:  # it is slow
            assert np.array_equal(confusion_matrix(labels, here, labels=[False, True]), matrix)
            assert at.macro_f1[k] == pytest.approx(f1_score(labels, here, average="macro"))
        else:
            (tn, fp), (fn, tp) = matrix
            assert at.macro_f1[k] == pytest.approx(tp / (2 * tp + fp + fn) + tn / (2 * tn + fn + fp))


def test_the_ends_of_the_curve() -> None:
    score, other = np.array([1.0, 2.0]), np.array([2.0, 3.0])
    at = ScoreCurve(score, other).at(every_threshold(score, other))
    assert at.flag_rate[0] == 1.0
    assert at.flag_rate[-1] == 0.0
    assert at.changing_ratio[0] == at.changing_ratio[-1] == 0.0
    assert np.isnan(at.macro_f1).all()  # no labels, no F1


def test_one_threshold_and_nobody() -> None:
    assert ScoreCurve(np.array([1.0]), np.array([5.0])).at(3.0).newly_flagged == 1.0
    nobody = ScoreCurve(np.array([]), np.array([]))
    assert np.isnan(nobody.median)
    assert np.isnan(
        [nobody.at(1.0).changing_ratio, nobody.at(1.0).above_median, nobody.at(1.0, 0.5).above_median]
    ).all()


def test_the_median_may_be_that_of_more_people() -> None:
    curve = ScoreCurve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert curve.median == 2.0
    np.testing.assert_array_equal(curve.at(np.array([0.0, 9.0])).above_median, [1 / 3, 1 / 3])
    assert curve.at(0.0, median=1.5).above_median == 2 / 3


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_several_twins_of_some_people_are_shares(seed: int, several: int) -> None:
    """What is about people counts everybody, what is about twins those who have some: against a loop."""
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 6, 12).astype(np.float64)
    people = rng.choice(12, rng.integers(1, 12), replace=False)
    twins = rng.integers(0, 6, (several, len(people))).astype(np.float64)
    curve = ScoreCurve(score[people], twins, everybody=(Tally.of(score), None))
    for t in np.arange(-1.0, 7.0):
        at = curve.at(t)
        here, there = score[people] > t, twins > t
        assert at.flag_rate == pytest.approx((score > t).mean())
        assert at.flag_rate_counterfactual == pytest.approx(there.mean())
        assert at.changing_ratio == pytest.approx((here != there).mean())
        assert at.newly_flagged == pytest.approx((~here & there).mean())
        assert at.newly_cleared == pytest.approx((here & ~there).mean())
