from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig, DetectorConfig, TwinRule
from cfad_core.core.states import TWO_GROUPS, States
from cfad_core.detectors import twin
from cfad_core.detectors.pca import PrincipalComponents
from cfad_core.detectors.protocol import (
    AnyDetector,
    Detector,
    InputScaling,
    PeopleDetector,
    SavedDetector,
    twins_wanted,
)
from cfad_core.detectors.protocol import explain_people as explain
from cfad_core.detectors.protocol import score_people as score
from cfad_core.detectors.twin import TwinDetector, twin_score
from tests.detectors.promises import MOVED, assert_people_are_scored_alone, fitting, near_the_plane, training_rows

SCORES = hnp.arrays(np.float64, (2, 5), elements=st.floats(0.0, 1e6))
RULES: tuple[TwinRule, ...] = ("mean", "max", "min")
EVERY_RULE = pytest.mark.parametrize("rule", RULES)


class Bare:
    """Scores the first attribute, and explains nothing."""

    def anomaly_score(self, x: Floats) -> Floats:
        return np.abs(x[:, 0])


def base() -> PrincipalComponents:
    """Scores the distance from the line on which all attributes are equal."""
    return PrincipalComponents(InputScaling(np.zeros(3), np.ones(3)), np.full((1, 3), np.sqrt(1.0 / 3.0)))


