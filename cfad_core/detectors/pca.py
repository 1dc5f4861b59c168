"""PCA: what the leading principal components do not explain of a row is its score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, in_blocks


@dataclass(frozen=True)
class PrincipalComponents:
    """``g(x) = || z - P^T P z ||^2``, z the scaled row: what the leading components do not explain.

    Attributes
    ----------
    components : P, (k, m), orthonormal rows
    """

    inputs: InputScaling
    components: Floats

    def anomaly_score(self, x: Floats) -> Floats:
        total: Floats = self.contributions(x).sum(axis=1)
        return total

    def contributions(self, x: Floats) -> Floats:
        """The part of each column in the score, (n, m)."""
        return in_blocks(lambda z: (z - (z @ self.components.T) @ self.components) ** 2, self.inputs(x))

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {**self.inputs.state(), "components": self.components}


def fit(task: Fitting) -> PrincipalComponents:
    """Keep the components that hold ``pca_variance`` of the variance, but never all of them."""
    task.progress.check("pca")
    rows = task.rows
    _, sizes, directions = np.linalg.svd(rows.inputs(rows.x), full_matrices=False)
    share = np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
    kept = min(int(np.searchsorted(share, task.config.baselines.pca_variance)) + 1, rows.x.shape[1] - 1)
    task.progress.tick("pca", 1, 1)
    return PrincipalComponents(rows.inputs, np.ascontiguousarray(directions[:kept]))


def restore(arrays: State, _: Surroundings) -> PrincipalComponents:
    return PrincipalComponents(InputScaling.from_state(arrays), arrays["components"].astype(np.float64))
