"""How sure an audit is: what other graphs say, which edge carries the result, whether twins could be people."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from cfad_core.causal.graph import descendants
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.intervals import Intervals, ResampledScores

_CARRIES = 0.5  # share of the changing ratio that goes with an edge which carries it


@dataclass(frozen=True)
class Validity:
    """Whether the people's twins, by the audit's own causal model, could be people.

    Attributes
    ----------
    out_of_range : (n,), some number of the twin lies beyond all that training saw
    between_levels : (n,), some category of the twin is more than a quarter of the way from its level to another one
    distance : (n,), to the nearest training row of the twin's group, all variables alike
    real_median : of that distance for the people as they are
    usual : (n,), its 0.99 quantile for those of the twin's group
    """

    out_of_range: Bools
    between_levels: Bools
    distance: Floats
    real_median: float
    usual: Floats

    @property
    def far(self) -> Bools:
        """Twins that are further from anything real than nearly all real people are."""
        return self.distance > self.usual

    def summary(self) -> dict[str, float]:
        """Shares of the people, and distances."""
        return {
            "out_of_range": float(self.out_of_range.mean()),
            "between_levels": float(self.between_levels.mean()),
            "far": float(self.far.mean()),
            "distance_median": float(np.median(self.distance)),
            "distance_median_real": self.real_median,
            "distance_usual": float(np.median(self.usual)),
        }


@dataclass(frozen=True)
class WhatIf:
    """The changing ratio, at the audit's threshold, if one edge carried nothing.

    Attributes
    ----------
    people : that were asked
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


