"""What PCA, the one-class SVM and the isolation forest promise alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, BaselineConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors.registry import module_of
from tests.conftest import Recorder
from tests.detectors.promises import (
    FAR_OUTSIDE,
    OFF_THE_PLANE,
    SavedRowDetector,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    assert_what_was_learned_is_least_odd,
    fitting,
    near_the_plane,
    training_rows,
)

METHODS = ("pca", "ocsvm", "iforest")
CLASSICAL = pytest.mark.parametrize("method", METHODS)


def fitted(method: str, x: Floats | None = None, progress: Progress | None = None) -> SavedRowDetector:
    config = AuditConfig(baselines=BaselineConfig(iforest_trees=20))
    rows = training_rows(near_the_plane() if x is None else x)
    found = module_of(method).fit(fitting(rows, config, progress=progress))
    assert isinstance(found, SavedRowDetector)
    return found


@pytest.fixture(scope="module")
def detectors() -> dict[str, SavedRowDetector]:
    return {method: fitted(method) for method in METHODS}


@CLASSICAL
def test_outliers_score_higher(detectors: dict[str, SavedRowDetector], method: str) -> None:
    ordinary, odd = (detectors[method].anomaly_score(near_the_plane() + shift) for shift in (0.0, OFF_THE_PLANE))
    assert np.median(odd) > np.quantile(ordinary, 0.95)


@CLASSICAL
@settings(max_examples=10, deadline=None)
@given(n=st.integers(1, 2100), seed=st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(
    detectors: dict[str, SavedRowDetector], method: str, n: int, seed: int
) -> None:
    assert_rows_are_scored_alone(detectors[method], near_the_plane(n, seed=seed), seed)


@CLASSICAL
def test_the_same_seed_gives_the_same_scores(detectors: dict[str, SavedRowDetector], method: str) -> None:
    assert np.array_equal(
        fitted(method).anomaly_score(near_the_plane()), detectors[method].anomaly_score(near_the_plane())
    )


@CLASSICAL
def test_state_round_trip_keeps_every_bit(detectors: dict[str, SavedRowDetector], method: str) -> None:
    x = np.concatenate([near_the_plane(), FAR_OUTSIDE])
    assert_saving_keeps_every_bit(detectors[method], module_of(method), x)


@CLASSICAL
def test_training_can_be_cancelled(method: str) -> None:
    recorder = Recorder(stop_in=method)
    with pytest.raises(AuditCancelled, match=method):
        fitted(method, progress=recorder)
    assert recorder.heard == [(method, 1, 1, {})]
    with pytest.raises(AuditCancelled, match=method):  # and before anything was done
        fitted(method, progress=recorder)
    assert len(recorder.heard) == 1


@CLASSICAL
def test_constant_columns_and_few_rows_train(method: str) -> None:
    x = np.column_stack([near_the_plane(4), np.full(4, 3.0)])
    assert_what_was_learned_is_least_odd(fitted(method, x), x, x + 100.0)
    same = np.full((4, 2), 3.0)
    assert_what_was_learned_is_least_odd(fitted(method, same), same, np.eye(2))
