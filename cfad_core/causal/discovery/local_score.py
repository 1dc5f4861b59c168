"""How well causes explain a variable: the log-likelihood of its cells, less an extended BIC.

A number: ``goal = sum of functions of the causes + spread * noise``, the best of its goals (as it is, its logarithm,
its normal score), of Gaussian noise and noise of any shape, of a spread that is the same for all and one that depends
on the causes, of causes that add up and causes that also act in pairs. Each is paid for by its free numbers, so linear
equations with Gaussian noise score the same in either direction, as they must. A category: a multinomial logit. A
number with special cells (one very frequent value, missing): a logit of which it is, and a number where it is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cfad_core.causal.density import DEGREE, fit_density
from cfad_core.causal.discovery.blocks import Blocks, Sample
from cfad_core.causal.discovery.quick_score import NOISE_FLOOR, Causes, Penalty, QuickScores
from cfad_core.causal.logit import fit_logit, level_log_likelihood
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress

_FEWEST = 50  # ordinary numbers that a number part needs
_TOLERANCE = 2e-5  # mean log-likelihood of a logit
_SMALLEST_SPREAD = 0.01  # of a residual's variance, before its logarithm is taken
_STEEPEST = 4.0  # log of how much the variance may differ from the mean one
_LEAST_OWN = 0.1  # share of a residual's variance on a lattice that is not rounding
_LEAST_PROBABLE, _LEAST_SHARE = 1e-300, 1e-7  # of a cell
_NO_CAUSES: Causes = frozenset()


@dataclass(frozen=True)
class Likelihood:
    """Mean log-likelihood a row, and the free numbers of the model that it is of, besides those of additive causes."""

    mean: float
    more: float


class LocalScores:
    """Scores of causes, each computed once."""

    def __init__(self, blocks: Blocks, sample: Sample, quick: QuickScores, progress: Progress) -> None:
        self.blocks, self.sample, self.quick, self.progress = blocks, sample, quick, progress
        self.penalty: Penalty = quick.penalty
        self._found: dict[tuple[int, Causes], tuple[float, float]] = {}
        self._parts: dict[tuple[int, Causes], float] = {}
        self._ordinary: list[Bools | None] = [
            None if levels is None or not basis.is_number else levels == 0
            for levels, basis in zip(sample.levels, blocks.bases, strict=True)
        ]

    def score(self, i: int, causes: Causes) -> float:
        """Log-likelihood summed over the rows that count, less the penalty."""
        return self._of(i, causes)[0]

    def log_likelihood(self, i: int, causes: Causes) -> float:
        """Mean log-likelihood a row, without the penalty."""
        return self._of(i, causes)[1]

    def _of(self, i: int, causes: Causes) -> tuple[float, float]:
        key = (i, causes)
        if key not in self._found:
            self.progress.check("discovery")
            basis = self.blocks.bases[i]
            if basis.is_constant:
                mean, paid = 0.0, 0.0
            elif basis.is_number:
                mean, paid = self._number(i, causes)
            else:
                mean = self._levels(i, causes)
                paid = float((basis.n_levels - 1) * _size(causes))
            price = self.penalty.number * paid + self.penalty.edge * len(causes)
            self._found[key] = (self.penalty.n * mean - price, mean)
        return self._found[key]

    def _levels(self, i: int, causes: Causes) -> float:
        """Mean log-likelihood of a variable's levels."""
        key = (i, causes)
        if key not in self._parts:
            levels, n_levels = self.sample.levels[i], self.blocks.bases[i].n_levels
            assert levels is not None
            columns = self.quick.columns(causes)
            if len(columns):
                X = self.sample.values[columns].T
                self._parts[key] = fit_logit(X, levels, n_levels, tolerance=_TOLERANCE).mean_log_likelihood
            else:
                self._parts[key] = level_log_likelihood(levels, n_levels)
        return self._parts[key]

    # Numbers

    def _number(self, i: int, causes: Causes) -> tuple[float, float]:
        """Mean log-likelihood, and the free numbers."""
        ordinary = self._ordinary[i]
        if ordinary is None:
            number = self._ordinary_number(i, causes, None, self.penalty.n)
            return number.mean, number.more
        special = self._special_cells(i, causes)
        share = float(ordinary.mean())
        if ordinary.sum() < _FEWEST:
            return special.mean, special.more
        number = self._ordinary_number(i, causes, ordinary, share * self.penalty.n)
        return special.mean + share * number.mean, special.more + number.more

    def _special_cells(self, i: int, causes: Causes) -> Likelihood:
        """Whether a number is special depends on none of its causes, on one of them, or on all, as is best."""
        free = self.blocks.bases[i].n_levels - 1
        parts = [_NO_CAUSES, *(frozenset([one]) for one in sorted(causes))] + ([causes] if len(causes) > 1 else [])
        options = [Likelihood(self._levels(i, part), float(free * _size(part))) for part in parts]
        return self._best(options, self.penalty.n)

    def _ordinary_number(self, i: int, causes: Causes, ordinary: Bools | None, n: float) -> Likelihood:
        """The best model of a number where it is one; ``n`` rows count."""
        columns, basis = self.quick.columns(causes), self.blocks.bases[i]
        X, Y, cells = self.sample.values[columns], self.sample.values[self.blocks.goals[i]], self.sample.cells[i]
        heads = self._heads(causes)
        if ordinary is None:
            residuals, variances = self._by_covariance(X, Y, columns, self.blocks.goals[i])
        else:
            X, Y, heads = X[:, ordinary], Y[:, ordinary], [head[:, ordinary] for head in heads]
            cells = None if cells is None else cells[:, :, ordinary]
            residuals = _least_squares(X, Y)
            variances = (residuals * residuals).mean(axis=1)
        options: list[Likelihood] = []
        for a, (residual, variance) in enumerate(zip(residuals, np.maximum(variances, NOISE_FLOOR), strict=True)):
            paid = float(basis.tolls[a]) + _size(causes)
            fit: Fit
            if cells is None:
                plain = -0.5 * float(np.log(2.0 * np.pi * np.e * variance)) + float(basis.slopes[a])
                fit = Fit(residual, Likelihood(plain, paid))
            else:
                fit = LatticeFit.of(residual, cells[:, a] - (Y[a] - residual), paid)
            if len(heads) > 1:
                fit = self._with_pairs(fit, Y[a], X, heads, n)
            options += fit.shapes()
            if heads:
                uneven = fit.with_spread(np.concatenate(heads))
                if self._worth(uneven.plain, n) > self._worth(fit.plain, n):
                    options += uneven.shapes()
        return self._best(options, n)

    def _with_pairs(self, fit: Fit, y: Floats, X: Floats, heads: list[Floats], n: float) -> Fit:
        """The fit with products of each two causes, if they are worth their price."""
        products = [
            (one[:, None, :] * other[None, :, :]).reshape(-1, len(y))
            for k, one in enumerate(heads)
            for other in heads[:k]
        ]
        with_products = np.concatenate([X, *products])
        more = len(with_products) - len(X)
        if 10 * len(with_products) > len(y):
            return fit
        residual = _least_squares(with_products, y[None])[0]
        paired = fit.with_residual(residual, more)
        return paired if self._worth(paired.plain, n) > self._worth(fit.plain, n) else fit

    def _by_covariance(self, X: Floats, Y: Floats, columns: Rows, goals: Rows) -> tuple[Floats, Floats]:
        """Residuals (g, m) of the goals, with weights and variances (g,) from all rows of the sample."""
        covariance = self.sample.covariance
        variances = covariance[goals, goals]
        if not len(columns):
            return Y, variances
        towards = covariance[np.ix_(columns, goals)]
        own = covariance[np.ix_(columns, columns)] + 1e-8 * np.eye(len(columns))
        weights = np.linalg.solve(own, towards)  # (q, g)
        return Y - weights.T @ X, variances - (weights * towards).sum(axis=0)

    def _heads(self, causes: Causes) -> list[Floats]:
        """What of each cause acts in pairs and on the spread: a number's first function, a category's indicators."""
        bases, functions = self.blocks.bases, self.blocks.functions
        rows = [functions[j][: 1 if bases[j].is_number else size] for j, size in sorted(causes)]
        return [self.sample.values[some] for some in rows if len(some)]

    def _best(self, options: Iterable[Likelihood], n: float) -> Likelihood:
        return max(options, key=lambda one: self._worth(one, n))

    def _worth(self, one: Likelihood, n: float) -> float:
        """What a likelihood is worth, less what it costs."""
        return n * one.mean - self.penalty.number * one.more


