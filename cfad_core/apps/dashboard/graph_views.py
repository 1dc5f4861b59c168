"""The tabs of the page about the graph: edges, how often they are found, and what goes with each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.views import looked_at, reached
from cfad_core.audit.directions import open_directions, open_edges, times_found
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Stability
from cfad_core.causal.model import StructuralModel
from cfad_core.core.formats import counted, percent
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import joint_name
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.figures import MOST_BARS, edge_cuts_figure, reach_figure
from cfad_core.runs.model import AuditRecord

_NAMED = 6  # open directions that are named
_FOUND = "found in subsamples"
_GIVEN = "This graph was given, not learned."


def edges_table(result: AuditResult) -> pd.DataFrame:
    """The edges of the audit's own graph, the strongest first."""
    variables, strengths = result.model.strengths()
    found = np.argwhere(strengths != 0.0)
    table = pd.DataFrame(
        [(variables[j], variables[i], float(strengths[j, i])) for j, i in found],
        columns=["cause", "effect", "strength"],
    )
    if (is_open := open_directions(result)) is not None:
        table["direction"] = ["open" if is_open[j, i] else "clear" for j, i in found]
    if result.stability is not None:
        times = times_found(result.stability)
        table[_FOUND] = [f"{times[j, i]} of {len(result.stability.graphs)}" for j, i in found]
    return table.reindex(table["strength"].abs().sort_values(ascending=False).index)


def ask_for_directions(result: AuditResult) -> None:
    """Name the directions that the data leave open, and ask for what is known."""
    pairs = open_edges(result)
    if pairs:
        named = ", ".join(f"{as_text(a, 40)} and {as_text(b, 40)}" for a, b in pairs[:_NAMED])
        rest = f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
        st.info(
            f"The data leave open which is the cause in {counted(len(pairs), 'pair')} of columns: {named}{rest}. Do "
            "you know which of the two came first? Say so below (a time order, or an edge that cannot be), and run the "
            "audit again: twins then rest on what you know, not on a guess."
        )


def show_edges(edges: pd.DataFrame) -> None:
    config = {
        "direction": st.column_config.TextColumn(help=HELP["open direction"]),
        "strength": st.column_config.NumberColumn(format="%+.2f", help=HELP["strength"]),
        _FOUND: st.column_config.TextColumn(help=HELP[_FOUND]),
    }
    st.dataframe(edges, hide_index=True, width="stretch", column_config=config)
    st.caption(f"{len(edges)} edges, the strongest first. Download the table with the button in its corner.")


def weakest_shown(result: AuditResult, key: str) -> float:
    """The slider that hides weak edges: the strength below which they are hidden."""
    strongest = float(np.abs(result.model.strengths()[1]).max(initial=0.0))
    highest = 1.0 if isinstance(result.model, StructuralModel) or strongest == 0.0 else strongest
    label = "Hide arrows weaker than"
    return float(st.slider(label, 0.0, highest, 0.0, highest / 20.0, key=key, help=HELP["strength"]))


def marks(result: AuditResult) -> str:
    """What question marks and thin arrows mean, if there are any."""
    asked = (
        " A question mark: the data leave the direction open, either may be the cause." if open_edges(result) else ""
    )
    return asked + _seldom_found(result)


def _seldom_found(result: AuditResult) -> str:
    """What the thin arrows are, if there are any."""
    strengths, stability = result.model.strengths()[1], result.stability
    if result.config.knowledge.complete:
        return f" {_GIVEN}"
    if stability is None or not (strengths != 0.0).any():
        return ""
    graphs = len(stability.graphs)
    if ((strengths != 0.0) & (2 * times_found(stability) < graphs)).any():
        return f" Thin, dashed arrows were found in less than half of {graphs} subsamples."
    return f" All arrows were found in at least half of {graphs} subsamples."


def in_subsamples(result: AuditResult, stability: Stability) -> None:
    """Where the sensitive attribute reaches in the graphs of subsamples, and the edges that this one lacks."""
    sensitive, affected = as_text(joint_name(looked_at(result)), 60), reached(result)
    graphs, blind = len(stability.graphs), stability.without_path
    if result.config.knowledge.complete:
        st.info(
            f"{_GIVEN} All subsamples have the same edges, of other strengths: whether they are true was not examined."
        )
    show_chart(
        reach_figure(stability.reach, affected, graphs),
        "reach",
        "In how many subsamples the sensitive attribute reaches each variable.",
    )
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
    times, graphs = times_found(stability), len(stability.graphs)
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
    sensitive = as_text(joint_name(looked_at(result)), 60)
    if not cuts.edges:
        st.info(f"In this graph no edge leads away from {sensitive}: there is none to cut.")
        return
    method = choose_method(result, f"what-if-{record.id}")
    ratio, carried = result.report(method).metrics.changing_ratio, cuts.carried(method)
    st.markdown(_carried(cuts, method, ratio))
    if carried is None or ratio is None:
        return
    show_chart(edge_cuts_figure(cuts.edges, carried), "what-if", "How much of the change each edge carries.")
    st.caption(
        "How much of the change would be gone, if one edge carried nothing and all others did. Edges of one path carry "
        f"the same change, so shares need not add up. Compared on one twin each of {cuts.people:,} people, at the "
        f"audit's own threshold (quantile {result.config.quantile:g})."
        + (" An edge below 0 works against the others, or is there by chance." if (carried < 0.0).any() else "")
        + (f" Shown are the {MOST_BARS} edges that carry most; the table has all." if len(carried) > MOST_BARS else ""),
        help=HELP["edge cut"],
    )
    table = pd.DataFrame(cuts.edges, columns=["cause", "effect"])
    table["share of the change"] = 100.0 * carried
    shown = table.sort_values("share of the change", ascending=False, kind="stable")
    config = {"share of the change": st.column_config.NumberColumn(format="%.0f %%", help=HELP["edge cut"])}
    st.dataframe(shown, hide_index=True, width="stretch", height=_height(len(shown)), column_config=config)


def _carried(cuts: EdgeCuts, method: str, ratio: float | None) -> str:
    """Which single edge carries the number that leads, if one does."""
    begin = f"With {label_of(method)}, the outcome changes for {percent(ratio)} of people."
    if not cuts.whole[method] or ratio is None:
        return f"{begin} By the twins of this graph nobody's does, so there is nothing that an edge could carry."
    carrier = cuts.carrier(method)
    if carrier is None:
        return f"{begin} No single edge carries half of that by more than chance could explain."
    (cause, effect), share = carrier
    return (
        f"{begin} The edge **{as_text(cause, 60)} → {as_text(effect, 60)}** alone carries about {percent(share, 0)} of "
        "that. Whether this edge exists decides the verdict."
    )


def _height(rows: int) -> int:
    return min(285, 38 + 35 * max(1, rows))
