"""Where the nodes of a drawn causal graph stand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import networkx as nx
import numpy as np

from cfad_core.core.arrays import Floats

_SWEEPS = 4  # over all layers, there and back; more of them change little


def places(strengths: Floats, rows: int = 10, *, tidy: bool = False) -> Floats:
    """Positions (v, 2) of the nodes: layers by longest path from a root, each ordered by its parents' heights.

    A layer of many nodes takes several columns; as its nodes are not connected, causes stay left of effects.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    rows : so many nodes stand above each other at most
    tidy : make edges short: roots move next to their first effect, and layers are also ordered by their effects

    Returns
    -------
    The columns and heights of the nodes: whole columns from 0, and heights around 0 of which larger ones are higher.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(strengths)))
    graph.add_edges_from((int(j), int(i)) for j, i in np.argwhere(strengths != 0.0))
    layers = [sorted(layer) for layer in nx.topological_generations(graph)]
    layers = _with_late_roots(graph, layers) if tidy else layers
    place, column = np.zeros((len(strengths), 2)), 0
    for layer in layers:
        place[layer, 0] = column
        _order(place, layer, [sorted(graph.pred[k]) for k in layer], rows)
        column += math.ceil(len(layer) / rows)
    return _tidied(place, layers, graph, rows) if tidy else place


def _order(place: Floats, layer: Sequence[int], neighbours: Sequence[Sequence[int]], rows: int) -> None:
    """Set the nodes of a layer below each other, by the mean heights of their neighbours."""
    heights = {k: np.mean(place[some, 1]) if some else 0.0 for k, some in zip(layer, neighbours, strict=True)}
    columns = math.ceil(len(layer) / rows)
    used, first = math.ceil(len(layer) / columns), place[layer, 0].min()
    for position, k in enumerate(sorted(layer, key=lambda k: (-heights[k], k))):
        place[k] = first + position % columns, (used - 1) / 2.0 - position // columns


def _with_late_roots(graph: nx.DiGraph[int], layers: Sequence[Sequence[int]]) -> list[list[int]]:
    """The layers with each root right before the first of its effects; one without effects stays."""
    level = {k: depth for depth, layer in enumerate(layers) for k in layer}
    for k in layers[0] if layers else ():
        level[k] = min((level[i] for i in graph.succ[k]), default=1) - 1
    return [[k for k in sorted(level) if level[k] == depth] for depth in range(len(layers))]


def _tidied(place: Floats, layers: Sequence[Sequence[int]], graph: nx.DiGraph[int], rows: int) -> Floats:
    """Order every layer by its effects, then by its causes, a few times; the arrangement of the flattest edges wins."""
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)

    def slope() -> float:
        return float(np.abs(np.diff(place[edges, 1], axis=1)).sum())

    best, least = place.copy(), slope()
    for _ in range(_SWEEPS):
        for order, towards in ((layers[::-1], graph.succ), (layers, graph.pred)):
            for layer in order:
                # Nodes without neighbours on that side keep their heights
                _order(place, layer, [sorted(towards[k]) or [k] for k in layer], rows)
            if slope() < least:
                best, least = place.copy(), slope()
    return best
