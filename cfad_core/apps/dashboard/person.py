"""One person beside their twin: scores, columns and reasons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.people import (
    both_rows,
    pair_file,
    parts_caption,
    raised_by,
    reasons_of,
    side_by_side,
    twin_warning,
)
from cfad_core.apps.dashboard.services import people_table
from cfad_core.apps.dashboard.views import groups_of, is_simple, otherwise
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import number, percent
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of
from cfad_core.figures import contributions_figure
from cfad_core.runs.model import AuditRecord


def show_person(record: AuditRecord, result: AuditResult, method: str, threshold: float, person: int) -> None:
    """The person and the one twin that they have in this view of the audit."""
    _tiles(result, method, threshold, person)
    warning = twin_warning(result, person)
    if warning:
        st.warning(warning)
    table = people_table(record)
    words, picture = st.columns(2, gap="large")
    with words:
        _show_columns(result, table, person)
    with picture:
        _show_reasons(result, method, person)
    st.download_button(
        "Download this person and their twin (CSV)",
        pair_file(result, table, person),
        f"{record.id}-row-{int(result.row_numbers[person])}.csv",
        "text/csv",
        on_click="ignore",
    )


def _tiles(result: AuditResult, method: str, threshold: float, person: int) -> None:
    report, scores = result.report(method), result.scores[method]
    here, there = report.flags_at(threshold)
    likely = float(report.change_probability(threshold)[person])
    (group,), (other,) = (groups_of(result, rows) for rows in both_rows(result, person))
    tiles = st.columns(5)
    tiles[0].metric(f"score as {as_text(group, 30)}", number(float(scores.factual[person])), border=True)
    tiles[1].metric(f"score as {as_text(other, 30)}", number(float(scores.counterfactual[person])), border=True)
    tiles[2].metric("outcome", "flagged" if here[person] else "not flagged", border=True)
    tiles[3].metric("outcome of this twin", "flagged" if there[person] else "not flagged", border=True)
    chance = "n/a" if np.isnan(likely) else percent(likely, 0)
    tiles[4].metric("outcome changes", chance, border=True, help=HELP["probability of change"])


def had_they(result: AuditResult, person: int) -> str:
    """What the person and the twin differ in, for Markdown: by name, where there is more than one other group."""
    if is_simple(result.plan):
        return otherwise(result)
    (other,) = groups_of(result, both_rows(result, person)[1])
    return f"had they been {as_text(other, 60)}"


def _show_columns(result: AuditResult, table: pd.DataFrame, person: int) -> None:
    """Column by column, in the table's own units."""
    compared = side_by_side(result, table, person)
    only = st.toggle("Only what moved", value=True)
    moved = compared[compared["moved"]] if only else compared
    hidden = ["moved"] if moved["note"].any() else ["moved", "note"]
    st.dataframe(
        moved.drop(columns=hidden),
        hide_index=True,
        width="stretch",
        height=min(360, 38 + 35 * max(1, len(moved))),
        column_config={"column": st.column_config.TextColumn(width="small")},
    )
    st.caption(
        "The person's row in the table's own units, and one of their possible twins: the same person, "
        f"{had_they(result, person)}. Put through the command *score*, this row gets the score above; how likely the "
        "outcome changes is counted over the twins that other causal models make."
        if result.people.truth is None
        else "The person's row in the table's own units, and their twin as the causal model sees it. How often the "
        "outcome changes is counted by the true twins, which are known here."
    )


def _show_reasons(result: AuditResult, method: str, person: int) -> None:
    """What raised the two scores."""
    reasons = reasons_of(result, method, person)
    if reasons is None:
        st.info(
            f"{as_text(label_of(method))} is not saved with this audit: its scores are here, but what raised them can "
            "not be said."
        )
        return
    explanation = reasons.explanation
    adds_up = explanation.kind == "sum"
    st.markdown(raised_by(explanation), help=HELP["reason"])
    if adds_up or reasons.named.any():
        names = explanation.variables
        drawn = contributions_figure(names, *explanation.parts, named=reasons.named, adds_up=adds_up)
        st.plotly_chart(drawn, width="stretch", key="contributions")
        st.caption(parts_caption(method, explanation))
