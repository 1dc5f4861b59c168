"""The causal graph as SVG text, for pages without a script and for print."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import counted, listed
from cfad_core.figures.places import places
from cfad_core.figures.routes import drawn, inside, points, routes
from cfad_core.figures.style import PALETTE, signed
from cfad_core.figures.svg import (
    INK,
    NAME,
    legend,
    letters_in,
    one_line,
    path,
    picture,
    short,
    text,
    titled,
    width_of,
    wrapped,
)

MOST_VARIABLES = 24  # of more, only those that matter for the sensitive attribute are drawn
MOST_NODES = 40
_WIDTH, _MARGIN = 680.0, 62.0  # the margin holds half of a name below a node
_TALLEST = 700.0  # of the nodes; more would not fit on a page with a legend below it
_FONT, _LINE = 11.0, 12.5
_RADII = (12.0, 8.5, 7.0)  # of a sensitive attribute, an affected variable, and another one
_BELOW = 11.0  # from the middle of a node to the top of its name
_SENSITIVE, _AFFECTED, _OTHER = range(3)
_CAUSAL = PALETTE[1]  # of edges on a path from a sensitive attribute
_QUIET = 'stroke="currentColor" stroke-opacity=".5"'


def graph_sketch(
    variables: Sequence[str],
    strengths: Floats,
    sensitive: str | Sequence[str],
    affected: Collection[str],
    *,
    found: tuple[NDArray[np.int64], int] | None = None,
    is_open: Bools | None = None,
) -> str:
    """The causal graph, causes to the left of their effects.

    Of more than 24 variables only the sensitive attributes are drawn, what they affect and what causes these.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    sensitive : the sensitive attribute, or several
    affected : the variables that a sensitive one has a path to
    found : (v, v), in how many subsamples each edge was found, and how many there are; those in fewer than half are
        dashed
    is_open : (v, v), edges whose direction the data leave open; they are marked with a question mark
    """
    own = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    kinds = np.array(
        [_SENSITIVE if name in own else _AFFECTED if name in affected else _OTHER for name in variables], dtype=np.int64
    )
    shown = _shown(strengths, kinds)
    here = np.ix_(shown, shown)
    graph = _Graph([one_line(variables[k]) for k in shown], _drawn_strengths(strengths, kinds)[here], kinds[shown])
    board = _board(graph)
    edges = _edges(graph, board, None if found is None else (found[0][here], found[1]))
    unsure = [edge for edge in edges if is_open is not None and is_open[here][edge.cause, edge.effect]]
    parts = [*_edge_parts(edges, board), *_open_marks(unsure, edges, board), *_node_parts(graph, board)]
    spots = np.concatenate([*(points(edge.curve) for edge in edges), board.boxes[:, :2], board.boxes[:, 2:]])
    top = float(spots[:, 1].min(initial=0.0)) - 10.0
    bottom = float(spots[:, 1].max(initial=0.0)) - top + 30.0
    below, last = legend(_entries(graph, edges, bool(unsure)), bottom, _WIDTH)
    note = _not_drawn(strengths, kinds, shown)
    last += 20.0 if note else 0.0
    body = [f'<g transform="translate(0 {-top:.1f})">{"".join(parts)}</g>', *below, text(12.0, last, note, _SMALL)]
    return picture("Causal graph", _said(variables, strengths, own, affected, note), body, _WIDTH, last + 11.0)


_SMALL = f'font-size="{_FONT:.0f}"'


@dataclass(frozen=True)
class _Graph:
    """What is drawn: names, strengths (v, v) and kinds (v,) of variables."""

    names: Sequence[str]
    strengths: Floats
    kinds: NDArray[np.int64]


@dataclass(frozen=True)
class _Board:
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


@dataclass(frozen=True)
class _Edge:
    """An edge, how it runs (4, 2), how it looks, and what it says when it is pointed at."""

    cause: int
    effect: int
    curve: Floats
    width: float
    is_causal: bool
    is_rare: bool
    says: str


def _shown(strengths: Floats, kinds: NDArray[np.int64]) -> list[int]:
    """The variables to draw, in their order; of too many, those with the strongest edges."""
    if len(kinds) <= MOST_VARIABLES:
        return list(range(len(kinds)))
    size = np.abs(strengths)
    touch = np.maximum(size.max(axis=0), size.max(axis=1))
    core = sorted(np.flatnonzero(kinds < _OTHER).tolist(), key=lambda k: (kinds[k], -touch[k], k))[:MOST_NODES]
    into = size[:, core].max(axis=1, initial=0.0)
    parents = [k for k in np.argsort(-into, kind="stable").tolist() if into[k] > 0.0 and k not in core]
    return sorted([*core, *parents][:MOST_NODES])


def _drawn_strengths(strengths: Floats, kinds: NDArray[np.int64]) -> Floats:
    """The strengths without the edges that are not drawn: of many variables, those that lead to no affected one."""
    if len(kinds) <= MOST_VARIABLES:
        return strengths
    idle = kinds == _OTHER
    kept: Floats = np.where(idle[:, None] & idle, 0.0, strengths)
    return kept


def _not_drawn(strengths: Floats, kinds: NDArray[np.int64], shown: Sequence[int]) -> str:
    """What is left out, and whether this hides what is affected."""
    rest, here = len(kinds) - len(shown), np.ix_(shown, shown)
    missed = int((kinds == _AFFECTED).sum() - (kinds[list(shown)] == _AFFECTED).sum())
    edges = int((strengths[here] != 0.0).sum() - (_drawn_strengths(strengths, kinds)[here] != 0.0).sum())
    reached = f"{missed} of them affected" if missed else "none of them affected"
    parts = [f"{counted(rest, 'more variable')}, {reached}"] if rest else []
    parts += [f"{counted(edges, 'edge')} between variables that are not affected"] if edges else []
    if not len(kinds):
        return "There are no variables."
    return f"Not drawn: {'; '.join(parts)}." if parts else ""


def _said(variables: Sequence[str], strengths: Floats, own: Sequence[str], affected: Collection[str], note: str) -> str:
    """The graph in words."""
    names = [short(one_line(name), 60) for name in variables if name in affected and name not in own]
    whose = listed([short(one_line(name), 60) for name in own], len(own)) if own else "nothing"
    verb = "affects" if len(own) < 2 else "affect"
    reach = f"{verb} {len(names)} of them: {', '.join(names)}" if names else f"{verb} none of them"
    edges = int((strengths != 0.0).sum())
    return f"{counted(len(variables), 'variable')} and {counted(edges, 'edge')}. {whose} {reach}. {note}"


# Where things stand


def _board(graph: _Graph) -> _Board:
    """The arrangement that shows most of the names on the least height.

    Neighbouring columns may be set lower by a step each, which leaves names the width of several columns.
    """
    tries: list[tuple[float, int, _Board]] = []
    for rows in (4, 6, 8, 10, 14, 20):
        grid = places(graph.strengths, rows, tidy=True)
        for phases in (1, 2, 3):
            board = _arranged(graph, grid, phases)
            tries.append((_cost(graph, grid, board), len(tries), board))
    return min(tries, key=lambda one: one[:2])[2]


def _cost(graph: _Graph, grid: Floats, board: _Board) -> float:
    """How much is wrong with an arrangement: cut and broken names, its height, edges that pass columns of nodes."""
    cut = sum(line.startswith("…") for lines in board.lines for line in lines)
    broken = sum(len(lines) - 1 for lines in board.lines)
    height = float(np.ptp(board.place[:, 1])) if len(grid) else 0.0
    cause, effect = np.nonzero(graph.strengths)
    passed = grid[effect, 0] - grid[cause, 0] - 1.0
    along = (passed > 0.0) & (np.abs(board.place[effect, 1] - board.place[cause, 1]) < 10.0)  # a row of nodes
    edges = 30.0 * float(passed.sum()) / max(1, len(cause)) + float(along.sum())
    return 30.0 * cut + 4.0 * broken + edges + height / 12.0 + 10.0 * max(0.0, height - _TALLEST)


def _arranged(graph: _Graph, grid: Floats, phases: int) -> _Board:
    columns = int(grid[:, 0].max(initial=0.0)) + 1
    across = (_WIDTH - 2.0 * _MARGIN) / max(1, columns - 1)
    room = min(phases * across - 14.0, 2.0 * _MARGIN - 6.0)
    lines = [wrapped(name, letters_in(room, _FONT)) for name in graph.names]
    crowd = float((graph.strengths != 0.0).sum()) / max(1, len(grid))  # edges a node; many need more room between rows
    step = _BELOW + _LINE * max(map(len, lines), default=1) + 13.0 + min(max(0.0, 6.0 * (crowd - 1.0)), 20.0)
    pitch = max(phases * step, 54.0)
    x = _MARGIN + grid[:, 0] * across if columns > 1 else np.full(len(grid), _WIDTH / 2.0)
    # Whole rows if there are steps: halves of rows would make a step vanish
    y = -(grid[:, 1] if phases == 1 else np.floor(grid[:, 1])) * pitch + (grid[:, 0] % phases) * step
    place: Floats = np.stack([x, y], axis=1)
    return _Board(place, lines, np.concatenate([_node_boxes(graph, place), _name_boxes(place, lines)]))


def _node_boxes(graph: _Graph, place: Floats) -> Floats:
    radius = np.array(_RADII)[graph.kinds][:, None] + 2.0
    boxes: Floats = np.concatenate([place - radius, place + radius], axis=1)
    return boxes


def _name_boxes(place: Floats, lines: Sequence[tuple[str, ...]]) -> Floats:
    half = np.array([max(width_of(line, _FONT) for line in one) / 2.0 + 1.0 for one in lines]).reshape(-1)
    tall = np.array([_LINE * len(one) + 2.0 for one in lines]).reshape(-1)
    x, top = place[:, 0], place[:, 1] + _BELOW
    boxes: Floats = np.stack([x - half, top, x + half, top + tall], axis=1)
    return boxes


# Edges


def _edges(graph: _Graph, board: _Board, found: tuple[NDArray[np.int64], int] | None) -> list[_Edge]:
    """All edges; those on a path from a sensitive attribute come last, and so lie on top."""
    size = np.abs(graph.strengths) / (np.abs(graph.strengths).max(initial=0.0) or 1.0)
    ends = [(int(j), int(i)) for j, i in np.argwhere(graph.strengths != 0.0)]
    thin = min(1.0, math.sqrt(40.0 / max(1, len(ends))))  # many wide lines would be one blot
    looks = []
    for j, i in ends:
        is_causal = bool(max(graph.kinds[j], graph.kinds[i]) < _OTHER)
        is_rare = found is not None and bool(2 * found[0][j, i] < found[1])
        most = 0.0 if is_rare else 3.0 if is_causal else 1.5
        looks.append((0.9 + 0.3 * is_causal + thin * most * float(size[j, i]), is_causal, is_rare))
    radii = np.array(_RADII)[graph.kinds].tolist()
    rims = [(radii[j] + 1.0, radii[i] + 3.0 + 0.8 * _head(look[0])) for (j, i), look in zip(ends, looks, strict=True)]
    curves = routes(board.place, ends, board.boxes, rims)
    edges = [
        _Edge(j, i, curve, *look, _edge_says(graph, (j, i), found))
        for (j, i), curve, look in zip(ends, curves, looks, strict=True)
    ]
    return sorted(edges, key=lambda edge: (edge.is_causal, edge.width))


def _edge_says(graph: _Graph, edge: tuple[int, int], found: tuple[NDArray[np.int64], int] | None) -> str:
    cause, effect = (short(graph.names[k], 60) for k in edge)
    often = "" if found is None else f", found in {found[0][edge]} of {found[1]} subsamples"
    return f"{cause} → {effect}: {signed(graph.strengths[edge])}{often}"


def _others(board: _Board, j: int, i: int) -> Floats:
    """What an edge must not cross: all names, and all nodes but for its own."""
    return np.delete(board.boxes, [j, i], axis=0)


def _head(width: float) -> float:
    """How long an arrow head is."""
    return 5.0 + 1.6 * width


def _edge_parts(edges: Sequence[_Edge], board: _Board) -> Iterator[str]:
    for edge in edges:
        look = f'stroke="{_CAUSAL}"' if edge.is_causal else _QUIET
        look += f' stroke-width="{edge.width:.1f}"' + (' stroke-dasharray="5 3"' if edge.is_rare else "")
        line = path(drawn(edge.curve, _others(board, edge.cause, edge.effect)), look)
        yield titled(edge.says, line + _arrow(edge))


def _arrow(edge: _Edge) -> str:
    """The head of an edge: full on a path from a sensitive attribute, else of two strokes."""
    end, way = edge.curve[3], edge.curve[3] - edge.curve[2]
    way = way / (math.hypot(*way) or 1.0)
    side, long = np.array([-way[1], way[0]]), _head(edge.width)
    tip, back = end + 0.8 * long * way, end - 0.2 * long * way
    wings = (back + 0.45 * long * side, back - 0.45 * long * side)
    first, second = (f"{x:.1f} {y:.1f}" for x, y in wings)
    if edge.is_causal:
        return f'<path d="M{first}L{tip[0]:.1f} {tip[1]:.1f}L{second}Z" fill="{_CAUSAL}"/>'
    stem = f"M{end[0]:.1f} {end[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}"
    return path(
        f"{stem}M{first}L{tip[0]:.1f} {tip[1]:.1f}L{second}", f'{_QUIET} stroke-width="{max(edge.width, 1.2):.1f}"'
    )


def _open_marks(unsure: Sequence[_Edge], edges: Sequence[_Edge], board: _Board) -> Iterator[str]:
    """A question mark on edges whose direction is open, far from names, nodes, other edges and their marks."""
    lines = {(edge.cause, edge.effect): points(edge.curve) for edge in edges}
    taken = np.zeros((0, 2))
    for edge in unsure:
        along = lines[edge.cause, edge.effect][8:33]
        others = [line for ends, line in lines.items() if ends != (edge.cause, edge.effect)]
        gaps = np.linalg.norm(along[:, None] - np.concatenate([*others, taken]), axis=2).min(axis=1, initial=15.0)
        is_free = ~inside(along, board.boxes + np.array([-7.0, -7.0, 7.0, 7.0]))
        centred = 1.0 - np.abs(np.linspace(-1.0, 1.0, len(along)))
        x, y = along[int(np.argmax(gaps + 20.0 * is_free + 4.0 * centred))]
        taken = np.concatenate([taken, np.array([[x, y]]) + _RING])
        yield f'<g transform="translate({x:.1f} {y:.1f})">{_QUESTION}</g>'


_RING = 6.5 * np.array([(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
# Dark on light on any page, as it lies on the edge
_QUESTION = (
    '<circle r="6.5" fill="#f4f4f4" stroke="#707070"/>'
    '<text y="3.8" fill="#111111" font-size="10.5" font-weight="700" text-anchor="middle">?</text>'
)


# Nodes


def _node_parts(graph: _Graph, board: _Board) -> Iterator[str]:
    kinds = ("sensitive attribute", "affected", "not affected")
    for k, (x, y) in enumerate(board.place.tolist()):
        node = f'<g transform="translate({x:.1f} {y:.1f})">{_NODES[graph.kinds[k]]}</g>'
        for row, line in enumerate(board.lines[k]):
            node += text(
                x, y + _BELOW + _LINE * (row + 0.82), line, f'text-anchor="middle" font-size="{_FONT:.0f}" {NAME}'
            )
        yield titled(f"{short(graph.names[k], 170)}: {kinds[graph.kinds[k]]}", node)


_NODES = (
    f'<path d="M0 -12L12 0L0 12L-12 0Z" fill="{PALETTE[1]}" stroke="currentColor"/>',
    f'<circle r="7" fill="{PALETTE[5]}" stroke="{PALETTE[0]}" stroke-width="3"/>',
    '<circle r="6.5" fill="#b4b4b4" stroke="#707070"/>',
)


def _entries(graph: _Graph, edges: Sequence[_Edge], is_unsure: bool) -> list[tuple[str, str]]:
    """The legend: what is in the picture."""
    words = ("sensitive attribute", "affected by it", "not affected")
    found = [(_centred(_NODES[kind]), words[kind]) for kind in range(3) if (graph.kinds == kind).any()]
    lines = {edge.is_causal for edge in edges}
    found += [(_CAUSAL_MARK, "path from the sensitive attribute")] if True in lines else []
    found += [(_QUIET_MARK, "other edge")] if False in lines else []
    found += [(_WIDTHS, "thicker: stronger")] if edges else []
    if any(edge.is_rare for edge in edges):
        found.append(
            (f'<path d="M0 0h22" {INK} stroke-dasharray="5 3"/>', "found in fewer than half of the subsamples")
        )
    return [*found, (_centred(_QUESTION), "direction open")] if is_unsure else found


def _centred(mark: str) -> str:
    return f'<g transform="translate(11 0)">{mark}</g>'


_CAUSAL_MARK = (
    f'<path d="M0 0h15" fill="none" stroke="{_CAUSAL}" stroke-width="2.4"/>'
    f'<path d="M13 -4.5L22 0L13 4.5Z" fill="{_CAUSAL}"/>'
)
_QUIET_MARK = f'<path d="M0 0h22M15 -3.5L22 0L15 3.5" fill="none" {_QUIET} stroke-width="1.2"/>'
_WIDTHS = f'<path d="M0 -5h22" {INK} stroke-width=".9"/><path d="M0 3h22" {INK} stroke-width="3.6"/>'
