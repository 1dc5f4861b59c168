"""The classical baselines: PCA, the one-class SVM and the isolation forest.

scikit-learn trains them; what it learned is kept as arrays, so that a saved audit holds numbers and no pickled code,
and rows are scored from these, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import BaselineConfig
from cfad_core.core.progress import Progress
from cfad_core.detectors.protocol import Inputs, State, TrainingRows, in_blocks

EXACT_KERNEL_ROWS = 15_000  # beyond, the exact one-class SVM takes minutes
_PADDED = 16  # what the number of anchors is padded to when scoring
_ANCHORS = 500  # rows that stand for all others in the approximate kernel


@dataclass(frozen=True)
class PrincipalComponents:
    """``g(x) = || z - P^T P z ||^2``, z the scaled row: what the leading components do not explain.

    Attributes
    ----------
    components : P, (k, m), orthonormal rows
    """

    inputs: Inputs
    components: Floats

    def anomaly_score(self, x: Floats) -> Floats:
        total: Floats = self.contributions(x).sum(axis=1)
        return total

    def contributions(self, x: Floats) -> Floats:
        """The part of each column in the score, (n, m)."""
        return in_blocks(lambda z: (z - (z @ self.components.T) @ self.components) ** 2, self.inputs(x))

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {**self.inputs.state(), "components": self.components}

    @staticmethod
    def from_state(arrays: State) -> PrincipalComponents:
        return PrincipalComponents(Inputs.from_state(arrays), arrays["components"].astype(np.float64))


def fit_pca(rows: TrainingRows, config: BaselineConfig, *, seed: int, progress: Progress) -> PrincipalComponents:  # noqa: ARG001 - there is no chance in it
    """Keep the components that hold ``pca_variance`` of the variance, but never all of them."""
    progress.check("pca")
    inputs = rows.inputs
    _, sizes, directions = np.linalg.svd(inputs(rows.x), full_matrices=False)
    share = np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
    kept = min(int(np.searchsorted(share, config.pca_variance)) + 1, rows.x.shape[1] - 1)
    progress.tick("pca", 1, 1)
    return PrincipalComponents(inputs, np.ascontiguousarray(directions[:kept]))


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

    inputs: Inputs
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

    @staticmethod
    def from_state(arrays: State) -> KernelMachine:
        offset, gamma, exact = (float(arrays[name][0]) for name in ("offset", "gamma", "exact"))
        anchors, weights = (arrays[name].astype(np.float64) for name in ("anchors", "weights"))
        return KernelMachine(Inputs.from_state(arrays), anchors, weights, offset, gamma, bool(exact))


def fit_ocsvm(rows: TrainingRows, config: BaselineConfig, *, seed: int, progress: Progress) -> KernelMachine:
    """The exact one-class SVM up to ``EXACT_KERNEL_ROWS`` rows; beyond, Nystroem features and a linear one."""
    progress.check("ocsvm")
    inputs = rows.inputs
    z = inputs(rows.x)
    gamma = 1.0 / (z.shape[1] * max(float(z.var()), 1e-12))
    if len(z) <= EXACT_KERNEL_ROWS:
        from sklearn.svm import OneClassSVM

        exact = OneClassSVM(kernel="rbf", gamma=gamma, nu=config.ocsvm_nu)
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
            linear = SGDOneClassSVM(nu=config.ocsvm_nu, random_state=seed).fit(features.transform(z))
        weights = features.normalization_.T @ linear.coef_  # phi(z) = normalization k(z, anchors)
        found = KernelMachine(inputs, features.components_, weights, float(linear.offset_[0]), gamma, False)
    progress.tick("ocsvm", 1, 1)
    return found


@contextmanager
def _global_generator_kept() -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002 - it is put back
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


@dataclass(frozen=True)
class Forest:
    """``g(x) = 2 ^ (-mean path length / usual path length)`` over isolation trees.

    Attributes
    ----------
    feature, threshold, left, right : (trees, nodes); a leaf has feature -1 and leads to itself
    length : (trees, nodes), path length of a row that ends in a node
    usual : the path length that is expected of random trees
    """

    inputs: Inputs
    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    length: Floats
    usual: float

    def anomaly_score(self, x: Floats) -> Floats:
        return in_blocks(self._score, self.inputs(x))

    def _score(self, z: Floats) -> Floats:
        z = z.astype(np.float32).astype(np.float64)  # trees were grown on single precision
        trees, rows = np.arange(len(self.feature)), np.arange(len(z))[:, None]
        node = np.zeros((len(z), len(trees)), dtype=np.int64)
        while True:
            feature = self.feature[trees, node]  # (b, trees)
            if (feature < 0).all():
                break
            down = z[rows, np.maximum(feature, 0)] <= self.threshold[trees, node]
            node = np.where(down, self.left[trees, node], self.right[trees, node])
        score: Floats = 2.0 ** (-self.length[trees, node].mean(axis=1) / self.usual)
        return score

    def state(self) -> dict[str, NDArray[np.generic]]:
        names = ("feature", "threshold", "left", "right", "length")
        return {**self.inputs.state(), **{name: getattr(self, name) for name in names}, "usual": np.array([self.usual])}

    @staticmethod
    def from_state(arrays: State) -> Forest:
        feature, left, right = (arrays[name].astype(np.int64) for name in ("feature", "left", "right"))
        threshold, length = (arrays[name].astype(np.float64) for name in ("threshold", "length"))
        usual = float(arrays["usual"][0])
        return Forest(Inputs.from_state(arrays), feature, threshold, left, right, length, usual)


def fit_iforest(rows: TrainingRows, config: BaselineConfig, *, seed: int, progress: Progress) -> Forest:
    """An isolation forest of ``iforest_trees`` trees, each grown on up to 256 rows."""
    from sklearn.ensemble import IsolationForest

    progress.check("iforest")
    inputs = rows.inputs
    grown = IsolationForest(n_estimators=config.iforest_trees, random_state=seed).fit(inputs(rows.x))
    trees = [estimator.tree_ for estimator in grown.estimators_]
    size = max(tree.node_count for tree in trees)
    feature = np.full((len(trees), size), -1, dtype=np.int64)
    threshold, length = np.zeros(feature.shape), np.zeros(feature.shape)
    left = np.tile(np.arange(size), (len(trees), 1))
    right = left.copy()
    for k, tree in enumerate(trees):
        inner = np.flatnonzero(tree.children_left >= 0)
        feature[k, inner], threshold[k, inner] = tree.feature[inner], tree.threshold[inner]
        left[k, inner], right[k, inner] = tree.children_left[inner], tree.children_right[inner]
        depth = np.zeros(tree.node_count)
        for node in inner:  # parents come before their children
            depth[[tree.children_left[node], tree.children_right[node]]] = depth[node] + 1.0
        length[k, : tree.node_count] = depth + _usual_length(tree.n_node_samples.astype(np.float64))
    progress.tick("iforest", 1, 1)
    usual = float(_usual_length(np.array([float(grown.max_samples_)]))[0])
    return Forest(inputs, feature, threshold, left, right, length, usual or 1.0)


def _usual_length(rows: Floats) -> Floats:
    """Mean path length of an unsuccessful search in a binary tree of so many rows (Liu, Ting and Zhou 2008)."""
    many = np.maximum(rows, 3.0)
    harmonic = np.log(many - 1.0) + np.euler_gamma
    return np.where(rows <= 1.0, 0.0, np.where(rows <= 2.0, 1.0, 2.0 * harmonic - 2.0 * (many - 1.0) / many))
