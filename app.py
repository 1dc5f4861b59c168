"""Home: the question, the ways in, a finished audit in small, and the latest audits."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.assets import HOW, HOW_WORDS
from cfad_core.apps.dashboard.demo import show_miniature
from cfad_core.apps.dashboard.home import show_doors, show_latest
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.tour import offer_tour
from cfad_core.apps.dashboard.visitor import here

frame.open_page("Home")
st.title("Would the detector have flagged the same person, had they belonged to the other group?", anchor=False)
words, example = st.columns([6, 5], gap="medium")
with words:
    st.markdown(
        "An **audit** learns from your table how its columns cause each other, works out each person's **twin**, the "
        "same person had they belonged to the other group, and lets the detector score both. It reports how often the "
        "outcome changes, and how far to trust that."
    )
    show_doors()
    offer_tour()
with example.container(border=True, key="miniature"):
    show_miniature()

latest = store().find(limit=6)
st.subheader("Latest audits", anchor=False)
if latest:
    show_latest(latest)
    st.page_link(frame.SAVED, label="All saved audits")
else:
    st.caption(f"None yet. What you audit is kept on {here()}. This is how each person is looked at:")
    st.image(HOW, width=560, alt=HOW_WORDS)
