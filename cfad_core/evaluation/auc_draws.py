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
from cfad_core.evaluation.tally import Tally

RESAMPLES = 200
PEOPLE = 2_500  # drawn at most, of anomalies and of normal people


def auc_with_draws(anomalies: Tally, normal: Tally, rng: np.random.Generator) -> tuple[float | None, Floats]:
    """AUC-ROC and its draws (200,); None and none unless there are anomalies and normal people."""
    if not anomalies.n or not normal.n:
        return None, np.array([])
    below = _below(normal, anomalies.ascending)
    above = anomalies.n - _below(anomalies, normal.ascending)
    auc = float((below * anomalies.weights).sum() / anomalies.n / normal.n)  # sums of halves are exact
    moved = _deviations(anomalies, below / normal.n, auc, rng) + _deviations(normal, above / anomalies.n, auc, rng)
    return auc, np.clip(auc + moved, 0.0, 1.0)


def _below(people: Tally, scores: Floats) -> Floats:
    """How many are below each score; those that tie count half."""
    counted: Floats = (people.below(scores, "left") + people.below(scores, "right")) / 2.0
    return counted


def _deviations(people: Tally, parts: Floats, auc: float, rng: np.random.Generator) -> Floats:
    """By how much the mean of the parts of people, (b,) for each of their scores, differs from the AUC in each draw."""
    drawn = min(people.n, PEOPLE)
    number = rng.integers(
        0, 2 * people.n + 2, (RESAMPLES, drawn)
    )  # everybody twice: the unknown person is half of each
    pool = np.append(parts, [0.0, 1.0])
    unknown = len(parts) + number - 2 * people.n
    place = np.where(unknown < len(parts), people.place(np.minimum(number // 2, people.n - 1)), unknown)
    moved: Floats = (pool[place].mean(axis=1) - auc) * np.sqrt(drawn / people.n)
    return moved
