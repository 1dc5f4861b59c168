"""A causal graph that somebody has drawn already: names, edges, no cycles, and what it says as knowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.causal.graph import find_cycle
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

Edge = tuple[str, str]

MOST_NODES = 2_000


@dataclass(frozen=True)
class ReadyGraph:
    """A causal graph that somebody has drawn already: acyclic, with a name for every node.

    Attributes
    ----------
    nodes : names
    edges : (cause, effect), each once
    """

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if len(self.nodes) > MOST_NODES:
            raise InvalidConfigError(f"A causal graph has {MOST_NODES} nodes at most; this one has {len(self.nodes)}.")
        for name in self.nodes:
            _check_name(name)
        twice = [name for name, count in Counter(self.nodes).items() if count > 1]
        if twice:
            raise InvalidConfigError(f"Nodes must have different names; twice there is: {listed(twice)}.")
        position = {name: k for k, name in enumerate(self.nodes)}
        edges = np.zeros((len(self.nodes), len(self.nodes)), dtype=np.bool_)
        for cause, effect in self.edges:
            for name in (cause, effect):
                if name not in position:
                    raise InvalidConfigError(
                        f"The edge {shortened(cause)} -> {shortened(effect)} names '{shortened(name)}', "
                        "which is not among the nodes; add it to them, or correct the edge."
                    )
            edges[position[cause], position[effect]] = True
        cycle = find_cycle(edges)
        if cycle:
            path = " -> ".join(self.nodes[j] for j, _ in [*cycle, cycle[0]])
            raise InvalidConfigError(
                f"A causal graph has no cycles; this one has {shortened(path, 500)}. Remove one of these edges."
            )

    def knowledge(self, variables: Sequence[str], sensitive: str | Sequence[str]) -> Knowledge:
        """The graph as knowledge that leaves nothing to discover. Variables that it does not name have no edges.

        Raises
        ------
        InvalidConfigError
            If it names something else than the variables.
        """
        known = set(variables)
        unknown = [name for name in self.nodes if name not in known]
        if unknown:
            raise InvalidConfigError(
                f"The graph names what is no variable of this audit: {listed(unknown)}. "
                f"It may name: {listed(variables)}."
            )
        own = {sensitive} if isinstance(sensitive, str) else set(sensitive)
        is_root = all(effect not in own or cause in own for cause, effect in self.edges)
        return Knowledge(required=self.edges, complete=True, sensitive_is_root=is_root)

    def missing(self, variables: Sequence[str]) -> tuple[str, ...]:
        """The variables that the graph does not name."""
        named = set(self.nodes)
        return tuple(name for name in variables if name not in named)


def ordered_graph(nodes: Iterable[str], edges: Iterable[Edge]) -> ReadyGraph:
    """Each edge once, in the order of the nodes: the same graph is equal, whichever file it comes from."""
    nodes = tuple(nodes)
    position = {name: k for k, name in enumerate(nodes)}
    place = [(position.get(edge[0], -1), position.get(edge[1], -1), edge) for edge in dict.fromkeys(edges)]
    return ReadyGraph(nodes, tuple(edge for *_, edge in sorted(place)))


def named_graph(nodes: Mapping[str, Mapping[str, Any]], edges: Iterable[Edge]) -> ReadyGraph:
    """The graph of nodes with attributes, by label or name if no two share one, else by id."""
    called = {node: node for node in nodes}
    for attribute in ("name", "label"):
        values = {node: attributes.get(attribute) for node, attributes in nodes.items()}
        names = {node: "" if value is None else str(value) for node, value in values.items()}
        if all(names.values()) and len(set(names.values())) == len(names):
            called = names
    return ordered_graph(called.values(), ((called.get(a, a), called.get(b, b)) for a, b in edges))


def _check_name(name: str) -> None:
    if not name:
        raise InvalidConfigError("A node has no name; give it one.")
    if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidConfigError(f"The name {shortened(ascii(name))} holds what is no character; rename it.")


def listed(names: Sequence[str]) -> str:
    """Names for a message; at most 20 of them."""
    rest = len(names) - 20
    return ", ".join(shortened(str(name)) or "(no name)" for name in names[:20]) + (
        f" and {rest} others" if rest > 0 else ""
    )


def shortened(text: str, most: int = 80) -> str:
    """Text for a message, cut off where it is long."""
    return text if len(text) <= most else f"{text[:most]}..."
