"""Multinomial logit: the probability of each level of a category, given columns.

``P(level l | x) = exp(x @ weights[:, l]) / sum_m exp(x @ weights[:, m])`` with x starting with a 1.

The columns are whitened first, so neither their units nor their collinearity matter; a small ridge on the whitened
weights keeps levels that the columns separate perfectly finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

Levels = NDArray[np.intp]
RIDGE = 0.5  # on the sum of squared whitened weights, in units of log-likelihood summed over the rows
_UNSEEN = -30.0  # of the linear predictor of a level that nobody has
_COLLINEAR = 1e-9  # share of the largest variance that a direction needs to count
_NEWTON_STEPS = 40
_LBFGS_STEPS = 200


@dataclass(frozen=True)
class LogitFit:
    """A fitted logit.

    Attributes
    ----------
    weights : (q, levels), q the intercept and one for each column
    mean_log_likelihood : of the levels it was fitted to, in natural logarithms, without the ridge
    """

    weights: Floats
    mean_log_likelihood: float

    def probabilities(self, X: Floats) -> Floats:
        """Of each level (n, levels), for columns X (n, q - 1)."""
        eta = X @ self.weights[1:] + self.weights[0]
        eta -= eta.max(axis=1, keepdims=True)
        share = np.exp(eta)
        result: Floats = share / share.sum(axis=1, keepdims=True)
        return result


def fit_logit(X: Floats, y: Levels, levels: int, *, ridge: float = RIDGE, tolerance: float = 1e-7) -> LogitFit:
    """Fit by maximum likelihood: two levels by Newton's method, more by L-BFGS.

    Parameters
    ----------
    X : (n, q - 1), without the column of ones; may have no columns
    y : (n,), the level of each row, from 0
    levels : how many there are; some may be unseen
    ridge : on the whitened weights but the intercepts
    tolerance : mean log-likelihood that is not worth another step
    """
    seen = np.flatnonzero(np.bincount(y, minlength=levels))
    white = _Whitening.of(X)
    columns = white.columns(X)  # (n, r + 1)
    position = np.zeros(levels, dtype=np.intp)
    position[seen] = np.arange(len(seen))
    codes = position[y]
    if len(seen) == 1:
        inner, mean = np.zeros((columns.shape[1], 1)), 0.0
    elif len(seen) == 2:
        inner, mean = _two_levels(columns, codes, ridge, tolerance)
    else:
        inner, mean = _many_levels(columns, codes, len(seen), ridge, tolerance)
    inner = inner - inner.mean(axis=1, keepdims=True)  # of no consequence, but the unseen levels' are relative to it
    weights = np.zeros((X.shape[1] + 1, levels))
    weights[0] = _UNSEEN
    weights[:, seen] = white.back(inner)
    return LogitFit(weights, mean)


def level_log_likelihood(y: Levels, levels: int) -> float:
    """Mean log-likelihood of levels y (n,) without any columns: minus their entropy."""
    share = np.bincount(y, minlength=levels) / len(y)
    share = share[share > 0.0]
    return float((share * np.log(share)).sum())


@dataclass(frozen=True)
class _Whitening:
    """A map from columns to as many uncorrelated ones of variance 1 as they really are."""

    mean: Floats  # (p,)
    turn: Floats  # (p, r)

    @staticmethod
    def of(X: Floats) -> _Whitening:
        mean = X.mean(axis=0)
        centred = X - mean
        deviation = np.sqrt((centred * centred).mean(axis=0))
        varies = deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        scaled = centred * factor
        variances, directions = np.linalg.eigh(scaled.T @ scaled / len(X))
        kept = variances > _COLLINEAR * variances.max(initial=1e-300)
        return _Whitening(mean, factor[:, None] * directions[:, kept] / np.sqrt(variances[kept]))

    def columns(self, X: Floats) -> Floats:
        """(n, r + 1), the ones first."""
        return np.column_stack([np.ones(len(X)), (X - self.mean) @ self.turn])

    def back(self, weights: Floats) -> Floats:
        """Weights (r + 1, levels) of the whitened columns as those (p + 1, levels) of the columns."""
        outer = self.turn @ weights[1:]
        return np.vstack([weights[:1] - self.mean @ outer, outer])


def _two_levels(columns: Floats, codes: Levels, ridge: float, tolerance: float) -> tuple[Floats, float]:
    """Weights (r + 1, 2), those of the first level 0, by Newton's method with halved steps where it overshoots."""
    n, q = columns.shape
    sign = np.where(codes > 0, 1.0, -1.0)
    is_second = codes > 0
    toll = np.full(q, ridge)
    toll[0] = 0.0
    share = float(is_second.mean())
    weights = np.zeros(q)
    weights[0] = np.log(share / (1.0 - share))
    eta = columns @ weights
    value = -float(np.logaddexp(0.0, -sign * eta).sum())
    for _ in range(_NEWTON_STEPS):
        probability = 1.0 / (1.0 + np.exp(-np.clip(eta, -500.0, 500.0)))
        gradient = columns.T @ (is_second - probability) - toll * weights
        curvature = (columns * (probability * (1.0 - probability))[:, None]).T @ columns
        curvature[np.arange(q), np.arange(q)] += toll + 1e-9 * n
        step = np.linalg.solve(curvature, gradient)
        length, before = 1.0, value
        while True:
            tried = weights + length * step
            eta = columns @ tried
            value = -float(np.logaddexp(0.0, -sign * eta).sum()) - 0.5 * float(toll @ (tried * tried))
            if value >= before or length < 1e-4:
                break
            length /= 2.0
        weights = tried
        if value - before < tolerance * n:
            break
    likelihood = -float(np.logaddexp(0.0, -sign * eta).mean())
    return np.column_stack([np.zeros(q), weights]), likelihood


def _many_levels(columns: Floats, codes: Levels, levels: int, ridge: float, tolerance: float) -> tuple[Floats, float]:
    """Weights (r + 1, levels) by L-BFGS, those of rare levels rescaled so that the start is well conditioned."""
    from scipy.optimize import minimize

    n, q = columns.shape
    share = np.bincount(codes, minlength=levels) / n
    scale = 1.0 / np.sqrt(share)[:, None]
    across = np.ascontiguousarray(columns.T)  # (q, n)
    own = codes * n + np.arange(n)  # of each row's level in a flat (levels, n)
    start = np.zeros((levels, q))
    start[:, 0] = np.log(share) / scale[:, 0]

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(levels, q) * scale
        eta = weights @ across
        eta -= eta.max(axis=0)
        mine = float(eta.ravel()[own].sum())
        np.exp(eta, out=eta)
        total = eta.sum(axis=0)
        value = (float(np.log(total).sum()) - mine) / n + 0.5 * ridge / n * float((weights[:, 1:] ** 2).sum())
        eta /= total
        eta.ravel()[own] -= 1.0
        gradient = eta @ columns / n
        gradient[:, 1:] += ridge / n * weights[:, 1:]
        return value, (gradient * scale).ravel()

    options = {"maxiter": _LBFGS_STEPS, "maxcor": 8, "ftol": tolerance, "gtol": 1e-9}
    found = minimize(value_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    weights = found.x.reshape(levels, q) * scale
    penalty = 0.5 * ridge / n * float((weights[:, 1:] ** 2).sum())
    return np.ascontiguousarray(weights.T), penalty - float(found.fun)
