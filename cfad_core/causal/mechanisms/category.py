"""Categories, yes/no, missing or not: a level is drawn by a logit of the causes.

Whether the levels have an order (one latent number, cut) or not is decided by the Bayesian information criterion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.logit import fit_logit
from cfad_core.causal.mechanisms.coupling import along_order, by_gumbel, fewest_moves
from cfad_core.causal.mechanisms.design import Blocks, Functions, Moments, Term, choose_terms, linear, matrix
from cfad_core.causal.mechanisms.protocol import LEVEL, Coupling, Oddness, Sample, Worlds
from cfad_core.causal.ordered import fit_ordered, level_order, shares_of
from cfad_core.core.arrays import Floats

_SMALLEST = 1e-6  # probability of a level
_MOST_ORDERED = 12  # levels that may have an order
_PRECISION = 0.1  # log-likelihood over all rows that is not worth another step: a tenth of what chance moves it by
_LEAST_ROWS = 10  # of a level, to be looked at for an order


@dataclass(frozen=True)
class Category:
    """A variable with levels.

    Attributes
    ----------
    terms : of its causes
    weights : (1 + terms, levels) of log-probabilities; or (1 + terms, 1) of the latent number of ordered levels
    places : (levels,), the place of each level in the order that fits best, whether it is one or not
    cuts : (levels - 1,) of the latent number; empty if the levels have no order
    """

    terms: tuple[Term, ...]
    weights: Floats
    places: NDArray[np.intp]
    cuts: Floats

    @property
    def causes(self) -> frozenset[int]:
        return frozenset(variable for term in self.terms for variable, _ in term)

    @property
    def is_ordered(self) -> bool:
        return len(self.cuts) > 0

    def probabilities(self, functions: Functions, n: int) -> Floats:
        """(n, levels)."""
        found = linear(self.weights, self.terms, functions, n)
        if self.is_ordered:
            shares = shares_of(np.ascontiguousarray(found[:, 0]), self.cuts)[:, self.places]
        else:
            odds = np.exp(found - found.max(axis=1, keepdims=True))
            shares = odds / odds.sum(axis=1, keepdims=True)
        shares = shares + _SMALLEST
        scaled: Floats = shares / shares.sum(axis=1, keepdims=True)
        return scaled

    def twins(self, cells: Floats, worlds: Worlds) -> Floats:
        """The level of each twin, (n,)."""
        level = cells.astype(np.intp)
        if id(self) not in worlds.known:
            worlds.known[id(self)] = self.probabilities(worlds.here, len(cells))
        p, q = worlds.known[id(self)], self.probabilities(worlds.there, len(cells))
        moved = self._coupled(level, p, q, worlds)
        same = np.logical_and.reduce([here == there for here, there in zip(p.T, q.T, strict=True)])
        return np.where(same, level, moved).astype(np.float64)

    def _coupled(self, level: NDArray[np.intp], p: Floats, q: Floats, worlds: Worlds) -> NDArray[np.intp]:
        way: Coupling = worlds.coupling or ("ordered" if self.is_ordered else "nominal")
        if len(self.places) == 2 or way == "ordered":
            back = np.argsort(self.places)
            found: NDArray[np.intp] = back[along_order(self.places[level], p[:, back], q[:, back], worlds.chance(0))]
            return found
        return (by_gumbel if way == "nominal" else fewest_moves)(level, p, q, worlds.chance)

    def log_likelihood(self, cells: Floats, functions: Functions) -> Floats:
        shares = self.probabilities(functions, len(cells))
        found: Floats = np.log(shares[np.arange(len(cells)), cells.astype(np.intp)])
        return found

    def oddness(self, cells: Floats, functions: Functions, group: NDArray[np.intp]) -> Oddness:  # noqa: ARG002
        return Oddness(np.full(len(cells), np.nan), -2.0 * self.log_likelihood(cells, functions))

    def residuals(self, cells: Floats, functions: Functions) -> dict[str, Floats]:
        """Of each level, whether it is there minus how likely it was; of two levels, of the second."""
        shares, level = self.probabilities(functions, len(cells)), cells.astype(np.intp)
        shown = range(int(len(self.places) == 2), len(self.places))
        return {f"{LEVEL} {k}": (level == k) - shares[:, k] for k in shown}

    @property
    def draws(self) -> bool:
        return True


def fit_category(sample: Sample) -> Category:
    """Choose the terms by least squares on the levels' indicators, then fit a logit; ordered if that fits better."""
    level, levels = sample.cells.astype(np.intp), sample.levels
    terms = _choose(sample, level)
    columns = matrix(terms, sample.functions, len(level))
    found = fit_logit(columns, level, levels, tolerance=_PRECISION / len(level))
    counts = np.bincount(level, minlength=levels)
    places = np.arange(levels)
    if 2 < levels <= _MOST_ORDERED and counts.min() >= _LEAST_ROWS and terms:
        places = level_order(columns, level, levels)
        ordered = fit_ordered(columns, places[level], levels)
        price = 0.5 * np.log(len(level))
        own = len(level) * ordered.mean_log_likelihood - price * (len(terms) + levels - 1)
        other = len(level) * found.mean_log_likelihood - price * (len(terms) + 1) * (levels - 1)
        if own > other:
            weights = np.concatenate([[0.0], ordered.weights])[:, None]
            return Category(tuple(terms), weights, places, ordered.cuts)
    return Category(tuple(terms), found.weights, places, np.zeros(0))


def _choose(sample: Sample, level: NDArray[np.intp]) -> list[Term]:
    blocks = Blocks.of(sample.causes, sample.bases, len(sample.acts))
    terms = blocks.all_terms()
    shown = np.unique(level)[1:]
    if not len(shown):  # in these rows there is one level only, and nobody moves
        return []
    targets = (level[:, None] == shown).astype(np.float64)
    moments = Moments(terms, matrix(terms, sample.functions, len(level)), targets)
    return choose_terms(moments, blocks, sample.acts)
