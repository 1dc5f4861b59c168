"""Two causal graphs of the same columns: which arrows only one of them has, and which are turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cfad_core.causal.graph import find_cycle
from cfad_core.core.arrays import Floats

Difference: TypeAlias = Literal["both", "here", "there", "turned"]


@dataclass(frozen=True)
class GraphDifference:
    """Two graphs over the columns that they share.

    Attributes
    ----------
    variables : that both have, in the order of the first graph
    here, there : (v, v), the strengths of each graph's edges; 0 where there is none
    """

    variables: tuple[str, ...]
    here: Floats
    there: Floats

    @staticmethod
    def between(variables: Sequence[str], strengths: Floats, others: Sequence[str], other: Floats) -> GraphDifference:
        """Of the columns that both graphs have, given each graph's variables and strengths (v, v)."""
        shared = [name for name in variables if name in set(others)]
        own, theirs = ([names.index(name) for name in shared] for names in (list(variables), list(others)))
        return GraphDifference(tuple(shared), strengths[np.ix_(own, own)], other[np.ix_(theirs, theirs)])

    @property
    def kinds(self) -> dict[tuple[int, int], Difference]:
        """Each edge, by positions of cause and effect; a turned one as it is in the first graph."""
        found: dict[tuple[int, int], Difference] = {}
        for j, i in np.argwhere(self.here != 0.0).tolist():
            same, turned = self.there[j, i] != 0.0, self.there[i, j] != 0.0
            found[j, i] = "both" if same else "turned" if turned else "here"
        for j, i in np.argwhere(self.there != 0.0).tolist():
            if (j, i) not in found and (i, j) not in found:
                found[j, i] = "there"
        return found

    def count(self, kind: Difference) -> int:
        """How many edges are of one kind."""
        return sum(one == kind for one in self.kinds.values())

    @property
    def drawable(self) -> Floats:
        """(v, v), the first graph with those edges of the second one that close no circle: what can be laid out."""
        found = self.here.copy()
        for (j, i), kind in self.kinds.items():
            if kind == "there":
                found[j, i] = self.there[j, i]
                if find_cycle(found != 0.0):
                    found[j, i] = 0.0
        return found
