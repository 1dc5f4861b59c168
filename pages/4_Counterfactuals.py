"""Counterfactuals: one person and their twin."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.everybody import show_everybody
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_page_method
from cfad_core.apps.dashboard.person import show_person
from cfad_core.apps.dashboard.person_choice import choose_people, choose_person, show_heading
from cfad_core.apps.dashboard.views import choose_twin, choose_view, otherwise
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import number, percent
from cfad_core.runs.model import AuditRecord, operating_threshold


@st.fragment
def look_at_people(record: AuditRecord, whole: AuditResult, result: AuditResult) -> None:
    """The list of people, and the card of the one that is chosen."""
    listing, card = st.columns([1, 2.6], gap="medium")
    with listing:
        method = choose_page_method(record, result, usual="ae", narrow=True)
        wanted = choose_people(record.id, result)
        threshold, how = operating_threshold(record, result, method)
        row, listed = choose_person(record.id, result, method, threshold, wanted)
        say_how_many(result, method, threshold, how)
    with card:
        if row is not None:
            show_heading(record.id, listed, row)
            show_row(record, (whole, result), method, threshold, row)


def say_how_many(result: AuditResult, method: str, threshold: float, how: str) -> None:
    """For how many people the outcome changes at this threshold."""
    report = result.report(method)
    likely, ratio = report.change_probability(threshold), report.metrics_at(threshold).changing_ratio
    is_known = len(result.people.judged) == result.judged_people or result.people.truth is not None
    some = "" if is_known else f" (counted on {len(result.people.judged):,} of them)"
    st.caption(
        f"Threshold {number(threshold)} ({how}): {percent(ratio)} of {result.judged_people:,} people{some} would have "
        f"a different outcome, {otherwise(result)}"
        + (
            ", by their true twins, which are known here."
            if result.people.truth is not None
            else ". A person has several possible twins, so an outcome changes with a probability; for "
            f"{int((likely >= 0.5).sum()):,} people it is 50 % or more."
        ),
        help=HELP["changing ratio"],
    )


def show_row(
    record: AuditRecord, audits: tuple[AuditResult, AuditResult], method: str, threshold: float, row: int
) -> None:
    """The person of a row (from 1) of the table, if it was looked at."""
    whole, result = audits
    found = (result.row_numbers == row).nonzero()[0]
    if len(found):
        seen, place = choose_twin(record, whole, result, method, int(found[0]))
        show_person(record, seen, method, threshold, place)
    else:
        none = "neither group" if len(result.groups) == 2 else "none of the groups"
        drawn = "" if result.everybody is None else "it was not drawn, "
        st.info(f"This row was not looked at: {drawn}it was learned from, or belongs to {none}. Try another one.")
    if result.everybody is not None:
        show_everybody(record, whole, method, threshold, row)


frame.open_page("Counterfactuals")
shown, found = frame.finished_audit()
look_at_people(shown, found, choose_view(shown, found))
