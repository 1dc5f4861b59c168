"""Which variable causes which, in tables of numbers and categories that share no scale.

The best order of the variables is searched for (BOSS, Andrews et al. 2023): each variable in turn is moved to where the
sum of all local scores is highest, until none moves; its causes are the best among those that come before it. First
with quick scores from covariances, from several starts, then with likelihoods from where that ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.causal.discovery.bases import VariableKind
from cfad_core.causal.discovery.blocks import Blocks, Sample
from cfad_core.causal.discovery.directions import direction_shares
from cfad_core.causal.discovery.local_score import LocalScores
from cfad_core.causal.discovery.parents import CauseSearch
from cfad_core.causal.discovery.quick_score import QuickScores
from cfad_core.causal.graph import topological_order
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.core.threads import one_thread

__all__ = ["LearnedGraph", "OrderSearch", "VariableKind"]

STAGE = "discovery"
_QUICK_STARTS = 4  # orders that quick scores start from
_EXACT_STARTS = 2  # that likelihoods start from, in tables of few variables
_FEW_VARIABLES = 15
_LOOKED_AT = 2  # candidates whose likelihood is computed before one is chosen
_SHAKES = 3  # variables that are moved at random before the search goes on
_MOST_ROWS = 4_000  # that likelihoods are computed from
_MOST_ROWS_AGAIN = 2_500  # of one of many graphs of similar rows
_REACH_AGAIN = 2  # related variables that one is moved past at once, in such a graph
_WORTH = 1e-6  # least gain of a move


@dataclass(frozen=True)
class LearnedGraph:
    """A graph over v variables.

    Attributes
    ----------
    edges : (v, v), ``edges[j, i]``: j causes i; no cycles, and as the rules say
    order : causes before effects, all variables
    gains : (v, v), mean log-likelihood a row that is lost if that edge alone is removed; 0 where there is no edge
    direction : (v, v), for an edge between j and i, the share of equally good graphs in which it points from j to i;
        both directions add up to 1; 0 where there is no edge
    plausible : (v, v), pairs that were cause and effect in the best graph of any order that was tried: a search that
        starts from this graph looks at no others; None: all
    """

    edges: Bools
    order: tuple[int, ...]
    gains: Floats
    direction: Floats
    plausible: Bools | None = None


@dataclass(frozen=True)
class OrderSearch:
    """What all graphs that are learned from a table share.

    Attributes
    ----------
    blocks : functions of the variables
    allowed, required : (v, v), edges that may be, and that must be
    """

    blocks: Blocks
    allowed: Bools
    required: Bools

    @staticmethod
    def prepare(
        cells: Floats, kinds: Sequence[VariableKind], allowed: Bools, required: Bools, progress: Progress
    ) -> OrderSearch:
        """Compute once what does not depend on which rows a graph is learned from.

        Parameters
        ----------
        cells : (n, v), a number in its own unit, nan where it is missing; a category's level, from 0
        kinds : of the variables
        allowed, required : (v, v), by rows the cause; the required edges are allowed and without cycles
        """
        with one_thread():
            blocks = Blocks.prepare(cells, kinds, progress)
        varies = np.array([not basis.is_constant for basis in blocks.bases], dtype=np.bool_)
        possible = allowed & varies[:, None] & varies[None, :] & ~np.eye(len(varies), dtype=np.bool_)
        return OrderSearch(blocks, possible | required, required)

    def learn(
        self, rows: Rows | None, seed: int, progress: Progress, start: LearnedGraph | None = None
    ) -> LearnedGraph:
        """The graph of the rows of the table at ``rows``, or of all.

        Parameters
        ----------
        rows : of the table that was prepared
        seed : of the starts and of the walk over directions
        progress : told how far the search is
        start : a graph of similar rows, whose order is where this search starts, and its only start
        """
        with one_thread():
            most, allowed = _MOST_ROWS, self.allowed
            if start is not None:
                most = _MOST_ROWS_AGAIN
                if start.plausible is not None:
                    allowed = allowed & start.plausible | self.required
            search = OrderSearch(self.blocks, allowed, self.required)
            sample = Sample.of(self.blocks, rows, most)
            learning = _Learning(search, sample, np.random.default_rng(seed), progress, again=start is not None)
            return learning.graph(start)

    def criterion(self, edges: Bools, rows: Rows | None, progress: Progress) -> float:
        """How good a graph (v, v) of these rows is, on the scale that searches maximise."""
        with one_thread():
            sample = Sample.of(self.blocks, rows, _MOST_ROWS)
            return _Learning(self, sample, np.random.default_rng(0), progress, again=False).criterion(edges)


class _Learning:
    """One graph while it is learned."""

    def __init__(
        self, search: OrderSearch, sample: Sample, rng: np.random.Generator, progress: Progress, *, again: bool
    ) -> None:
        blocks = search.blocks
        self.rng, self.progress = rng, progress
        self.allowed, self.required = search.allowed, search.required
        self.quick = QuickScores(blocks, sample, search.allowed)
        self.scores = LocalScores(blocks, sample, self.quick, progress)
        self.by_quick = CauseSearch(blocks, self.quick, self.quick, search.required)
        looked_at = 1 if again else _LOOKED_AT
        self.by_likelihood = CauseSearch(blocks, self.scores, self.quick, search.required, looked_at)
        self.v = blocks.n_variables
        self.done, self.total = 0, 2  # climbs, the walk over directions counted as one
        # Nothing may cause these: first is where they are best, whatever they cause
        self.first = [i for i in range(self.v) if not search.allowed[:, i].any()]
        self.related = (search.allowed | search.allowed.T).astype(np.intp)
        # Variables that may be its cause or effect that one is moved past at once
        self.reach = _REACH_AGAIN if again else self.v
        self.moving = [i for i in range(self.v) if search.allowed[:, i].any()]

    def graph(self, start: LearnedGraph | None) -> LearnedGraph:
        """Search, then see what each edge is worth and which directions are open."""
        order, starts = self._first_order() if start is None else self._repaired(start.order), 1
        if start is None:
            starts = _EXACT_STARTS if self.v <= _FEW_VARIABLES else 1
            self.total += _QUICK_STARTS + starts - 1
            order = self._search(self.by_quick, order, _QUICK_STARTS)
        order = self._search(self.by_likelihood, order, starts)
        causes = {i: self.by_likelihood.best(i, known)[1] for i, known in zip(order, _before(order), strict=True)}
        self.progress.tick(STAGE, self.done, self.total)
        edges = np.zeros((self.v, self.v), dtype=np.bool_)
        gains = np.zeros((self.v, self.v))
        for i, some in causes.items():
            for j, size in some:
                edges[j, i] = True
                less = self.scores.log_likelihood(i, some - {(j, size)})
                gains[j, i] = max(self.scores.log_likelihood(i, some) - less, 0.0)
        turnable = self.allowed.T & ~self.required
        direction = direction_shares(self.by_likelihood, self.scores, causes, turnable, self.rng)
        self.progress.tick(STAGE, self.total, self.total)
        return LearnedGraph(edges, tuple(order), gains, direction, self.by_likelihood.looked_at())

    def criterion(self, edges: Bools) -> float:
        """The sum of the scores of all variables with these causes, their functions chosen."""
        named = {i: frozenset(int(j) for j in np.flatnonzero(edges[:, i])) for i in range(self.v)}
        return sum(self.scores.score(i, self.by_likelihood.given(i, some)) for i, some in named.items())

    # Orders

    def _first_order(self) -> list[int]:
        """Those first that only precede others by the rules, then those that the others tell least about."""
        one_way = self.allowed & ~self.allowed.T
        told = [
            max((one.gain for one in self.quick.candidates(i, frozenset())[:1]), default=0.0) for i in range(self.v)
        ]
        return self._repaired(sorted(range(self.v), key=lambda i: (int(one_way[:, i].sum()), max(told[i], 0.0), i)))

    def _repaired(self, order: Sequence[int]) -> list[int]:
        """An order as near as the required edges allow, those that nothing may cause first."""
        wanted = [*self.first, *(i for i in order if i not in set(self.first))]
        sorted_required = self.required[np.ix_(wanted, wanted)]
        return [wanted[k] for k in topological_order(sorted_required)]

    def _shaken(self, order: Sequence[int]) -> list[int]:
        """An order with a few variables moved at random."""
        shaken = list(order)
        for _ in range(_SHAKES):
            moved = shaken.pop(int(self.rng.integers(len(shaken))))
            shaken.insert(int(self.rng.integers(len(shaken) + 1)), moved)
        return self._repaired(shaken)

    def _search(self, search: CauseSearch, order: list[int], starts: int) -> list[int]:
        """The best order that is found from an order, and from random ones near it and far from it."""
        best, order = self._climb(search, order)
        for k in range(1, starts):
            other = self._shaken(order) if k % 2 else self._repaired([int(i) for i in self.rng.permutation(self.v)])
            value, found = self._climb(search, other)
            if value > best + _WORTH:
                best, order = value, found
        return order

    def _climb(self, search: CauseSearch, order: list[int]) -> tuple[float, list[int]]:
        """Move each variable to its best place until none moves: the sum of the scores, and the order."""
        best = sum(search.best(i, before)[0] for i, before in zip(order, _before(order), strict=True))
        moved = True
        while moved:
            moved = False
            self.progress.tick(STAGE, self.done, self.total)
            for v in self.rng.permutation(self.moving):
                self.progress.check(STAGE)
                gain, found = self._best_place(search, order, int(v))
                if gain > _WORTH:
                    best, order, moved = best + gain, found, True
        self.done += 1
        return best, order

    def _best_place(self, search: CauseSearch, order: Sequence[int], v: int) -> tuple[float, list[int]]:
        """What is gained by a variable at its best place, and that order."""
        now = order.index(v)
        others = [i for i in order if i != v]
        before = [*_before(others), sum(1 << i for i in others)]
        low, high = self._places(others, now, v)
        passed = list(zip(others[low:high], before[low:high], strict=True))
        without = np.array([search.best(i, known)[0] for i, known in passed])
        knowing = np.array(
            [
                search.best(i, known | 1 << v)[0] if self.allowed[v, i] else alone
                for (i, known), alone in zip(passed, without, strict=True)
            ]
        )
        own = np.array([search.best(v, known)[0] for known in before[low : high + 1]])
        totals = np.append(0.0, np.cumsum(without)) + np.append(np.cumsum(knowing[::-1])[::-1], 0.0) + own
        best = int(np.argmax(totals))
        place = low + best
        return float(totals[best] - totals[now - low]), [*others[:place], v, *others[place:]]

    def _places(self, others: Sequence[int], now: int, v: int) -> tuple[int, int]:
        """The first and the last place where a variable may go: not past what the rules and ``reach`` say."""
        left = self._free(others[:now][::-1], self.required[:, v], v)
        return now - left, now + self._free(others[now:], self.required[v], v)

    def _free(self, others: Sequence[int], bound: Bools, v: int) -> int:
        """How many of the others, in this order, a variable may be moved past."""
        related = np.cumsum(self.related[v, list(others)])
        stops = bound[list(others)] | (related > self.reach)
        return int(np.argmax(stops)) if stops.any() else len(others)


def _before(order: Sequence[int]) -> list[int]:
    """For each place of an order, the bit set of the variables before it."""
    sets, known = [], 0
    for i in order:
        sets.append(known)
        known |= 1 << i
    return sets
