"""What least squares needs to know of a table: sums over its rows, taken batch by batch.

With ``f(x) = sum_k c_k B_k(x)`` the squared error of ``x_i = sum_j A[j, i] f(x_j) + b_i + u_i`` is a
polynomial in A and c whose coefficients are covariances. They are summed once, in batches, in memory that
does not grow with the rows; after that each step of the optimisation costs the same for 1,000 rows as for
1,000,000, and sees all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.spline import SplineBasis
from cfad_core.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Means and covariances of the variables and of every spline of every variable.

    Attributes
    ----------
    basis : SplineBasis
    mean : (d,), of the variables
    spline_mean : (d, K)
    variance : (d,)
    splines : (d, K, d, K), covariance of ``B_k(x_j)`` and ``B_m(x_l)``
    cross : (d, K, d), covariance of ``B_k(x_j)`` and ``x_i``
    """

    basis: SplineBasis
    mean: Floats
    spline_mean: Floats
    variance: Floats
    splines: Floats
    cross: Floats

    @property
    def spread(self) -> Floats:
        """(K, K) with ``c^T spread c`` = variance of f over the variables, on average."""
        total: Floats = np.einsum("jkjm->km", self.splines)
        return total / len(self.mean)

    def normalised(self, c: Floats) -> Floats:
        """The same function shape with unit average variance: the scale belongs to A."""
        return c / np.sqrt(c @ self.spread @ c)

    def contract(self, c: Floats) -> tuple[Floats, Floats]:
        """Covariances (d, d) of ``f(x_j)`` with ``f(x_l)`` and with ``x_i``."""
        between: Floats = np.einsum("k,jkl->jl", c, self.splines @ c)
        towards: Floats = np.einsum("k,jki->ji", c, self.cross)
        return between, towards

    def intercept(self, weights: Floats, c: Floats) -> Floats:
        """B (d,) that gives each residual mean zero."""
        return self.mean - (self.spline_mean @ c) @ weights


def collect_moments(x: Floats, basis: SplineBasis, batch_size: int, progress: Progress) -> Moments:
    """Sum over the rows of x (n, d), ``batch_size`` rows at a time."""
    n, d = x.shape
    mean = x.mean(axis=0)
    size = d * basis.size
    total, products, cross = np.zeros(size), np.zeros((size, size)), np.zeros((size, d))
    for start in range(0, n, batch_size):
        rows = x[start : start + batch_size]
        splines = basis.matrix(rows).reshape(len(rows), size)  # (rows, d * K)
        total += splines.sum(axis=0)
        products += splines.T @ splines
        cross += splines.T @ (rows - mean)
        progress.check("statistics")
    spline_mean = total / n
    covariance = products / n - np.outer(spline_mean, spline_mean)
    return Moments(
        basis=basis,
        mean=mean,
        spline_mean=spline_mean.reshape(d, basis.size),
        variance=x.var(axis=0),
        splines=covariance.reshape(d, basis.size, d, basis.size),
        cross=(cross / n).reshape(d, basis.size, d),
    )
