from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cfad_core.detectors.classical import (
    Forest,
    KernelMachine,
    PrincipalComponents,
    fit_iforest,
    fit_ocsvm,
    fit_pca,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM

from cfad_core.core.config import BaselineConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors import classical
from cfad_core.detectors.protocol import BLOCK, ExplainedDetector, Inputs, SavedDetector
from tests.conftest import Recorder
from tests.detectors.promises import (
    OFF_THE_PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    near_the_plane,
    training_rows,
    unseen_draws,
)

CONFIG = BaselineConfig(iforest_trees=20)
FIT: dict[str, Callable[..., SavedDetector]] = {"pca": fit_pca, "ocsvm": fit_ocsvm, "iforest": fit_iforest}
KIND = {"pca": PrincipalComponents, "ocsvm": KernelMachine, "iforest": Forest}
METHODS = pytest.mark.parametrize("method", list(FIT))

FAR_OUTSIDE = np.array([[1e3] * 5, [-1e3] * 5, [1e12, -1e12, 0.0, 0.0, 0.0], [1e300] * 5])


def fitted(method: str, x: np.ndarray | None = None, seed: int = 0, **changes) -> SavedDetector:
    config = BaselineConfig(**({"iforest_trees": 20} | changes))
    rows = training_rows(near_the_plane() if x is None else x)
    return FIT[method](rows, config, seed=seed, progress=Progress())


def scaled(x: np.ndarray) -> np.ndarray:
    return training_rows(near_the_plane()).inputs(x)


@pytest.fixture(scope="module")
def detectors() -> dict[str, SavedDetector]:
    return {method: fitted(method) for method in FIT}


@pytest.fixture
def few_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 rows are too many for the exact one-class SVM."""
    monkeypatch.setattr(classical, "EXACT_KERNEL_ROWS", 299)
    monkeypatch.setattr(classical, "_ANCHORS", 40)


def test_pca_scores_what_the_components_leave() -> None:
    detector = fitted("pca", pca_variance=0.9)
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
    detector = fitted("pca", corners, pca_variance=share)
    assert isinstance(detector, PrincipalComponents)
    assert detector.components.shape == (kept, 4)
    np.testing.assert_allclose(detector.components @ detector.components.T, np.eye(kept), atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_pca_always_leaves_something_to_score(columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(50, columns))
    detector = fitted("pca", x, pca_variance=1.0)
    assert isinstance(detector, PrincipalComponents)
    assert len(detector.components) == columns - 1
    assert detector.anomaly_score(x).max() > 1e-3


def test_pca_has_no_chance_in_it() -> None:
    assert np.array_equal(
        fitted("pca", seed=0).anomaly_score(near_the_plane()), fitted("pca", seed=1).anomaly_score(near_the_plane())
    )


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_the_one_class_svm_is_that_of_scikit_learn(nu: float) -> None:
    detector, z = fitted("ocsvm", ocsvm_nu=nu), scaled(near_the_plane())
    assert isinstance(detector, KernelMachine)
    assert detector.exact
    assert detector.gamma == 1.0 / (5 * z.var())  # what scikit-learn calls "scale"
    with unseen_draws():
        reference = OneClassSVM(gamma="scale", nu=nu).fit(z)
    x = np.concatenate([near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    np.testing.assert_allclose(detector.anomaly_score(x), -reference.decision_function(scaled(x)), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("few_anchors")
def test_the_approximate_one_class_svm_is_that_of_scikit_learn() -> None:
    detector, z = fitted("ocsvm", seed=3), scaled(near_the_plane())
    assert isinstance(detector, KernelMachine)
    assert not detector.exact
    assert len(detector.anchors) == 40
    features = Nystroem(gamma=detector.gamma, n_components=40, random_state=3).fit(z)
    with unseen_draws():
        reference = SGDOneClassSVM(nu=CONFIG.ocsvm_nu, random_state=3).fit(features.transform(z))
    x = np.concatenate([near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    expected = -reference.decision_function(features.transform(scaled(x)))
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("few_anchors")
def test_the_approximate_one_class_svm_keeps_the_promises() -> None:
    detector = fitted("ocsvm")
    assert isinstance(detector, KernelMachine)
    assert_rows_are_scored_alone(detector, near_the_plane(1500, seed=1), seed=0)
    assert_saving_keeps_every_bit(detector, KernelMachine.from_state, near_the_plane())
    assert not KernelMachine.from_state(detector.state()).exact
    assert np.array_equal(fitted("ocsvm").anomaly_score(near_the_plane()), detector.anomaly_score(near_the_plane()))
    ordinary, odd = (detector.anomaly_score(near_the_plane() + shift) for shift in (0.0, 2.0 * OFF_THE_PLANE))
    assert odd.min() > np.median(ordinary)


@pytest.mark.parametrize("n", [3, 100, 600])  # trees of all rows, and of 256
def test_the_isolation_forest_is_that_of_scikit_learn(n: int) -> None:
    train = near_the_plane(n, seed=n)
    detector, inputs = fitted("iforest", train, seed=5), training_rows(train).inputs
    reference = IsolationForest(n_estimators=20, random_state=5).fit(inputs(train))
    x = np.concatenate([train, near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    expected = -reference.score_samples(inputs(x))
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=0.0, atol=1e-9)
    again = Forest.from_state(detector.state())
    np.testing.assert_allclose(again.anomaly_score(x), expected, rtol=0.0, atol=1e-9)


def test_the_isolation_forest_decides_at_thresholds_as_scikit_learn_does() -> None:
    """Whole numbers fall on neither side by rounding alone."""
    train = np.random.default_rng(0).integers(0, 4, size=(200, 3)).astype(np.float64)
    detector, inputs = fitted("iforest", train), training_rows(train).inputs
    reference = IsolationForest(n_estimators=20, random_state=0).fit(inputs(train))
    thresholds = np.concatenate([tree.tree_.threshold for tree in reference.estimators_])
    x = np.concatenate([train, thresholds[:, None] * inputs.scale + inputs.center])
    np.testing.assert_allclose(detector.anomaly_score(x), -reference.score_samples(inputs(x)), rtol=0.0, atol=1e-9)


@METHODS
def test_outliers_score_higher(detectors: dict[str, SavedDetector], method: str) -> None:
    ordinary, odd = (detectors[method].anomaly_score(near_the_plane() + shift) for shift in (0.0, OFF_THE_PLANE))
    assert np.median(odd) > np.quantile(ordinary, 0.95)


@METHODS
@settings(max_examples=10, deadline=None)
@given(n=st.integers(1, 2100), seed=st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(
    detectors: dict[str, SavedDetector], method: str, n: int, seed: int
) -> None:
    assert_rows_are_scored_alone(detectors[method], near_the_plane(n, seed=seed), seed)


@pytest.mark.parametrize("columns", [1, 5, 19])
@pytest.mark.parametrize("anchors", [1, 150, 500, 501])
def test_a_kernel_score_never_depends_on_the_place_of_the_row(anchors: int, columns: int) -> None:
    rng = np.random.default_rng(anchors)
    inputs = Inputs(np.zeros(columns), np.ones(columns))
    weights = rng.normal(size=anchors)  # of both signs, as Nystroem's are
    machine = KernelMachine(inputs, rng.normal(size=(anchors, columns)), weights, 1.0, 1.0 / columns, exact=False)
    for row in rng.normal(size=(20, columns)):
        assert len(np.unique(machine.anomaly_score(np.tile(row, (BLOCK, 1))))) == 1


@METHODS
def test_the_same_seed_gives_the_same_scores(detectors: dict[str, SavedDetector], method: str) -> None:
    assert np.array_equal(
        fitted(method).anomaly_score(near_the_plane()), detectors[method].anomaly_score(near_the_plane())
    )


def test_another_seed_gives_another_forest(detectors: dict[str, SavedDetector]) -> None:
    other = fitted("iforest", seed=1)
    assert not np.array_equal(
        other.anomaly_score(near_the_plane()), detectors["iforest"].anomaly_score(near_the_plane())
    )


@METHODS
def test_state_round_trip_keeps_every_bit(detectors: dict[str, SavedDetector], method: str) -> None:
    x = np.concatenate([near_the_plane(), FAR_OUTSIDE])
    assert_saving_keeps_every_bit(detectors[method], KIND[method].from_state, x)


@METHODS
def test_training_can_be_cancelled(method: str) -> None:
    recorder = Recorder(stop_in=method)
    with pytest.raises(AuditCancelled, match=method):
        FIT[method](training_rows(near_the_plane()), CONFIG, seed=0, progress=recorder)
    assert recorder.heard == [(method, 1, 1, {})]
    with pytest.raises(AuditCancelled, match=method):  # and before anything was done
        FIT[method](training_rows(near_the_plane()), CONFIG, seed=0, progress=recorder)
    assert len(recorder.heard) == 1


@METHODS
def test_constant_columns_and_few_rows_train(method: str) -> None:
    x = np.column_stack([near_the_plane(4), np.full(4, 3.0)])
    assert np.isfinite(fitted(method, x).anomaly_score(x)).all()
    assert np.isfinite(fitted(method, np.full((4, 2), 3.0)).anomaly_score(np.eye(2))).all()
