"""Which functions of its causes a variable depends on: chosen by the Bayesian information criterion.

All sums over people are taken once; every choice is then a small linear system. Terms are single functions, functions
that act differently in each group, and products of two causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.mechanisms.basis import Basis
from cfad_core.core.arrays import Floats

Factor: TypeAlias = tuple[int, int]  # (variable, function of it)
Term: TypeAlias = tuple[Factor, ...]
Functions: TypeAlias = Mapping[int, Sequence[Floats]]  # by variable, each function (n,)

SENSITIVE: Factor = (0, 0)
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
    """

    options: dict[int, tuple[tuple[int, ...], ...]]
    pairs: tuple[tuple[int, int], ...]

    @staticmethod
    def of(causes: Sequence[int], bases: Mapping[int, Basis]) -> Blocks:
        # a cause that is constant in these rows has no functions
        others = [j for j in causes if j != SENSITIVE[0] and bases[j].options[-1]]
        pairs = tuple((j, k) for a, j in enumerate(others) for k in others[:a])
        return Blocks({j: bases[j].options for j in others}, pairs)

    def all_terms(self) -> list[Term]:
        """Every term of any choice, that of the sensitive attribute first."""
        single = [
            ((j, k),) for j, options in self.options.items() for k in sorted({k for some in options for k in some})
        ]
        with_group: list[Term] = [(SENSITIVE, *term) for term in single]
        return [(SENSITIVE,), *single, *with_group, *(((j, 0), (k, 0)) for j, k in self.pairs)]


@dataclass(frozen=True)
class Choice:
    """What is chosen so far.

    Attributes
    ----------
    options : by cause, which of its choices
    by_group : causes that act differently in each group
    pairs : of causes whose product acts
    sensitive : whether the sensitive attribute acts
    """

    options: Mapping[int, int]
    by_group: frozenset[int] = frozenset()
    pairs: frozenset[tuple[int, int]] = frozenset()
    sensitive: bool = True

    def terms(self, blocks: Blocks) -> list[Term]:
        found: list[Term] = [(SENSITIVE,)] if self.sensitive else []
        for j, chosen in self.options.items():
            found += [((j, k),) for k in blocks.options[j][chosen]]
            if self.sensitive and j in self.by_group:
                found += [(SENSITIVE, (j, k)) for k in blocks.options[j][chosen]]
        return found + [((j, 0), (k, 0)) for j, k in blocks.pairs if (j, k) in self.pairs]

    def neighbours(self, blocks: Blocks, *, may_leave_sensitive: bool) -> Iterator[dict[str, Any]]:
        """Everything that can be changed of any choice, as the fields that ``changed`` takes."""
        for j, options in blocks.options.items():
            for k in range(len(options)):
                yield {"option": (j, k)}
            yield {"by_group": j}
        for pair in blocks.pairs:
            yield {"pair": pair}
        if may_leave_sensitive:
            yield {"sensitive": True}

    def changed(self, change: Mapping[str, Any]) -> Choice:
        """With one thing changed."""
        ((what, which),) = change.items()
        if what == "option":
            return replace(self, options={**self.options, which[0]: which[1]})
        if what == "by_group":
            return replace(self, by_group=self.by_group ^ {which})
        if what == "pair":
            return replace(self, pairs=self.pairs ^ {which})
        return replace(self, sensitive=not self.sensitive)


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


def choose_terms(moments: Moments, blocks: Blocks, sensitive: bool | None) -> list[Term]:
    """The terms with the best criterion, improved one block at a time.

    Parameters
    ----------
    sensitive : whether the sensitive attribute is a cause; None: if the criterion says so
    """
    simplest = {j: min(1, len(options) - 1) for j, options in blocks.options.items()}
    now = Choice(simplest, sensitive=sensitive is not False)
    best = moments.criterion(now.terms(blocks))
    for _ in range(_SWEEPS):
        before = best
        for change in now.neighbours(blocks, may_leave_sensitive=sensitive is None):
            tried = now.changed(change)
            value = moments.criterion(tried.terms(blocks))
            if value > best + 1e-9:
                now, best = tried, value
        if best <= before:
            break
    if sensitive is None and now.sensitive:
        without = replace(now, sensitive=False)
        with_it, alone = (moments.criterion(some.terms(blocks), _MOST_ROWS) for some in (now, without))
        now = now if with_it > alone else without
    return now.terms(blocks)
