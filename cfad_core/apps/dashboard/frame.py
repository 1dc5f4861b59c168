"""The frame of every page: its set-up, which audit it is about, and what to show while there is nothing to show."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from datetime import datetime

import streamlit as st

from cfad_core.apps.dashboard.demo import open_demo
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.empty import show_promise
from cfad_core.apps.dashboard.rights import no_making, press, refusal, refusals_in_words, whose_words
from cfad_core.apps.dashboard.services import note_opened, result_of, store
from cfad_core.apps.dashboard.site import DATA as DATA
from cfad_core.apps.dashboard.site import DENSITIES as DENSITIES
from cfad_core.apps.dashboard.site import FINDINGS as FINDINGS
from cfad_core.apps.dashboard.site import GRAPH as GRAPH
from cfad_core.apps.dashboard.site import GROUPS as GROUPS
from cfad_core.apps.dashboard.site import HOME as HOME
from cfad_core.apps.dashboard.site import METHODS_PAGE as METHODS_PAGE
from cfad_core.apps.dashboard.site import PEOPLE as PEOPLE
from cfad_core.apps.dashboard.site import REPORT as REPORT
from cfad_core.apps.dashboard.site import SAVED as SAVED
from cfad_core.apps.dashboard.site import THRESHOLD as THRESHOLD
from cfad_core.apps.dashboard.site import TRAIN as TRAIN
from cfad_core.apps.dashboard.site import current_page
from cfad_core.apps.dashboard.site import open_page as open_page
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.formats import listed
from cfad_core.core.markdown import as_text
from cfad_core.data.attributes import Attribute
from cfad_core.runs.forecast import time_left
from cfad_core.runs.model import AuditRecord, Status

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
VIEW, PERSON, METHOD = "groups", "person", "method"  # in the address: what of the audit a page is about
CHOSEN = "chosen"  # in the address of the saved audits: the one whose row is chosen
_LISTED = 50
_NAMED = 6  # groups of an attribute


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
        for part in (VIEW, PERSON, METHOD):  # of another audit
            st.query_params.pop(part, None)
        st.query_params["audit"] = audit


def finished_audit() -> tuple[AuditRecord, AuditResult]:
    """The audit of a page that shows results; anything else is explained, and ends the page."""
    _audit_picker()
    audit = current_audit()
    if audit is None:
        if show_promise(current_page()):
            with refusals_in_words():
                choose_audit(open_demo())
                st.rerun()
        st.stop()
    record = record_or_stop(audit)
    if record.status != "done":
        show_state(record)
        st.stop()
    result = result_or_stop(record)
    heading(record)
    offer_to_share(record)
    warn_of_older_engine(record, result)
    return with_usable_threshold(record), result


def warn_of_older_engine(record: AuditRecord, result: AuditResult) -> None:
    """Say that an audit was made by an older version, and offer to run it again; nothing for others."""
    for finding in result.findings:
        if finding.code == OLDER_ENGINE:
            st.warning(as_text(finding.text, 500))
            if press("Run it again with this version", no_making(), key=f"anew-{record.id}"):
                with refusals_in_words():
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
    """An audit of the store, which is opened by that; if there is none the page says so, and ends."""
    try:
        found = store().get(audit)
        note_opened(audit)
    except InvalidArtifactError as error:
        st.error(f"{as_text(error)} It may have been deleted, or the address was mistyped.")
        st.session_state.pop("audit", None)
        st.page_link(SAVED, label="Saved audits")
        st.stop()
    return found


def offer_to_share(record: AuditRecord) -> None:
    """The way to who sees an audit, for those who may change that."""
    if store().viewer.name and not refusal(record, "own"):
        st.page_link(SAVED, label="Who sees this audit", query_params={"audit": record.id, CHOSEN: record.id})


def heading(record: AuditRecord) -> None:
    """Which audit this is, in one line."""
    sensitive = " and ".join(attribute_words(one) for one in record.roles.attributes)
    parts = [f"Audit **{as_text(record.name)}**", f"sensitive: {sensitive}", as_text(record.source)]
    if record.parent is not None:
        parts.append(f"repeats {_parent_name(record.parent)} with other settings")
    parts.append(whose_words(record))
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
        return "an audit that was deleted," if not store().viewer.name else "an audit that you do not see,"


def show_state(record: AuditRecord) -> None:
    """An audit that has no result (yet), and the way on."""
    name = f"Audit **{as_text(record.name)}** {STATUS_WORDS[record.status]}."
    if record.status == "planned":
        st.info(f"{name} Its results will be here once it is started.")
        st.page_link(TRAIN, label="See the plan, and start it")
        return
    if record.status in ("queued", "running"):
        left = f" {time_left(record).capitalize()}." if time_left(record) else ""
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
    if press("Start it again", refusal(record, "own"), key=f"again-{record.id}"):
        with refusals_in_words():
            with suppress(InvalidDataError):  # somebody else was faster
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
