"""Counterfactuals: one person and their twin."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.everybody import show_everybody
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.people import CHANGES, IMPLAUSIBLE, list_people
from cfad_core.apps.dashboard.person import show_person
from cfad_core.apps.dashboard.views import choose_twin, choose_view, otherwise
from cfad_core.core.formats import number, percent
from cfad_core.runs.model import operating_threshold

frame.open_page("Counterfactuals")
st.title("Counterfactuals")
record, whole = frame.finished_audit()
result = choose_view(record, whole)
left, right = st.columns([1, 3.4]) if len(result.scores) < 4 else (st.container(), st.container())
saved = None if record.threshold is None else record.threshold.method
method = choose_method(result, f"method-{record.id}", saved, left, usual="ae")
choice = right.segmented_control(
    "People",
    [CHANGES, "whose score changes most", *([IMPLAUSIBLE] if result.stability is not None else []), "all", "by row"],
    default=CHANGES,
    required=True,
)
choice = choice or "all"
threshold, how = operating_threshold(record, result, method)
report = result.report(method)
likely, ratio = report.change_probability(threshold), report.metrics_at(threshold).changing_ratio
is_known = len(result.people.judged) == result.judged_people or result.people.truth is not None
some = "" if is_known else f" (counted on {len(result.people.judged):,} of them)"
st.caption(
    f"Threshold {number(threshold)} ({how}): {percent(ratio)} of {result.judged_people:,} people{some} would have a "
    f"different outcome, {otherwise(result)}"
    + (
        ", by their true twins, which are known here."
        if result.people.truth is not None
        else ". A person has several possible twins, so an outcome changes with a probability; for "
        f"{int((likely >= 0.5).sum()):,} people it is 50 % or more."
    ),
    help=HELP["changing ratio"],
)
if choice == "by row":
    judged, last = result.row_numbers, result.row_numbers.max() if result.everybody is None else result.everybody.rows
    wanted = int(st.number_input("Row of the table", 1, int(last), int(judged[0]), key=f"row-{record.id}"))
    found = (judged == wanted).nonzero()[0]
    if not len(found):
        none = "neither group" if len(result.groups) == 2 else "none of the groups"
        drawn = "" if result.everybody is None else "it was not drawn, "
        st.info(f"This row was not looked at: {drawn}it was learned from, or belongs to {none}. Try another one.")
        show_everybody(record, whole, method, threshold, wanted)
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
        key=f"people-{record.id}-{method}-{choice}-{'-'.join(result.groups)}",  # another list, another selection
        column_config={
            "the twin is": st.column_config.TextColumn(help=HELP["plausible twin"]),
            "outcome changes": st.column_config.NumberColumn(format="%.0f %%", help=HELP["probability of change"]),
            "furthest twin": st.column_config.TextColumn(help="Of their twins, the one whose score differs most."),
        },
    )
    first = "those whose outcome is most likely to change first"
    order = {"all": "in the table's order", CHANGES: first}.get(choice, "those whose score changes most first")
    st.caption(f"Choose a row to see the person below; {order}.")
    picked = event["selection"]["rows"]
    person = int(people[picked[0]] if picked and picked[0] < len(people) else people[0])

st.subheader(f"Row {int(result.row_numbers[person])} of the table")
seen, place = choose_twin(record, whole, result, method, person)
show_person(record, seen, method, threshold, place)
if result.everybody is not None:
    show_everybody(record, whole, method, threshold, int(result.row_numbers[person]))
