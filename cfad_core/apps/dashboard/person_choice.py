"""Which person the page is about: chosen in a list, by row number, by a link or one after the other."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from cfad_core.apps.dashboard.frame import PERSON
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.people import Wanted, choices_for, order_words, people_shown, wanted_people
from cfad_core.apps.dashboard.views import view_of
from cfad_core.audit.result import AuditResult

ANY = "any group"
_TALLEST = 330  # pixels of the list


def choose_people(audit: str, result: AuditResult) -> Wanted:
    """Which people to list."""
    view = view_of(result)

    def forget() -> None:
        """Other people are listed: begin with the first of them."""
        st.session_state.pop(f"{PERSON}-{audit}", None)
        st.query_params.pop(PERSON, None)

    choice = st.selectbox("People", choices_for(result), key=f"people-{audit}", on_change=forget)
    with st.expander("Group and probability"):
        names = [ANY, *view.names]
        group = st.selectbox("Group", names, key=f"group-{audit}-{'-'.join(view.names)}", on_change=forget)
        least = 0.0
        if len(result.people.judged):
            words = "The outcome changes with at least, %"
            key, term = f"least-{audit}", HELP["probability of change"]
            least = st.slider(words, 0, 100, 0, 5, key=key, help=term, on_change=forget) / 100.0
    return Wanted(choice, None if group == ANY else group, least)


def choose_person(
    audit: str, result: AuditResult, method: str, threshold: float, wanted: Wanted
) -> tuple[int | None, NDArray[np.int64]]:
    """The row (from 1) of the person whom the page is about, and those of all who are listed.

    The person need not be among them; None if there is nobody.
    """
    people = wanted_people(result, method, threshold, wanted)
    rows = result.row_numbers
    row = _remembered(audit)
    if row is None and len(people):
        row = int(rows[people[0]])
    if row is not None:
        _keep(audit, row)
    _show_list(audit, result, method, threshold, people, row)
    found = f"{len(people):,} {'person' if len(people) == 1 else 'people'}, {order_words(wanted.choice)}"
    st.caption(f"{found}." if len(people) else "Nobody matches this choice: choose other people, or another method.")
    _row_box(audit, result, row)
    return row, rows[people]


def open_person(audit: str, row: int) -> None:
    """Make a row of the table (from 1) the one that the page is about."""
    _keep(audit, row)


def _show_list(
    audit: str, result: AuditResult, method: str, threshold: float, people: NDArray[np.intp], row: int | None
) -> None:
    shown = people_shown(result, method, threshold, people)
    if not len(shown):
        return
    key = f"list-{audit}"
    place = np.flatnonzero(shown["row"].to_numpy() == row)
    st.session_state[key] = {"selection": {"rows": place[:1].tolist(), "columns": [], "cells": []}}

    def pick() -> None:
        chosen = st.session_state[key]["selection"]["rows"]
        if chosen and chosen[0] < len(shown):
            _keep(audit, int(shown["row"].iloc[chosen[0]]))

    st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        height=min(_TALLEST, 38 + 35 * len(shown)),
        on_select=pick,
        selection_mode="single-row",
        key=key,
        alt="People of this choice",
        column_config={
            "the twin is": st.column_config.TextColumn(help=HELP["plausible twin"]),
            "outcome changes": st.column_config.NumberColumn(format="%.0f %%", help=HELP["probability of change"]),
            "furthest twin": st.column_config.TextColumn(help="Of their twins, the one whose score differs most."),
        },
    )


def _row_box(audit: str, result: AuditResult, row: int | None) -> None:
    last = int(result.row_numbers.max()) if result.everybody is None else result.everybody.rows
    key = f"row-{audit}"
    st.session_state[key] = min(row or 1, last)
    st.number_input("Row of the table", 1, last, key=key, on_change=lambda: _keep(audit, int(st.session_state[key])))


def show_heading(audit: str, listed: NDArray[np.int64], row: int) -> None:
    """Which row it is, and buttons that go on to its neighbours in the list."""
    here = np.flatnonzero(listed == row)
    place = int(here[0]) if len(here) else -1  # who is not in the list stands before it
    where = f" · {place + 1:,} of {len(listed):,}" if len(here) else ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(f"Row {row} of the table{where}", anchor=False)
        for label, target in (("← Previous", place - 1), ("Next →", place + 1)):
            is_there = 0 <= target < len(listed)
            to = int(listed[target]) if is_there else row
            st.button(label, key=f"{label}-{audit}", disabled=not is_there, on_click=_keep, args=(audit, to))


def _remembered(audit: str) -> int | None:
    """As the address says, or else as it was chosen before."""
    for found in (st.query_params.get(PERSON), st.session_state.get(f"{PERSON}-{audit}")):
        if found is not None and str(found).isdecimal() and 0 < int(found) < 2**53:
            return int(found)
    return None


def _keep(audit: str, row: int) -> None:
    """Remember the person, and put them into the address."""
    st.session_state[f"{PERSON}-{audit}"] = row
    if st.query_params.get(PERSON) != str(row):
        st.query_params[PERSON] = str(row)
