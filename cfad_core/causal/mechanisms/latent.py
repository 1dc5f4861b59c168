"""The number behind a number, and its equation.

It is the number itself, or its normal score: whichever explains people better, by likelihood with noise of any shape.
So linear equations with additive noise stay what they are, and log-normal, bounded or counted numbers keep their
shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.causal.density import DEGREE, Density, fit_density
from cfad_core.causal.mechanisms.design import Blocks, Functions, Moments, choose_terms, matrix
from cfad_core.causal.mechanisms.equation import Equation, fit_equation
from cfad_core.causal.mechanisms.marginal import Marginal, fit_marginal
from cfad_core.causal.mechanisms.protocol import Sample
from cfad_core.core.arrays import Floats


@dataclass(frozen=True)
class Latent:
    """A number and its equation.

    Attributes
    ----------
    scored : whether the equation is about the normal score, or about the number in standard deviations
    shape : the density of the number, in standard deviations
    """

    marginal: Marginal
    scored: bool
    equation: Equation
    shape: Density

    def target(self, x: Floats, chance: Floats) -> Floats:
        """What the equation is about, of numbers x (n,); ``chance`` places those that repeat."""
        spread = self.marginal.spread_out(x, chance)
        return self.marginal.score(spread) if self.scored else (spread - self.marginal.center) / self.marginal.spread

    def noise(self, x: Floats, functions: Functions, chance: Floats) -> Floats:
        """Abduction: the noise (n,) of people with numbers x (n,)."""
        n, equation = len(x), self.equation
        found: Floats = (self.target(x, chance) - equation.middle(functions, n)) / equation.spread(functions, n)
        return found

    def value(self, noise: Floats, functions: Functions) -> Floats:
        """Prediction: the number that exists nearest to what noise (n,) and causes make."""
        n = len(noise)
        t = self.equation.middle(functions, n) + self.equation.spread(functions, n) * noise
        number = self.marginal.unscore(t) if self.scored else t * self.marginal.spread + self.marginal.center
        return self.marginal.legal(number)

    def log_likelihood(self, x: Floats, functions: Functions) -> Floats:
        """Of numbers x (n,) in standard deviations, those that repeat in the middle of their gaps."""
        noise = self.noise(x, functions, np.full(len(x), 0.5))
        found = self.equation.density.logpdf(noise) - np.log(self.equation.spread(functions, len(x)))
        return found + log_slope(self.marginal, self.shape, x) if self.scored else found


def log_slope(marginal: Marginal, shape: Density, x: Floats) -> Floats:
    """Log of how fast the normal score of numbers x (n,) rises, a standard deviation of the number being 1."""
    found: Floats = shape.logpdf((x - marginal.center) / marginal.spread) + 0.5 * marginal.score(x) ** 2
    return found + 0.5 * float(np.log(2.0 * np.pi))


def fit_latent(sample: Sample) -> Latent:
    """Fit to people all of whom have a number."""
    n, marginal = len(sample.cells), fit_marginal(sample.cells)
    chance = np.random.default_rng(n).random(n)  # of numbers that repeat, in training alone
    number = marginal.spread_out(sample.cells, chance)
    standard = (number - marginal.center) / marginal.spread
    shape = fit_density(standard)
    blocks = Blocks.of(sample.causes, sample.bases)
    terms = blocks.all_terms()
    columns = matrix(terms, sample.functions, n)
    place = {term: k for k, term in enumerate(terms)}
    found: list[tuple[float, Latent]] = []
    for scored, target in ((False, standard), (True, marginal.score(number))):
        chosen = choose_terms(Moments(terms, columns, target[:, None]), blocks, sample.sensitive)
        equation, value = fit_equation(sample, target, chosen, columns[:, [place[term] for term in chosen]])
        if scored:
            value += float(log_slope(marginal, shape, number).mean())  # both are likelihoods of the same number
        price = 0.5 * np.log(n) * (len(chosen) + (DEGREE if scored else 0)) / n
        found.append((value - price, Latent(marginal, scored, equation, shape)))
    return max(found, key=lambda one: one[0])[1]
