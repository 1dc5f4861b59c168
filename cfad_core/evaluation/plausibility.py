"""Is a twin plausible? Twins are compared with real people of their group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cfad_core.core.arrays import Bools, Floats, Rows

USUAL = 0.99  # quantile of real people's distances up to which a distance is usual
MAX_ROWS = 5_000  # real people to compare with


@dataclass(frozen=True)
class Plausibility:
    """Whether the people's twins, by the audit's own causal model, are plausible.

    Attributes
    ----------
    out_of_range : (k, n), some number of the twin in each of k groups lies beyond all that training saw
    between_levels : (k, n), some category of it is more than a quarter of the way from its level to another one
    distance : (k, n), to the nearest training row of the twin's group, all variables alike
    real_median : of that distance for the people as they are
    usual : (k, n), its 0.99 quantile for those of the twin's group
    """

    out_of_range: Bools
    between_levels: Bools
    distance: Floats
    real_median: float
    usual: Floats

    @property
    def far(self) -> Bools:
        """(n,), whose twin, in some group, is further from any real person than nearly all real people are."""
        return np.asarray((self.distance > self.usual).any(axis=0))

    def seen(self, take: Callable[[Any], Any]) -> Plausibility:
        """Of some of the twins."""
        arrays = {name: take(getattr(self, name)) for name in ("out_of_range", "between_levels", "distance", "usual")}
        return replace(self, **arrays)

    def to_dict(self) -> dict[str, float]:
        """For ``audit.json``: shares of the people, and distances."""
        return {
            "out_of_range": float(self.out_of_range.mean()),
            "between_levels": float(self.between_levels.mean()),
            "far": float((self.distance > self.usual).mean()),
            "distance_median": float(np.median(self.distance)),
            "distance_median_real": self.real_median,
            "distance_usual": float(np.median(self.usual)),
        }


def distance_to_real(
    people: Floats, groups: Floats, real: Floats, real_groups: Floats, rng: np.random.Generator
) -> Floats:
    """Euclidean distance of each person (n, m) to the nearest real person of the same group, (n,)."""
    from sklearn.neighbors import NearestNeighbors

    nearest = np.full(len(people), np.inf)
    for group in np.unique(groups):
        rows, here = np.flatnonzero(real_groups == group), groups == group
        if not len(rows) or not here.any():
            continue
        if len(rows) > MAX_ROWS:
            rows = np.sort(rng.choice(rows, MAX_ROWS, replace=False))
        found, _ = NearestNeighbors(n_neighbors=1).fit(real[rows]).kneighbors(people[here])
        nearest[here] = found[:, 0]
    return nearest


def nearest_real(person: Floats, real: Floats, most: int) -> tuple[Rows, Floats]:
    """Of real people (r, m) those nearest to a person (m,), by the same distance: positions, and how far."""
    distance = np.sqrt(((real - person) ** 2).sum(axis=1))
    nearest: Rows = np.argsort(distance, kind="stable")[:most]
    return nearest, distance[nearest]
