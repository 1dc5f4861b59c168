from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig, TwinRule
from cfad_core.detectors import twin
from cfad_core.detectors.pca import PrincipalComponents
from cfad_core.detectors.protocol import AnyDetector, Detector, InputScaling, PeopleDetector, SavedDetector
from cfad_core.detectors.protocol import explain_people as explain
from cfad_core.detectors.protocol import score_people as score
from cfad_core.detectors.twin import TwinDetector, twin_score
from tests.detectors.promises import fitting, near_the_plane, training_rows, twins_of

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


def first_moved(some: Floats) -> Floats:
    """Twins differ in the first attribute, by 2."""
    twins = some.copy()
    twins[:, 0], twins[:, 1] = -some[:, 0], some[:, 1] - 2.0 * some[:, 0]
    return twins


@given(SCORES, st.sampled_from(RULES))
def test_the_two_worlds_are_scored_alike(scores: Floats, rule: TwinRule) -> None:
    assert np.array_equal(twin_score(scores[0], scores[1], rule), twin_score(scores[1], scores[0], rule))


@pytest.mark.parametrize(("rule", "expected"), [("mean", [2.0, 3.0]), ("max", [3.0, 4.0]), ("min", [1.0, 2.0])])
def test_rules_by_hand(rule: TwinRule, expected: list[float]) -> None:
    assert twin_score(np.array([1.0, 4.0]), np.array([3.0, 2.0]), rule).tolist() == expected


@EVERY_RULE
def test_a_person_and_their_twin_get_the_same_score_to_the_last_bit(rule: TwinRule) -> None:
    detector, some = TwinDetector(base(), first_moved, rule), people()
    assert np.array_equal(first_moved(first_moved(some)), some)
    assert np.array_equal(detector.score_people(first_moved(some)), detector.score_people(some))
    plain = score(base(), some)
    assert not np.array_equal(score(base(), first_moved(some)), plain)  # it is the rule that makes them alike
    assert not np.array_equal(detector.score_people(some), plain)


@EVERY_RULE
def test_explanations_sum_to_the_score_and_are_the_same_for_the_twin(rule: TwinRule) -> None:
    detector, some = TwinDetector(base(), first_moved, rule), people()
    parts, of_twins = explain(detector, some), explain(detector, first_moved(some))
    assert parts is not None
    assert of_twins is not None
    np.testing.assert_allclose(parts.sum(axis=1), score(detector, some), rtol=1e-12)
    decided = np.abs(score(base(), some) - score(base(), first_moved(some))) > 1e-9  # no tie that rounding settles
    assert decided.sum() > 20
    np.testing.assert_allclose(of_twins[decided], parts[decided], rtol=1e-12)


@EVERY_RULE
def test_what_the_base_does_not_explain_has_no_explanation(rule: TwinRule) -> None:
    assert explain(TwinDetector(Bare(), first_moved, rule), people()) is None


def test_it_scores_people_and_keeps_nothing_of_its_own() -> None:
    detector: AnyDetector = TwinDetector(base(), first_moved, "mean")
    assert isinstance(detector, PeopleDetector)
    assert not isinstance(detector, Detector)
    assert not isinstance(detector, SavedDetector)


@pytest.mark.parametrize(("chosen", "used"), [("min", "min"), ("max", "max"), (None, "mean")])
def test_fitting_takes_cfad_the_map_and_the_rule(chosen: TwinRule | None, used: TwinRule) -> None:
    cfad = base()
    config = AuditConfig(detector=DetectorConfig(twin=chosen))
    task = fitting(training_rows(near_the_plane()), config, fitted={"ae": Bare(), "cfad": cfad})
    for found in (twin.fit(task), twin.restore({}, task)):
        assert found.base is cfad
        assert found.twins_of is twins_of
        assert found.rule == used
