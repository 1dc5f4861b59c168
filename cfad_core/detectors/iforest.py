"""The isolation forest: rows that random cuts set apart quickly score high.

scikit-learn grows the trees; they are kept as arrays, and rows are scored from these, each by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, in_blocks


@dataclass(frozen=True)
class Forest:
    """``g(x) = 2 ^ (-mean path length / usual path length)`` over isolation trees.

    Attributes
    ----------
    feature, threshold, left, right : (trees, nodes); a leaf has feature -1 and leads to itself
    length : (trees, nodes), path length of a row that ends in a node
    usual : the path length that is expected of random trees
    """

    inputs: InputScaling
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


def fit(task: Fitting) -> Forest:
    """An isolation forest of ``iforest_trees`` trees, each grown on up to 256 rows."""
    from sklearn.ensemble import IsolationForest

    task.progress.check("iforest")
    inputs, trees_wanted = task.rows.inputs, task.config.baselines.iforest_trees
    grown = IsolationForest(n_estimators=trees_wanted, random_state=task.config.seed).fit(inputs(task.rows.x))
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
    task.progress.tick("iforest", 1, 1)
    usual = float(_usual_length(np.array([float(grown.max_samples_)]))[0])
    return Forest(inputs, feature, threshold, left, right, length, usual or 1.0)


def restore(arrays: State, _: Surroundings) -> Forest:
    feature, left, right = (arrays[name].astype(np.int64) for name in ("feature", "left", "right"))
    threshold, length = (arrays[name].astype(np.float64) for name in ("threshold", "length"))
    usual = float(arrays["usual"][0])
    return Forest(InputScaling.from_state(arrays), feature, threshold, left, right, length, usual)


def _usual_length(rows: Floats) -> Floats:
    """Mean path length of an unsuccessful search in a binary tree of so many rows (Liu, Ting and Zhou 2008)."""
    many = np.maximum(rows, 3.0)
    harmonic = np.log(many - 1.0) + np.euler_gamma
    return np.where(rows <= 1.0, 0.0, np.where(rows <= 2.0, 1.0, 2.0 * harmonic - 2.0 * (many - 1.0) / many))
