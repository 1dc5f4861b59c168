"""``t = m(causes) + s(causes) e``: where a number is expected, how far people spread around that, and their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.density import Density, fit_density
from cfad_core.causal.mechanisms.design import Functions, Term, linear, matrix
from cfad_core.causal.mechanisms.protocol import Sample, Worlds
from cfad_core.core.arrays import Bools, Floats

_QUANTILES = 201  # that a noise is remembered by
_SMALL_GROUP = 50  # people, under which the shape of a group's noise is not looked at
_OTHER_SHAPE = 1e-4  # p-value below which the groups' noises differ in shape
_MOST_SPREAD = 3.0  # log of how much larger or smaller than usual a spread may be
_PASSES = 4  # of the fit of a spread
_RIDGE = 1e-6
_SMALLEST = 1e-12  # variance


@dataclass(frozen=True)
class Equation:
    """The equation of one number.

    Attributes
    ----------
    terms, weights : of m
    spread_terms, spread_weights : of log s
    quantiles : of e, at even shares
    by_group : (states, k), the same within each state where they differ in shape; else (states, 0)
    density : of e
    """

    terms: tuple[Term, ...]
    weights: Floats
    spread_terms: tuple[Term, ...]
    spread_weights: Floats
    quantiles: Floats
    by_group: Floats
    density: Density

    @property
    def causes(self) -> frozenset[int]:
        return frozenset(variable for term in (*self.terms, *self.spread_terms) for variable, _ in term)

    def middle(self, functions: Functions, n: int) -> Floats:
        """What the causes of n people expect, (n,)."""
        return linear(self.weights, self.terms, functions, n)

    def spread(self, functions: Functions, n: int) -> Floats:
        """How far n people are spread around that, (n,)."""
        return _spread(self.spread_weights, self.spread_terms, functions, n)

    def expected(self, functions: Functions, n: int) -> Floats:
        """(2, n), both: where the causes of n people expect them, and how far they are spread around that."""
        return np.stack([self.middle(functions, n), self.spread(functions, n)])

    def expected_here(self, worlds: Worlds) -> Floats:
        """The same of people as they are, which all draws share."""
        if id(self) not in worlds.known:
            worlds.known[id(self)] = self.expected(worlds.here, len(worlds.group))
        return worlds.known[id(self)]

    def stays(self, worlds: Worlds, there: Floats) -> Bools:
        """Whose causes make the same of them here and ``there`` (2, n), as their twins are expected, (n,)."""
        here = self.expected_here(worlds)
        same: Bools = (here[0] == there[0]) & (here[1] == there[1])
        if self.by_group.size:
            same &= worlds.group == worlds.twin_group
        return same

    def noise_of_twin(self, noise: Floats, worlds: Worlds) -> Floats:
        """The same noise; or that of the same rank in the twin's group, where the groups' noises differ in shape."""
        if not self.by_group.size:
            return noise
        result = noise.copy()
        moves = worlds.group * len(self.by_group) + worlds.twin_group
        for move in np.unique(moves):
            here, there = divmod(int(move), len(self.by_group))
            if here != there:
                rows = moves == move
                result[rows] = self._same_rank(noise[rows], here, there)
        return result

    def shared_noise(self, noise: Floats, group: NDArray[np.intp]) -> Floats:
        """What a twin keeps of noise (n,): itself; or that of the same rank in group 0, where the shapes differ."""
        if not self.by_group.size:
            return noise
        result = noise.copy()
        for here in range(1, len(self.by_group)):
            rows = group == here
            result[rows] = self._same_rank(noise[rows], here, 0)
        return result

    def _same_rank(self, noise: Floats, here: int, there: int) -> Floats:
        """The noise of the same rank in another group."""
        own, other = self.by_group[here], self.by_group[there]
        inside = np.clip(noise, own[0], own[-1])
        moved: Floats = np.interp(inside, own, other) + (noise - inside)
        return moved

    def rank(self, noise: Floats) -> Floats:
        """Share of people with less noise, (n,)."""
        return np.interp(noise, self.quantiles, _shares(len(self.quantiles)))

    def quantile(self, share: Floats) -> Floats:
        """The noise of which a share (n,) of people have less."""
        return np.interp(share, _shares(len(self.quantiles)), self.quantiles)

    def noise_at(self, noise: Floats, rank: Floats, fresh: Bools) -> Floats:
        """Noise moved to another rank; what lies beyond all that was seen stays so, but for ``fresh`` people."""
        moved: Floats = noise + (self.quantile(rank) - self.quantile(self.rank(noise)))
        return np.where(fresh, self.quantile(rank), moved)


def fit_equation(sample: Sample, target: Floats, terms: Sequence[Term], columns: Floats) -> tuple[Equation, float]:
    """The equation of a target (n,) with terms and their columns (n, terms), and its mean log-likelihood."""
    n = len(target)
    weights = least_squares(columns, target)
    rest = target - linear(weights, terms, sample.functions, n)
    spread_terms, spread_weights = _choose_spread(sample, terms, rest)
    scale = _spread(spread_weights, spread_terms, sample.functions, n)
    noise = rest / scale
    density = fit_density(noise)
    found = Equation(
        terms=tuple(terms),
        weights=weights,
        spread_terms=tuple(spread_terms),
        spread_weights=spread_weights,
        quantiles=_quantiles(noise, _QUANTILES),
        by_group=_by_group(noise, sample, acts=any(len(term) == 1 and term[0][0] < len(sample.acts) for term in terms)),
        density=density,
    )
    return found, density.mean_log_likelihood - float(np.log(scale).mean())


def least_squares(columns: Floats, target: Floats) -> Floats:
    """Weights (1 + terms,), the intercept first."""
    mean = columns.mean(axis=0)
    centred = columns - mean
    inner = centred.T @ centred / len(target) + _RIDGE * np.eye(columns.shape[1])
    weights = np.linalg.solve(inner, centred.T @ (target - target.mean()) / len(target))
    return np.concatenate([[float(target.mean() - mean @ weights)], weights])


def _choose_spread(sample: Sample, terms: Sequence[Term], rest: Floats) -> tuple[list[Term], Floats]:
    """Whether the spread depends on the sensitive attributes, on all causes, or on nothing; by BIC."""
    n, variance = len(rest), max(float(rest.var()), _SMALLEST)
    best: tuple[float, list[Term], Floats] = (0.0, [], np.array([0.5 * np.log(variance)]))
    causes = dict.fromkeys(variable for term in terms for variable, _ in term)

    def heads(variable: int) -> list[Term]:  # of a sensitive attribute, every group counts
        functions = sample.bases[variable].options[-1] if variable < len(sample.acts) else (0,)
        return [((variable, k),) for k in functions]

    groups = [term for s, may in enumerate(sample.acts) if may is not False for term in heads(s)]
    for some in (groups, [term for variable in causes for term in heads(variable)]):
        if not some:
            continue
        weights, bent, left = _fit_spread(some, sample.functions, rest)
        gain = 0.5 * n * np.log(variance / left) - n * float(bent.mean()) - 0.5 * np.log(n) * len(some)
        if gain > best[0]:
            weights[0] = 0.5 * np.log(left)
            best = (float(gain), list(some), weights)
    return best[1], best[2]


def _fit_spread(terms: Sequence[Term], functions: Functions, rest: Floats) -> tuple[Floats, Floats, float]:
    """Weights of log s, the intercept left out; log s of everybody (n,); and the variance that is left.

    Least squares on the log of the squares, kept from 0 by a share of the variance that is left: what that hides in the
    first pass, the next ones find.
    """
    columns, bent = matrix(terms, functions, len(rest)), np.zeros(len(rest))
    weights, left = np.zeros(1 + len(terms)), max(float(rest.var()), _SMALLEST)
    for _ in range(_PASSES):
        size = np.log((rest * np.exp(-bent)) ** 2 + 0.01 * left)
        weights[1:] += 0.5 * least_squares(columns, size)[1:]
        bent = np.clip(linear(weights, terms, functions, len(rest)), -_MOST_SPREAD, _MOST_SPREAD)
        left = max(float(np.mean((rest * np.exp(-bent)) ** 2)), _SMALLEST)
    return weights, bent, left


def _spread(weights: Floats, terms: Sequence[Term], functions: Functions, n: int) -> Floats:
    relative = linear(np.concatenate([[0.0], weights[1:]]), terms, functions, n)
    found: Floats = np.exp(weights[0] + np.clip(relative, -_MOST_SPREAD, _MOST_SPREAD))
    return found


def _by_group(noise: Floats, sample: Sample, *, acts: bool) -> Floats:
    """(states, k), quantiles of each state's noise where one differs in shape beyond chance; else (states, 0).

    A state with too few people to see a shape has that of everybody.
    """
    sizes = np.bincount(sample.group, minlength=sample.states)
    seen = [state for state, size in enumerate(sizes) if size >= _SMALL_GROUP]
    if not acts or len(seen) < 2 or not _differ(noise, sample, seen):
        return np.zeros((len(sizes), 0))
    k = int(np.clip(sizes[seen].min() // 10, 5, _QUANTILES))
    return np.stack([_quantiles(noise[sample.group == s] if s in seen else noise, k) for s in range(len(sizes))])


def _differ(noise: Floats, sample: Sample, seen: Sequence[int]) -> bool:
    """Whether some state's noise has another shape than that of all others."""
    from scipy.stats import ks_2samp  # a third of a second, for whoever only reads a model

    tried = seen[:1] if len(seen) == 2 else seen
    inside = np.isin(sample.group, seen)
    found = (
        ks_2samp(noise[sample.group == s], noise[inside & (sample.group != s)], method="asymp").pvalue for s in tried
    )
    return bool(min(found) * len(tried) <= _OTHER_SHAPE)


def _quantiles(noise: Floats, k: int) -> Floats:
    return np.maximum.accumulate(np.quantile(noise, _shares(k)))


def _shares(k: int) -> Floats:
    return np.linspace(0.0, 1.0, k)
