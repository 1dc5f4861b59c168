"""Many graphs from one table: how much of a graph is chance?

Each graph is learned from one half of the rows, and the two halves of a split give two models that share no row. A
random half says as much about the truth, given all rows, as all rows say given the world: for an average over rows,
the variance of a half around the whole is that of the whole around the truth. Unlike rows drawn with replacement,
halves hold no row twice, which would pass for evidence of edges.

Least squares distinguishes a cause from its effect by assuming that all variables have the same noise. That is a
convention where columns were mapped to a common range, and a guess elsewhere, so every graph assumes other noise: a
direction that depends on it comes out in both ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cfad_core.causal.discovery.moments import Sums
from cfad_core.causal.discovery.search import Search
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.progress import Progress, Silent

STAGE = "subsample models"
# How many times larger or smaller than assumed a variable's noise may be, where columns share a scale and where they
# were mapped to one range: two values at its ends have about four times the spread of a bell-shaped column.
_NOISE_ALIKE, _NOISE_ANY = 1.5, 4.0


def learn_from_halves(
    x: Floats, search: Search, splits: Sequence[tuple[Rows, Rows]], seed: int, progress: Progress
) -> list[StructuralModel]:
    """Two models for each split of the rows x (n, d) in two, next to each other.

    The sums of the second half are those of all rows less those of the first, and every search starts where all rows
    led: a model takes a small part of the time that ``learn_model`` takes.
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
            emphasis = _emphasis(search, rng)
            models.append(search.learn(x[rows] if search.by_score else x, half.moments(), rng, quiet, start, emphasis))
            progress.tick(STAGE, len(models), 2 * len(splits))
    return models


def _emphasis(search: Search, rng: np.random.Generator) -> Floats:
    """(d,), a weight for each column's error, the same for all columns of a variable: one over a noise variance."""
    spread = np.log(_NOISE_ALIKE if search.columns.comparable_units else _NOISE_ANY)
    noise = np.exp(rng.uniform(-spread, spread, search.rules.belongs.shape[1]))
    weights: Floats = search.rules.belongs @ (1.0 / noise**2)
    return weights
