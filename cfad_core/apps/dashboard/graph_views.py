"""The tabs of the page about the graph: edges, how sure they are, and what goes with each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.text import as_text
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Uncertainty, WhatIf
from cfad_core.core.config import METHOD_NAMES
from cfad_core.core.formats import percent
from cfad_core.figures import MOST_BARS, reach_figure, what_if_figure
from cfad_core.runs.model import AuditRecord

_FOUND = "found in graphs"
_GIVEN = "This graph was given, not learned."


def counts(sure: Uncertainty) -> NDArray[np.int64]:
    """(v, v), how many graphs have each edge."""
    return np.rint(sure.edge_frequency * len(sure.graphs)).astype(np.int64)


def edges_table(result: AuditResult) -> pd.DataFrame:
    """The edges of the audit's own graph, the strongest first."""
    variables, strengths = result.scm.strengths()
    found = np.argwhere(strengths != 0.0)
    table = pd.DataFrame(
        [(variables[j], variables[i], float(strengths[j, i])) for j, i in found],
        columns=["cause", "effect", "strength"],
    )
    if result.uncertainty is not None:
        times = counts(result.uncertainty)
        table[_FOUND] = [f"{times[j, i]} of {len(result.uncertainty.graphs)}" for j, i in found]
    return table.reindex(table["strength"].abs().sort_values(ascending=False).index)


def show_edges(edges: pd.DataFrame) -> None:
    config = {
        "strength": st.column_config.NumberColumn(format="%+.2f", help=HELP["strength"]),
        _FOUND: st.column_config.TextColumn(help=HELP[_FOUND]),
    }
    st.dataframe(edges, hide_index=True, width="stretch", column_config=config)
    st.caption(f"{len(edges)} edges, the strongest first. Download the table with the button in its corner.")


def seldom_found(result: AuditResult) -> str:
    """What the thin arrows are, if there are any."""
    strengths, sure = result.scm.strengths()[1], result.uncertainty
    if result.config.knowledge.complete:
        return f" {_GIVEN}"
    if sure is None or not (strengths != 0.0).any():
        return ""
    graphs = len(sure.graphs)
    if ((strengths != 0.0) & (2 * counts(sure) < graphs)).any():
        return f" Thin, dashed arrows were found in less than half of {graphs} other graphs."
    return f" All arrows were found in at least half of {graphs} other graphs."


def how_sure(result: AuditResult, sure: Uncertainty) -> None:
    """Where the sensitive attribute reaches in other graphs, and which edges they have that this one has not."""
    sensitive, graphs, affected = as_text(result.scm.sensitive, 60), len(sure.graphs), result.scm.affected_names
    if result.config.knowledge.complete:
        st.info(
            f"{_GIVEN} All other graphs have the same edges, of other strengths: nobody asked whether they are true."
        )
    st.plotly_chart(reach_figure(sure.reach, affected, graphs), width="stretch", key="reach")
    blind = {0: f"Every graph sees a path from {sensitive}.", graphs: f"No graph sees a path from {sensitive}."}
    seen = blind.get(sure.without_path, f"{sure.without_path} of {graphs} graphs see no path from {sensitive}.")
    rest = len(sure.reach) - MOST_BARS
    st.caption(
        f"In how many of {graphs} graphs, each learned from a random half of the rows, {sensitive} reaches a variable: "
        f"the longer the bar, the surer. {seen}"
        + (f" The {MOST_BARS} most reached; the table has {rest} more." if rest > 0 else ""),
        help=HELP[_FOUND],
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Reached variables**")
        rows = [
            {
                "variable": name,
                "reached in graphs": f"{share * graphs:.0f} of {graphs}",
                "in this graph": name in affected,
            }
            for name, share in sorted(sure.reach.items(), key=lambda item: -item[1])
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", height=_height(len(rows)))
    with right:
        st.markdown("**Edges of other graphs that this one lacks**")
        _show_absent(result, sure)


def _show_absent(result: AuditResult, sure: Uncertainty) -> None:
    variables, strengths = result.scm.strengths()
    times, graphs = counts(sure), len(sure.graphs)
    absent = [(int(j), int(i)) for j, i in np.argwhere((strengths == 0.0) & (2 * times >= graphs))]
    if not absent:
        st.caption("None was found in half of the graphs or more.")
        return
    rows = [
        {
            "cause": variables[j],
            "effect": variables[i],
            _FOUND: f"{times[j, i]} of {graphs}",
            "here": "reversed" if strengths[i, j] else "absent",
        }
        for j, i in sorted(absent, key=lambda edge: -times[edge])
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", height=_height(len(rows)))
    st.caption(
        "Found in half of the graphs or more. If you know that one of them must be, require it below and run the audit "
        "again."
    )


def edge_by_edge(record: AuditRecord, result: AuditResult, what_if: WhatIf) -> None:
    """What if one edge carried nothing?"""
    sensitive = as_text(result.scm.sensitive, 60)
    if not what_if.edges:
        st.info(f"In this graph no edge leads away from {sensitive}: there is none to cut.")
        return
    methods = list(result.scores)
    first = "cfad" if "cfad" in methods else methods[0]
    method = st.segmented_control(
        "Method",
        methods,
        default=first,
        format_func=lambda name: METHOD_NAMES.get(name, name),
        required=True,
        key=f"what-if-{record.id}",
    )
    method = method or first
    whole, without = what_if.whole[method], what_if.without[method]
    st.markdown(_carried(what_if, method))
    st.plotly_chart(what_if_figure(what_if.edges, without, whole), width="stretch", key="what-if")
    st.caption(
        "How many outcomes would change, if one edge carried nothing and all others did. Dotted: with all edges. "
        f"Counted on {what_if.people:,} people, at the audit's own threshold (quantile {result.config.quantile:g})"
        + (", with a value drawn for every category." if result.draws_categories else ".")
        + (" Where more change without an edge, it had weighed against the others." if (without > whole).any() else "")
        + (f" The {MOST_BARS} edges with which most goes; the table has all." if len(without) > MOST_BARS else "")
    )
    if method == "twin":
        st.caption(
            "By its own model, twin scoring changes (almost) nobody by construction: here is what happens if that "
            "model is wrong in one edge."
        )
    table = pd.DataFrame(what_if.edges, columns=["cause", "effect"])
    table["changed without it"] = 100.0 * without
    table["goes with it"] = 100.0 * (whole - without)
    shown = table.sort_values("goes with it", ascending=False, kind="stable")
    config = {
        "changed without it": st.column_config.NumberColumn(format="%.1f %%"),
        "goes with it": st.column_config.NumberColumn(format="%+.1f points"),
    }
    st.dataframe(shown, hide_index=True, width="stretch", height=_height(len(shown)), column_config=config)


def _carried(what_if: WhatIf, method: str) -> str:
    """Which single edge carries the verdict, if one does."""
    carrier, whole = what_if.carrier(method), what_if.whole[method]
    name = METHOD_NAMES.get(method, method)
    begin = f"With all edges, {percent(whole)} of outcomes by {name} change."
    if not whole:
        return f"{begin} There is nothing that an edge could carry."
    if carrier is None:
        return f"{begin} No single edge carries half of that, beyond chance."
    (cause, effect), share = carrier
    left = float(what_if.without[method][what_if.edges.index((cause, effect))])
    return (
        f"{begin} The edge **{as_text(cause, 60)} → {as_text(effect, 60)}** alone carries {percent(share, 0)} of that: "
        f"without it, {percent(left)} would. Whether it is true decides the verdict."
    )


def _height(rows: int) -> int:
    return min(285, 38 + 35 * max(1, rows))
