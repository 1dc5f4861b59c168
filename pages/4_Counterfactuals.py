"""Counterfactuals: one person and their twin."""

from __future__ import annotations

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.people import (
    CHANGES,
    IMPLAUSIBLE,
    list_people,
    pair_file,
    parts_caption,
    raised_by,
    reasons_of,
    side_by_side,
    twin_warning,
)
from cfad_core.apps.dashboard.services import people_table
from cfad_core.apps.dashboard.text import as_text
from cfad_core.apps.dashboard.thresholds import operating_threshold
from cfad_core.core.formats import number, percent
from cfad_core.detectors.registry import label_of
from cfad_core.figures import contributions_figure

frame.open_page("Counterfactuals")
st.title("Counterfactuals")
record, result = frame.finished_audit()
left, right = st.columns([1, 3.4]) if len(result.scores) < 4 else (st.container(), st.container())
preferred = "ae" if record.threshold is None else record.threshold.method
method = choose_method(result, f"method-{record.id}", preferred, left)
choice = right.segmented_control(
    "People",
    [CHANGES, "whose score changes most", *([IMPLAUSIBLE] if result.stability is not None else []), "all", "by row"],
    default=CHANGES,
    required=True,
)
choice, scores = choice or "all", result.scores[method]
threshold, how = operating_threshold(record, result, method)
here, there = result.report(method).flags_at(threshold)
report = result.report(method)
likely, ratio = report.change_probability(threshold), report.metrics_at(threshold).changing_ratio
some = f" (counted on {len(result.people.judged):,} of them)" if np.isnan(likely).any() else ""
st.caption(
    f"Threshold {number(threshold)} ({how}): {percent(ratio)} of {len(here):,} people{some} would have a different "
    "outcome, had they belonged to the other group"
    + (
        ", by their true twins, which are known here."
        if result.people.truth is not None
        else ". A person has several possible twins, so an outcome changes with a probability; for "
        f"{int((likely >= 0.5).sum()):,} people it is 50 % or more."
    ),
    help=HELP["changing ratio"],
)
if choice == "by row":
    judged = result.people.row + 1
    wanted = int(st.number_input("Row of the table", 1, int(judged.max()), int(judged[0]), key=f"row-{record.id}"))
    found = (judged == wanted).nonzero()[0]
    if not len(found):
        st.info("This row was not judged: it was learned from, or belongs to neither group. Try another one.")
        st.stop()
    person = int(found[0])
else:
    people, shown = list_people(result, method, threshold, choice)
    if not len(people):
        st.info("Nobody here matches this choice. Choose other people, or another method.")
        st.stop()
    event = st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        height=245,
        on_select="rerun",
        selection_mode="single-row",
        key=f"people-{record.id}-{method}-{choice}",
        column_config={
            "the twin is": st.column_config.TextColumn(help=HELP["plausible twin"]),
            "outcome changes": st.column_config.NumberColumn(format="%.0f %%", help=HELP["probability of change"]),
        },
    )
    first = "those whose outcome is most likely to change first"
    order = {"all": "in the table's order", CHANGES: first}.get(choice, "those whose score changes most first")
    st.caption(f"Choose a row to see the person below; {order}.")
    picked = event["selection"]["rows"]
    person = int(people[picked[0]] if picked and picked[0] < len(people) else people[0])
row = int(result.people.row[person])
group = next(name for name, rows in result.groups.items() if rows[person])
other = next(name for name in result.groups if name != group)

st.subheader(f"Row {row + 1} of the table")
tiles = st.columns(5)
tiles[0].metric(f"score as {as_text(group, 30)}", number(float(scores.factual[person])), border=True)
tiles[1].metric(f"score as {as_text(other, 30)}", number(float(scores.counterfactual[person])), border=True)
tiles[2].metric("outcome", "flagged" if here[person] else "not flagged", border=True)
tiles[3].metric("outcome of this twin", "flagged" if there[person] else "not flagged", border=True)
chance = "n/a" if np.isnan(likely[person]) else percent(float(likely[person]), 0)
tiles[4].metric("outcome changes", chance, border=True, help=HELP["probability of change"])
warning = twin_warning(result, person)
if warning:
    st.warning(warning)
table = people_table(record)
compared = side_by_side(result, table, person)
words, picture = st.columns(2, gap="large")
with words:
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
        "The person's row in the table's own units, and one of their possible twins: the same person, had they "
        "belonged to the other group. Put through the command *score*, this row gets the score above; how likely the "
        "outcome changes is counted over the twins that other causal models make."
        if result.people.truth is None
        else "The person's row in the table's own units, and their twin as the causal model sees it. How often the "
        "outcome changes is counted by the true twins, which are known here."
    )
with picture:
    reasons = reasons_of(result, method, person)
    if reasons is None:
        st.info(
            f"{as_text(label_of(method))} is a detector of another library. It is not saved with an audit: its scores "
            "are here, but they cannot be explained any more."
        )
    else:
        explanation = reasons.explanation
        adds_up = explanation.kind == "sum"
        st.markdown(raised_by(explanation), help=HELP["reason"])
        if adds_up or reasons.named.any():
            names = explanation.variables
            drawn = contributions_figure(names, *explanation.parts, named=reasons.named, adds_up=adds_up)
            st.plotly_chart(drawn, width="stretch", key="contributions")
            st.caption(parts_caption(method, explanation))
st.download_button(
    "Download this person and their twin (CSV)",
    pair_file(result, table, person),
    f"{record.id}-row-{row + 1}.csv",
    "text/csv",
    on_click="ignore",
)
