"""Is a counterfactual a person that could be? Compared with real people of the other group."""

from __future__ import annotations

import numpy as np

from cfad_core.core.arrays import Floats

USUAL = 0.99  # quantile of real people's distances up to which a distance is usual
MAX_ROWS = 5_000  # real people to compare with


def distance_to_real(
    people: Floats, groups: Floats, real: Floats, real_groups: Floats, rng: np.random.Generator
) -> Floats:
    """Euclidean distance of each person (n, m) to the nearest real person of the same group, (n,)."""
    from sklearn.neighbors import NearestNeighbors

    nearest = np.full(len(people), np.inf)
    for group in (-1.0, 1.0):
        rows, here = np.flatnonzero(real_groups == group), groups == group
        if not len(rows) or not here.any():
            continue
        if len(rows) > MAX_ROWS:
            rows = np.sort(rng.choice(rows, MAX_ROWS, replace=False))
        found, _ = NearestNeighbors(n_neighbors=1).fit(real[rows]).kneighbors(people[here])
        nearest[here] = found[:, 0]
    return nearest
