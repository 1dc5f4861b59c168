"""Many graphs from one table: how much of a graph is chance?

Each graph is learned from one half of the rows, and the two halves of a split give two models that share no row. A
random half says as much about the truth, given all rows, as all rows say given the world: for an average over rows,
the variance of a half around the whole is that of the whole around the truth. Unlike rows drawn with replacement,
halves hold no row twice, which would pass for evidence of edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.discovery import Search
from cfad_core.causal.moments import Sums
from cfad_core.causal.scm import StructuralModel
from cfad_core.progress import Progress, Silent

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

STAGE = "graph bootstrap"


def learn_from_halves(
    x: Floats, search: Search, splits: Sequence[tuple[Rows, Rows]], seed: int, progress: Progress
) -> list[StructuralModel]:
    """Two models for each split of the rows x (n, d) in two, next to each other.

    The sums of the second half are those of all rows less those of the first, and every search starts where all rows
    led: a model takes a small part of the time that ``learn_scm`` takes.
    """
    quiet = Silent(progress, STAGE)
    batch = search.config.batch_size
    nothing = Sums.prepare(x, search.basis_size)
    total = nothing.add(x, batch, quiet)
    start = search.starting_point(total.moments(), np.random.default_rng(seed), quiet)
    models: list[StructuralModel] = []
    for first, second in splits:
        sums = nothing.add(x[first], batch, quiet)
        for rows, half in ((first, sums), (second, total.without(sums))):
            rng = np.random.default_rng([seed, len(models)])
            models.append(search.learn(x[rows], half.moments(), rng, quiet, start))
            progress.tick(STAGE, len(models), 2 * len(splits))
    return models
