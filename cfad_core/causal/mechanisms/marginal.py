"""The values that a number may have, and their normal scores.

Numbers that repeat (counts, rounded numbers) are spread out over the gaps between them first, by chance that belongs to
the row; on the way back, only values that exist come out. ``z = Phi^-1(F(x))`` with F linear between knots is
invertible, and whatever the unit of x, z is standard normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from cfad_core.core.arrays import Floats

_FEW = 512  # distinct values that are remembered one by one
_TIED = 0.9  # share of distinct numbers below which ties count
_KNOTS = 400
_MOST_DECIMALS = 6
_NEAREST_TO_SURE = 1e-6


@dataclass(frozen=True)
class Marginal:
    """One column of numbers.

    Attributes
    ----------
    knots, shares : (k,) each, ascending: F, the share of people up to a number, is linear between them
    values : the values that exist, ascending; empty if they are too many to list
    decimals : digits after the point that all numbers have; -1 if there is no such number of digits
    tied : whether many people have the same value
    low, high : the smallest and the largest number seen
    center, spread : mean and standard deviation
    """

    knots: Floats
    shares: Floats
    values: Floats
    decimals: int
    tied: bool
    low: float
    high: float
    center: float
    spread: float

    @cached_property
    def _edges(self) -> Floats:
        return _cell_edges(self.values)

    def spread_out(self, x: Floats, chance: Floats) -> Floats:
        """Numbers (n,) that do not repeat: each moved inside the gap that belongs to its value, by ``chance``."""
        if not self.tied:
            return x
        begins, ends = self.gap(x)
        return np.where((x < self.low) | (x > self.high), x, begins + chance * (ends - begins))

    def gap(self, x: Floats) -> tuple[Floats, Floats]:
        """Where the gap of each of the numbers x (n,), which repeat, begins and ends."""
        if not len(self.values):
            half = 0.5 * 10.0**-self.decimals
            return x - half, x + half
        k = np.clip(np.searchsorted(self._edges, x, side="right") - 1, 0, len(self.values) - 1)
        return self._edges[k], self._edges[k + 1]

    def legal(self, x: Floats) -> Floats:
        """The values that exist nearest to numbers (n,)."""
        x = np.clip(x, self.low, self.high)
        if self.tied and len(self.values):
            k = np.clip(np.searchsorted(self._edges, x, side="right") - 1, 0, len(self.values) - 1)
            nearest: Floats = self.values[k]
            return nearest
        return x if self.decimals < 0 else np.clip(np.round(x, self.decimals), self.low, self.high)

    def score(self, x: Floats) -> Floats:
        """Normal scores (n,) of numbers that do not repeat."""
        share = np.interp(x, self.knots, self.shares)
        z: Floats = ndtri(share)
        below, above = x < self.knots[0], x > self.knots[-1]
        if below.any() or above.any():  # straight on, where nobody was seen
            z = np.where(below, z + (x - self.knots[0]) / self.spread, z)
            z = np.where(above, z + (x - self.knots[-1]) / self.spread, z)
        return z

    def unscore(self, z: Floats) -> Floats:
        """The inverse of ``score`` within what was seen."""
        found: Floats = np.interp(ndtr(z), self.shares, self.knots)
        return found


def fit_marginal(x: Floats) -> Marginal:
    """Of the known numbers x (n,), which may all be the same."""
    values, counts = np.unique(x, return_counts=True)
    tied = len(values) < _TIED * len(x)
    few = tied and len(values) <= _FEW
    decimals = _decimals(values)
    if tied and not few and decimals < 0:
        tied = False  # too many values to list, and no grid that they lie on
    if few:
        knots = _cell_edges(values)
        shares = np.concatenate([[0.0], np.cumsum(counts)]) / len(x)
    else:
        order = np.unique(np.linspace(0, len(x) - 1, min(len(x), _KNOTS)).astype(np.intp))
        knots, first = np.unique(np.sort(x)[order], return_index=True)
        shares = ((order + 0.5) / len(x))[first]
    shares = np.clip(shares, _NEAREST_TO_SURE, 1.0 - _NEAREST_TO_SURE)
    return Marginal(
        knots=knots,
        shares=shares,
        values=values if few else np.zeros(0),
        decimals=decimals,
        tied=tied,
        low=float(values[0]),
        high=float(values[-1]),
        center=float(x.mean()),
        spread=float(x.std()) or 1.0,
    )


def _cell_edges(values: Floats) -> Floats:
    """(k + 1,), where the gap of each value begins and ends: half way to its neighbours."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = 0.5 * (values[1:] + values[:-1])
    first, last = values[0] - (middle[0] - values[0]), values[-1] + (values[-1] - middle[-1])
    return np.concatenate([[first], middle, [last]])


def _decimals(values: Floats) -> int:
    if np.abs(values).max() < 1e9:
        for digits in range(_MOST_DECIMALS + 1):
            if (np.round(values, digits) == values).all():
                return digits
    return -1
