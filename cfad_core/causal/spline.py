"""One-dimensional functions as cubic B-splines: linear in their coefficients, smooth, exact derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats


@dataclass(frozen=True)
class SplineBasis:
    """``size`` uniform cubic B-splines on [low, high]; linear beyond."""

    low: float
    high: float
    size: int

    @staticmethod
    def covering(values: Floats, size: int) -> SplineBasis:
        """The basis that reaches from the smallest to the largest value."""
        low, high = float(values.min()), float(values.max())
        return SplineBasis(low, high if high > low else low + 1.0, size)

    @property
    def _step(self) -> float:
        return (self.high - self.low) / (self.size - 3)

    def local(self, x: Floats, derivative: int = 0) -> tuple[NDArray[np.intp], Floats]:
        r"""The four splines that are not zero at each x.

        Returns
        -------
        first : array of the shape of x, index of the first of the four
        values : array of shape (\\*x.shape, 4)
        """
        position = (np.clip(x, self.low, self.high) - self.low) / self._step
        first = np.minimum(position.astype(np.intp), self.size - 4)
        t = position - first
        if derivative == 0:
            parts = [(1 - t) ** 3 / 6, (3 * t**3 - 6 * t**2 + 4) / 6, (-3 * t**3 + 3 * t**2 + 3 * t + 1) / 6, t**3 / 6]
        elif derivative == 1:
            parts = [-((1 - t) ** 2) / 2, (3 * t**2 - 4 * t) / 2, (-3 * t**2 + 2 * t + 1) / 2, t**2 / 2]
        else:
            parts = [1 - t, 3 * t - 2, 1 - 3 * t, t]
        return first, np.stack(parts, axis=-1) / self._step**derivative

    def matrix(self, x: Floats, derivative: int = 0) -> Floats:
        r"""Values (or a derivative) of every spline inside the range, shape (\\*x.shape, size)."""
        first, values = self.local(x, derivative)
        dense = np.zeros((*x.shape, self.size))
        np.put_along_axis(dense, first[..., None] + np.arange(4), values, axis=-1)
        return dense


@dataclass(frozen=True)
class Spline:
    """A function ``f(x) = sum_k c_k B_k(x)``, continued along its tangents outside the basis' range."""

    basis: SplineBasis
    coefficients: Floats

    def __call__(self, x: Floats) -> Floats:
        """Evaluate point by point: each value depends on its own x alone, to the last bit."""
        beyond = x - np.clip(x, self.basis.low, self.basis.high)
        inside = self._combine(x, 0)
        return inside if not beyond.any() else inside + beyond * self._combine(x, 1)

    def _combine(self, x: Floats, derivative: int) -> Floats:
        first, values = self.basis.local(x, derivative)
        total = values[..., 0] * self.coefficients[first]
        for k in range(1, 4):
            total += values[..., k] * self.coefficients[first + k]
        return total

    @staticmethod
    def interpolating(basis: SplineBasis, x: Floats, values: Floats) -> Spline:
        """The spline closest to ``values`` at ``x`` in the least-squares sense."""
        coefficients = np.linalg.lstsq(basis.matrix(x), values, rcond=None)[0]
        return Spline(basis, coefficients.astype(np.float64))


def roughness_penalty(size: int) -> Floats:
    """P with ``c^T P c`` = sum of squared second differences of neighbouring coefficients."""
    second = np.diff(np.eye(size), n=2, axis=0)
    return second.T @ second
