"""What other causal models say: their twins of the audited people, scored by every method.

A detector knows the audit's own causal model; the number that leads comes from models that it does not know, each
learned from a random half of the rows. Everybody gets several twins, so an outcome changes with a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.stability import evenly
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.evaluation.draws import draws_needed

Score = Callable[[Floats], dict[str, Floats]]

STAGE = "judging"
MOST_JUDGED = 10_000  # people: sampling noise is then below the models' own
_MOST_RETURNED = 2_500  # of them, who go there and back
UNSEEN = 1_000_000  # of a person's possible twins, the first that no detector scores with
_PERSONS_ERROR = 0.125  # standard error, by drawing alone, that one person's probability may have at worst


@dataclass(frozen=True)
class Judgement:
    """Scores of the judged people's twins.

    Attributes
    ----------
    people : (m,), positions among the audit's people
    twin_scores : by method, (R, m): R = models x twins by each model, those of one model next to each other
    returned : by method, (models / 2, r): of the twins' twins of r of the judged people, at even distances; the second
        twin is by a model that shares no row with the first
    returned_by_same : the same, both by the first: what is drawn by chance alone
    """

    people: NDArray[np.int64]
    twin_scores: dict[str, Floats]
    returned: dict[str, Floats]
    returned_by_same: dict[str, Floats]


def judge_people(
    models: Sequence[CausalModel], factual: Floats, score: Score, seed: int, progress: Progress
) -> Judgement:
    """Twins of people (n, d) by every model, and there and back by each pair of neighbours."""
    people = sample_of(np.arange(len(factual)), MOST_JUDGED, np.random.default_rng([seed, 3]))
    judged = factual[people]
    draws = draws_of(len(models))
    found: list[dict[str, Floats]] = []
    returned: list[dict[str, Floats]] = []
    by_same: list[dict[str, Floats]] = []
    steps = len(models) * draws + len(models) // 2
    for b, model in enumerate(models):
        for draw in range(draws):
            twins = model.twins(judged, draw)
            found.append(score(twins))
            progress.tick(STAGE, len(found) + len(returned), steps)
            if draw == 0 and b % 2 == 0 and b + 1 < len(models):
                some = twins[evenly(len(twins), _MOST_RETURNED)]
                returned.append(score(models[b + 1].twins(some)))
                by_same.append(score(model.twins(some)))
    return Judgement(people.astype(np.int64), _by_method(found), _by_method(returned), _by_method(by_same))


def _by_method(found: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
    """Scores (k, m) of each method."""
    return {method: np.stack([one[method] for one in found]) for method in (found[0] if found else {})}


def draws_of(models: int) -> int:
    """How many twins of each person every one of so many models makes."""
    return max(1, -(-draws_needed(_PERSONS_ERROR, people=1) // max(1, models)))


def sample_of(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """All of the rows, or a random part of them."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
