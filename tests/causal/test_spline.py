from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from cfad_core.causal.spline import Spline, SplineBasis


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_the_basis_is_scipys(derivative: int) -> None:
    basis = SplineBasis(-2.0, 5.0, 9)
    step = 7.0 / 6
    knots = -2.0 + step * np.arange(-3, 10)
    x = np.linspace(-2.0, 5.0 - 1e-9, 101)
    ours = basis.matrix(x, derivative)
    for k in range(9):
        coefficients = np.zeros(9)
        coefficients[k] = 1.0
        theirs = BSpline(knots, coefficients, 3)(x, nu=derivative)
        np.testing.assert_allclose(ours[:, k], theirs, atol=1e-9)


def test_a_spline_follows_its_tangents_beyond_its_range() -> None:
    basis = SplineBasis(-1.0, 1.0, 8)
    points = np.linspace(-1.0, 1.0, 60)
    f = Spline.interpolating(basis, points, points**3)
    np.testing.assert_allclose(f(np.array([0.5, 1.0])), [0.125, 1.0], atol=1e-9)
    np.testing.assert_allclose(f(np.array([2.0, -3.0])), [1.0 + 3.0, -1.0 - 6.0], atol=1e-7)


def test_a_constant_column_still_has_a_basis() -> None:
    basis = SplineBasis.covering(np.full(5, 2.0), 6)
    assert basis.high > basis.low
