"""What is uncertain about an audit: what the models of other subsamples say, and how plausible its twins are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.comparisons import View
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
    variables : of the graphs
    sensitive : those of them that are sensitive, and looked at
    graphs : (B, v, v), how strongly each variable acts on each other
    went : (r,), positions among the judged people of those who went there and back
    returned : by method, (B / 2, comparisons, r): their scores after one model made twins of them and its neighbour
        twins of those
    returned_by_same : the same, both by the first model: what is drawn by chance alone; empty of an older engine, which
        drew nothing on the way back
    plausibility : of the twins of the audit's own causal model, by move
    edge_cuts : of its edges, by comparison
    seed : of the samples of people
    """

    variables: tuple[str, ...]
    sensitive: tuple[str, ...]
    graphs: Floats
    went: NDArray[np.int64]
    returned: dict[str, Floats]
    returned_by_same: dict[str, Floats]
    plausibility: Plausibility
    edge_cuts: tuple[EdgeCuts, ...]
    seed: int

    def seen(self, view: View, comparison: int, judged: NDArray[np.int64]) -> Stability:
        """What concerns one view of an audit, which is of one of its comparisons.

        Parameters
        ----------
        judged : (m,), positions of all judged people
        """
        among, _ = view.among(judged)
        place = np.full(len(judged), -1)
        place[among] = np.arange(len(among))
        kept = place[self.went] >= 0

        def seen(scores: dict[str, Floats]) -> dict[str, Floats]:
            return {method: some[:, [comparison]][:, :, kept] for method, some in scores.items()}

        return replace(
            self,
            sensitive=tuple(self.sensitive[s] for s in view.comparison.attributes),
            went=place[self.went][kept],
            returned=seen(self.returned),
            returned_by_same=seen(self.returned_by_same),
            plausibility=self.plausibility.seen(view.take),
            edge_cuts=(self.edge_cuts[comparison],),
        )

    @property
    def edge_frequency(self) -> Floats:
        """(v, v), the share of the graphs that have each edge."""
        share: Floats = (self.graphs != 0.0).mean(axis=0)
        return share

    @cached_property
    def reach(self) -> dict[str, float]:
        """By variable, the share of the graphs in which a sensitive attribute that is looked at reaches it."""
        starts = [self.variables.index(name) for name in self.sensitive]
        counts = np.zeros(len(self.variables))
        for graph in self.graphs:
            counts[list(frozenset().union(*(descendants(graph != 0.0, s) for s in starts)))] += 1.0
        shares = counts / len(self.graphs)
        return {name: float(shares[k]) for k, name in enumerate(self.variables) if k not in starts}

    @cached_property
    def without_path(self) -> int:
        """Graphs in which no sensitive attribute that is looked at affects anything."""
        starts = [self.variables.index(name) for name in self.sensitive]
        return int((self.graphs[:, starts] == 0.0).all(axis=(1, 2)).sum())

    def model_error(self, method: str, score: Floats, threshold: float) -> float:
        """Share of people whose outcome differs once one model made their twin, and another the twin of that.

        Of the first comparison.

        The ``score`` is that of the judged people (m,), of whom some went there and back. A perfect model would
        bring everybody back, but for what is drawn by chance: that share, where one model goes there and back, is
        taken off. The median over the pairs.
        """
        here = score[self.went] > threshold
        if not len(here):
            return 0.0
        lost = ((self.returned[method][:, 0] > threshold) != here).mean(axis=1)
        if self.returned_by_same:
            lost = lost - ((self.returned_by_same[method][:, 0] > threshold) != here).mean(axis=1)
        return float(max(0.0, np.median(lost)))

    def check(self, people: int, judged: int, variables: Sequence[str], methods: Collection[str], moves: int) -> None:
        """Refuse what does not belong to an audit of so many people, so many of them judged, and these methods.

        Raises
        ------
        InvalidArtifactError
        """
        shapes = self._shapes(people, len(variables), moves)
        wrong = [name for name, array, shape in shapes if not _is_sound(array, shape)]
        by_method = [self.returned, self.returned_by_same or self.returned]
        by_method += [part for cuts in self.edge_cuts for part in (cuts.without, cuts.whole)]  # type: ignore[misc]
        numbers = [number for cuts in self.edge_cuts for number in cuts.whole.values()]
        fits = (
            not wrong
            and len(self.graphs) > 1
            and self.variables == tuple(variables)
            and self.sensitive == tuple(variables[: len(self.sensitive)])
            and self.went.dtype.kind == "i"
            and (len(self.went) == 0 or 0 <= self.went.min() <= self.went.max() < judged)
            and all(set(part) == set(methods) for part in by_method)
            and {name for cuts in self.edge_cuts for edge in cuts.edges for name in edge} <= set(variables)
            and all(type(number) is float for number in (*numbers, self.plausibility.real_median))
            and all(type(k) is int and k >= 0 for k in (self.seed, *(cuts.people for cuts in self.edge_cuts)))
        )
        if not fits:
            what = f"its {wrong[0][:60]} has another shape, or holds no numbers" if wrong else "its parts do not match"
            raise InvalidArtifactError(f"The uncertainty does not belong to the audit: {what}.")

    def _shapes(self, people: int, v: int, moves: int) -> list[tuple[str, NDArray[Any], tuple[int, ...]]]:
        """Every array with its name and the shape that it must have."""
        twins, graphs = self.plausibility, len(self.graphs)
        back = (graphs // 2, len(self.edge_cuts), len(self.went))
        return [
            ("graphs", self.graphs, (graphs, v, v)),
            *((f"returned.{name}", array, back) for name, array in self.returned.items()),
            *((f"by same.{name}", array, back) for name, array in self.returned_by_same.items()),
            *(
                (f"without.{name}", array, (len(cuts.edges),))
                for cuts in self.edge_cuts
                for name, array in cuts.without.items()
            ),
            *((name, getattr(twins, name), (moves, people)) for name in ("out_of_range", "between_levels")),
            *((name, getattr(twins, name), (moves, people)) for name in ("distance", "usual")),
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
            "what_if": self.edge_cuts[0].to_dict(),
        }


def evenly(people: int, most: int) -> Rows:
    """Positions of at most so many of the people, at even distances."""
    return np.linspace(0, max(0, people - 1), min(people, most)).astype(np.intp)


def _is_sound(array: NDArray[Any], shape: tuple[int, ...]) -> bool:
    return array.shape == shape and bool(np.isfinite(array).all())
