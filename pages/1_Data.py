"""Data: upload or pick a table, say what its columns are for, see what was found."""

from __future__ import annotations

import dataclasses

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import BUILT_IN
from cfad_core.apps.dashboard.roles_editor import edit_roles, show_findings, show_sizes
from cfad_core.apps.dashboard.state import Draft, draft, keep
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.data.readers import EXCEL_SUFFIXES, SUFFIXES, excel_sheets, read_table
from cfad_core.data.tables import Tables
from cfad_core.data.validation import validate

frame.open_page("Data")
st.title("Data")

own, built_in = st.tabs(["Upload a table", "Pick a data set"])
with own:
    file = st.file_uploader(
        "Upload a table with a header line",
        type=sorted({suffix.split(".")[-1] for suffix in SUFFIXES}),
        help="CSV or TSV (delimiter, decimal mark and encoding are recognised; .gz too), Parquet or Excel.",
    )
    sheet = None
    if file is not None:
        content = file.getvalue()
        try:
            if file.name.lower().endswith(EXCEL_SUFFIXES):
                sheet = st.selectbox("Sheet", excel_sheets(content))
            mark = (file.file_id, sheet)
            if st.session_state.get("read") != mark:
                with st.spinner("Reading ..."):
                    keep(Draft(Tables.of(read_table(content, name=file.name, sheet=sheet)), source=file.name))
                st.session_state["read"] = mark
        except Exception as error:  # whatever a file may hold, the page says so
            other = "This file holds no table that can be read, whatever its name says. Save it again as CSV or Excel."
            st.error(as_text(error, 500) if isinstance(error, CfadError) else other)
            st.session_state.pop("draft", None)  # not the table before it
            st.session_state.pop("read", None)
with built_in:
    name = st.selectbox("Data set", list(BUILT_IN))
    if st.button("Use this data set"):
        try:
            with st.spinner("Loading ..."):
                keep(BUILT_IN[name]())
        except CfadError as error:
            st.error(as_text(error, 500))

now = draft()
if now is None:
    st.info("Upload a table, or pick a data set, to begin.")
    st.stop()

st.subheader("The table")
st.caption(f"{as_text(now.source)}: {len(now.table):,} rows, {now.table.shape[1]} columns. The first rows:")
st.dataframe(now.table.head(50), hide_index=True, height=210)

st.subheader("What the columns are for")
roles = edit_roles(now)
if roles is None:
    st.button("Continue", disabled=True)
    st.stop()
validation = validate(now.table, roles, now.test)
if validation.roles is not None:
    show_sizes(now.table, validation.roles)
show_findings(validation.findings)
usable = validation.is_usable
if st.button("Continue", type="primary", disabled=not usable, help="Choose settings and start the audit."):
    keep(dataclasses.replace(now, roles=roles))
    st.query_params.pop("audit", None)
    st.session_state.pop("audit", None)
    st.switch_page(frame.TRAIN)
