"""The frame of every page: its set-up, which audit it is about, and what to show while there is nothing to show."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from datetime import datetime

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.services import result_of, store
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.formats import duration, listed
from cfad_core.core.markdown import as_text
from cfad_core.data.attributes import Attribute
from cfad_core.runs.model import AuditRecord, Status

HOME, DATA, TRAIN = "app.py", "pages/1_Data.py", "pages/2_Train.py"
GRAPH, PEOPLE, DENSITIES = "pages/3_Causal_graph.py", "pages/4_Counterfactuals.py", "pages/5_Score_densities.py"
THRESHOLD, GROUPS = "pages/6_Threshold.py", "pages/7_Groups.py"
METHODS_PAGE, REPORT, SAVED = "pages/8_Methods.py", "pages/9_Report.py", "pages/10_Saved_audits.py"

STATUS_WORDS: dict[Status, str] = {
    "planned": "is planned and not started",
    "queued": "is waiting in the queue",
    "running": "is running",
    "waiting": "waits for the scores of a detector",
    "done": "is done",
    "failed": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
}
STATUS_NAMES: dict[Status, str] = {"waiting": "waiting for scores"}  # where the word alone says too little
VIEW = "groups"  # in the address: which groups the page is about
_LISTED = 50
_NAMED = 6  # groups of an attribute


def open_page(title: str) -> None:
    """First call of every page."""
    st.set_page_config(page_title=f"{title} · CFAD", page_icon=str(ASSETS / "icon.png"), layout="wide")
    st.logo(str(ASSETS / "logo.svg"), size="large")
    st.html(ASSETS / "style.css")
    try:
        store()
    except CfadError as error:
        st.error(f"The store of audits cannot be opened. {as_text(error)}")
        st.stop()


def current_audit() -> str | None:
    """The audit that the address, or else this session, is about; it is put into the address."""
    audit = st.query_params.get("audit") or st.session_state.get("audit")
    if audit:
        choose_audit(audit)
    return audit


def choose_audit(audit: str) -> None:
    """Make an audit the one that pages are about."""
    st.session_state["audit"] = audit
    if st.query_params.get("audit") != audit:
        st.query_params.pop(VIEW, None)  # another audit's groups
        st.query_params["audit"] = audit


def finished_audit() -> tuple[AuditRecord, AuditResult]:
    """The audit of a page that shows results; anything else is explained, and ends the page."""
    _audit_picker()
    audit = current_audit()
    if audit is None:
        st.info("There is no audit to show yet.")
        st.page_link(HOME, label="Start one")
        st.stop()
    record = record_or_stop(audit)
    if record.status != "done":
        show_state(record)
        st.stop()
    result = result_or_stop(record)
    heading(record)
    warn_of_older_engine(record, result)
    return with_usable_threshold(record), result


def warn_of_older_engine(record: AuditRecord, result: AuditResult) -> None:
    """Say that an audit was made by an older version, and offer to run it again; nothing for others."""
    for finding in result.findings:
        if finding.code == OLDER_ENGINE:
            st.warning(as_text(finding.text, 500))
            if st.button("Run it again with this version", key=f"anew-{record.id}"):
                choose_audit(again(record.id, record.config, record.name))
                st.switch_page(TRAIN)


def with_usable_threshold(record: AuditRecord) -> AuditRecord:
    """The record; if its saved threshold cannot be read the page says so, and goes on without it."""
    try:
        _ = record.threshold
    except InvalidArtifactError as error:
        st.warning(f"{as_text(error)} The audit's own threshold is shown.")
        return dataclasses.replace(record, threshold_entry=None)
    return record


def result_or_stop(record: AuditRecord) -> AuditResult:
    """What an audit found; if it cannot be read the page says so, and ends."""
    try:
        return result_of(record)
    except InvalidArtifactError as error:
        st.error(f"This audit cannot be read. {as_text(error, 500)}")
        st.page_link(SAVED, label="Saved audits")
        st.stop()


def record_or_stop(audit: str) -> AuditRecord:
    """An audit of the store; if there is none the page says so, and ends."""
    try:
        return store().get(audit)
    except InvalidArtifactError as error:
        st.error(f"{as_text(error)} It may have been deleted, or the address was mistyped.")
        st.session_state.pop("audit", None)
        st.page_link(SAVED, label="Saved audits")
        st.stop()


def heading(record: AuditRecord) -> None:
    """Which audit this is, in one line."""
    sensitive = " and ".join(attribute_words(one) for one in record.roles.attributes)
    parts = [f"Audit **{as_text(record.name)}**", f"sensitive: {sensitive}", as_text(record.source)]
    if record.parent is not None:
        parts.append(f"repeats {_parent_name(record.parent)} with other settings")
    st.caption(" · ".join(part for part in parts if part))


def attribute_words(attribute: Attribute) -> str:
    """A sensitive attribute and its groups, which not every audit of an older version has settled."""
    name = as_text(attribute.column)
    if not attribute.is_settled:
        return name
    return f"{name} ({listed([as_text(group) for group in attribute.grouping.names], _NAMED)})"


def _parent_name(audit: str) -> str:
    try:
        return f"audit **{as_text(store().get(audit).name)}**"
    except InvalidArtifactError:
        return "an audit that was deleted,"


def show_state(record: AuditRecord) -> None:
    """An audit that has no result (yet), and the way on."""
    name = f"Audit **{as_text(record.name)}** {STATUS_WORDS[record.status]}."
    if record.status == "planned":
        st.info(f"{name} Its results will be here once it is started.")
        st.page_link(TRAIN, label="See the plan, and start it")
        return
    if record.status in ("queued", "running"):
        left = f" About {duration(record.seconds_left)} left." if record.seconds_left else ""
        st.info(f"{name}{left} Its results will be here.")
        st.page_link(TRAIN, label="Watch it")
        return
    if record.status == "waiting":
        st.info(f"{name} Its results will be here once they are uploaded.")
        st.page_link(TRAIN, label="Get the rows to score, and upload the scores")
        return
    if record.status == "failed":
        st.error(name)
        for line in record.error.splitlines():
            st.markdown(f"- {as_text(line, 500)}")
    else:
        st.warning(f"{name} {as_text(record.error)}")
    if st.button("Start it again", key=f"again-{record.id}"):
        with suppress(CfadError):  # somebody else was faster
            store().requeue(record.id)
        choose_audit(record.id)
        st.switch_page(TRAIN)


def named(record: AuditRecord) -> str:
    """Its name and when it was made: names need not differ."""
    return f"{record.name} · {datetime.fromtimestamp(record.created):%d %b %H:%M}"


def _audit_picker() -> None:
    """In the side bar: which of the finished audits the page shows; by default the newest."""
    names = {record.id: named(record) for record in store().find(status="done", limit=_LISTED)}
    if not names:
        return
    current = st.query_params.get("audit") or st.session_state.get("audit") or next(iter(names))
    ids: list[str] = [*([] if current in names else [current]), *names]
    with st.sidebar:
        chosen = st.selectbox(
            "Audit",
            ids,
            index=ids.index(current),
            format_func=lambda audit: names.get(audit, audit),
            key=f"picker-{current}",
        )
    choose_audit(chosen)
    if chosen != current:
        st.rerun()
