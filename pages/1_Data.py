"""Data: upload or pick a table, say what its columns are for, see what was found."""

from __future__ import annotations

import dataclasses

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import BUILT_IN
from cfad_core.apps.dashboard.roles_editor import check, edit_roles, show_findings, show_sizes
from cfad_core.apps.dashboard.state import draft, keep
from cfad_core.apps.dashboard.uploads import upload_table
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text

frame.open_page("Data")
st.title("Data")

own, built_in = st.tabs(["Upload a table", "Pick a data set"])
with own:
    upload_table()
with built_in:
    name = st.selectbox("Data set", list(BUILT_IN))
    if st.button("Use this data set"):
        try:
            with st.spinner("Loading ..."):
                keep(BUILT_IN[name]())
            st.rerun()
        except CfadError as error:
            st.error(as_text(error, 500))

now = draft()
if now is None:
    st.info("Upload a table, or pick a data set, to begin.")
    st.stop()

st.subheader("The table")
st.caption(f"{as_text(now.source)}: {now.rows:,} rows, {now.first.shape[1]} columns. The first rows:")
st.dataframe(now.first, hide_index=True, height=210)

st.subheader("What the columns are for")
roles = edit_roles(now)
if roles is None:
    st.button("Continue", disabled=True)
    st.stop()
validation = check(now, roles)
if validation.roles is not None:
    show_sizes(now, validation.roles)
show_findings(validation.findings)
usable = validation.is_usable
if st.button("Continue", type="primary", disabled=not usable, help="Choose settings and start the audit."):
    keep(dataclasses.replace(now, roles=roles))
    st.query_params.pop("audit", None)
    st.session_state.pop("audit", None)
    st.switch_page(frame.TRAIN)
