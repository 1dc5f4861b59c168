from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, BaselineConfig
from cfad_core.detectors import iforest
from cfad_core.detectors.iforest import Forest
from tests.detectors.promises import (
    FAR_OUTSIDE,
    OFF_THE_PLANE,
    fitting,
    near_the_plane,
    restored,
    training_rows,
)


def fitted(x: Floats | None = None, seed: int = 0, **changes: Any) -> Forest:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(**({"iforest_trees": 20} | changes)))
    return iforest.fit(fitting(training_rows(near_the_plane() if x is None else x), config))


@pytest.mark.parametrize("n", [3, 100, 600])  # trees of all rows, and of 256
def test_the_isolation_forest_is_that_of_scikit_learn(n: int) -> None:
    train = near_the_plane(n, seed=n)
    detector, inputs = fitted(train, seed=5), training_rows(train).inputs
    reference = IsolationForest(n_estimators=20, random_state=5).fit(inputs(train))
    x = np.concatenate([train, near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    expected = -reference.score_samples(inputs(x))
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=0.0, atol=1e-9)
    again = restored(iforest, detector.state())
    np.testing.assert_allclose(again.anomaly_score(x), expected, rtol=0.0, atol=1e-9)


def test_the_isolation_forest_decides_at_thresholds_as_scikit_learn_does() -> None:
    """Whole numbers fall on neither side by rounding alone."""
    train = np.random.default_rng(0).integers(0, 4, size=(200, 3)).astype(np.float64)
    detector, inputs = fitted(train), training_rows(train).inputs
    reference = IsolationForest(n_estimators=20, random_state=0).fit(inputs(train))
    thresholds = np.concatenate([tree.tree_.threshold for tree in reference.estimators_])
    x = np.concatenate([train, thresholds[:, None] * inputs.scale + inputs.center])
    np.testing.assert_allclose(detector.anomaly_score(x), -reference.score_samples(inputs(x)), rtol=0.0, atol=1e-9)


def test_another_seed_gives_another_forest() -> None:
    first, other = (fitted(seed=seed).anomaly_score(near_the_plane()) for seed in (0, 1))
    assert not np.array_equal(other, first)
