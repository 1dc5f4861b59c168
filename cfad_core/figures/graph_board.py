"""A causal graph on a sheet: where its nodes and names stand and how its edges run, for every way of drawing it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.figures.places import places
from cfad_core.figures.routes import routes
from cfad_core.figures.style import signed
from cfad_core.figures.svg import letters_in, one_line, short, width_of, wrapped

SENSITIVE, AFFECTED, OTHER = range(3)
RADII = (12.0, 8.5, 7.0)  # of a sensitive attribute, an affected variable, and another one
BELOW = 11.0  # from the middle of a node to the top of its name
FONT, LINE = 11.0, 12.5
MARGIN = 62.0  # holds half of a name below a node
_ROWS = (4, 6, 8, 12, 20)
_MANY = 30  # nodes, from which low columns are not tried: the graph would be far too wide


@dataclass(frozen=True)
class Sheet:
    """What a graph is drawn on: how wide it is, and the height that nodes should not need more of, in pixels."""

    width: float
    tallest: float


PAGE = Sheet(680.0, 700.0)  # of a report: more would not fit on it with a legend below
SCREEN = Sheet(1040.0, 420.0)


@dataclass(frozen=True)
class Graph:
    """What is drawn: names, strengths (v, v) and kinds (v,) of variables."""

    names: Sequence[str]
    strengths: Floats
    kinds: NDArray[np.int64]

    @staticmethod
    def of(names: Sequence[str], strengths: Floats, sensitive: Sequence[str], affected: Collection[str]) -> Graph:
        """A graph whose names are as a table has them."""
        kinds = [SENSITIVE if name in sensitive else AFFECTED if name in affected else OTHER for name in names]
        return Graph([one_line(name) for name in names], strengths, np.array(kinds, dtype=np.int64))


@dataclass(frozen=True)
class Board:
    """Where nodes and names stand.

    Attributes
    ----------
    place : (v, 2), the middles of the nodes, in pixels
    lines : the name of each, in one line or two
    boxes : (2 v, 4), left, top, right and bottom of all nodes, then of all names
    """

    place: Floats
    lines: Sequence[tuple[str, ...]]
    boxes: Floats

    def others(self, j: int, i: int) -> Floats:
        """What an edge must not cross: all names, and all nodes but for its own."""
        return np.delete(self.boxes, [j, i], axis=0)


@dataclass(frozen=True)
class Edge:
    """An edge, how it runs (4, 2), how it looks, and what it says when it is pointed at."""

    cause: int
    effect: int
    curve: Floats
    width: float
    is_causal: bool
    is_rare: bool
    says: str

    @property
    def head(self) -> float:
        """How long its arrow head is."""
        return _head(self.width)


# Where things stand


def board_of(graph: Graph, sheet: Sheet) -> Board:
    """The arrangement that shows most of the names on the least height.

    Neighbouring columns may be set lower by a step each, which leaves names the width of several columns.
    """
    tries: list[tuple[float, int, Board]] = []
    for rows in _ROWS if len(graph.names) <= _MANY else _ROWS[2:]:
        grid = _grid((graph.strengths != 0.0).tobytes(), len(graph.names), rows)
        for phases in (1, 2, 3):
            board = _arranged(graph, grid, phases, sheet)
            tries.append((_cost(graph, grid, board, sheet), len(tries), board))
        if np.unique(grid[:, 0], return_counts=True)[1].max(initial=0) < rows:
            break  # no column is full: more rows change nothing
    return min(tries, key=lambda one: one[:2])[2]


@lru_cache(maxsize=64)
def _grid(edges: bytes, count: int, rows: int) -> Floats:
    """The places of a graph's nodes: pages draw the same graph again and again."""
    return places(np.frombuffer(edges, dtype=np.bool_).reshape(count, count).astype(np.float64), rows)


