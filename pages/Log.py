"""Log: who did what, when, and with which audit; for administrators."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.log_view import choose_part, show_whole_log
from cfad_core.apps.dashboard.services import store

frame.open_page("Log")
if store().viewer.role != "admin":
    st.info("Only administrators read the log of everything. That of an audit of your own is with the saved audits.")
    st.page_link(frame.SAVED, label="Saved audits")
    st.stop()
show_whole_log(choose_part())
