"""Many models from one table: how much of a model is chance?

Each model is learned from one half of the rows, and the two halves of a split give two models that share no row. A
random half says as much about the truth, given all rows, as all rows say given the world: for an average over rows,
the variance of a half around the whole is that of the whole around the truth. Unlike rows drawn with replacement,
halves hold no row twice, which would pass for evidence of edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cfad_core.causal.discovery.order_search import LearnedGraph
from cfad_core.causal.learning import Learner
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Rows
from cfad_core.core.progress import Progress, Silent

STAGE = "subsample models"


def learn_from_halves(
    learner: Learner, start: LearnedGraph | None, splits: Sequence[tuple[Rows, Rows]], seed: int, progress: Progress
) -> list[StructuralModel]:
    """Two models for each split of the learner's rows in two, next to each other.

    Every search starts from the graph that was found in all rows: a model takes a small part of the time that it took.
    """
    quiet = Silent(progress, STAGE)
    models: list[StructuralModel] = []
    for split in splits:
        for rows in split:
            model_seed = int(np.random.SeedSequence([seed, len(models)]).generate_state(1)[0])
            models.append(learner.learn(rows, model_seed, quiet, start)[0])
            progress.tick(STAGE, len(models), 2 * len(splits))
    return models
