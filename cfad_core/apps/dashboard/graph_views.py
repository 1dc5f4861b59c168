"""The tabs of the page about the graph: edges, how often they are found, and what goes with each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.text import as_text
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Stability
from cfad_core.causal.model import StructuralModel
from cfad_core.core.formats import counted, percent
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.figures import MOST_BARS, edge_cuts_figure, reach_figure
from cfad_core.runs.model import AuditRecord

OPEN = 0.9  # share of equally good graphs below which a direction is open
_NAMED = 6  # open directions that are named
_FOUND = "found in subsamples"
_GIVEN = "This graph was given, not learned."


def counts(stability: Stability) -> NDArray[np.int64]:
    """(v, v), in how many subsamples each edge was found."""
    found: NDArray[np.int64] = np.rint(stability.edge_frequency * len(stability.graphs)).astype(np.int64)
    return found


def edges_table(result: AuditResult) -> pd.DataFrame:
    """The edges of the audit's own graph, the strongest first."""
    variables, strengths = result.model.strengths()
    found = np.argwhere(strengths != 0.0)
    table = pd.DataFrame(
        [(variables[j], variables[i], float(strengths[j, i])) for j, i in found],
        columns=["cause", "effect", "strength"],
    )
    if isinstance(result.model, StructuralModel) and not result.config.knowledge.complete:
        table["direction"] = [_certainty(float(result.model.graph.direction[j, i])) for j, i in found]
    if result.stability is not None:
        times = counts(result.stability)
        table[_FOUND] = [f"{times[j, i]} of {len(result.stability.graphs)}" for j, i in found]
    return table.reindex(table["strength"].abs().sort_values(ascending=False).index)


def _certainty(share: float) -> str:
    return "open" if share < OPEN else "clear"


def open_edges(result: AuditResult) -> list[tuple[str, str]]:
    """Pairs of variables that depend on each other, where the data leave open which is the cause."""
    if not isinstance(result.model, StructuralModel) or result.config.knowledge.complete:
        return []
    variables, graph = result.model.strengths()[0], result.model.graph
    found = np.argwhere(graph.edges & (graph.direction < OPEN))
    return [(variables[j], variables[i]) for j, i in found]


def ask_for_directions(result: AuditResult) -> None:
    """Name the directions that the data leave open, and ask for what is known."""
    pairs = open_edges(result)
    if pairs:
        named = ", ".join(f"{as_text(a, 40)} and {as_text(b, 40)}" for a, b in pairs[:_NAMED])
        rest = f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
        st.info(
            f"The data leave open which is the cause in {counted(len(pairs), 'pair')} of columns: {named}{rest}. Do "
            "you know which of the two came first? Say so below, and run the audit again."
        )


def show_edges(edges: pd.DataFrame) -> None:
    config = {
        "direction": st.column_config.TextColumn(help=HELP["open direction"]),
        "strength": st.column_config.NumberColumn(format="%+.2f", help=HELP["strength"]),
        _FOUND: st.column_config.TextColumn(help=HELP[_FOUND]),
    }
    st.dataframe(edges, hide_index=True, width="stretch", column_config=config)
    st.caption(f"{len(edges)} edges, the strongest first. Download the table with the button in its corner.")


def seldom_found(result: AuditResult) -> str:
    """What the thin arrows are, if there are any."""
    strengths, stability = result.model.strengths()[1], result.stability
    if result.config.knowledge.complete:
        return f" {_GIVEN}"
    if stability is None or not (strengths != 0.0).any():
        return ""
    graphs = len(stability.graphs)
    if ((strengths != 0.0) & (2 * counts(stability) < graphs)).any():
        return f" Thin, dashed arrows were found in less than half of {graphs} subsamples."
    return f" All arrows were found in at least half of {graphs} subsamples."