@dataclass(frozen=True)
class Fit:
    """Residuals (m,) of a number, and their likelihood as Gaussian noise."""

    residual: Floats
    plain: Likelihood

    def shapes(self) -> list[Likelihood]:
        """Gaussian noise, and noise of any shape."""
        gain = fit_density(self.residual).gain
        return [self.plain, Likelihood(self.plain.mean + gain, self.plain.more + DEGREE)]

    def with_residual(self, residual: Floats, more: int) -> Fit:
        """Other residuals of the same goal, by a model with more free numbers."""
        before = max(float(self.residual.var()), NOISE_FLOOR)
        gain = 0.5 * float(np.log(before / max(float(residual.var()), NOISE_FLOOR)))
        return Fit(residual, Likelihood(self.plain.mean + gain, self.plain.more + more))

    def with_spread(self, heads: Floats) -> Fit:
        """Noise whose log variance is linear in the heads (h, m) of the causes."""
        even = self.residual / _spread(self.residual, heads)
        gain = -0.5 * float(np.log(float((even * even).mean()) / float((self.residual * self.residual).mean())))
        return Fit(even, Likelihood(self.plain.mean + gain, self.plain.more + len(heads)))


@dataclass(frozen=True)
class LatticeFit(Fit):
    """Residuals of a number on a coarse lattice, whose likelihood is the probability of its cells.

    Attributes
    ----------
    cells : (2, m), between which residuals a row would be written into the same cell
    """

    cells: Floats

    @staticmethod
    def of(residual: Floats, cells: Floats, paid: float) -> LatticeFit:
        """With Gaussian noise."""
        from scipy.special import ndtr

        width = cells[1] - cells[0]
        variance = float(residual.var())
        rounding = float((width[np.isfinite(width)] ** 2).mean()) / 6.0 if np.isfinite(width).any() else 0.0
        # Rounding and breaking ties each add the variance of a cell
        deviation = np.sqrt(max(variance - rounding, _LEAST_OWN * variance, NOISE_FLOOR))
        low, high = cells / deviation
        flipped = low > 0.0  # small probabilities are accurate in the lower tail
        low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
        mean = float(np.log(np.maximum(ndtr(high) - ndtr(low), _LEAST_PROBABLE)).mean())
        return LatticeFit(residual, Likelihood(mean, paid), cells)

    def shapes(self) -> list[Likelihood]:
        density, known = fit_density(self.residual), np.isfinite(self.cells)
        share = density.cdf(np.where(known, self.cells, 0.0).ravel()).reshape(2, -1)
        below = np.where(known, share, self.cells > 0.0)
        mean = float(np.log(np.maximum(below[1] - below[0], _LEAST_SHARE)).mean())
        return [self.plain, Likelihood(mean, self.plain.more + DEGREE)]

    def with_residual(self, residual: Floats, more: int) -> Fit:
        return LatticeFit.of(residual, self.cells - (self.residual - residual), self.plain.more + more)

    def with_spread(self, heads: Floats) -> Fit:
        spread = _spread(self.residual, heads)
        return LatticeFit.of(self.residual / spread, self.cells / spread, self.plain.more + len(heads))


def _spread(residual: Floats, heads: Floats) -> Floats:
    """Standard deviation (m,) of residuals by the heads (h, m), its mean logarithm 0."""
    squares = residual * residual
    heights = np.log(squares + _SMALLEST_SPREAD * float(squares.mean()))
    steepness = (heights - heights.mean() - _least_squares(heads, heights[None])[0]) / 2.0
    steepness = np.clip(steepness, -_STEEPEST / 2.0, _STEEPEST / 2.0)
    spread: Floats = np.exp(steepness - steepness.mean())
    return spread


def _size(causes: Causes) -> int:
    return sum(size for _, size in causes)


def _least_squares(X: Floats, Y: Floats) -> Floats:
    """Residuals (g, m) of goals Y (g, m) given columns X (q, m), with an intercept."""
    centred: Floats = Y - Y.mean(axis=1, keepdims=True)
    if not len(X):
        return centred
    columns = X - X.mean(axis=1, keepdims=True)
    gram = columns @ columns.T
    gram[np.arange(len(X)), np.arange(len(X))] += 1e-8 * (float(np.trace(gram)) / len(X) + 1e-12)
    result: Floats = centred - np.linalg.solve(gram, columns @ centred.T).T @ columns
    return result
