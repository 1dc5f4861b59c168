"""Planned audits on the page Train: sealing one, looking at it, starting it."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import plan
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.rights import press, refusal, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError
from cfad_core.core.formats import exceeded_by
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of
from cfad_core.runs.model import AuditRecord
from cfad_core.runs.plan import LONGEST_EXPECTATION, LONGEST_NAME, is_sealed


def plan_instead(now: Draft, name: str, config: AuditConfig | None) -> None:
    """The fields of a plan, and the button that seals it."""
    st.caption("The table, the roles and all settings are sealed now, before anybody sees a result. Start it later.")
    by = st.text_input("Your name", max_chars=LONGEST_NAME, key="plan-by")
    expectation = st.text_area(
        "What you expect, or would accept",
        max_chars=LONGEST_EXPECTATION,
        placeholder="Which method and threshold the report will be about, and what would be acceptable.",
        key="plan-expectation",
    )
    if st.button("Seal this plan", disabled=config is None, help=HELP["seal"]) and config is not None:
        try:
            frame.choose_audit(plan(now, config, name, by, expectation))
        except CfadError as error:
            st.error(as_text(error, 500))
            return
        st.rerun()


def show_plan(record: AuditRecord) -> None:
    """When an audit was planned, by whom, and whether it is still what was sealed; nothing of others."""
    try:
        found = record.plan
    except CfadError as error:
        st.error(as_text(error, 500))
        return
    if found is None:
        return
    moment = f"{datetime.fromtimestamp(found.at):%d %b %Y, %H:%M}"
    st.markdown(f"**Planned** {moment} by {as_text(found.by) or 'somebody who gave no name'} · seal `{found.digest}`")
    if found.expectation:
        with st.expander("What was expected beforehand"):
            for line in found.expectation.splitlines():
                st.markdown(as_text(line, LONGEST_EXPECTATION))
    if not is_sealed(record):
        st.error("This audit is not what was sealed: its tables, roles, settings or plan were changed in the store.")


def start_planned(record: AuditRecord) -> None:
    """What is sealed, in words, and the button that starts it."""
    st.info("This audit is planned and not started. It cannot be changed: start it, or delete it and plan another one.")
    st.markdown("**What is sealed**")
    st.markdown("\n".join(f"- {line}" for line in _sealed_lines(record)))
    why = refusal(record, "own")
    if why:
        st.caption(why)
    if press("Start the planned audit", why, primary=True, disabled=not is_sealed(record), key=f"start-{record.id}"):
        with refusals_in_words():  # somebody else was faster
            store().start(record.id)
            st.rerun()


def _sealed_lines(record: AuditRecord) -> list[str]:
    roles, config = record.roles, record.config
    parts = {"table": "to learn from", "test": "of the people to judge", "test_counterfactual": "of their true twins"}
    parts["truth"] = "of their true twins, which the audit does not see"
    methods = [label_of(name) for name in config.methods]
    methods += [] if config.asked is None else [config.asked.name]
    known = "none" if config.knowledge == type(config.knowledge)() else "as it was given"
    return [
        *(f"The table {parts[part]}: sha256 `{as_text(name)}`" for part, name in record.tables.items()),
        f"Sensitive: {'; '.join(frame.attribute_words(one) for one in roles.attributes)}",
        f"Label: {as_text(roles.label)} is {as_text(roles.anomaly)}" if roles.label else "No label",
        f"Columns left out: {as_text(', '.join(roles.ignore), 400) or 'none'}",
        f"Methods: {as_text(', '.join(methods), 400)}",
        f"Threshold: {exceeded_by(config.quantile)}",
        f"Seed {config.seed}, {config.subsamples} subsamples, preset {config.preset}, domain knowledge: {known}",
        "All other settings",
    ]