@dataclass(frozen=True)
class Uncertainty:
    """What B graphs say, each learned from a random half of the training rows; neighbours share no row.

    Attributes
    ----------
    variables, sensitive : of the graphs
    graphs : (B, v, v), how strongly each variable acts on each other
    people : (m,), the positions, among the audit's people, of those that the graphs judge
    worlds : by method, (B, m): the scores of these people's twins by each graph, categories drawn
    returned : by method, (B / 2, m): their scores after one graph flipped them and its neighbour flipped them back
    validity, what_if : of the twins, and of the edges, of the audit's own causal model
    seed : of the samples of people
    """

    variables: tuple[str, ...]
    sensitive: str
    graphs: Floats
    people: NDArray[np.int64]
    worlds: dict[str, Floats]
    returned: dict[str, Floats]
    validity: Validity
    what_if: WhatIf
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

    def resampled(self, method: str, score: Floats, sensitive: Floats) -> ResampledScores:
        """What intervals come from; ``score`` and ``sensitive`` (n,) are of all people of the audit."""
        return ResampledScores(score[self.people], self.worlds[method], sensitive[self.people], self.seed)

    def intervals(self, method: str, score: Floats, sensitive: Floats, threshold: float) -> Intervals:
        return self.resampled(method, score, sensitive).at(threshold)

    def floor(self, method: str, score: Floats, threshold: float) -> float:
        """Share of people who, flipped by one graph and back by another, do not get their own outcome: model error.

        The median over the pairs of graphs.
        """
        here = score[self.people] > threshold
        return float(np.median(((self.returned[method] > threshold) != here).mean(axis=1)))

    def check(self, people: int, variables: Sequence[str], methods: Collection[str]) -> None:
        """Refuse what does not belong to an audit of so many people, with these variables and methods.

        Raises
        ------
        InvalidArtifactError
        """
        validity, what_if, v, m = self.validity, self.what_if, len(variables), len(self.people)
        shapes = {
            "graphs": (self.graphs, (len(self.graphs), v, v)),
            **{f"worlds.{name}": (array, (len(self.graphs), m)) for name, array in self.worlds.items()},
            **{f"returned.{name}": (array, (len(self.graphs) // 2, m)) for name, array in self.returned.items()},
            **{f"without.{name}": (array, (len(what_if.edges),)) for name, array in what_if.without.items()},
            "out_of_range": (validity.out_of_range, (people,)),
            "between_levels": (validity.between_levels, (people,)),
            "distance": (validity.distance, (people,)),
            "usual": (validity.usual, (people,)),
        }
        wrong = [
            name for name, (array, shape) in shapes.items() if array.shape != shape or not np.isfinite(array).all()
        ]
        by_method = (self.worlds, self.returned, what_if.without, what_if.whole)
        fits = (
            not wrong
            and len(self.graphs) > 1
            and m > 0
            and self.people.ndim == 1
            and self.people.dtype.kind == "i"
            and 0 <= self.people.min() <= self.people.max() < people
            and self.variables == tuple(variables)
            and self.sensitive == variables[0]
            and all(set(part) == set(methods) for part in by_method)
            and {name for edge in what_if.edges for name in edge} <= set(variables)
            and all(type(number) is float for number in (*what_if.whole.values(), validity.real_median))
            and all(type(number) is int and number >= 0 for number in (self.seed, what_if.people))
        )
        if not fits:
            what = f"its {wrong[0][:60]} has another shape, or holds no numbers" if wrong else "its parts do not match"
            raise InvalidArtifactError(f"How sure the audit is does not belong to it: {what}.")

    def summary(self) -> dict[str, Any]:
        """What ``audit.json`` says about the graphs, the edges and the twins."""
        frequency = self.edge_frequency
        return {
            "graphs": len(self.graphs),
            "people": len(self.people),
            "graphs_without_path": self.without_path,
            "reach": self.reach,
            "edges": [
                {"cause": self.variables[j], "effect": self.variables[i], "frequency": float(frequency[j, i])}
                for j, i in np.argwhere(frequency > 0.0)
            ],
            "validity": self.validity.summary(),
            "what_if": {
                "people": self.what_if.people,
                "changing_ratio": self.what_if.whole,
                "edges": [
                    {
                        "cause": cause,
                        "effect": effect,
                        "changing_ratio": {method: float(values[k]) for method, values in self.what_if.without.items()},
                    }
                    for k, (cause, effect) in enumerate(self.what_if.edges)
                ],
            },
        }

    def save(self, stem: Path) -> None:
        """Write ``stem.json`` and ``stem.safetensors``."""
        arrays: dict[str, NDArray[Any]] = {
            "graphs": self.graphs,
            "people": self.people,
            "out_of_range": self.validity.out_of_range.astype(np.uint8),
            "between_levels": self.validity.between_levels.astype(np.uint8),
            "distance": self.validity.distance,
            "usual": self.validity.usual,
        }
        for part, by_method in self._by_method().items():
            arrays |= {f"{part}.{method}": values for method, values in by_method.items()}
        save_file(
            {name: np.ascontiguousarray(array) for name, array in arrays.items()}, stem.with_suffix(".safetensors")
        )
        text = {
            "variables": list(self.variables),
            "sensitive": self.sensitive,
            "seed": self.seed,
            "real_median": self.validity.real_median,
            "asked": self.what_if.people,
            "edges": [list(edge) for edge in self.what_if.edges],
            "whole": self.what_if.whole,
        }
        stem.with_suffix(".json").write_text(json.dumps(text, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    def _by_method(self) -> dict[str, Mapping[str, Floats]]:
        return {"worlds": self.worlds, "returned": self.returned, "without": self.what_if.without}

    @staticmethod
    def load(stem: Path) -> Uncertainty:
        """Read what ``save`` wrote."""
        text = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        arrays = load_file(stem.with_suffix(".safetensors"))

        def by_method(part: str) -> dict[str, Floats]:
            return {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{part}.")}

        return Uncertainty(
            variables=tuple(text["variables"]),
            sensitive=text["sensitive"],
            graphs=arrays["graphs"],
            people=arrays["people"],
            worlds=by_method("worlds"),
            returned=by_method("returned"),
            validity=Validity(
                out_of_range=arrays["out_of_range"].astype(np.bool_),
                between_levels=arrays["between_levels"].astype(np.bool_),
                distance=arrays["distance"],
                real_median=text["real_median"],
                usual=arrays["usual"],
            ),
            what_if=WhatIf(
                people=text["asked"],
                edges=tuple((cause, effect) for cause, effect in text["edges"]),
                whole=dict(text["whole"]),
                without=by_method("without"),
            ),
            seed=text["seed"],
        )
