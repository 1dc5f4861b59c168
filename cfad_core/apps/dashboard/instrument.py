"""The causal graph to work with: the picture, what is shown of it, and what is chosen in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.graph_component import draw_graph
from cfad_core.apps.dashboard.graph_details import kind_of, show_column, show_edge, show_nothing
from cfad_core.apps.dashboard.graph_edits import edit_graph, edits_of
from cfad_core.apps.dashboard.graph_views import marks, weakest_shown
from cfad_core.apps.dashboard.views import looked_at, reached
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.core.config import Knowledge
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import joint_name
from cfad_core.figures import graph_figure
from cfad_core.figures.graph_board import PAGE, Graph, board_of, edges_of
from cfad_core.figures.graph_elements import Pair, edge_elements, node_elements
from cfad_core.figures.style import signed
from cfad_core.runs.model import AuditRecord


@dataclass(frozen=True)
class Shown:
    """What is drawn of a graph: which columns of the whole, and how strong an arrow must be to be seen."""

    columns: tuple[int, ...]
    weakest: float


def show_instrument(record: AuditRecord, result: AuditResult) -> None:
    """The picture, with what is chosen in it beside it."""
    shown, plain = _choose_shown(record, result)
    picture, details = st.columns([5, 3], gap="medium")
    with picture:
        if plain or st.session_state.get(f"failed-{record.id}"):
            _draw_plainly(record, result, shown)
        else:
            _draw(record, result, shown)
        st.caption(_reading(result))
    with details:
        _show_chosen(record, result)


def _choose_shown(record: AuditRecord, result: AuditResult) -> tuple[Shown, bool]:
    """What to draw, and whether as a plain picture."""
    affected, variables = reached(result), result.model.strengths()[0]
    sensitive = as_text(joint_name(looked_at(result)), 40)
    left, middle, right = st.columns([3, 3, 2], gap="medium", vertical_alignment="center")
    with left:
        only = bool(affected) and st.toggle(
            f"Only paths from {sensitive}", value=True, key=f"only-{record.id}", help=HELP["path"]
        )
    with middle:
        weakest = weakest_shown(result, f"weakest-{record.id}")
    with right:
        plain = st.toggle(
            "Plain picture",
            key=f"plain-{record.id}",
            help="A picture to look at and to save, without choosing and changing: the same places, the same arrows.",
        )
    kept = {*looked_at(result), *affected} if only else set(variables)
    kept |= {name for pair in _pending(record, result) for name in (variables[pair[0]], variables[pair[1]])}
    return Shown(tuple(k for k, name in enumerate(variables) if name in kept), weakest), plain


def _strengths(result: AuditResult, columns: Sequence[int]) -> Floats:
    return result.model.strengths()[1][np.ix_(columns, columns)]


def _draw_plainly(record: AuditRecord, result: AuditResult, shown: Shown) -> None:
    """The same graph as a figure without a component."""
    if st.session_state.get(f"failed-{record.id}"):
        st.caption("Your browser could not run the drawing. This is the plain picture; the tab *Edges* has the rest.")
    variables, stability = result.model.strengths()[0], result.stability
    here = np.ix_(shown.columns, shown.columns)
    found = None if stability is None else (times_found(stability)[here], len(stability.graphs))
    is_open = open_directions(result)
    drawn = graph_figure(
        [variables[k] for k in shown.columns],
        _strengths(result, shown.columns),
        looked_at(result),
        reached(result),
        weakest=shown.weakest,
        found=found,
        is_open=None if is_open is None else is_open[here],
    )
    show_chart(drawn, "graph", "The causal graph. The tab Edges has its arrows as a table.")


def _draw(record: AuditRecord, result: AuditResult, shown: Shown) -> None:
    """The component, which says what is chosen and changed in it."""

    def tell(event: str, value: Any) -> None:
        if event == "picked" and value in _choices(record, result):
            st.session_state[f"chosen-{record.id}"] = value
        elif event == "edit" and isinstance(value, dict):
            edit_graph(record, result, value)
        elif event == "failed":
            st.session_state[f"failed-{record.id}"] = True

    draw_graph(graph_data(record, result, shown), f"graph-{record.id}", tell)


def graph_data(record: AuditRecord, result: AuditResult, shown: Shown) -> dict[str, Any]:
    """Everything that the component draws."""
    variables, stability = result.model.strengths()[0], result.stability
    columns, strengths = shown.columns, _strengths(result, shown.columns)
    names = [variables[k] for k in columns]
    graph = Graph.of(names, strengths, looked_at(result), reached(result))
    board = board_of(graph, PAGE)
    here = np.ix_(columns, columns)
    found = None if stability is None else (times_found(stability)[here], len(stability.graphs))
    edges = [
        edge
        for edge in edges_of(graph, board, found)
        if abs(float(strengths[edge.cause, edge.effect])) >= shown.weakest
    ]
    is_open = open_directions(result)
    unsure = [] if is_open is None else [(int(j), int(i)) for j, i in np.argwhere(is_open)]
    pending = _pending(record, result)
    pairs = {(columns[edge.cause], columns[edge.effect]) for edge in edges} | set(pending)
    says = {pair: _edge_says(result, pair) for pair in pairs}
    nodes = node_elements(graph, board, columns, [[name, kind_of(result, name)] for name in names], {})
    return {
        "nodes": nodes,
        "edges": edge_elements(edges, board, columns, says, unsure, pending),
        "picked": st.session_state.get(f"chosen-{record.id}") or "",
        "sheet": " ".join(str(k) for k in columns),
        "editable": True,
        "order": _order(edits_of(record).history.now, result),
        "label": f"Causal graph with {len(nodes)} columns and {len(edges)} arrows. Arrow keys move from column to "
        "column, E along the arrows of a column, Enter chooses. The tab Edges has the same as a table.",
    }


def _edge_says(result: AuditResult, pair: Pair) -> list[str]:
    """What an edge says when it is pointed at."""
    variables, strengths = result.model.strengths()
    lines = [f"{variables[pair[0]]} → {variables[pair[1]]}"]
    if strengths[pair]:
        lines.append(f"strength {signed(float(strengths[pair]))}")
    if result.stability is not None:
        lines.append(f"found in {times_found(result.stability)[pair]} of {len(result.stability.graphs)} subsamples")
    return [*lines, "direction open: either may be the cause"] if pair in _open(result) else lines


def _open(result: AuditResult) -> set[Pair]:
    is_open = open_directions(result)
    return set() if is_open is None else {(int(j), int(i)) for j, i in np.argwhere(is_open)}


def _pending(record: AuditRecord, result: AuditResult) -> dict[Pair, str]:
    """The edges that the next audit is given, and this one was not."""
    place = {name: k for k, name in enumerate(result.model.strengths()[0])}
    begin, now = record.config.knowledge, edits_of(record).history.now
    marked = [(edge, "required") for edge in now.required if edge not in begin.required]
    marked += [(edge, "forbidden") for edge in now.forbidden if edge not in begin.forbidden]
    return {(place[a], place[b]): mark for (a, b), mark in marked if {a, b} <= set(place)}


def _order(known: Knowledge, result: AuditResult) -> dict[str, Any]:
    """The time order, as bands from left to right."""
    variables = result.model.strengths()[0]
    step = {name: k for k, tier in enumerate(known.tiers, 1) for name in tier}
    names = [name for name in variables if name not in result.model.attributes or name in step]
    shown = Graph.of(names, np.zeros((len(names), len(names))), [], reached(result))
    last = len(known.tiers)
    bands: list[dict[str, Any]] = [{"id": 0, "label": "No place in time", "at": None}]
    bands.append({"id": 0.5, "label": "Before all others" if last else "First", "at": 0.5, "fresh": True})
    bands += [{"id": k, "label": f"Step {k}", "at": k} for k in range(1, last + 1)]
    bands += [{"id": last + 0.5, "label": "After all others", "at": last + 0.5, "fresh": True}] if last else []
    lines = node_elements(
        shown, board_of(shown, PAGE), [variables.index(name) for name in names], [[name] for name in names], {}
    )
    return {
        "bands": bands,
        "nodes": [one | {"band": step.get(name, 0)} for one, name in zip(lines, names, strict=True)],
    }


def _choices(record: AuditRecord, result: AuditResult) -> dict[str, str]:
    """All that can be chosen, by its mark: columns, then arrows from the strongest."""
    variables, strengths = result.model.strengths()
    found = {str(k): name for k, name in enumerate(variables)}
    edges = [(int(j), int(i)) for j, i in np.argwhere(strengths != 0.0)]
    edges.sort(key=lambda edge: -abs(float(strengths[edge])))
    pending = [pair for pair in _pending(record, result) if pair not in edges]
    return found | {f"{j}-{i}": f"{variables[j]} → {variables[i]}" for j, i in [*edges, *pending]}


def _show_chosen(record: AuditRecord, result: AuditResult) -> None:
    """What is known of the column or the arrow that is chosen, in the picture or here."""
    choices, key = _choices(record, result), f"chosen-{record.id}"
    if st.session_state.get(key) not in choices:
        st.session_state[key] = None
    chosen = st.selectbox(
        "Column or arrow",
        list(choices),
        index=None,
        format_func=lambda mark: choices[mark],
        placeholder="Choose, or click in the picture",
        key=key,
    )
    if chosen is None:
        show_nothing(result)
    elif "-" in chosen:
        cause, _, effect = chosen.partition("-")
        show_edge(record, result, int(cause), int(effect))
    else:
        show_column(record, result, result.model.strengths()[0][int(chosen)])


def _reading(result: AuditResult) -> str:
    """How to read the picture."""
    diamond = "diamond is" if len(looked_at(result)) == 1 else "diamonds are"
    sensitive = as_text(joint_name(looked_at(result)))
    return (
        f"Arrows lead from cause to effect, thicker where stronger. The {diamond} {sensitive}; circles with a blue "
        f"rim are what it reaches.{marks(result)}"
    )
