"""Which functions of its causes a variable depends on: chosen by the Bayesian information criterion.

All sums over people are taken once; every choice is then a small linear system. Terms are single functions, functions
that act differently in each group, and products of two causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.mechanisms.basis import Basis
from cfad_core.core.arrays import Floats

Factor: TypeAlias = tuple[int, int]  # (variable, function of it)
Term: TypeAlias = tuple[Factor, ...]
Functions: TypeAlias = Mapping[int, Sequence[Floats]]  # by variable, each function (n,)

_RIDGE = 1e-6
_SWEEPS = 4
_MOST_ROWS = 5_000  # that may speak for an edge: in more, small misfits of other equations would become edges
_LEAST_VARIANCE = 1e-4  # of a target, that is always noise


def term_values(term: Term, functions: Functions) -> Floats:
    """(n,)."""
    variable, k = term[0]
    values = functions[variable][k]
    for variable, k in term[1:]:
        values = values * functions[variable][k]
    return values


def matrix(terms: Sequence[Term], functions: Functions, n: int) -> Floats:
    """(n, terms)."""
    found = np.empty((n, len(terms)))
    for place, term in enumerate(terms):
        found[:, place] = term_values(term, functions)
    return found


def linear(weights: Floats, terms: Sequence[Term], functions: Functions, n: int) -> Floats:
    """``w_0 + sum_k w_k term_k`` (n,), or (n, L) of weights (1 + terms, L); each row's is its own to the last bit."""
    total = np.broadcast_to(weights[0], (n, *weights.shape[1:])).copy()
    for weight, term in zip(weights[1:], terms, strict=True):
        values = term_values(term, functions)
        total += values * weight if weights.ndim == 1 else values[:, None] * weight
    return total


@dataclass(frozen=True)
class Blocks:
    """Groups of terms to choose from.

    Attributes
    ----------
    options : by cause, its choices of functions, from the simplest
    pairs : products of two causes
    attributes : by sensitive attribute, its functions: all of them act, or none
    """

    options: dict[int, tuple[tuple[int, ...], ...]]
    pairs: tuple[tuple[int, int], ...]
    attributes: dict[int, tuple[int, ...]]

    @staticmethod
    def of(causes: Sequence[int], bases: Mapping[int, Basis], attributes: int) -> Blocks:
        # a cause that is constant in these rows has no functions
        others = [j for j in causes if j >= attributes and bases[j].options[-1]]
        pairs = tuple((j, k) for a, j in enumerate(others) for k in others[:a])
        return Blocks(
            {j: bases[j].options for j in others}, pairs, {s: bases[s].options[-1] for s in range(attributes)}
        )

    def all_terms(self) -> list[Term]:
        """Every term of any choice, those of the sensitive attributes first."""
        single: list[Term] = [
            ((j, k),) for j, options in self.options.items() for k in sorted({k for some in options for k in some})
        ]
        groups: list[Term] = [term for j in self.attributes for term in self.of_attribute(j)]
        together = [term for two in combinations(self.attributes, 2) for term in self.of_two(*two)]
        with_group: list[Term] = [
            (*group, *term)
            for s in self.attributes
            for group in self.of_attribute(s)
            for term in single
            if self.may_vary(s, *term[0])
        ]
        return [*groups, *together, *single, *with_group, *(((j, 0), (k, 0)) for j, k in self.pairs)]

    def of_attribute(self, attribute: int) -> list[Term]:
        """The terms of a sensitive attribute, one for each of its groups but one."""
        return [((attribute, k),) for k in self.attributes[attribute]]

    def may_vary(self, attribute: int, cause: int, function: int) -> bool:
        """Whether a function of a cause may act differently in each group: of many groups the simple ones alone."""
        simple = self.options[cause][min(1, len(self.options[cause]) - 1)]
        return len(self.attributes[attribute]) == 1 or function in simple

    def of_two(self, first: int, second: int) -> list[Term]:
        """What two sensitive attributes do only together."""
        return [(*one, *other) for one in self.of_attribute(first) for other in self.of_attribute(second)]


