"""The causal graph as SVG text, for pages without a script and for print."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import counted, listed
from cfad_core.figures.graph_board import (
    AFFECTED,
    BELOW,
    FONT,
    LINE,
    OTHER,
    PAGE,
    Board,
    Edge,
    Graph,
    board_of,
    edges_of,
)
from cfad_core.figures.routes import drawn, inside, points
from cfad_core.figures.style import PALETTE
from cfad_core.figures.svg import INK, NAME, legend, one_line, path, picture, short, text, titled

MOST_VARIABLES = 24  # of more, only those that matter for the sensitive attribute are drawn
MOST_NODES = 40
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
    whole = Graph.of(variables, strengths, own, affected)
    kinds = whole.kinds
    shown = _shown(strengths, kinds)
    here = np.ix_(shown, shown)
    graph = Graph([whole.names[k] for k in shown], _drawn_strengths(strengths, kinds)[here], kinds[shown])
    board = board_of(graph, PAGE)
    edges = edges_of(graph, board, None if found is None else (found[0][here], found[1]))
    unsure = [edge for edge in edges if is_open is not None and is_open[here][edge.cause, edge.effect]]
    parts = [*_edge_parts(edges, board), *_open_marks(unsure, edges, board), *_node_parts(graph, board)]
    spots = np.concatenate([*(points(edge.curve) for edge in edges), board.boxes[:, :2], board.boxes[:, 2:]])
    top = float(spots[:, 1].min(initial=0.0)) - 10.0
    bottom = float(spots[:, 1].max(initial=0.0)) - top + 30.0
    below, last = legend(_entries(graph, edges, bool(unsure)), bottom, PAGE.width)
    note = _not_drawn(strengths, kinds, shown)
    last += 20.0 if note else 0.0
    body = [f'<g transform="translate(0 {-top:.1f})">{"".join(parts)}</g>', *below, text(12.0, last, note, _SMALL)]
    return picture("Causal graph", _said(variables, strengths, own, affected, note), body, PAGE.width, last + 11.0)


_SMALL = f'font-size="{FONT:.0f}"'


def _shown(strengths: Floats, kinds: NDArray[np.int64]) -> list[int]:
    """The variables to draw, in their order; of too many, those with the strongest edges."""
    if len(kinds) <= MOST_VARIABLES:
        return list(range(len(kinds)))
    size = np.abs(strengths)
    touch = np.maximum(size.max(axis=0), size.max(axis=1))
    core = sorted(np.flatnonzero(kinds < OTHER).tolist(), key=lambda k: (kinds[k], -touch[k], k))[:MOST_NODES]
    into = size[:, core].max(axis=1, initial=0.0)
    parents = [k for k in np.argsort(-into, kind="stable").tolist() if into[k] > 0.0 and k not in core]
    return sorted([*core, *parents][:MOST_NODES])


def _drawn_strengths(strengths: Floats, kinds: NDArray[np.int64]) -> Floats:
    """The strengths without the edges that are not drawn: of many variables, those that lead to no affected one."""
    if len(kinds) <= MOST_VARIABLES:
        return strengths
    idle = kinds == OTHER
    kept: Floats = np.where(idle[:, None] & idle, 0.0, strengths)
    return kept


def _not_drawn(strengths: Floats, kinds: NDArray[np.int64], shown: Sequence[int]) -> str:
    """What is left out, and whether this hides what is affected."""
    rest, here = len(kinds) - len(shown), np.ix_(shown, shown)
    missed = int((kinds == AFFECTED).sum() - (kinds[list(shown)] == AFFECTED).sum())
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


# Edges


def _edge_parts(edges: Sequence[Edge], board: Board) -> Iterator[str]:
    for edge in edges:
        look = f'stroke="{_CAUSAL}"' if edge.is_causal else _QUIET
        look += f' stroke-width="{edge.width:.1f}"' + (' stroke-dasharray="5 3"' if edge.is_rare else "")
        line = path(drawn(edge.curve, board.others(edge.cause, edge.effect)), look)
        yield titled(edge.says, line + _arrow(edge))


def _arrow(edge: Edge) -> str:
    """The head of an edge: full on a path from a sensitive attribute, else of two strokes."""
    end, way = edge.curve[3], edge.curve[3] - edge.curve[2]
    way = way / (math.hypot(*way) or 1.0)
    side, long = np.array([-way[1], way[0]]), edge.head
    tip, back = end + 0.8 * long * way, end - 0.2 * long * way
    wings = (back + 0.45 * long * side, back - 0.45 * long * side)
    first, second = (f"{x:.1f} {y:.1f}" for x, y in wings)
    if edge.is_causal:
        return f'<path d="M{first}L{tip[0]:.1f} {tip[1]:.1f}L{second}Z" fill="{_CAUSAL}"/>'
    stem = f"M{end[0]:.1f} {end[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}"
    return path(
        f"{stem}M{first}L{tip[0]:.1f} {tip[1]:.1f}L{second}", f'{_QUIET} stroke-width="{max(edge.width, 1.2):.1f}"'
    )


def _open_marks(unsure: Sequence[Edge], edges: Sequence[Edge], board: Board) -> Iterator[str]:
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


def _node_parts(graph: Graph, board: Board) -> Iterator[str]:
    kinds = ("sensitive attribute", "affected", "not affected")
    for k, (x, y) in enumerate(board.place.tolist()):
        node = f'<g transform="translate({x:.1f} {y:.1f})">{_NODES[graph.kinds[k]]}</g>'
        for row, line in enumerate(board.lines[k]):
            node += text(
                x, y + BELOW + LINE * (row + 0.82), line, f'text-anchor="middle" font-size="{FONT:.0f}" {NAME}'
            )
        yield titled(f"{short(graph.names[k], 170)}: {kinds[graph.kinds[k]]}", node)


_NODES = (
    f'<path d="M0 -12L12 0L0 12L-12 0Z" fill="{PALETTE[1]}" stroke="currentColor"/>',
    f'<circle r="7" fill="{PALETTE[5]}" stroke="{PALETTE[0]}" stroke-width="3"/>',
    '<circle r="6.5" fill="#b4b4b4" stroke="#707070"/>',
)


def _entries(graph: Graph, edges: Sequence[Edge], is_unsure: bool) -> list[tuple[str, str]]:
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
