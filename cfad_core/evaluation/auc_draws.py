"""AUC-ROC in samples of people, drawn with replacement, without ranking each sample anew.

It is the mean of everybody's own part in it: for an anomaly the share of normal people below, for a normal person the
share of anomalies above. To first order, it moves in a sample by as much as the mean part of the anomalies and that of
the normal people do. These are drawn apart, 200 times, from the people at hand and one unknown person more, as likely
to score above everybody as below. At most 2,500 of each are drawn; where there are more people, the draws are brought
nearer to the number by the root of the share that was drawn, as draws of all of them would be.
"""

from __future__ import annotations

import numpy as np

from cfad_core.core.arrays import Floats

RESAMPLES = 200
PEOPLE = 2_500  # drawn at most, of anomalies and of normal people


def auc_with_draws(anomalies: Floats, normal: Floats, rng: np.random.Generator) -> tuple[float | None, Floats]:
    """Of ascending scores (a,) and (b,): AUC-ROC and its draws (200,); None and none unless there are both."""
    if not len(anomalies) or not len(normal):
        return None, np.array([])
    below = _below(normal, anomalies)
    above = len(anomalies) - _below(anomalies, normal)
    auc = float(below.sum() / (len(anomalies) * len(normal)))  # sums of halves are exact
    moved = _deviations(below / len(normal), auc, rng) + _deviations(above / len(anomalies), auc, rng)
    return auc, np.clip(auc + moved, 0.0, 1.0)


def _below(ascending: Floats, scores: Floats) -> Floats:
    """How many are below each score; those that tie count half."""
    left, right = np.searchsorted(ascending, scores, "left"), np.searchsorted(ascending, scores, "right")
    counted: Floats = (left + right) / 2.0
    return counted


def _deviations(parts: Floats, auc: float, rng: np.random.Generator) -> Floats:
    """By how much the mean of parts (n,) differs from the AUC in each draw."""
    pool = np.concatenate([np.repeat(parts, 2), [0.0, 1.0]])  # the unknown person is half of each
    people = min(len(parts), PEOPLE)
    means = pool[rng.integers(0, len(pool), (RESAMPLES, people))].mean(axis=1)
    moved: Floats = (means - auc) * np.sqrt(people / len(parts))
    return moved