@dataclass(frozen=True)
class Choice:
    """What is chosen so far.

    Attributes
    ----------
    options : by cause, which of its choices
    acting : sensitive attributes that act
    by_group : pairs of a sensitive attribute and a cause that acts differently in each of its groups
    together : pairs of sensitive attributes that act together otherwise than one by one
    pairs : of causes whose product acts
    """

    options: Mapping[int, int]
    acting: frozenset[int]
    by_group: frozenset[tuple[int, int]] = frozenset()
    together: frozenset[tuple[int, int]] = frozenset()
    pairs: frozenset[tuple[int, int]] = frozenset()

    def terms(self, blocks: Blocks) -> list[Term]:
        acting = [s for s in blocks.attributes if s in self.acting]
        found: list[Term] = [term for s in acting for term in blocks.of_attribute(s)]
        found += [term for two in combinations(acting, 2) if two in self.together for term in blocks.of_two(*two)]
        for j, chosen in self.options.items():
            own: list[Term] = [((j, k),) for k in blocks.options[j][chosen]]
            found += own
            for s in acting:
                if (s, j) in self.by_group:
                    found += [
                        (*group, *term)
                        for group in blocks.of_attribute(s)
                        for term in own
                        if blocks.may_vary(s, *term[0])
                    ]
        return found + [((j, 0), (k, 0)) for j, k in blocks.pairs if (j, k) in self.pairs]

    def neighbours(self, blocks: Blocks, may_leave: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Everything that can be changed of any choice, as the fields that ``changed`` takes."""
        for j, options in blocks.options.items():
            for k in range(len(options)):
                yield {"option": (j, k)}
            for s in blocks.attributes:
                yield {"by_group": (s, j)}
        for pair in blocks.pairs:
            yield {"pair": pair}
        for two in combinations(blocks.attributes, 2):
            yield {"together": two}
        for s in may_leave:
            yield {"acting": s}

    def changed(self, change: Mapping[str, Any]) -> Choice:
        """With one thing changed."""
        ((what, which),) = change.items()
        if what == "option":
            return replace(self, options={**self.options, which[0]: which[1]})
        if what == "by_group":
            return replace(self, by_group=self.by_group ^ {which})
        if what == "pair":
            return replace(self, pairs=self.pairs ^ {which})
        if what == "together":
            return replace(self, together=self.together ^ {which})
        return replace(self, acting=self.acting ^ {which})


class Moments:
    """Sums over people of all terms and of the targets.

    Parameters
    ----------
    columns : (n, terms)
    targets : (n, targets)
    """

    def __init__(self, terms: Sequence[Term], columns: Floats, targets: Floats) -> None:
        self.n = len(columns)
        self.place = {term: k for k, term in enumerate(terms)}
        both = np.column_stack([columns, targets])
        both = both - both.mean(axis=0)
        gram = both.T @ both / self.n
        q = columns.shape[1]
        self._between, self._towards = gram[:q, :q], gram[:q, q:]
        self._variance = np.maximum(np.diag(gram)[q:], 1e-300)
        self.price = 0.5 * np.log(self.n) * targets.shape[1]  # of a term

    def criterion(self, terms: Sequence[Term], most_rows: int | None = None) -> float:
        """Log-likelihood less what the terms cost; as if there were no more than ``most_rows``."""
        left = self._variance
        if terms:
            own: NDArray[np.intp] = np.array([self.place[term] for term in terms])
            inner = self._between[np.ix_(own, own)] + _RIDGE * np.eye(len(own))
            towards = self._towards[own]
            left = left - np.sum(towards * np.linalg.solve(inner, towards), axis=0)
        left = np.maximum(left, _LEAST_VARIANCE * self._variance)
        n = self.n if most_rows is None else min(self.n, most_rows)
        return -0.5 * n * float(np.log(left).sum()) - float(self.price) * len(terms)


def choose_terms(moments: Moments, blocks: Blocks, acts: Sequence[bool | None]) -> list[Term]:
    """The terms with the best criterion, improved one block at a time.

    Parameters
    ----------
    acts : whether each sensitive attribute is a cause; None: if the criterion says so
    """
    simplest = {j: min(1, len(options) - 1) for j, options in blocks.options.items()}
    may_leave = [s for s in blocks.attributes if acts[s] is None]
    now = Choice(simplest, acting=frozenset(s for s in blocks.attributes if acts[s] is not False))
    best = moments.criterion(now.terms(blocks))
    for _ in range(_SWEEPS):
        before = best
        for change in now.neighbours(blocks, may_leave):
            tried = now.changed(change)
            value = moments.criterion(tried.terms(blocks))
            if value > best + 1e-9:
                now, best = tried, value
        if best <= before:
            break
    for s in may_leave:
        if s in now.acting:
            without = replace(now, acting=now.acting - {s})
            with_it, alone = (moments.criterion(some.terms(blocks), _MOST_ROWS) for some in (now, without))
            now = now if with_it > alone else without
    return now.terms(blocks)
