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
from cfad_core.core.arrays import Floats
from cfad_core.core.progress import Progress

_ROUNDING = 1e-9  # share of a column's mean square around the centre that its variance exceeds, or is but rounding


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
        return total / len(self.curved) if total.any() else np.eye(self.basis.size)  # all are constant in these rows

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
    return Sums.prepare(x, basis_size).add(x, batch_size, progress).moments()


@dataclass(frozen=True)
class Sums:
    """Sums over rows, on one basis and around one centre: those of two sets of rows can be added and subtracted.

    Attributes
    ----------
    basis, curved, slope : as in ``Moments``
    centre : (d,), that rows are taken relative to, which keeps the sums accurate
    n_rows : summed over so far
    total, squares : (d,) and (d, d), of the columns
    splines, products, cross : (p * K,), (p * K, p * K) and (p * K, d), of the splines, and with the columns
    """

    basis: SplineBasis
    curved: NDArray[np.intp]
    slope: Floats
    centre: Floats
    n_rows: int
    total: Floats
    squares: Floats
    splines: Floats
    products: Floats
    cross: Floats

    @staticmethod
    def prepare(x: Floats, basis_size: int) -> Sums:
        """Nothing summed yet, on a basis that suits all of x."""
        d, deviation = x.shape[1], x.std(axis=0)
        is_curved = np.array([has_three_values(column) for column in x.T], dtype=np.bool_)
        curved = np.flatnonzero(is_curved)
        basis = SplineBasis.covering(x[:, curved] if len(curved) else x, basis_size)
        size = len(curved) * basis.size
        return Sums(
            basis=basis,
            curved=curved,
            slope=np.where(is_curved, 0.0, 1.0 / np.where(deviation > 0.0, deviation, 1.0)),
            centre=x.mean(axis=0),
            n_rows=0,
            total=np.zeros(d),
            squares=np.zeros((d, d)),
            splines=np.zeros(size),
            products=np.zeros((size, size)),
            cross=np.zeros((size, d)),
        )

    def add(self, x: Floats, batch_size: int, progress: Progress) -> Sums:
        """With the rows of x."""
        total, squares, splines, products, cross = (array.copy() for array in self._arrays)
        for start in range(0, len(x), batch_size):
            rows = x[start : start + batch_size]
            centred = rows - self.centre
            values = self.basis.matrix(rows[:, self.curved]).reshape(len(rows), len(splines))
            total += centred.sum(axis=0)
            squares += centred.T @ centred
            splines += values.sum(axis=0)
            products += values.T @ values
            cross += values.T @ centred
            progress.check("statistics")
        return self._with(self.n_rows + len(x), (total, squares, splines, products, cross))

    def without(self, other: Sums) -> Sums:
        """Less the rows of another one, which must be among the own."""
        pairs = zip(self._arrays, other._arrays, strict=True)
        return self._with(self.n_rows - other.n_rows, tuple(mine - theirs for mine, theirs in pairs))

    def moments(self) -> Moments:
        """Means and covariances."""
        n, shape = self.n_rows, (len(self.curved), self.basis.size)
        shift, spline_mean = self.total / n, self.splines / n
        covariance = self.squares / n - np.outer(shift, shift)
        # of a column that is constant in these rows, but not in those that the centre is of, rounding is left
        varies = np.diag(covariance) > _ROUNDING * np.diag(self.squares) / n
        bends = np.repeat(varies[self.curved], self.basis.size)
        splines = np.where(np.outer(bends, bends), self.products / n - np.outer(spline_mean, spline_mean), 0.0)
        cross = np.where(np.outer(bends, varies), self.cross / n - np.outer(spline_mean, shift), 0.0)
        return Moments(
            n_rows=n,
            basis=self.basis,
            curved=self.curved,
            slope=self.slope,
            mean=self.centre + shift,
            covariance=np.where(np.outer(varies, varies), covariance, 0.0),
            spline_mean=spline_mean.reshape(shape),
            splines=splines.reshape(*shape, *shape),
            cross=cross.reshape(*shape, len(shift)),
        )

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return self.total, self.squares, self.splines, self.products, self.cross

    def _with(self, n_rows: int, arrays: tuple[Floats, ...]) -> Sums:
        return Sums(self.basis, self.curved, self.slope, self.centre, n_rows, *arrays)


def has_three_values(column: Floats) -> bool:
    """Or more; a column with fewer acts linearly."""
    return bool(((column != column.min()) & (column != column.max())).any())
