"""Where the nodes of a drawn causal graph stand."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np

from cfad_core.core.arrays import Floats


def places(strengths: Floats, rows: int = 10) -> Floats:
    """Positions (v, 2) of the nodes: layers by longest path from a root, each ordered by its parents' heights.

    A layer of many nodes takes several columns; as its nodes are not connected, causes stay left of effects.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    rows : so many nodes stand above each other at most

    Returns
    -------
    The columns and heights of the nodes: whole columns from 0, and heights around 0 of which larger ones are higher.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(strengths)))
    graph.add_edges_from((int(j), int(i)) for j, i in np.argwhere(strengths != 0.0))
    place = np.zeros((len(strengths), 2))
    column = 0
    for layer in nx.topological_generations(graph):
        heights = {k: np.mean([place[j, 1] for j in sorted(graph.pred[k])] or [0.0]) for k in layer}
        nodes = sorted(layer, key=lambda k: (-heights[k], k))
        columns = math.ceil(len(nodes) / rows)
        used = math.ceil(len(nodes) / columns)
        for position, k in enumerate(nodes):
            place[k] = column + position % columns, (used - 1) / 2.0 - position // columns
        column += columns
    return place
