"""Smooth densities from counts in fine cells: a kernel estimate as fast for 1,000,000 people as for 100.

People are counted in even cells, and the counts are smoothed with a normal kernel: their cosine transform is multiplied
by the kernel's. What would fall beyond an end is reflected there, so the area stays that of the counts. An end that is
no natural bound, as 0 is one, should be so far from the people that this does not matter.

The bandwidth is that of Botev, Grotowski and Kroese (2010), "Kernel density estimation via diffusion", which improves
on the rule of Sheather and Jones. It expects no bell: two peaks stay two. Silverman's rule with the interquartile range
takes its place where it has no answer, and where it would smooth more. ``benchmarks/densities.py`` compares the rules
on densities that are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cfad_core.core.arrays import Floats

_ORDERS = 7  # of the derivatives whose size is estimated, one from another
_WIDTHS = np.geomspace(1e-4, 0.3, 40)  # bandwidths that are tried, as shares of the whole length
_HALVINGS = 20


def bandwidth(counts: Floats, people: int) -> float:
    """How far each person is spread, in cells: the standard deviation of the kernel.

    Parameters
    ----------
    counts : (c,), people in each of as many even cells
    people : how many they are; less than the counts where each was counted several times
    """
    usual = silverman(counts, people)
    found = improved_sheather_jones(counts, people) if usual else None
    return usual if found is None else min(found, usual)


def smoothed(counts: Floats, width: float) -> Floats:
    """Counts (c,) after each person was spread over a normal kernel of this width, in cells; their sum stays."""
    waves = np.arange(len(counts)) * (math.pi * width / len(counts))
    return np.maximum(_from_cosines(_cosines(counts) * np.exp(-0.5 * waves**2)), 0.0)  # rounding goes below 0


def silverman(counts: Floats, people: int) -> float:
    """Silverman's bandwidth in cells: right for one bell, too wide for several peaks; 0 for equal scores."""
    total = float(counts.sum())
    if not total:
        return 0.0
    places, share = np.arange(len(counts)), counts / total
    deviation = math.sqrt(max(0.0, float(share @ places**2) - float(share @ places) ** 2))
    first, third = np.searchsorted(np.cumsum(share), (0.25, 0.75))
    robust = float(third - first) / 1.349
    return float(0.9 * (min(deviation, robust) or deviation) * people**-0.2)


def improved_sheather_jones(counts: Floats, people: int) -> float | None:
    """The bandwidth in cells whose expected squared error is smallest; None if there is none.

    With t the squared bandwidth, it is the smallest root of t = xi(t) in equation 34 of Botev and others.
    """
    squared = (_cosines(counts / counts.sum())[1:] / 2.0) ** 2
    waves = np.arange(1, len(counts), dtype=np.float64) ** 2

    def beyond(width: float) -> float:
        return _beyond(width**2, people, waves, squared)

    below = None
    for width in _WIDTHS.tolist():
        found = beyond(width)
        if found >= 0.0:
            return None if below is None else len(counts) * _root(beyond, below, width)
        below = width if found < 0.0 else None  # nan: not defined there
    return None


def _beyond(t: float, people: int, waves: Floats, squared: Floats) -> float:
    """T - xi(t), for a squared bandwidth of the whole length; nan where it is not defined."""
    size = _roughness(_ORDERS, t, waves, squared)
    for s in range(_ORDERS - 1, 1, -1):
        if not size > 0.0:
            return math.nan
        odd = math.prod(range(1, 2 * s, 2)) * math.sqrt(2.0 / math.pi)
        factor = (1.0 + 0.5 ** (s + 0.5)) / 3.0
        size = _roughness(s, (factor * odd / (people * size)) ** (2.0 / (3.0 + 2.0 * s)), waves, squared)
    return t - (2.0 * people * math.sqrt(math.pi) * size) ** -0.4 if size > 0.0 else math.nan


def _roughness(s: int, t: float, waves: Floats, squared: Floats) -> float:
    """The squared size of the s-th derivative of the density, smoothed by t."""
    return float(2.0 * math.pi ** (2 * s) * (waves**s * squared * np.exp(-waves * (math.pi**2 * t))).sum())


def _root(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function crosses 0 between a width at which it is below and one at which it is not."""
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if of(middle) >= 0.0 else (middle, high)
    return high


def _cosines(values: Floats) -> Floats:
    """The cosine transform of the second kind: 2 sum_j values_j cos(pi k (j + 1/2) / c)."""
    from scipy.fft import dct

    found: Floats = dct(values)
    return found


def _from_cosines(values: Floats) -> Floats:
    """What ``_cosines`` made these of."""
    from scipy.fft import idct

    found: Floats = idct(values)
    return found