def _cost(graph: Graph, grid: Floats, board: Board, sheet: Sheet) -> float:
    """How much is wrong with an arrangement: cut and broken names, its height, edges that pass columns of nodes."""
    cut = sum(line.startswith("…") for lines in board.lines for line in lines)
    broken = sum(len(lines) - 1 for lines in board.lines)
    height = float(np.ptp(board.place[:, 1])) if len(grid) else 0.0
    cause, effect = np.nonzero(graph.strengths)
    passed = grid[effect, 0] - grid[cause, 0] - 1.0
    along = (passed > 0.0) & (np.abs(board.place[effect, 1] - board.place[cause, 1]) < 10.0)  # a row of nodes
    edges = 30.0 * float(passed.sum()) / max(1, len(cause)) + float(along.sum())
    return 30.0 * cut + 4.0 * broken + edges + height / 12.0 + 10.0 * max(0.0, height - sheet.tallest)


def _arranged(graph: Graph, grid: Floats, phases: int, sheet: Sheet) -> Board:
    columns = int(grid[:, 0].max(initial=0.0)) + 1
    across = (sheet.width - 2.0 * MARGIN) / max(1, columns - 1)
    room = min(phases * across - 14.0, 2.0 * MARGIN - 6.0)
    lines = [wrapped(name, letters_in(room, FONT)) for name in graph.names]
    crowd = float((graph.strengths != 0.0).sum()) / max(1, len(grid))  # edges a node; many need more room between rows
    step = BELOW + LINE * max(map(len, lines), default=1) + 13.0 + min(max(0.0, 6.0 * (crowd - 1.0)), 20.0)
    pitch = max(phases * step, 54.0)
    x = MARGIN + grid[:, 0] * across if columns > 1 else np.full(len(grid), sheet.width / 2.0)
    y = -grid[:, 1] * pitch + (grid[:, 0] % phases) * step
    place: Floats = np.stack([x, y], axis=1)
    return Board(place, lines, np.concatenate([_node_boxes(graph, place), _name_boxes(place, lines)]))


def _node_boxes(graph: Graph, place: Floats) -> Floats:
    radius = np.array(RADII)[graph.kinds][:, None] + 2.0
    boxes: Floats = np.concatenate([place - radius, place + radius], axis=1)
    return boxes


def _name_boxes(place: Floats, lines: Sequence[tuple[str, ...]]) -> Floats:
    half = np.array([max(width_of(line, FONT) for line in one) / 2.0 + 1.0 for one in lines]).reshape(-1)
    tall = np.array([LINE * len(one) + 2.0 for one in lines]).reshape(-1)
    x, top = place[:, 0], place[:, 1] + BELOW
    boxes: Floats = np.stack([x - half, top, x + half, top + tall], axis=1)
    return boxes


# Edges


def edges_of(graph: Graph, board: Board, found: tuple[NDArray[np.int64], int] | None) -> list[Edge]:
    """All edges; those on a path from a sensitive attribute come last, and so lie on top."""
    size = np.abs(graph.strengths) / (np.abs(graph.strengths).max(initial=0.0) or 1.0)
    ends = [(int(j), int(i)) for j, i in np.argwhere(graph.strengths != 0.0)]
    thin = min(1.0, math.sqrt(40.0 / max(1, len(ends))))  # many wide lines would be one blot
    looks = []
    for j, i in ends:
        is_causal = bool(max(graph.kinds[j], graph.kinds[i]) < OTHER)
        is_rare = found is not None and bool(2 * found[0][j, i] < found[1])
        most = 0.0 if is_rare else 3.0 if is_causal else 1.5
        looks.append((0.9 + 0.3 * is_causal + thin * most * float(size[j, i]), is_causal, is_rare))
    radii = np.array(RADII)[graph.kinds].tolist()
    rims = [(radii[j] + 1.0, radii[i] + 3.0 + 0.8 * _head(look[0])) for (j, i), look in zip(ends, looks, strict=True)]
    curves = routes(board.place, ends, board.boxes, rims)
    edges = [
        Edge(j, i, curve, *look, _edge_says(graph, (j, i), found))
        for (j, i), curve, look in zip(ends, curves, looks, strict=True)
    ]
    return sorted(edges, key=lambda edge: (edge.is_causal, edge.width))


def _edge_says(graph: Graph, edge: tuple[int, int], found: tuple[NDArray[np.int64], int] | None) -> str:
    cause, effect = (short(graph.names[k], 60) for k in edge)
    often = "" if found is None else f", found in {found[0][edge]} of {found[1]} subsamples"
    return f"{cause} → {effect}: {signed(graph.strengths[edge])}{often}"


def _head(width: float) -> float:
    return 5.0 + 1.6 * width
