"""Who is trained on and who is tested, and which rows are whose half."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Rows


def stratified_split(strata: NDArray[np.generic], share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Split rows in two, the second with about ``share`` of every stratum.

    Returns
    -------
    first, second : ascending row positions
    """
    second: list[Rows] = []
    for value in np.unique(strata):
        members = np.flatnonzero(strata == value)
        second.append(rng.permutation(members)[: round(share * len(members))])
    chosen = np.sort(np.concatenate(second))
    rest = np.setdiff1d(np.arange(len(strata)), chosen)
    return rest, chosen
