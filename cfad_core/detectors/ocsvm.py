"""The one-class SVM: how far a row lies outside the region where normal rows are.

scikit-learn trains it; what it learned is kept as arrays, so that a saved audit holds numbers and no pickled code,
and rows are scored from these, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, in_blocks

EXACT_KERNEL_ROWS = 15_000  # beyond, the exact one-class SVM takes minutes
_PADDED = 16  # what the number of anchors is padded to when scoring
_ANCHORS = 500  # rows that stand for all others in the approximate kernel


@dataclass(frozen=True)
class KernelMachine:
    """``g(x) = offset - sum_a w_a exp(-gamma ||z - a||^2)`` over some anchors ``a``.

    Both the exact one-class SVM, whose anchors are its support vectors, and its Nystroem approximation are like that.

    Attributes
    ----------
    anchors : (a, m), scaled rows
    weights : (a,)
    exact : whether the anchors are support vectors
    """

    inputs: InputScaling
    anchors: Floats
    weights: Floats
    offset: float
    gamma: float
    exact: bool

    def anomaly_score(self, x: Floats) -> Floats:
        missing = -len(self.anchors) % _PADDED  # an odd number would make a row's bits depend on its place
        anchors, weights = np.pad(self.anchors, ((0, missing), (0, 0))), np.pad(self.weights, (0, missing))
        squares = np.sum(anchors**2, axis=1)

        def score(z: Floats) -> Floats:
            distance = np.sum(z**2, axis=1)[:, None] + squares - 2.0 * z @ anchors.T  # (b, a)
            found: Floats = self.offset - np.exp(-self.gamma * np.maximum(distance, 0.0)) @ weights
            return found

        return in_blocks(score, self.inputs(x))

    def state(self) -> dict[str, NDArray[np.generic]]:
        numbers = {"offset": self.offset, "gamma": self.gamma, "exact": float(self.exact)}
        arrays = {"anchors": self.anchors, "weights": self.weights}
        return {**self.inputs.state(), **arrays, **{name: np.array([value]) for name, value in numbers.items()}}


def fit(task: Fitting) -> KernelMachine:
    """The exact one-class SVM up to ``EXACT_KERNEL_ROWS`` rows; beyond, Nystroem features and a linear one."""
    progress, seed, nu = task.progress, task.config.seed, task.config.baselines.ocsvm_nu
    progress.check("ocsvm")
    inputs = task.rows.inputs
    z = inputs(task.rows.x)
    gamma = 1.0 / (z.shape[1] * max(float(z.var()), 1e-12))
    if len(z) <= EXACT_KERNEL_ROWS:
        from sklearn.svm import OneClassSVM

        exact = OneClassSVM(kernel="rbf", gamma=gamma, nu=nu)
        exact.random_state = seed  # it would draw one from numpy's global generator
        exact.fit(z)
        found = KernelMachine(
            inputs, exact.support_vectors_, exact.dual_coef_[0].copy(), -float(exact.intercept_[0]), gamma, True
        )
    else:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDOneClassSVM

        features = Nystroem(gamma=gamma, n_components=_ANCHORS, random_state=seed).fit(z)
        progress.check("ocsvm")
        with _global_generator_kept():  # it draws from it, without using what it drew
            linear = SGDOneClassSVM(nu=nu, random_state=seed).fit(features.transform(z))
        weights = features.normalization_.T @ linear.coef_  # phi(z) = normalization k(z, anchors)
        found = KernelMachine(inputs, features.components_, weights, float(linear.offset_[0]), gamma, False)
    progress.tick("ocsvm", 1, 1)
    return found


def restore(arrays: State, _: Surroundings) -> KernelMachine:
    offset, gamma, exact = (float(arrays[name][0]) for name in ("offset", "gamma", "exact"))
    anchors, weights = (arrays[name].astype(np.float64) for name in ("anchors", "weights"))
    return KernelMachine(InputScaling.from_state(arrays), anchors, weights, offset, gamma, bool(exact))


@contextmanager
def _global_generator_kept() -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002 - it is put back
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