def people(n: int = 40, seed: int = 0) -> Floats:
    """In quarters, so that moving somebody there and back leaves no rounding behind."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.choice([-1.0, 1.0], n), rng.integers(-20, 20, (n, 3)) / 4.0])


@dataclass(frozen=True)
class FirstMoved:
    """Twins differ in the first attribute, by 2; where there are several, by 2, 3, 4, ..."""

    draws: bool = False

    @property
    def states(self) -> States:
        return TWO_GROUPS

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        twins = x.copy()
        twins[:, 0], twins[:, 1] = -x[:, 0], x[:, 1] - (2.0 + draw) * x[:, 0]
        return twins

    @property
    def drawn_columns(self) -> Bools:
        return np.zeros(0, dtype=np.bool_)

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        raise AssertionError("twin scoring does not ask for it")


FIRST_MOVED = FirstMoved()
first_moved = FIRST_MOVED.twins


@given(SCORES, st.sampled_from(RULES))
def test_the_two_worlds_are_scored_alike(scores: Floats, rule: TwinRule) -> None:
    assert np.array_equal(twin_score([scores[0], scores[1]], rule), twin_score([scores[1], scores[0]], rule))


@pytest.mark.parametrize(("rule", "expected"), [("mean", [2.0, 3.0]), ("max", [3.0, 4.0]), ("min", [1.0, 2.0])])
def test_rules_by_hand(rule: TwinRule, expected: list[float]) -> None:
    assert twin_score([np.array([1.0, 4.0]), np.array([3.0, 2.0])], rule).tolist() == expected


@EVERY_RULE
def test_a_person_and_their_twin_get_the_same_score_to_the_last_bit(rule: TwinRule) -> None:
    detector, some = TwinDetector(base(), FIRST_MOVED, rule), people()
    assert np.array_equal(first_moved(first_moved(some)), some)
    assert np.array_equal(detector.score_people(first_moved(some)), detector.score_people(some))
    plain = score(base(), some)
    assert not np.array_equal(score(base(), first_moved(some)), plain)  # it is the rule that makes them alike
    assert not np.array_equal(detector.score_people(some), plain)


@dataclass(frozen=True)
class InTurn(FirstMoved):
    """Three groups, or two attributes of two: each group adds its number to the first attribute."""

    sizes: tuple[int, ...] = (3,)

    @property
    def states(self) -> States:
        return States(self.sizes)

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        repeat, number = divmod(draw, self.states.others)
        there = self.states.other(self.states.of_codes(x[:, 0]), number)
        twins = x.copy()
        twins[:, 0], twins[:, 1] = there, x[:, 1] + there - x[:, 0] + (repeat if self.draws else 0)
        return twins


def people_of(sizes: tuple[int, ...], n: int = 40) -> Floats:
    """In every state; attributes that leave rounding behind, for scores that add up in one order alone."""
    rng = np.random.default_rng(1)
    return np.column_stack(
        [np.arange(n) % States(sizes).count, rng.integers(-20, 20, n) / 4.0, rng.normal(size=(n, 2))]
    )


@EVERY_RULE
@pytest.mark.parametrize("sizes", [(3,), (5,), (2, 2)])
def test_a_person_and_all_their_twins_get_the_same_score_to_the_last_bit(
    rule: TwinRule, sizes: tuple[int, ...]
) -> None:
    causes, some = InTurn(sizes=sizes), people_of(sizes)
    detector = TwinDetector(base(), causes, rule)
    here = detector.score_people(some)
    for number in range(causes.states.others):
        assert np.array_equal(detector.score_people(causes.twins(some, number)), here)
    ways: dict[TwinRule, Callable[..., Floats]] = {"mean": np.mean, "max": np.max, "min": np.min}
    everywhere = [score(base(), some), *(score(base(), causes.twins(some, k)) for k in range(causes.states.others))]
    np.testing.assert_allclose(here, ways[rule](everywhere, axis=0), rtol=1e-12)
    parts = explain(detector, some)
    assert parts is not None
    np.testing.assert_allclose(parts.sum(axis=1), here, rtol=1e-12)


@pytest.mark.parametrize(("asked", "used"), [(1, 2), (2, 2), (3, 4), (8, 8)])
def test_every_other_group_has_as_many_twins(asked: int, used: int) -> None:
    """As many as are asked for, in all; at least one in each group."""
    causes, some = InTurn(draws=True), people_of((3,))
    assert twins_wanted(causes, asked) == used
    assert twins_wanted(InTurn(draws=False), asked) == 2
    detector = TwinDetector(base(), causes, "mean", asked)
    own = score(base(), some)
    expected = np.mean(
        [
            np.mean([own, *(score(base(), causes.twins(some, 2 * draw + k)) for k in range(2))], axis=0)
            for draw in range(used // 2)
        ],
        axis=0,
    )
    np.testing.assert_allclose(detector.score_people(some), expected, rtol=1e-12)


@EVERY_RULE
def test_explanations_sum_to_the_score_and_are_the_same_for_the_twin(rule: TwinRule) -> None:
    detector, some = TwinDetector(base(), FIRST_MOVED, rule), people()
    parts, of_twins = explain(detector, some), explain(detector, first_moved(some))
    assert parts is not None
    assert of_twins is not None
    np.testing.assert_allclose(parts.sum(axis=1), score(detector, some), rtol=1e-12)
    decided = np.abs(score(base(), some) - score(base(), first_moved(some))) > 1e-9  # no tie that rounding settles
    assert decided.sum() > 20
    np.testing.assert_allclose(of_twins[decided], parts[decided], rtol=1e-12)


@EVERY_RULE
def test_what_the_base_does_not_explain_has_no_explanation(rule: TwinRule) -> None:
    assert explain(TwinDetector(Bare(), FIRST_MOVED, rule), people()) is None


def test_it_scores_people_and_keeps_nothing_of_its_own() -> None:
    detector: AnyDetector = TwinDetector(base(), FIRST_MOVED, "mean")
    assert isinstance(detector, PeopleDetector)
    assert not isinstance(detector, Detector)
    assert not isinstance(detector, SavedDetector)


@pytest.mark.parametrize(("chosen", "used"), [("min", "min"), ("max", "max"), (None, "mean")])
def test_fitting_takes_cfad_the_map_and_the_rule(chosen: TwinRule | None, used: TwinRule) -> None:
    cfad = base()
    config = AuditConfig(detector=DetectorConfig(twin=chosen, twin_draws=7))
    task = fitting(training_rows(near_the_plane()), config, fitted={"ae": Bare(), "cfad": cfad})
    for found in (twin.fit(task), twin.restore({}, task)):
        assert found.base is cfad
        assert found.causes is MOVED
        assert (found.rule, found.draws) == (used, 7)


@EVERY_RULE
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_the_score_is_the_mean_over_all_draws_by_brute_force(rule: TwinRule, draws: int) -> None:
    causes, some = FirstMoved(draws=True), people()
    detector = TwinDetector(base(), causes, rule, draws)
    own = [score(base(), person[None])[0] for person in some]
    possible = [[causes.twins(person[None], draw) for draw in range(draws)] for person in some]
    ways: dict[TwinRule, Callable[[list[float]], float]] = {"mean": statistics.fmean, "max": max, "min": min}
    combine = ways[rule]
    expected = [
        np.mean([combine([here, score(base(), twin)[0]]) for twin in twins])
        for here, twins in zip(own, possible, strict=True)
    ]
    np.testing.assert_allclose(detector.score_people(some), expected, rtol=1e-12)
    parts = detector.explain_people(some)
    assert parts is not None
    np.testing.assert_allclose(parts.sum(axis=1), expected, rtol=1e-12)


def test_more_draws_matter_only_where_twins_are_drawn() -> None:
    some = people()
    one, five = (TwinDetector(base(), FirstMoved(draws=True), "mean", draws).score_people(some) for draws in (1, 5))
    assert not np.array_equal(one, five)
    for draws in (1, 5):
        sure = TwinDetector(base(), FIRST_MOVED, "mean", draws)
        assert np.array_equal(sure.score_people(some), one)
        parts, usual = sure.explain_people(some), TwinDetector(base(), FIRST_MOVED, "mean").explain_people(some)
        assert parts is not None
        assert usual is not None
        assert np.array_equal(parts, usual)


def test_a_known_score_of_the_person_is_taken_as_it_is() -> None:
    some = people()
    detector = TwinDetector(base(), FirstMoved(draws=True), "mean", 3)
    assert np.array_equal(detector.score_people(some, score(base(), some)), detector.score_people(some))
    lifted = detector.score_people(some, score(base(), some) + 1.0)
    np.testing.assert_allclose(lifted, detector.score_people(some) + 0.5, rtol=1e-12)


@EVERY_RULE
def test_a_person_has_the_same_score_in_any_company(rule: TwinRule) -> None:
    detector = TwinDetector(base(), FirstMoved(draws=True), rule, 3)
    assert_people_are_scored_alone(detector, people(1500), seed=0)
    assert np.array_equal(detector.score_people(people()), detector.score_people(people()))
    assert detector.score_people(people()[:0]).shape == (0,)
