"""What least squares needs to know of a table: sums over its rows, taken batch by batch.

With ``f(x) = sum_k c_k B_k(x)`` the squared error of ``x_i = sum_j A[j, i] f(x_j) + b_i + u_i`` is a
polynomial in A and c whose coefficients are covariances. They are summed once, in batches, in memory that
does not grow with the rows; after that each step of the optimisation costs the same for 1,000 rows as for
1,000,000, and sees all of them.

Every function of a column with two values is linear, so such a column (``S``, a level of a category) sends
``x_j`` over its standard deviation instead of ``f(x_j)``: it needs no splines, and f is not bent by it.
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
    """Means and covariances of the d columns, and of every spline of the p columns that act through f.

    Attributes
    ----------
    n_rows : that were summed over
    basis : SplineBasis
    curved : (p,), the columns that act through f
    slope : (d,), one over the standard deviation of the columns that act linearly, 0 for the others
    mean : (d,)
    covariance : (d, d)
    spline_mean : (p, K)
    splines : (p, K, p, K), covariance of ``B_k(x_j)`` and ``B_m(x_l)``
    cross : (p, K, d), covariance of ``B_k(x_j)`` and ``x_i``
    """

    n_rows: int
    basis: SplineBasis
    curved: NDArray[np.intp]
    slope: Floats
    mean: Floats
    covariance: Floats
    spline_mean: Floats
    splines: Floats
    cross: Floats

    @property
    def total_variance(self) -> float:
        """Sum over the columns."""
        return float(np.trace(self.covariance))

    @property
    def spread(self) -> Floats:
        """(K, K) with ``c^T spread c`` = variance of f over the columns that act through it, on average."""
        if not len(self.curved):
            return np.eye(self.basis.size)
        total: Floats = np.einsum("jkjm->km", self.splines)
        return total / len(self.curved)

    def normalised(self, c: Floats) -> Floats:
        """The same function shape with unit average variance: the scale belongs to A."""
        return c / np.sqrt(c @ self.spread @ c)

    def contract(self, c: Floats) -> tuple[Floats, Floats]:
        """Covariances (d, d) of the messages of j and l, and of the message of j with ``x_i``."""
        towards = self.slope[:, None] * self.covariance
        towards[self.curved] = np.einsum("k,jki->ji", c, self.cross)
        between = towards * self.slope  # right wherever l acts linearly
        between[:, self.curved] = between[self.curved].T
        between[np.ix_(self.curved, self.curved)] = np.einsum("k,jkl->jl", c, self.splines @ c)
        return between, towards

    def gradient(self, c: Floats, for_between: Floats, for_towards: Floats) -> Floats:
        """(K,) of ``sum(for_between * between) / 2 - sum(for_towards * towards)``, ``for_between`` symmetric."""
        inner = for_between[np.ix_(self.curved, self.curved)]
        outer = for_towards[self.curved] - for_between[self.curved] * self.slope
        total: Floats = np.einsum("jl,jkl->k", inner, self.splines @ c) - np.einsum("ji,jki->k", outer, self.cross)
        return total

    def intercept(self, weights: Floats, c: Floats) -> Floats:
        """B (d,) that gives each residual mean zero."""
        message_mean = self.slope * self.mean
        message_mean[self.curved] = self.spline_mean @ c
        return self.mean - message_mean @ weights


def collect_moments(x: Floats, basis_size: int, batch_size: int, progress: Progress) -> Moments:
    """Sum over the rows of x (n, d), ``batch_size`` rows at a time."""
    n, d = x.shape
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    is_curved = np.array([_has_three_values(column) for column in x.T], dtype=np.bool_)
    curved = np.flatnonzero(is_curved)
    basis = SplineBasis.covering(x[:, curved] if len(curved) else x, basis_size)
    size = len(curved) * basis.size
    total, products, cross = np.zeros(size), np.zeros((size, size)), np.zeros((size, d))
    covariance = np.zeros((d, d))
    for start in range(0, n, batch_size):
        rows = x[start : start + batch_size]
        centred = rows - mean
        splines = basis.matrix(rows[:, curved]).reshape(len(rows), size)  # (rows, p * K)
        total += splines.sum(axis=0)
        products += splines.T @ splines
        cross += splines.T @ centred
        covariance += centred.T @ centred
        progress.check("statistics")
    spline_mean = total / n
    shape = (len(curved), basis.size)
    return Moments(
        n_rows=n,
        basis=basis,
        curved=curved,
        slope=np.where(is_curved, 0.0, 1.0 / np.where(deviation > 0.0, deviation, 1.0)),
        mean=mean,
        covariance=covariance / n,
        spline_mean=spline_mean.reshape(shape),
        splines=(products / n - np.outer(spline_mean, spline_mean)).reshape(*shape, *shape),
        cross=(cross / n).reshape(*shape, d),
    )


def _has_three_values(column: Floats) -> bool:
    return bool(((column != column.min()) & (column != column.max())).any())
