"""Saved audits: find, open, compare, download, delete."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.downloads import offer_downloads
from cfad_core.apps.dashboard.services import result_of, store
from cfad_core.apps.dashboard.tables import audits_table, metrics_table
from cfad_core.apps.dashboard.views import compared_by
from cfad_core.core.errors import CfadError
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.runs.model import AuditRecord, Status


def change(record: AuditRecord) -> None:
    """Name, note, and the end of an audit."""
    left, right = st.columns(2)
    name = left.text_input("Name", record.name, max_chars=200, key=f"name-{record.id}")
    note = right.text_input("Note", record.note, max_chars=2000, key=f"note-{record.id}")
    save, remove, sure = st.columns(3)
    if save.button("Save name and note", key=f"save-{record.id}"):
        try:
            store().rename(record.id, name)
            store().annotate(record.id, note)
        except CfadError as error:
            st.error(as_text(error))
        else:
            st.rerun()
    certain = sure.checkbox("Yes, delete it for good", key=f"sure-{record.id}")
    if count := len(store().signatures(record.id)):
        sure.caption(f"{counted(count, 'signed report')} of it would be deleted, too.")
    if record.status == "done":
        sure.caption("Its settings and verdict stay listed in reports of the same table.")
    if remove.button("Delete", disabled=not certain, key=f"delete-{record.id}"):
        try:
            store().delete(record.id)
        except CfadError as error:
            st.error(as_text(error))
        else:
            if st.session_state.get("audit") == record.id:
                st.session_state.pop("audit")
            st.rerun()


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
records = store().find(text=wanted, status=state)
if not records:
    st.info("No audit is saved here yet." if not wanted and state is None else "No saved audit matches.")
    st.markdown(
        "Every audit is kept here with its table, its graph and its scores, on this computer. You can find it again, "
        "set two side by side, take it along as a file, and delete it."
    )
    st.page_link(frame.HOME, label="Start one, or look at the demo")
    st.stop()
st.caption(f"{counted(len(records), 'audit')}, the newest first. Choose a row to open, rename, download or delete it.")
record = audits_table(records, key="saved")
if record is not None:
    change(record)
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
