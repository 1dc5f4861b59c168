"""What is uncertain about an audit: what the models of other subsamples say, and how plausible its twins are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.graph import descendants
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.plausibility import Plausibility


@dataclass(frozen=True)
class Stability:
    """What B further causal models say, each learned from a subsample: a random half of the training rows.

    Two neighbours are learned from the two halves of one split, and share no row.

    Attributes
    ----------
    variables, sensitive : of the graphs
    graphs : (B, v, v), how strongly each variable acts on each other
    returned : by method, (B / 2, r): the scores of r of the judged people, at even distances, after one model made
        twins of them and its neighbour twins of those
    returned_by_same : the same, both by the first model: what is drawn by chance alone; empty of an older engine, which
        drew nothing on the way back
    plausibility, edge_cuts : of the twins, and of the edges, of the audit's own causal model
    seed : of the samples of people
    """

    variables: tuple[str, ...]
    sensitive: str
    graphs: Floats
    returned: dict[str, Floats]
    returned_by_same: dict[str, Floats]
    plausibility: Plausibility
    edge_cuts: EdgeCuts
    seed: int

    @property
    def edge_frequency(self) -> Floats:
        """(v, v), the share of the graphs that have each edge."""
        share: Floats = (self.graphs != 0.0).mean(axis=0)
        return share

    @cached_property
    def reach(self) -> dict[str, float]:
        """By variable, the share of the graphs in which the sensitive attribute reaches it."""
        s = self.variables.index(self.sensitive)
        counts = np.zeros(len(self.variables))
        for graph in self.graphs:
            counts[list(descendants(graph != 0.0, s))] += 1.0
        shares = counts / len(self.graphs)
        return {name: float(shares[k]) for k, name in enumerate(self.variables) if k != s}

    @cached_property
    def without_path(self) -> int:
        """Graphs in which the sensitive attribute affects nothing."""
        s = self.variables.index(self.sensitive)
        return int((self.graphs[:, s] == 0.0).all(axis=1).sum())

    def model_error(self, method: str, score: Floats, threshold: float) -> float:
        """Share of people whose outcome differs once one model made their twin, and another the twin of that.

        The ``score`` is that of the judged people (m,), of whom some went there and back. A perfect model would
        bring everybody back, but for what is drawn by chance: that share, where one model goes there and back, is
        taken off. The median over the pairs.
        """
        here = score[evenly(len(score), self.returned[method].shape[1])] > threshold
        lost = ((self.returned[method] > threshold) != here).mean(axis=1)
        if self.returned_by_same:
            lost = lost - ((self.returned_by_same[method] > threshold) != here).mean(axis=1)
        return float(max(0.0, np.median(lost)))

    def check(self, people: int, judged: int, variables: Sequence[str], methods: Collection[str]) -> None:
        """Refuse what does not belong to an audit of so many people, so many of them judged, and these methods.

        Raises
        ------
        InvalidArtifactError
        """
        cuts = self.edge_cuts
        shapes = self._shapes(people, judged, len(variables))
        wrong = [name for name, array, shape in shapes if not _is_sound(array, shape)]
        by_method = (self.returned, self.returned_by_same or self.returned, cuts.without, cuts.whole)
        fits = (
            not wrong
            and len(self.graphs) > 1
            and self.variables == tuple(variables)
            and self.sensitive == variables[0]
            and all(set(part) == set(methods) for part in by_method)
            and {name for edge in cuts.edges for name in edge} <= set(variables)
            and all(type(number) is float for number in (*cuts.whole.values(), self.plausibility.real_median))
            and all(type(number) is int and number >= 0 for number in (self.seed, cuts.people))
        )
        if not fits:
            what = f"its {wrong[0][:60]} has another shape, or holds no numbers" if wrong else "its parts do not match"
            raise InvalidArtifactError(f"The uncertainty does not belong to the audit: {what}.")

    def _shapes(self, people: int, judged: int, v: int) -> list[tuple[str, NDArray[Any], tuple[int, ...]]]:
        """Every array with its name and the shape that it must have."""
        twins, graphs = self.plausibility, len(self.graphs)
        went = min(judged, max((array.shape[-1] for array in self.returned.values()), default=0))
        edges = len(self.edge_cuts.edges)
        return [
            ("graphs", self.graphs, (graphs, v, v)),
            *((f"returned.{name}", array, (graphs // 2, went)) for name, array in self.returned.items()),
            *((f"by same.{name}", array, (graphs // 2, went)) for name, array in self.returned_by_same.items()),
            *((f"without.{name}", array, (edges,)) for name, array in self.edge_cuts.without.items()),
            *((name, getattr(twins, name), (people,)) for name in ("out_of_range", "between_levels")),
            *((name, getattr(twins, name), (people,)) for name in ("distance", "usual")),
        ]

    def to_dict(self) -> dict[str, Any]:
        """What ``audit.json`` says about the graphs, the edges and the twins."""
        frequency = self.edge_frequency
        return {
            "graphs": len(self.graphs),
            "graphs_without_path": self.without_path,
            "reach": self.reach,
            "edges": [
                {"cause": self.variables[j], "effect": self.variables[i], "frequency": float(frequency[j, i])}
                for j, i in np.argwhere(frequency > 0.0)
            ],
            "validity": self.plausibility.to_dict(),
            "what_if": self.edge_cuts.to_dict(),
        }


def evenly(people: int, most: int) -> Rows:
    """Positions of at most so many of the people, at even distances."""
    return np.linspace(0, max(0, people - 1), min(people, most)).astype(np.intp)


def _is_sound(array: NDArray[Any], shape: tuple[int, ...]) -> bool:
    return array.shape == shape and bool(np.isfinite(array).all())
