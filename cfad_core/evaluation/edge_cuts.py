"""Which edge of the causal graph carries the changing ratio: each cut, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.core.arrays import Floats

_CARRIES = 0.5  # share of the changing ratio that goes with an edge which carries it


@dataclass(frozen=True)
class EdgeCuts:
    """The changing ratio, at the audit's threshold, if one edge carried nothing.

    Attributes
    ----------
    people : that it was counted on
    edges : (cause, effect), all that lie on a path from the sensitive attribute
    whole : by method, with all edges
    without : by method, (edges,)
    """

    people: int
    edges: tuple[tuple[str, str], ...]
    whole: dict[str, float]
    without: dict[str, Floats]

    def carrier(self, method: str) -> tuple[tuple[str, str], float] | None:
        """The edge with which at least half of the changing ratio goes, and that share; None if there is none.

        What goes must also be more people than chance could account for: two standard deviations of a count.
        """
        whole = self.whole[method]
        if not self.edges or not whole:
            return None
        most = int(np.argmin(self.without[method]))
        gone = whole - float(self.without[method][most])
        carries = gone >= _CARRIES * whole and gone * self.people > 2.0 * np.sqrt(whole * self.people)
        return (self.edges[most], gone / whole) if carries else None

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        return {
            "people": self.people,
            "changing_ratio": self.whole,
            "edges": [
                {
                    "cause": cause,
                    "effect": effect,
                    "changing_ratio": {method: float(values[k]) for method, values in self.without.items()},
                }
                for k, (cause, effect) in enumerate(self.edges)
            ],
        }
