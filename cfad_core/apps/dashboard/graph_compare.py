"""An audit's causal graph beside that of another audit of the same columns."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.frame import named
from cfad_core.apps.dashboard.graph_component import draw_graph
from cfad_core.apps.dashboard.services import result_of, store
from cfad_core.apps.dashboard.views import looked_at
from cfad_core.audit.result import AuditResult
from cfad_core.causal.differences import Difference, GraphDifference
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.figures.graph_board import PAGE, Graph, board_of, edges_of
from cfad_core.figures.graph_elements import edge_elements, node_elements
from cfad_core.figures.style import signed
from cfad_core.runs.model import AuditRecord

_LISTED = 50
_FEWEST = 2  # columns that two graphs must share
WORDS: dict[Difference, str] = {
    "here": "only in this graph",
    "there": "only in the other",
    "turned": "turned round",
    "both": "in both",
}


def show_comparison(record: AuditRecord, result: AuditResult) -> None:
    """Choose another audit, and see where its graph differs."""
    others = {one.id: one for one in store().find(status="done", limit=_LISTED) if one.id != record.id}
    if not others:
        st.info("There is no other finished audit yet. Change the graph and run again: the two can be compared here.")
        return
    alike = sorted(others, key=lambda audit: others[audit].tables != record.tables)  # of the same table first
    audit = st.selectbox(
        "Compare with the graph of",
        alike,
        index=None,
        format_func=lambda audit: named(others[audit]),
        placeholder="Choose another audit; those of the same table come first",
        key=f"compare-{record.id}",
    )
    if audit is None:
        st.caption("Arrows that only one of the two graphs has, and arrows that are turned, are marked in one picture.")
        return
    try:
        other = result_of(others[audit])
    except InvalidArtifactError as error:
        st.error(f"That audit cannot be read. {as_text(error, 500)}")
        return
    difference = GraphDifference.between(*result.model.strengths(), *other.model.strengths())
    if len(difference.variables) < _FEWEST:
        st.info("The two audits have no two columns in common: their graphs cannot be compared.")
        return
    _show(record, result, other, difference)


def _show(record: AuditRecord, result: AuditResult, other: AuditResult, difference: GraphDifference) -> None:
    st.markdown(comparison_sentence(difference))
    missing = {*result.model.strengths()[0]} ^ {*other.model.strengths()[0]}
    if missing:
        st.caption(f"Left out, as only one of the two has them: {as_text(', '.join(sorted(missing)), 400)}.")
    differing = any(kind != "both" for kind in difference.kinds.values())
    only = differing and st.toggle("Only what differs", key=f"differs-{record.id}")
    draw_graph(comparison_data(result, difference, only=only), f"compared-{record.id}")
    st.caption(
        "Solid blue: only in this graph. Dashed: only in the other. Violet, with a mark at both ends: turned, drawn as "
        "it is here. The rest is in both."
    )
    st.dataframe(_table(difference), hide_index=True, width="stretch")


def comparison_sentence(difference: GraphDifference) -> str:
    """How many arrows differ, for Markdown."""
    counts = {kind: difference.count(kind) for kind in WORDS}
    if not counts["here"] + counts["there"] + counts["turned"]:
        return f"The two graphs have the same {counted(counts['both'], 'arrow')}."
    parts = [f"{counts[kind]} {words}" for kind, words in WORDS.items() if counts[kind]]
    return f"Of {counted(len(difference.kinds), 'arrow')}: {', '.join(parts)}."


def comparison_data(result: AuditResult, difference: GraphDifference, *, only: bool = False) -> dict[str, Any]:
    """What the component draws: the columns of both graphs, and the arrows of either.

    Parameters
    ----------
    only : whether arrows that are in both are left out
    """
    names, kinds = list(difference.variables), difference.kinds
    graph = Graph.of(names, difference.drawable, looked_at(result), result.model.affected_by(looked_at(result)))
    board = board_of(graph, PAGE)
    edges = edges_of(graph, board, None)
    shown = {pair: kind for pair, kind in kinds.items() if not (only and kind == "both")}
    says = {
        (j, i): [f"{names[j]} → {names[i]}: {WORDS[kind]}", *_strengths(difference, j, i)]
        for (j, i), kind in shown.items()
    }
    columns = range(len(names))
    drawn = [edge for edge in edges if (edge.cause, edge.effect) in shown]
    return {
        "nodes": node_elements(graph, board, columns, [[name] for name in names], {}),
        "edges": edge_elements(drawn, board, columns, says, [], shown),
        "picked": "",
        "sheet": f"compared {' '.join(names)}",
        "editable": False,
        "label": f"Two causal graphs of {len(names)} columns. The table below has the same.",
    }


def _strengths(difference: GraphDifference, j: int, i: int) -> list[str]:
    pairs = (
        ("here", difference.here, (j, i)),
        ("there", difference.there, (j, i)),
        ("there", difference.there, (i, j)),
    )
    return [
        f"strength {where} {signed(float(some[at]))}{', the other way round' if at != (j, i) else ''}"
        for where, some, at in pairs
        if some[at]
    ]


def _table(difference: GraphDifference) -> pd.DataFrame:
    """The arrows of both graphs, those that differ first."""
    names, order = difference.variables, list(WORDS)
    rows = [
        {
            "cause": names[j],
            "effect": names[i],
            "arrow": WORDS[kind],
            "strength here": float(difference.here[j, i]) or None,
            "strength there": float(difference.there[j, i] or difference.there[i, j]) or None,
        }
        for (j, i), kind in sorted(difference.kinds.items(), key=lambda item: order.index(item[1]))
    ]
    return pd.DataFrame(rows)
