from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, BaselineConfig
from cfad_core.detectors import pca
from cfad_core.detectors.pca import PrincipalComponents
from cfad_core.detectors.protocol import ExplainedDetector
from tests.detectors.promises import OFF_THE_PLANE, fitting, near_the_plane, training_rows


def fitted(x: Floats | None = None, seed: int = 0, **changes: Any) -> PrincipalComponents:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(**changes))
    return pca.fit(fitting(training_rows(near_the_plane() if x is None else x), config))


def scaled(x: Floats) -> Floats:
    return training_rows(near_the_plane()).inputs(x)


def test_pca_scores_what_the_components_leave() -> None:
    detector = fitted(pca_variance=0.9)
    reference = PCA(n_components=2).fit(scaled(near_the_plane()))
    assert reference.explained_variance_ratio_[0] < 0.9 < reference.explained_variance_ratio_.sum()
    x = near_the_plane(50, seed=1) + OFF_THE_PLANE
    residual = scaled(x) - reference.inverse_transform(reference.transform(scaled(x)))
    assert isinstance(detector, ExplainedDetector)
    np.testing.assert_allclose(detector.contributions(x), residual**2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(detector.anomaly_score(x), (residual**2).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1), (0.4, 1), (0.6, 2), (0.85, 3), (0.95, 3), (1.0, 3)])
def test_pca_keeps_a_share_of_the_variance_and_never_all_components(share: float, kept: int) -> None:
    """Two columns are one thing measured twice: components hold 1/2, 1/4, 1/4 and nothing of the variance."""
    corners = np.array([[a, b, b, d] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for d in (-1.0, 1.0)])
    corners += 1e-3 * np.arange(4.0)  # an offset changes nothing
    detector = fitted(corners, pca_variance=share)
    assert detector.components.shape == (kept, 4)
    np.testing.assert_allclose(detector.components @ detector.components.T, np.eye(kept), atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_pca_always_leaves_something_to_score(columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(50, columns))
    detector = fitted(x, pca_variance=1.0)
    assert len(detector.components) == columns - 1
    assert detector.anomaly_score(x).max() > 1e-3


def test_pca_has_no_chance_in_it() -> None:
    assert np.array_equal(
        fitted(seed=0).anomaly_score(near_the_plane()), fitted(seed=1).anomaly_score(near_the_plane())
    )