def in_subsamples(result: AuditResult, stability: Stability) -> None:
    """Where the sensitive attribute reaches in the graphs of subsamples, and the edges that this one lacks."""
    sensitive, affected = as_text(result.model.sensitive, 60), result.model.affected_names
    graphs, blind = len(stability.graphs), stability.without_path
    if result.config.knowledge.complete:
        st.info(
            f"{_GIVEN} All subsamples have the same edges, of other strengths: whether they are true was not examined."
        )
    st.plotly_chart(reach_figure(stability.reach, affected, graphs), width="stretch", key="reach")
    seen = {0: "Every subsample shows", graphs: "No subsample shows"}.get(blind, f"{blind} of {graphs} do not show")
    rest = len(stability.reach) - MOST_BARS
    st.caption(
        f"In how many of {graphs} subsamples, random halves of the rows, {sensitive} reaches a variable. "
        f"{seen} a path from {sensitive}."
        + (f" The {MOST_BARS} most reached; the table has {rest} more." if rest > 0 else ""),
        help=HELP[_FOUND],
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Reached variables**")
        rows = [
            {
                "variable": name,
                "reached in subsamples": f"{share * graphs:.0f} of {graphs}",
                "in this graph": name in affected,
            }
            for name, share in sorted(stability.reach.items(), key=lambda item: -item[1])
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", height=_height(len(rows)))
    with right:
        st.markdown("**Edges found in subsamples that this graph lacks**")
        _show_absent(result, stability)


def _show_absent(result: AuditResult, stability: Stability) -> None:
    variables, strengths = result.model.strengths()
    times, graphs = counts(stability), len(stability.graphs)
    absent = [(int(j), int(i)) for j, i in np.argwhere((strengths == 0.0) & (2 * times >= graphs))]
    if not absent:
        st.caption("None was found in half of the subsamples or more.")
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
        "Found in half of the subsamples or more. If you know that one of them must be, require it below and run the "
        "audit again."
    )


def edge_by_edge(record: AuditRecord, result: AuditResult, cuts: EdgeCuts) -> None:
    """What if one edge carried nothing?"""
    sensitive = as_text(result.model.sensitive, 60)
    if not cuts.edges:
        st.info(f"In this graph no edge leads away from {sensitive}: there is none to cut.")
        return
    method = choose_method(result, f"what-if-{record.id}")
    whole, without = cuts.whole[method], cuts.without[method]
    st.markdown(_carried(cuts, method))
    st.plotly_chart(edge_cuts_figure(cuts.edges, without, whole), width="stretch", key="what-if")
    st.caption(
        "How many outcomes would change, if one edge carried nothing and all others did. Dotted: with all edges. "
        f"Counted on {cuts.people:,} people, at the audit's own threshold (quantile {result.config.quantile:g})"
        + ", one twin of each."
        + (
            " Where more outcomes change without an edge, that edge works against the others."
            if (without > whole).any()
            else ""
        )
        + (f" Shown are the {MOST_BARS} edges that carry most; the table has all." if len(without) > MOST_BARS else "")
    )
    table = pd.DataFrame(cuts.edges, columns=["cause", "effect"])
    table["changed without it"] = 100.0 * without
    table["carried by it"] = 100.0 * (whole - without)
    shown = table.sort_values("carried by it", ascending=False, kind="stable")
    config = {
        "changed without it": st.column_config.NumberColumn(format="%.1f %%"),
        "carried by it": st.column_config.NumberColumn(format="%+.1f points"),
    }
    st.dataframe(shown, hide_index=True, width="stretch", height=_height(len(shown)), column_config=config)


def _carried(cuts: EdgeCuts, method: str) -> str:
    """Which single edge carries the verdict, if one does."""
    carrier, whole = cuts.carrier(method), cuts.whole[method]
    name = label_of(method)
    begin = f"With all edges, the outcome by {name} changes for {percent(whole)} of people."
    if not whole:
        return f"{begin} There is nothing that an edge could carry."
    if carrier is None:
        return f"{begin} No single edge carries half of that by more than chance could explain."
    (cause, effect), share = carrier
    left = float(cuts.without[method][cuts.edges.index((cause, effect))])
    return (
        f"{begin} The edge **{as_text(cause, 60)} → {as_text(effect, 60)}** alone carries {percent(share, 0)} of that: "
        f"without it, {percent(left)} would. Whether this edge exists decides the verdict."
    )


def _height(rows: int) -> int:
    return min(285, 38 + 35 * max(1, rows))
