"""What would differ, were the levels of twins coupled otherwise with those of people; no table shows which is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Bools, Floats


@dataclass(frozen=True)
class CouplingScores:
    """Scores of some people and of several twins of each, by every way to couple levels.

    Attributes
    ----------
    here : by method, (n,), of the people
    there : by method, (couplings, draws, moves, n), of their twins: as levels are coupled usually first
    compared : (moves, n), whether a person is compared with the group that a move takes them to
    """

    here: dict[str, Floats]
    there: dict[str, Floats]
    compared: Bools

    def ratios(self, method: str, threshold: float) -> Floats:
        """The changing ratio (couplings,) at a threshold, the mean over the draws."""
        differs = (self.there[method] > threshold) != (self.here[method] > threshold)
        found: Floats = (differs & self.compared).any(axis=2).mean(axis=(1, 2), dtype=np.float64)
        return found
