"""The best causes of a variable among those that may come before it: grow by what they tell, then shrink."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cfad_core.causal.discovery.blocks import Blocks
from cfad_core.causal.discovery.quick_score import Causes, QuickScores
from cfad_core.core.arrays import Bools

_PATIENCE = 2.0  # half logs of the rows below a fair price that a candidate is still looked at
_WORTH = 1e-9  # least gain of a step, so that rounding is none


class Scores(Protocol):
    """What says how good causes are."""

    def score(self, i: int, causes: Causes) -> float: ...


class CauseSearch:
    """Causes by grow and shrink, remembered for each set of variables that come before.

    Parameters
    ----------
    scores : that decide
    quick : scores that rank further causes; where they also decide, no likelihoods are computed
    required : (v, v)
    looked_at : candidates whose likelihood is computed before one is chosen
    """

    def __init__(self, blocks: Blocks, scores: Scores, quick: QuickScores, required: Bools, looked_at: int = 1) -> None:
        self.blocks, self.scores, self.quick = blocks, scores, quick
        self._exact, self._looked_at = scores is not quick, looked_at
        v = blocks.n_variables
        self._sources = [sum(1 << j for j in range(v) if quick.allowed[j, i]) for i in range(v)]
        self._required = [[j for j in range(v) if required[j, i]] for i in range(v)]
        self._best: dict[tuple[int, int], tuple[float, Causes]] = {}
        self._shrunk: dict[tuple[int, Causes], tuple[float, Causes]] = {}
        self._sized: dict[tuple[int, Causes], Causes] = {}
        self._trim: dict[tuple[int, Causes], Causes] = {}

    def best(self, i: int, before: int) -> tuple[float, Causes]:
        """The score and the causes of a variable among those in the bit set ``before``."""
        key = (i, before & self._sources[i])
        if key not in self._best:
            self._best[key] = self._shrink(i, self._grow(i, key[1]))
        return self._best[key]

    def given(self, i: int, names: frozenset[int]) -> Causes:
        """These causes, with the best sizes of their functions."""
        sizes = [(j, self.blocks.bases[j].sizes[0]) for j in names]
        causes = self._resized(i, frozenset(sizes))
        return self._trimmed(i, causes) if self._exact else causes

    def looked_at(self) -> Bools:
        """(v, v): pairs that were cause and effect in the best graph of any order that the search came by."""
        pairs = np.zeros((self.blocks.n_variables, self.blocks.n_variables), dtype=np.bool_)
        for (i, _), (_, causes) in self._shrunk.items():
            pairs[[j for j, _ in causes], i] = True
        return pairs

    def _must(self, i: int) -> Causes:
        return self.given(i, frozenset(self._required[i])) if self._required[i] else frozenset()

    def _grow(self, i: int, before: int) -> Causes:
        causes = self._must(i)
        while True:
            listed = self.quick.candidates(i, causes)
            least = -_PATIENCE * self.quick.penalty.number if self._exact else 0.0
            found: list[Causes] = []
            for gain, j, size in listed:
                if gain <= least or len(found) == self._looked_at:
                    break
                if before >> j & 1:
                    found.append(causes | {(j, size)})
            if not found:
                return causes
            best = max(found, key=lambda one: self.scores.score(i, one))
            if self.scores.score(i, best) <= self.scores.score(i, causes) + _WORTH:
                return causes
            causes = best

    def _shrink(self, i: int, causes: Causes) -> tuple[float, Causes]:
        key = (i, causes)
        if key in self._shrunk:
            return self._shrunk[key]
        score, kept = self.scores.score, self._resized(i, causes)
        must = set(self._required[i])
        while True:
            fewer = [kept - {one} for one in sorted(kept) if one[0] not in must]
            if not fewer:
                break
            best = max(fewer, key=lambda one: score(i, one))
            if score(i, best) <= score(i, kept) + _WORTH:
                break
            kept = self._resized(i, best)
        kept = self._trimmed(i, kept) if self._exact else kept
        self._shrunk[key] = (score(i, kept), kept)
        return self._shrunk[key]

    def _resized(self, i: int, causes: Causes) -> Causes:
        """The same causes with more or fewer functions each, one step at a time, while quick scores rise."""
        key = (i, causes)
        if key not in self._sized:
            now = causes
            while True:
                options = [
                    now - {(j, size)} | {(j, other)} for j, size in sorted(now) for other in self._neighbours(j, size)
                ]
                best = max(options, key=lambda one: self.quick.score(i, one), default=now)
                if self.quick.score(i, best) <= self.quick.score(i, now) + _WORTH:
                    break
                now = best
            self._sized[key] = now
        return self._sized[key]

    def _trimmed(self, i: int, causes: Causes) -> Causes:
        """The same causes with fewer functions, while the score rises: covariances ask for more than a logit needs."""
        key = (i, causes)
        if key not in self._trim:
            now = causes
            for j, size in sorted(causes):
                for fewer in reversed([one for one in self.blocks.bases[j].sizes if one < size]):
                    other = now - {(j, size)} | {(j, fewer)}
                    if self.scores.score(i, other) <= self.scores.score(i, now) + _WORTH:
                        break
                    now, size = other, fewer
            self._trim[key] = now
        return self._trim[key]

    def _neighbours(self, j: int, size: int) -> list[int]:
        sizes = self.blocks.bases[j].sizes
        place = sizes.index(size)
        return [sizes[k] for k in (place - 1, place + 1) if 0 <= k < len(sizes)]
