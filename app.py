"""Home: what an audit answers, start one, the latest audits."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.drafts import demo_draft, sample_draft, start
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.state import keep
from cfad_core.apps.dashboard.tables import audits_table
from cfad_core.core.config import preset

frame.open_page("Home")
st.title("Would the detector have flagged the same person, had they belonged to the other group?")
words, picture = st.columns(2, gap="large")
with words:
    st.markdown(
        "An anomaly detector flags people: for fraud, for a tax audit, for a second look. An **audit** learns from "
        "your table how its columns cause each other, works out each person's **twin**, the same person had they "
        "belonged to the other group, and lets the detector score both. It reports how often the outcome changes, for "
        "a plain detector and for ones made to treat both alike, and how far to trust that."
    )
with picture:
    st.image(str(ASSETS / "how.svg"), width="stretch")
demo, sample, own, _ = st.columns([1, 1, 1, 1])
if demo.button("Run the demo audit", type="primary", width="stretch", help="Invented people, less than a minute."):
    with st.spinner("Drawing people whose twins are known ..."):
        prepared = demo_draft()
    frame.choose_audit(start(prepared, preset("fast"), "Demo"))
    st.switch_page(frame.TRAIN)
if sample.button("Try the sample table", width="stretch", help="800 invented insurance claims."):
    keep(sample_draft())
    st.switch_page(frame.DATA)
if own.button("Audit my own table", width="stretch", help="CSV, TSV, Parquet or Excel."):
    st.switch_page(frame.DATA)

st.subheader("Latest audits")
latest = store().find(limit=8)
if latest:
    audits_table(latest)
    st.page_link(frame.SAVED, label="All saved audits")
else:
    st.caption("None yet. The demo is a good first one.")
