"""A causal graph as numbers and names that a page's component draws: the same places and curves as every picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.figures.graph_board import Board, Edge, Graph

Pair: TypeAlias = tuple[int, int]
_LEAST = 1.0  # pixels between two nodes, under which an edge has no direction


def node_elements(
    graph: Graph, board: Board, columns: Sequence[int], says: Sequence[Sequence[str]], marks: Mapping[int, str]
) -> list[dict[str, Any]]:
    """What is drawn of the nodes.

    Parameters
    ----------
    columns : (v,), which column of the whole graph each node is: this names it
    says : of each, the lines that are shown when it is pointed at
    marks : by column, in what way it stands out
    """
    return [
        {
            "id": str(column),
            "name": graph.names[k],
            "lines": list(board.lines[k]),
            "kind": int(graph.kinds[k]),
            "x": round(float(board.place[k, 0]), 1),
            "y": round(float(board.place[k, 1]), 1),
            "says": list(says[k]),
            "mark": marks.get(column, ""),
        }
        for k, column in enumerate(columns)
    ]


def edge_elements(
    edges: Sequence[Edge],
    board: Board,
    columns: Sequence[int],
    says: Mapping[Pair, Sequence[str]],
    unsure: Sequence[Pair],
    marks: Mapping[Pair, str],
) -> list[dict[str, Any]]:
    """What is drawn of the edges; pairs are of columns of the whole graph.

    Parameters
    ----------
    unsure : whose direction the data leave open
    marks : in what way an edge stands out; one that is no edge of the graph is drawn as a straight line
    """
    found = []
    for edge in edges:
        pair = columns[edge.cause], columns[edge.effect]
        look = {"width": round(edge.width, 2), "causal": edge.is_causal, "rare": edge.is_rare, "open": pair in unsure}
        found.append(_element(pair, says, marks) | look | curve_of(edge, board) | {"curve": True})
    drawn = {(one["cause"], one["effect"]) for one in found}
    plain = {"width": 2.0, "causal": False, "rare": False, "open": False}
    more = [pair for pair in marks if pair not in drawn and set(pair) <= set(columns)]
    return [*found, *(_element(pair, says, marks) | plain for pair in more)]


def _element(pair: Pair, says: Mapping[Pair, Sequence[str]], marks: Mapping[Pair, str]) -> dict[str, Any]:
    name = {"id": f"{pair[0]}-{pair[1]}", "cause": pair[0], "effect": pair[1]}
    return {**name, "says": list(says.get(pair, ())), "mark": marks.get(pair, "")}


def curve_of(edge: Edge, board: Board) -> dict[str, str]:
    """A cubic curve as two quadratic ones, which meet in its middle, relative to the two nodes: nodes can be moved.

    Returns
    -------
    ``weights`` and ``distances`` of the two control points along and beside the line between the nodes; where the edge
    begins and its head ends, ``from`` and ``to`` the middles of the nodes.
    """
    start, end = board.place[edge.cause], board.place[edge.effect]
    first, one, two, last = edge.curve
    way = last - two
    tip = last + 0.8 * edge.head * way / (math.hypot(*way) or 1.0)
    along = end - start
    length = max(math.hypot(*along), _LEAST)
    beside = np.array([-along[1], along[0]]) / length
    points: Floats = np.stack([first + 0.75 * (one - first), tip + 0.75 * (two - tip)]) - start
    return {
        "weights": _numbers(points @ along / length**2, 4),
        "distances": _numbers(points @ beside, 2),
        "from": _pixels(first - start),
        "to": _pixels(tip - end),
    }


def _numbers(values: Floats, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


def _pixels(values: Floats) -> str:
    return " ".join(f"{value:.1f}px" for value in values)
