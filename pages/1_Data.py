"""Data: upload or pick a table, say what its columns are for, see what was found."""

from __future__ import annotations

import dataclasses

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.column_roles import roles_in_hand, show_columns
from cfad_core.apps.dashboard.drafts import BUILT_IN
from cfad_core.apps.dashboard.rights import no_making
from cfad_core.apps.dashboard.roles_editor import check, edit_roles, show_sizes, suggested
from cfad_core.apps.dashboard.state import draft, keep, keep_in_store
from cfad_core.apps.dashboard.table_findings import show_findings
from cfad_core.apps.dashboard.table_start import rename_columns, show_what_to_bring
from cfad_core.apps.dashboard.uploads import upload_table
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text

frame.open_page("Data")
if no_making():
    st.info(no_making())
    st.page_link(frame.SAVED, label="Saved audits")
    st.stop()

own, built_in = st.tabs(["Upload a table", "Pick a data set"])
with own:
    is_asking = upload_table()
with built_in:
    name = st.selectbox("Data set", list(BUILT_IN))
    if st.button("Use this data set"):
        try:
            with st.spinner("Loading ..."):
                keep(BUILT_IN[name]())
            st.rerun()
        except CfadError as error:
            st.error(as_text(error, 500))

if is_asking:
    st.stop()
now = draft()
if now is None:
    show_what_to_bring()
    st.stop()

st.subheader("The table", anchor=False)
st.caption(f"{as_text(now.source)}: {now.rows:,} rows, {now.first.shape[1]} columns. The first rows:")
st.dataframe(now.first, hide_index=True, height=210)
rename_columns(now)

st.subheader("What the columns are for", anchor=False)
suggestion = suggested(now)
columns = roles_in_hand(now, suggestion)
roles = edit_roles(now, suggestion, columns)
validation = None if roles is None else check(now, roles)
if roles is not None:
    keep_in_store(dataclasses.replace(now, roles=roles))
if validation is not None:
    if validation.roles is not None:
        show_sizes(now, validation.roles)
    show_findings(now, validation.findings)
st.subheader("All columns", anchor=False)
st.caption("Suggested by names and contents; change a role by a click on it. What is ignored takes no part.")
show_columns(now, columns, suggestion, () if validation is None else validation.findings)
usable = validation is not None and validation.is_usable
if st.button("Continue", type="primary", disabled=not usable, help="Choose settings and start the audit."):
    keep(dataclasses.replace(now, roles=roles))
    st.query_params.pop("audit", None)
    st.session_state.pop("audit", None)
    st.switch_page(frame.TRAIN)
