"""Ranks within the group, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.states import States
from cfad_core.detectors.pca import PrincipalComponents
from cfad_core.detectors.protocol import InputScaling, PeopleDetector, SavedDetector, SharedExplanation, Surroundings
from cfad_core.detectors.rank import RankDetector, Ranking, fit_rank
from tests.detectors.promises import (
    MOVED,
    Moved,
    assert_people_are_scored_alone,
    fitting,
    saved_and_read,
    training_rows,
)

SCORES = st.floats(-1e6, 1e6, width=32)


class First:
    """Scores the first attribute, and explains nothing."""

    def anomaly_score(self, x: Floats) -> Floats:
        return x[:, 0].copy()


def people(scores: Floats, sensitive: Floats) -> Floats:
    return np.column_stack([sensitive, scores, np.zeros(len(scores))])


def ranked(scores: Floats, sensitive: Floats) -> RankDetector:
    some = people(scores, sensitive)
    return fit_rank(First(), fitting(training_rows(some[:, 1:], sensitive), AuditConfig()))


def two_groups(n: int = 700) -> tuple[Floats, Floats]:
    """The second group scores higher, and is spread otherwise."""
    rng = np.random.default_rng(0)
    sensitive = np.where(np.arange(n) % 7 < 3, -1.0, 1.0)
    return np.where(sensitive > 0.0, 5.0 + 9.0 * rng.standard_exponential(n), rng.normal(size=n)), sensitive


def test_ranks_of_either_groups_normal_people_are_uniform() -> None:
    scores, sensitive = two_groups()
    rank = ranked(scores, sensitive).score_people(people(scores, sensitive))
    for sign in (-1.0, 1.0):
        own = np.sort(rank[sensitive == sign])
        np.testing.assert_allclose(own, np.linspace(0.0, 1.0, len(own)), atol=2e-3)


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.9, 0.95, 0.99])
def test_one_threshold_flags_as_many_of_either_group(threshold: float) -> None:
    scores, sensitive = two_groups()
    flagged = ranked(scores, sensitive).score_people(people(scores, sensitive)) > threshold
    rates = [flagged[sensitive == sign].mean() for sign in (-1.0, 1.0)]
    assert rates == pytest.approx([1.0 - threshold] * 2, abs=0.005)
    raw = scores > np.quantile(scores, threshold)
    assert abs(raw[sensitive > 0].mean() - raw[sensitive < 0].mean()) > 0.015  # it is the ranks that make them alike


@given(hnp.arrays(np.float64, 30, elements=SCORES), hnp.arrays(np.float64, 40, elements=SCORES), st.booleans())
def test_within_a_group_the_order_is_the_bases_also_beyond_everybody(known: Floats, asked: Floats, which: bool) -> None:
    sensitive = np.where(np.arange(30) % 2 == 0, -1.0, 1.0)
    group = np.full(40, 1.0 if which else -1.0)
    detector = ranked(known, sensitive)
    asked = np.sort(asked)
    rank = detector.score_people(people(asked, group))
    assert (np.diff(rank) >= 0.0).all()
    assert ((rank >= 0.0) & (rank <= 2.0)).all()
    assert np.array_equal(rank[1:][asked[1:] == asked[:-1]], rank[:-1][asked[1:] == asked[:-1]])


def test_who_is_above_everybody_is_above_one_in_the_order_of_the_base() -> None:
    detector = ranked(np.array([0.0, 0.0, 10.0, 4.0]), np.array([-1.0, 1.0, -1.0, 1.0]))
    far = np.array([10.0, 10.001, 11.0, 20.0, 110.0, 1e9])
    rank = detector.score_people(people(far, np.full(6, -1.0)))
    assert rank[0] == 1.0
    assert (np.diff(rank) > 0.0).all()
    assert rank[3] == pytest.approx(1.5)  # one spread beyond
    assert rank[-1] < 2.0
    assert detector.score_people(people(np.array([4.0, 8.0]), np.ones(2))) == pytest.approx([1.0, 1.5])


def test_by_hand() -> None:
    """Five people in one group: the share of them that is below, linear between; other people's group has no say."""
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 100.0, 200.0])
    detector = ranked(scores, np.array([-1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0]))
    asked = np.array([0.0, 1.0, 1.5, 3.0, 4.25, 5.0])
    found = detector.score_people(people(asked, np.full(6, -1.0)))
    np.testing.assert_allclose(found, [0.0, 0.0, 0.125, 0.5, 0.8125, 1.0], atol=1e-12)
    assert detector.score_people(people(np.array([150.0]), np.ones(1))) == pytest.approx([0.5])


