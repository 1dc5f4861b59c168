from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, BaselineConfig
from cfad_core.detectors import ocsvm
from cfad_core.detectors.ocsvm import KernelMachine
from cfad_core.detectors.protocol import BLOCK, InputScaling
from tests.detectors.promises import (
    FAR_OUTSIDE,
    OFF_THE_PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    near_the_plane,
    restored,
    training_rows,
    unseen_draws,
)


def fitted(x: Floats | None = None, seed: int = 0, **changes: Any) -> KernelMachine:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(**changes))
    return ocsvm.fit(fitting(training_rows(near_the_plane() if x is None else x), config))


def scaled(x: Floats) -> Floats:
    return training_rows(near_the_plane()).inputs(x)


@pytest.fixture
def few_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 rows are too many for the exact one-class SVM."""
    monkeypatch.setattr(ocsvm, "EXACT_KERNEL_ROWS", 299)
    monkeypatch.setattr(ocsvm, "_ANCHORS", 40)


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_the_one_class_svm_is_that_of_scikit_learn(nu: float) -> None:
    detector, z = fitted(ocsvm_nu=nu), scaled(near_the_plane())
    assert detector.exact
    assert detector.gamma == 1.0 / (5 * z.var())  # what scikit-learn calls "scale"
    with unseen_draws():
        reference = OneClassSVM(gamma="scale", nu=nu).fit(z)
    x = np.concatenate([near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    np.testing.assert_allclose(detector.anomaly_score(x), -reference.decision_function(scaled(x)), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("few_anchors")
def test_the_approximate_one_class_svm_is_that_of_scikit_learn() -> None:
    detector, z = fitted(seed=3), scaled(near_the_plane())
    assert not detector.exact
    assert len(detector.anchors) == 40
    features = Nystroem(gamma=detector.gamma, n_components=40, random_state=3).fit(z)
    with unseen_draws():
        reference = SGDOneClassSVM(nu=BaselineConfig().ocsvm_nu, random_state=3).fit(features.transform(z))
    x = np.concatenate([near_the_plane(50, seed=1), near_the_plane(50, seed=2) + OFF_THE_PLANE, FAR_OUTSIDE])
    expected = -reference.decision_function(features.transform(scaled(x)))
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("few_anchors")
def test_the_approximate_one_class_svm_keeps_the_promises() -> None:
    detector = fitted()
    assert_rows_are_scored_alone(detector, near_the_plane(1500, seed=1), seed=0)
    assert_saving_keeps_every_bit(detector, ocsvm, near_the_plane())
    again = restored(ocsvm, detector.state())
    assert isinstance(again, KernelMachine)
    assert not again.exact
    assert np.array_equal(fitted().anomaly_score(near_the_plane()), detector.anomaly_score(near_the_plane()))
    ordinary, odd = (detector.anomaly_score(near_the_plane() + shift) for shift in (0.0, 2.0 * OFF_THE_PLANE))
    assert odd.min() > np.median(ordinary)


@pytest.mark.parametrize("columns", [1, 5, 19])
@pytest.mark.parametrize("anchors", [1, 150, 500, 501])
def test_a_kernel_score_never_depends_on_the_place_of_the_row(anchors: int, columns: int) -> None:
    rng = np.random.default_rng(anchors)
    inputs = InputScaling(np.zeros(columns), np.ones(columns))
    weights = rng.normal(size=anchors)  # of both signs, as Nystroem's are
    machine = KernelMachine(inputs, rng.normal(size=(anchors, columns)), weights, 1.0, 1.0 / columns, exact=False)
    for row in rng.normal(size=(20, columns)):
        assert len(np.unique(machine.anomaly_score(np.tile(row, (BLOCK, 1))))) == 1
