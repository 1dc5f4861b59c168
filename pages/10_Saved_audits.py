"""Saved audits: find, open, compare, download, share, delete."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.downloads import offer_downloads
from cfad_core.apps.dashboard.log_view import show_log_of
from cfad_core.apps.dashboard.rights import refusal, refusals_in_words
from cfad_core.apps.dashboard.services import result_of, store
from cfad_core.apps.dashboard.sharing import show_sharing, show_what_became
from cfad_core.apps.dashboard.tables import audits_table, metrics_table
from cfad_core.apps.dashboard.views import compared_by
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.runs.model import AuditRecord, Status


def change(record: AuditRecord) -> None:
    """Name, note, and the end of an audit, as far as whoever looks may change them."""
    if no_note := refusal(record, "tune"):
        st.caption(no_note)
        return
    no_name = refusal(record, "own")
    left, right = st.columns(2)
    name = left.text_input("Name", record.name, max_chars=200, key=f"name-{record.id}", disabled=bool(no_name))
    note = right.text_input("Note", record.note, max_chars=2000, key=f"note-{record.id}")
    save, remove, sure = st.columns(3)
    if save.button("Save the note" if no_name else "Save name and note", key=f"save-{record.id}"):
        with refusals_in_words():
            if not no_name:
                store().rename(record.id, name)
            store().annotate(record.id, note)
            st.rerun()
    if no_name:
        st.caption(no_name)
    else:
        end(record, remove, sure)


def end(record: AuditRecord, remove: DeltaGenerator, sure: DeltaGenerator) -> None:
    """The button that deletes an audit, once that is meant; and what goes with it."""
    certain = sure.checkbox("Yes, delete it for good", key=f"sure-{record.id}")
    if count := len(store().signatures(record.id)):
        sure.caption(f"{counted(count, 'signed report')} of it would be deleted, too.")
    if record.status == "done":
        sure.caption("Its settings and verdict stay listed in reports of the same table.")
    if remove.button("Delete", disabled=not certain, key=f"delete-{record.id}"):
        with refusals_in_words():
            store().delete(record.id)
            if st.session_state.get("audit") == record.id:
                st.session_state.pop("audit")
            st.rerun()


def whose(wanted: str, status: Status | None) -> list[AuditRecord]:
    """The audits that are listed: of everybody, one's own, or those that others share."""
    viewer = store().viewer
    ways = ["all", "mine", "shared with me"]
    if not viewer.name:
        return store().find(text=wanted, status=status)
    way = st.segmented_control("Whose", ways, default="all", required=True, key="whose")
    if way == "mine":
        return store().find(text=wanted, status=status, owner=viewer.name)
    seen = store() if way == "all" else store().seen_by(viewer.limited_to("viewer"))  # not what an administrator sees
    found = seen.find(text=wanted, status=status)
    return found if way == "all" else [record for record in found if record.owner != viewer.name]


def compare(records: list[AuditRecord]) -> None:
    """Two finished audits side by side, and their difference."""
    names = {record.id: frame.named(record) for record in records}
    chosen = []
    for place, index in zip(st.columns(2, gap="large"), (0, 1), strict=True):
        with place:
            title = ("First", "Second")[index]
            audit = st.selectbox(
                title, list(names), index=index, format_func=lambda audit: names[audit], key=f"compare-{index}"
            )
            record = next(record for record in records if record.id == audit)
            frame.heading(record)
            result = result_of(record)
            if result.is_of_older_engine:
                st.caption("Made by an older version: its numbers are not comparable with those of newer audits.")
            chosen.append(metrics_table(result))
            reached = ", ".join(result.model.affected_names) or "nothing"
            st.caption(
                f"{result.judged_people:,} people judged{compared_by(result)}. {as_text(result.model.sensitive)} "
                f"reaches: {as_text(reached, 400)}"
            )
    first, second = chosen
    rows = [
        {"method": method, "metric": metric, "first": first.loc[method, metric], "second": second.loc[method, metric]}
        for method in first.index.intersection(second.index)
        for metric in first.columns.intersection(second.columns)
    ]
    if not rows:
        st.info("These two audits have no method in common.")
        return
    both = pd.DataFrame(rows).assign(difference=lambda table: table["second"] - table["first"])
    st.dataframe(both.style.format(precision=3), hide_index=True, width="stretch")


frame.open_page("Saved audits")
text, status = st.columns([3, 1])
wanted = text.text_input("Find", placeholder="in name, note or source")
state: Status | None = status.selectbox("Status", [None, *frame.STATUS_WORDS], format_func=lambda name: name or "any")
records = whose(wanted, state)
show_what_became()
if not records:
    some = store().find(limit=1)
    st.info("No audit is saved here yet." if not some else "No saved audit matches.")
    st.markdown(
        "Every audit is kept here with its table, its graph and its scores, on this computer. You can find it again, "
        "set two side by side, take it along as a file, and delete it."
    )
    st.page_link(frame.HOME, label="Start one, or look at the demo")
    st.stop()
st.caption(f"{counted(len(records), 'audit')}, the newest first. Choose a row to open, rename, download or delete it.")
record = audits_table(records, key="saved", chosen=st.query_params.get(frame.CHOSEN))
if record is not None:
    change(record)
    show_sharing(record)
    if not refusal(record, "own"):
        show_log_of(record)
    if record.status == "done":
        st.subheader("Downloads")
        if st.button("Make its report", key=f"report-{record.id}"):
            frame.choose_audit(record.id)
            st.switch_page(frame.REPORT)
        offer_downloads(record)
done = [entry for entry in records if entry.status == "done"]
if len(done) > 1:
    st.subheader("Compare two")
    compare(done)