def test_people_with_the_same_score_have_the_middle_of_their_places() -> None:
    scores = np.concatenate([np.zeros(600), np.linspace(1.0, 2.0, 401)])
    detector = ranked(np.concatenate([scores, scores + 1.0]), np.repeat([-1.0, 1.0], 1001))
    found = detector.score_people(people(np.array([0.0, 1.5]), np.full(2, -1.0)))
    np.testing.assert_allclose(found, [0.2995, 0.8], atol=1e-9)
    same = ranked(np.full(8, 3.0), np.repeat([-1.0, 1.0], 4))
    above = same.score_people(people(np.array([2.0, 3.0, 4.0]), np.ones(3)))
    assert above.tolist() == [0.0, 0.5, 1.5]


@pytest.mark.parametrize("absent", [-1.0, 1.0])
def test_a_group_without_normal_people_has_all_others_ranks(absent: float) -> None:
    scores = np.linspace(0.0, 1.0, 50)
    detector = ranked(scores, np.full(50, -absent))
    here, there = (detector.score_people(people(scores, np.full(50, sign))) for sign in (-1.0, 1.0))
    assert np.array_equal(here, there)
    np.testing.assert_allclose(here, scores, atol=1e-12)


def test_every_state_of_several_attributes_has_ranks_of_its_own() -> None:
    """Six states, of which nobody is in the last."""
    rng = np.random.default_rng(1)
    state = rng.integers(5, size=2500).astype(np.float64)
    scores = rng.normal(size=2500) * (1.0 + state) + 10.0 * state
    some = people(scores, state)
    task = fitting(training_rows(some[:, 1:], state), AuditConfig(), causes=Moved(states=States((2, 3))))
    detector = fit_rank(First(), task)
    assert detector.quantiles.shape == (6, 1001)
    flagged = detector.score_people(some) > 0.9
    for own in range(5):
        assert flagged[state == own].mean() == pytest.approx(0.1, abs=0.005)
    nobody = detector.score_people(people(scores, np.full(2500, 5.0)))
    np.testing.assert_allclose(np.sort(nobody), np.linspace(0.0, 1.0, 2500), atol=2e-3)
    again = Ranking("pca").restore(saved_and_read(detector), Surroundings(AuditConfig(), {"pca": First()}, MOVED))
    assert np.array_equal(again.score_people(some), detector.score_people(some))


def test_a_known_score_of_the_base_is_taken_as_it_is() -> None:
    scores, sensitive = two_groups()
    detector, some = ranked(scores, sensitive), people(scores, sensitive)
    assert np.array_equal(detector.score_people(some, scores), detector.score_people(some))
    assert (detector.score_people(some, np.full(len(scores), 1e6)) > 1.0).all()


def test_it_scores_people_and_is_explained_as_its_base() -> None:
    base = PrincipalComponents(InputScaling(np.zeros(2), np.ones(2)), np.array([[1.0, 0.0]]))
    some = people(*two_groups())
    task = fitting(training_rows(some[:, 1:], some[:, 0]), AuditConfig(), fitted={"pca": base})
    detector = Ranking("pca").fit(task)
    assert isinstance(detector, PeopleDetector)
    assert isinstance(detector, SharedExplanation)
    assert isinstance(detector, SavedDetector)
    assert detector.base is detector.explained_by is base
    parts = detector.explain_people(some)
    assert parts is not None
    assert np.array_equal(parts, base.contributions(some[:, 1:]))
    assert ranked(*two_groups()).explain_people(some) is None


def test_saving_keeps_every_bit_and_every_person_is_scored_alone() -> None:
    detector, base = ranked(*two_groups()), First()
    known = Surroundings(AuditConfig(), {"pca": base, "ae": First()}, MOVED)
    again = Ranking("pca").restore(saved_and_read(detector), known)
    assert again.base is base
    assert np.array_equal(again.quantiles, detector.quantiles)
    some = people(*two_groups(1500))
    assert np.array_equal(again.score_people(some), detector.score_people(some))
    assert_people_are_scored_alone(detector, some, seed=0)
    assert detector.score_people(some[:0]).shape == (0,)
