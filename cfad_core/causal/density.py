"""A flexible density of one number: smooth, of any shape, with heavy tails if the data have them.

With ``v = 2 F(t) - 1``, where F is the distribution function of Student's t with four degrees of freedom and
``t = (u - centre) / scale``, the density is ``exp(polynomial(v)) f(t) / scale`` over a constant. The polynomial is
fitted by maximum likelihood, which is a concave problem in as many numbers as its degree. Multiplying all u by a
factor, or adding one number to all, moves the density along and changes no likelihood but by the constant that it must.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from cfad_core.core.arrays import Floats

DEGREE: Final = 8  # of the polynomial, and so the free numbers that a fit pays for
_CELLS = 128  # that integrals are summed over
_FINE = 2_000  # cells that rows are binned into, each row shared by the two nearest borders
_RIDGE = 1e-5  # keeps the polynomial finite where a range of v is empty
_STEPS = 25
_SETTLED = 1e-6  # mean log-likelihood that is not worth another step
_QUARTILE = 0.741  # upper one of Student's t with four degrees of freedom
_SMALLEST_SCALE = 1e-3  # in standard deviations
_LOWEST = 1e-6  # distribution function, so that normal scores are finite


@dataclass(frozen=True)
class Density:
    """A fitted density.

    Attributes
    ----------
    centre, scale : of the Student's t that it starts from
    weights : (DEGREE,), of the Legendre polynomials of v, from the first
    log_normaliser : log of the integral of ``exp(polynomial)``
    mean_log_likelihood : of the numbers it was fitted to
    gain : by how much that exceeds a Gaussian's with their mean and variance (a little below 0 for a Gaussian)
    """

    centre: float
    scale: float
    weights: Floats
    log_normaliser: float
    mean_log_likelihood: float
    gain: float

    def logpdf(self, u: Floats) -> Floats:
        """Log of the density at each of u (n,)."""
        t, v = _bent(np.clip((u - self.centre) / self.scale, -1e50, 1e50))
        result: Floats = self.weights @ _legendre(v) - self.log_normaliser + _log_student(t) - np.log(self.scale)
        return result

    def cdf(self, u: Floats) -> Floats:
        """Share of the density below each of u (n,), never quite 0 or 1."""
        height = np.exp(self.weights @ _AT_BORDERS - self.log_normaliser)
        below = np.concatenate([[0.0], np.cumsum((height[1:] + height[:-1]) / 2.0)])
        v = _bent(np.clip((u - self.centre) / self.scale, -1e50, 1e50))[1]
        share: Floats = np.clip(np.interp(v, _BORDERS, below / below[-1]), _LOWEST, 1.0 - _LOWEST)
        return share


def fit_density(u: Floats) -> Density:
    """The density of numbers u (n,), by maximum likelihood; numbers that are all the same get a narrow one."""
    variance = float(u.var())
    low, middle, high = (len(u) - 1) // 4, (len(u) - 1) // 2, len(u) - 1 - (len(u) - 1) // 4
    ordered = np.partition(u, [low, middle, high])
    centre = float(ordered[middle])
    smallest = max(_SMALLEST_SCALE * np.sqrt(variance), 1e-12 * abs(centre), 1e-100)
    scale = max(float(ordered[high] - ordered[low]) / (2.0 * _QUARTILE), float(smallest))
    t, v = _bent((u - centre) / scale)
    moments = _mean_legendre(v)
    weights, log_normaliser = _fit_weights(moments)
    mean = float(weights @ moments - log_normaliser + _log_student(t).mean() - np.log(scale))
    gaussian = -0.5 * float(np.log(2.0 * np.pi * np.e * max(variance, scale * scale * _SMALLEST_SCALE**2)))
    return Density(centre, scale, weights, log_normaliser, mean, mean - gaussian)


def _fit_weights(moments: Floats) -> tuple[Floats, float]:
    """Newton's method for the weights whose polynomials have these means, and the log of the integral."""
    weights = _GAUSSIAN.copy()
    diagonal = np.arange(DEGREE)
    for _ in range(_STEPS):
        share, _ = _cell_shares(weights)
        expected = _AT_BORDERS @ share
        curvature = (_AT_BORDERS * share) @ _AT_BORDERS.T - np.outer(expected, expected)
        curvature[diagonal, diagonal] += _RIDGE
        gradient = moments - expected - _RIDGE * weights
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step * min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-12))
        if float(step @ gradient) < _SETTLED:  # twice what is left to gain
            break
    return weights, _cell_shares(weights)[1]


def _cell_shares(weights: Floats) -> tuple[Floats, float]:
    """Share of the density at each border of the cells, and the log of the integral."""
    exponent = weights @ _AT_BORDERS
    top = float(exponent.max())
    share = np.exp(exponent - top) * _TRAPEZE
    total = float(share.sum())
    return share / total, top + float(np.log(total))


def _mean_legendre(v: Floats) -> Floats:
    """Mean of each polynomial over v (n,): binned, as n evaluations would cost more than the whole fit."""
    place = (v + 1.0) * (_FINE / 2.0)
    low = np.minimum(place.astype(np.intp), _FINE - 1)
    upper = place - low
    counts = np.bincount(low, 1.0 - upper, _FINE + 1) + np.bincount(low + 1, upper, _FINE + 1)
    means: Floats = _AT_FINE @ counts / len(v)
    return means


def _bent(t: Floats) -> tuple[Floats, Floats]:
    """The t themselves, and ``2 F(t) - 1`` in closed form."""
    ratio = 1.0 + t * t / 4.0
    v = 0.75 * t / np.sqrt(ratio) * (1.0 - t * t / ratio / 12.0)
    return t, np.clip(v, -1.0, 1.0)


def _log_student(t: Floats) -> Floats:
    log_density: Floats = np.log(0.375) - 2.5 * np.log1p(t * t / 4.0)
    return log_density


def _legendre(v: Floats) -> Floats:
    """Polynomials 1 to DEGREE at v, (DEGREE, n), scaled to unit mean square over [-1, 1]."""
    values = np.empty((DEGREE, len(v)))
    values[0] = v
    values[1] = 1.5 * v * v - 0.5
    for m in range(2, DEGREE):
        values[m] = ((2 * m + 1) * v * values[m - 1] - m * values[m - 2]) / (m + 1)
    values *= np.sqrt(2.0 * np.arange(1, DEGREE + 1) + 1.0)[:, None]
    return values


_BORDERS = np.linspace(-1.0, 1.0, _CELLS + 1)
_AT_BORDERS = _legendre(_BORDERS)  # (DEGREE, cells + 1)
_AT_FINE = _legendre(np.linspace(-1.0, 1.0, _FINE + 1))
_TRAPEZE = np.full(_CELLS + 1, 1.0 / _CELLS)
_TRAPEZE[[0, -1]] /= 2.0
# Weights of a Gaussian, where most fits end not far from
_GAUSSIAN = np.array([0.0, -0.142, 0.0, -0.239, 0.0, -0.169, 0.0, -0.1])
