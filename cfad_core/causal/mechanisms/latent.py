"""The number behind a number, and its equation.

It is the number itself, its logarithm, or its normal score: whichever explains people better, by likelihood with noise
of any shape. So linear equations with additive noise stay what they are, effects that multiply stay so, and bounded or
counted numbers keep their shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cfad_core.causal.density import DEGREE, Density, fit_density
from cfad_core.causal.mechanisms.design import Blocks, Functions, Moments, choose_terms, matrix
from cfad_core.causal.mechanisms.equation import Equation, fit_equation
from cfad_core.causal.mechanisms.marginal import Marginal, fit_marginal
from cfad_core.causal.mechanisms.protocol import Sample
from cfad_core.core.arrays import Floats

Scale: TypeAlias = Literal["plain", "log", "score"]

_FREE: dict[Scale, int] = {"plain": 0, "log": 1, "score": DEGREE}  # numbers that choosing a scale fits
_LARGEST_LOG = 700.0
_SMALLEST = 1e-9  # probability


@dataclass(frozen=True)
class Target:
    """What an equation is about: a number on another scale.

    Attributes
    ----------
    offset : added to a number before its logarithm is taken
    center, spread : mean and standard deviation of the numbers, or of their logarithms
    """

    marginal: Marginal
    scale: Scale
    offset: float
    center: float
    spread: float

    def of(self, number: Floats) -> Floats:
        """The target of numbers that do not repeat, (n,)."""
        if self.scale == "score":
            return self.marginal.score(number)
        plain = self._logarithm(number) if self.scale == "log" else number
        return (plain - self.center) / self.spread

    def back(self, t: Floats) -> Floats:
        """The numbers with these targets, (n,)."""
        if self.scale == "score":
            return self.marginal.unscore(t)
        plain = t * self.spread + self.center
        return np.exp(np.minimum(plain, _LARGEST_LOG)) - self.offset if self.scale == "log" else plain

    def log_slope(self, shape: Density, number: Floats) -> Floats:
        """Log of how fast the target of numbers (n,) rises, where a standard deviation of the number is 1."""
        if self.scale == "plain":
            return np.zeros(len(number))
        if self.scale == "log":
            found: Floats = np.log(self.marginal.spread / self.spread) - self._logarithm(number)
            return found
        standard = (number - self.marginal.center) / self.marginal.spread
        score: Floats = shape.logpdf(standard) + 0.5 * self.marginal.score(number) ** 2
        return score + 0.5 * float(np.log(2.0 * np.pi))

    def _logarithm(self, number: Floats) -> Floats:
        """Of numbers (n,); those far below all that were seen have that of a small one."""
        least = 1e-3 * (max(self.marginal.low, 0.0) + self.offset)
        found: Floats = np.log(np.maximum(number + self.offset, least))
        return found


@dataclass(frozen=True)
class Latent:
    """A number and its equation.

    Attributes
    ----------
    shape : the density of the number, in standard deviations
    """

    target: Target
    equation: Equation
    shape: Density

    @property
    def marginal(self) -> Marginal:
        return self.target.marginal

    def noise(self, x: Floats, expected: Floats, chance: Floats) -> Floats:
        """Abduction: the noise (n,) of people with numbers x (n,); ``chance`` places those that repeat.

        Parameters
        ----------
        expected : (2, n), by the equation of their causes
        """
        t = self.target.of(self.marginal.spread_out(x, chance))
        found: Floats = (t - expected[0]) / expected[1]
        return found

    def value(self, noise: Floats, expected: Floats) -> Floats:
        """Prediction: the number that exists nearest to what noise (n,) and causes, as ``expected`` (2, n), make."""
        t = expected[0] + expected[1] * noise
        return self.marginal.legal(self.target.back(t))

    def log_likelihood(self, x: Floats, functions: Functions) -> Floats:
        """Of numbers x (n,): the log-density, a standard deviation being 1; of numbers that repeat, log-probability."""
        n, equation = len(x), self.equation
        middle, spread = equation.middle(functions, n), equation.spread(functions, n)
        if self.marginal.tied:
            ends = [equation.density.cdf((self.target.of(end) - middle) / spread) for end in self.marginal.gap(x)]
            share: Floats = np.log(np.maximum(ends[1] - ends[0], _SMALLEST))
            return share
        noise = (self.target.of(x) - middle) / spread
        return equation.density.logpdf(noise) - np.log(spread) + self.target.log_slope(self.shape, x)


def fit_latent(sample: Sample) -> Latent:
    """Fit to people all of whom have a number."""
    n, marginal = len(sample.cells), fit_marginal(sample.cells)
    chance = np.random.default_rng(n).random(n)  # of numbers that repeat, in training alone
    number = marginal.spread_out(sample.cells, chance)
    shape = fit_density((number - marginal.center) / marginal.spread)
    blocks = Blocks.of(sample.causes, sample.bases, len(sample.acts))
    terms = blocks.all_terms()
    columns = matrix(terms, sample.functions, n)
    place = {term: k for k, term in enumerate(terms)}
    found: list[tuple[float, Latent]] = []
    for target in _targets(marginal, number):
        t = target.of(number)
        chosen = choose_terms(Moments(terms, columns, t[:, None]), blocks, sample.acts)
        equation, value = fit_equation(sample, t, chosen, columns[:, [place[term] for term in chosen]])
        value += float(target.log_slope(shape, number).mean())  # all are likelihoods of the same number
        price = 0.5 * np.log(n) * (len(chosen) + _FREE[target.scale]) / n
        found.append((value - price, Latent(target, equation, shape)))
    return max(found, key=lambda one: one[0])[1]


def _targets(marginal: Marginal, number: Floats) -> list[Target]:
    """The scales that a number may be explained on."""
    plain = Target(marginal, "plain", 0.0, marginal.center, marginal.spread)
    found = [plain, Target(marginal, "score", 0.0, 0.0, 1.0)]
    offset = 0.0
    if marginal.low == 0.0 and len(marginal.values) > 1:  # counts: log(1 + x)
        offset = float(marginal.values[1])
    if (number + offset).min() > 0.0:
        logarithms = np.log(number + offset)
        found.append(Target(marginal, "log", offset, float(logarithms.mean()), float(logarithms.std()) or 1.0))
    return found
