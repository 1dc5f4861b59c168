"""How numbers become columns.

Numbers stay in their own units (``own``), so that a twin's number is the number in its cell, to the bit. Only the
paper's graph autoencoder needs columns of a comparable size: its least squares sums over all of them. Where all
attributes are continuous and share a scale, their noise levels distinguish causes from effects: all are divided by one
common factor (``raw``), so that the unit of measurement does not matter but proportions stay. Elsewhere the widest
column would drown the rest: each is mapped to [-3, 3] (``range``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.config import Scaling

ScalingName = Literal["own", "raw", "range"]

HALF_RANGE = 3.0
_COMMON_SPREAD = 3.0  # root mean square of the standard deviations after raw scaling
_COMPARABLE = 10.0  # largest ratio of standard deviations that counts as one scale
_CONTINUOUS = 20  # fewer distinct values make a column discrete


@dataclass(frozen=True)
class Scale:
    """What numbers are mapped to.

    Attributes
    ----------
    scaling : ``own``, ``raw`` or ``range``
    common : of ``raw``: the factor that all numbers are divided by
    """

    scaling: ScalingName
    common: float = 1.0

    def of(self, low: float, high: float) -> tuple[float, float]:
        """Offset and divisor of the numbers from ``low`` to ``high``: column = (number - offset) / divisor."""
        if self.scaling == "own":
            return 0.0, 1.0
        if self.scaling == "raw":
            return 0.0, self.common
        return (low + high) / 2.0, ((high - low) / (2.0 * HALF_RANGE)) or 1.0


def fit_scale(numbers: Sequence[Floats], scaling: Scaling, *, only_numbers: bool) -> Scale:
    """The scale of a table's columns of numbers, each (n,).

    ``auto`` chooses by the columns where there are ``only_numbers``, none of them missing; else it is ``range``.
    """
    chosen: ScalingName = "range" if scaling == "auto" else scaling
    if scaling == "auto" and only_numbers and not any(np.isnan(values).any() for values in numbers):
        chosen = choose_scaling(np.column_stack(list(numbers)))
    return Scale(chosen, common_factor(numbers) if chosen == "raw" else 1.0)


def choose_scaling(cells: Floats) -> ScalingName:
    """``raw`` if every column is continuous and the columns share a scale, else ``range``."""
    spread = cells.std(axis=0)
    continuous = all(len(np.unique(column)) >= _CONTINUOUS for column in cells.T)
    return "raw" if continuous and 0.0 < spread.max() <= _COMPARABLE * spread.min() else "range"


def common_factor(numbers: Sequence[Floats]) -> float:
    """What gives the columns, each (n,), a root mean square of standard deviations of 3; 1 if none varies."""
    if not numbers:
        return 1.0
    return float(np.sqrt(np.mean([np.nanvar(values) for values in numbers]))) / _COMMON_SPREAD or 1.0
