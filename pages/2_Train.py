"""Train: settings, then live progress; the audit's id is in the address."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import start
from cfad_core.apps.dashboard.estimates import show_estimate
from cfad_core.apps.dashboard.planning import plan_instead, show_plan, start_planned
from cfad_core.apps.dashboard.progress import finished_view, watch
from cfad_core.apps.dashboard.rights import no_making, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.settings import settings
from cfad_core.apps.dashboard.site import begin_at_top
from cfad_core.apps.dashboard.state import draft, forget_in_store, is_kept
from cfad_core.apps.dashboard.waiting import answer_again, show_waiting
from cfad_core.core.markdown import as_text

frame.open_page("Train")
audit = frame.current_audit()
if audit is not None:
    record = frame.record_or_stop(audit)
    frame.heading(record)
    frame.offer_to_share(record)
    show_plan(record)
    if record.status == "planned":
        start_planned(record)
    elif record.status in ("queued", "running"):
        begin_at_top(record.id)
        watch(record.id)
    elif record.status == "waiting":
        show_waiting(record)
    elif record.status == "done":
        finished_view(record)
    else:
        frame.show_state(record)
        if store().has_questions(record.id):
            answer_again(record)
    st.stop()

if no_making():
    st.info(no_making())
    st.page_link(frame.SAVED, label="Saved audits")
    st.stop()

now = draft()
if now is None or now.roles is None:
    st.info("There is no table to train on yet: upload one, and say what its columns are for.")
    st.page_link(frame.DATA, label="Go to Data")
    st.stop()
st.caption(
    f"{as_text(now.source)}: {now.rows:,} rows · sensitive: {as_text(now.roles.sensitive_name)} · "
    + (f"anomaly: {as_text(now.roles.label)} is {as_text(now.roles.anomaly)}" if now.roles.label else "no labels")
)
name, config = settings(now)
if config is not None:
    show_estimate(now, config)
if is_kept():
    st.caption("The table and what its columns are for are kept for a week: this page's address brings them back.")
else:
    st.caption("This table is too large to be kept before the audit is started: a reload of this page loses it.")
begin, instead = st.columns([1, 2], gap="large")
if begin.button("Start the audit", type="primary", disabled=config is None) and config is not None:
    with refusals_in_words():
        frame.choose_audit(start(now, config, name))
        forget_in_store()
        st.rerun()
    st.stop()
with instead.expander("Plan it instead"):
    plan_instead(now, name, config)
