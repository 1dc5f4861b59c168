"""The number behind a number: ``t = m(causes) + s(causes) e``.

t is the number itself, or its normal score: whichever explains people better, by likelihood with noise of any shape. So
linear equations with additive noise stay what they are, and log-normal, bounded or counted numbers keep their shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp

from cfad_core.causal.density import DEGREE, Density, fit_density
from cfad_core.causal.mechanisms.design import (
    SENSITIVE,
    Blocks,
    Functions,
    Moments,
    Term,
    choose_terms,
    linear,
    matrix,
)
from cfad_core.causal.mechanisms.marginal import Marginal, fit_marginal
from cfad_core.causal.mechanisms.protocol import Sample, Worlds
from cfad_core.core.arrays import Floats

_QUANTILES = 201  # that a noise is remembered by
_SMALL_GROUP = 50  # people, under which the shape of a group's noise is not looked at
_OTHER_SHAPE = 1e-4  # p-value below which the groups' noises differ in shape
_MOST_SPREAD = 3.0  # log of how much larger or smaller than usual a spread may be
_RIDGE = 1e-6


@dataclass(frozen=True)
class Latent:
    """A number and its equation.

    Attributes
    ----------
    scored : whether t is the normal score, or the number in standard deviations
    terms, weights : of m
    spread_terms, spread_weights : of log s
    quantiles : of e, at even shares
    by_group : (2, k), the same within each group where they differ in shape; else (2, 0)
    density : of e
    shape : the density of the number itself, in standard deviations
    """

    marginal: Marginal
    scored: bool
    terms: tuple[Term, ...]
    weights: Floats
    spread_terms: tuple[Term, ...]
    spread_weights: Floats
    quantiles: Floats
    by_group: Floats
    density: Density
    shape: Density

    @property
    def causes(self) -> frozenset[int]:
        found = {variable for term in (*self.terms, *self.spread_terms) for variable, _ in term}
        return frozenset(found | {SENSITIVE[0]} if self.by_group.size else found)

    def target(self, x: Floats, chance: Floats) -> Floats:
        """t of numbers (n,)."""
        spread = self.marginal.spread_out(x, chance)
        return self.marginal.score(spread) if self.scored else (spread - self.marginal.center) / self.marginal.spread

    def middle(self, functions: Functions, n: int) -> Floats:
        """M of the causes, (n,)."""
        return linear(self.weights, self.terms, functions, n)

    def spread(self, functions: Functions, n: int) -> Floats:
        """S of the causes, (n,)."""
        return _spread(self.spread_weights, self.spread_terms, functions, n)

    def noise(self, x: Floats, functions: Functions, chance: Floats) -> Floats:
        """Abduction: e of people with numbers x (n,)."""
        found: Floats = (self.target(x, chance) - self.middle(functions, len(x))) / self.spread(functions, len(x))
        return found

    def value(self, noise: Floats, functions: Functions) -> Floats:
        """Prediction: the number that exists nearest to what noise (n,) and causes make."""
        n = len(noise)
        t = self.middle(functions, n) + self.spread(functions, n) * noise
        number = self.marginal.unscore(t) if self.scored else t * self.marginal.spread + self.marginal.center
        return self.marginal.legal(number)

    def stays(self, worlds: Worlds) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whose causes make the same of them here and there."""
        n = len(worlds.group)
        same = self.middle(worlds.here, n) == self.middle(worlds.there, n)
        same &= self.spread(worlds.here, n) == self.spread(worlds.there, n)
        if self.by_group.size:
            same &= worlds.group == worlds.twin_group
        return same

    def noise_of_twin(self, noise: Floats, worlds: Worlds) -> Floats:
        """The same noise; or that of the same rank in the twin's group, where the groups' noises differ in shape."""
        if not self.by_group.size:
            return noise
        result = noise.copy()
        for here in (0, 1):
            rows = (worlds.group == here) & (worlds.twin_group != here)
            own, other = self.by_group[here], self.by_group[1 - here]
            inside = np.clip(noise[rows], own[0], own[-1])
            result[rows] = np.interp(inside, own, other) + (noise[rows] - inside)
        return result

    def rank(self, noise: Floats) -> Floats:
        """Share of people with less noise, (n,)."""
        return np.interp(noise, self.quantiles, _shares(len(self.quantiles)))

    def quantile(self, share: Floats) -> Floats:
        """The noise of which a share (n,) of people have less."""
        return np.interp(share, _shares(len(self.quantiles)), self.quantiles)

    def noise_at(self, noise: Floats, rank: Floats, fresh: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Floats:
        """Noise moved to another rank; what lies beyond all that was seen stays as far beyond."""
        moved: Floats = noise + (self.quantile(rank) - self.quantile(self.rank(noise)))
        return np.where(fresh, self.quantile(rank), moved)

    def log_likelihood(self, x: Floats, functions: Functions) -> Floats:
        """Of numbers x (n,) in standard deviations, ties in the middle of their gaps."""
        noise = self.noise(x, functions, np.full(len(x), 0.5))
        found = self.density.logpdf(noise) - np.log(self.spread(functions, len(x)))
        return found + log_slope(self.marginal, self.shape, x) if self.scored else found


def log_slope(marginal: Marginal, shape: Density, x: Floats) -> Floats:
    """Log of how fast the normal score of numbers x (n,) rises, a standard deviation of the number being 1."""
    found: Floats = shape.logpdf((x - marginal.center) / marginal.spread) + 0.5 * marginal.score(x) ** 2
    return found + 0.5 * np.log(2.0 * np.pi)


def fit_latent(sample: Sample) -> Latent:
    """Fit to people all of whom have a number."""
    marginal = fit_marginal(sample.cells)
    chance = np.random.default_rng(len(sample.cells)).random(len(sample.cells))  # of ties, in training alone
    number = marginal.spread_out(sample.cells, chance)
    score = marginal.score(number)
    standard = (number - marginal.center) / marginal.spread
    shape = fit_density(standard)
    blocks = Blocks.of(sample.causes, sample.bases)
    terms = blocks.all_terms()
    columns = matrix(terms, sample.functions, len(score))
    found = []
    for scored, target in ((False, standard), (True, score)):
        chosen = choose_terms(Moments(terms, columns, target[:, None]), blocks, sample.sensitive)
        place = {term: k for k, term in enumerate(terms)}
        latent, value = _equation(sample, marginal, target, (chosen, columns[:, [place[term] for term in chosen]]))
        if scored:
            value += float(log_slope(marginal, shape, number).mean())  # of the same number as the other
        price = 0.5 * np.log(len(score)) * (len(chosen) + (DEGREE if scored else 0)) / len(score)
        found.append((value - price, latent, scored))
    _, best, scored = max(found, key=lambda one: one[0])
    return Latent(marginal=marginal, scored=scored, shape=shape, **best)


def _equation(
    sample: Sample, marginal: Marginal, target: Floats, chosen: tuple[list[Term], Floats]
) -> tuple[dict[str, object], float]:
    """The parts of a ``Latent`` for one target (n,) and terms with their columns, and the mean log-likelihood of t."""
    terms, columns = chosen
    n = len(target)
    weights = _least_squares(columns, target)
    rest = target - linear(weights, terms, sample.functions, n)
    spread_terms, spread_weights = _choose_spread(sample, terms, rest)
    scale = _spread(spread_weights, spread_terms, sample.functions, n)
    noise = rest / scale
    density = fit_density(noise)
    shape: dict[str, object] = {
        "terms": tuple(terms),
        "weights": weights,
        "spread_terms": tuple(spread_terms),
        "spread_weights": spread_weights,
        "quantiles": _quantiles(noise, _QUANTILES),
        "by_group": _by_group(noise, sample, (SENSITIVE,) in terms),
        "density": density,
    }
    return shape, density.mean_log_likelihood - float(np.log(scale).mean())


def _least_squares(columns: Floats, target: Floats) -> Floats:
    """Weights (1 + terms,), the intercept first."""
    mean = columns.mean(axis=0)
    centred = columns - mean
    inner = centred.T @ centred / len(target) + _RIDGE * np.eye(columns.shape[1])
    weights = np.linalg.solve(inner, centred.T @ (target - target.mean()) / len(target))
    return np.concatenate([[float(target.mean() - mean @ weights)], weights])


def _choose_spread(sample: Sample, terms: Sequence[Term], rest: Floats) -> tuple[list[Term], Floats]:
    """Whether the spread depends on the sensitive attribute, on all causes, or on nothing; by BIC."""
    n, variance = len(rest), float(rest.var())
    constant = 0.5 * np.log(max(variance, 1e-12))
    best: tuple[float, list[Term], Floats] = (0.0, [], np.array([constant]))
    causes = list(dict.fromkeys(variable for term in terms for variable, _ in term))
    heads: list[Term] = [((variable, 0),) for variable in causes]
    size = np.log(rest**2 + 0.01 * variance + 1e-300)
    for some in ([(SENSITIVE,)], heads):
        if not some or (some == best[1]):
            continue
        weights = 0.5 * _least_squares(matrix(some, sample.functions, n), size)
        weights[0] = 0.0
        bent = np.clip(linear(weights, some, sample.functions, n), -_MOST_SPREAD, _MOST_SPREAD)
        left = float(np.mean((rest * np.exp(-bent)) ** 2))
        gain = n * (constant - 0.5 * np.log(max(left, 1e-12)) - float(bent.mean())) - 0.5 * np.log(n) * len(some)
        if gain > best[0]:
            weights[0] = 0.5 * np.log(max(left, 1e-12))
            best = (gain, list(some), weights)
    return best[1], best[2]


def _spread(weights: Floats, terms: Sequence[Term], functions: Functions, n: int) -> Floats:
    relative = linear(np.concatenate([[0.0], weights[1:]]), terms, functions, n)
    found: Floats = np.exp(weights[0] + np.clip(relative, -_MOST_SPREAD, _MOST_SPREAD))
    return found


def _by_group(noise: Floats, sample: Sample, acts: bool) -> Floats:
    """(2, k), quantiles of each group's noise where they differ in shape beyond chance; else (2, 0)."""
    first, second = noise[sample.group == 0], noise[sample.group == 1]
    smaller = min(len(first), len(second))
    if not acts or smaller < _SMALL_GROUP or ks_2samp(first, second, method="asymp").pvalue > _OTHER_SHAPE:
        return np.zeros((2, 0))
    k = int(np.clip(smaller // 10, 5, _QUANTILES))
    return np.stack([_quantiles(first, k), _quantiles(second, k)])


def _quantiles(noise: Floats, k: int) -> Floats:
    return np.maximum.accumulate(np.quantile(noise, _shares(k)))


def _shares(k: int) -> Floats:
    return np.linspace(0.0, 1.0, k)
