"""Which edge of the causal graph carries the change of outcomes: each cut, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.core.arrays import Floats

_CARRIES = 0.5  # share of the changing ratio that goes with an edge which carries it


@dataclass(frozen=True)
class CutScores:
    """Scores of some people and of their twins, with all edges and without each.

    Attributes
    ----------
    edges : (cause, effect)
    here, whole : by method, (n,), of people and of their twins
    without : by method, (edges, n), of their twins if one edge carries nothing
    """

    edges: tuple[tuple[str, str], ...]
    here: dict[str, Floats]
    whole: dict[str, Floats]
    without: dict[str, Floats]

    def at(self, thresholds: Mapping[str, float]) -> EdgeCuts:
        """For how many the outcome changes, by method."""
        flagged = {method: self.here[method] > threshold for method, threshold in thresholds.items()}

        def ratio(method: str, scores: Floats) -> Floats:
            found: Floats = ((scores > thresholds[method]) != flagged[method]).mean(axis=-1, dtype=np.float64)
            return found

        return EdgeCuts(
            people=max((len(scores) for scores in self.here.values()), default=0),
            edges=self.edges,
            whole={method: float(ratio(method, self.whole[method])) for method in thresholds},
            without={method: ratio(method, self.without[method]) for method in thresholds},
        )


@dataclass(frozen=True)
class EdgeCuts:
    """How much of the change goes with each edge, at the audit's threshold.

    It is counted on one twin each of some people, by the audit's own causal model: a basis for comparing edges with
    each other, not a second changing ratio. What is shown and written is therefore ``carried``, a share.

    Attributes
    ----------
    people : that it was counted on
    edges : (cause, effect), all that lie on a path from the sensitive attribute
    whole : by method, the share of these people whose outcome changes with all edges
    without : by method, (edges,), the same if one edge carries nothing
    """

    people: int
    edges: tuple[tuple[str, str], ...]
    whole: dict[str, float]
    without: dict[str, Floats]

    def carried(self, method: str) -> Floats | None:
        """The share of the change that goes with each edge, (edges,); None if nobody's outcome changes.

        Shares need not add up to 1: several edges of one path carry the same change. One below 0 belongs to an edge
        that works against the others.
        """
        whole = self.whole[method]
        if not whole:
            return None
        shares: Floats = 1.0 - self.without[method] / whole
        return shares

    def carrier(self, method: str) -> tuple[tuple[str, str], float] | None:
        """The edge with which at least half of the changing ratio goes, and that share; None if there is none.

        What goes must also be more people than chance could account for: two standard deviations of a count.
        """
        whole, shares = self.whole[method], self.carried(method)
        if not self.edges or shares is None:
            return None
        most = int(np.argmax(shares))
        share = float(shares[most])
        carries = share >= _CARRIES and share * whole * self.people > 2.0 * np.sqrt(whole * self.people)
        return (self.edges[most], share) if carries else None

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        carried = {method: self.carried(method) for method in self.whole}
        return {
            "people": self.people,
            "edges": [
                {
                    "cause": cause,
                    "effect": effect,
                    "carried": {m: None if shares is None else float(shares[k]) for m, shares in carried.items()},
                }
                for k, (cause, effect) in enumerate(self.edges)
            ],
        }
