"""Report: what only a person can say, a live preview, every format, and signed copies."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.report_files import offer_files, offer_to_sign, show_signed, team_template
from cfad_core.apps.dashboard.rights import refusal
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.statements_form import edit_statements, with_readable_statements
from cfad_core.audit.notebook import leading_method
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of
from cfad_core.report.html import html_report
from cfad_core.report.making import make_document
from cfad_core.report.subject import subject_of_saved
from cfad_core.runs.model import AuditRecord

_HEIGHT = 540  # of the preview, in pixels: it stays in sight beside the form


def about(record: AuditRecord, result: AuditResult) -> str | None:
    """The detector that the report is about; one alone is not asked for."""
    methods = list(result.scores)
    if len(methods) == 1:
        return None
    saved = None if record.threshold is None else record.threshold.method
    first = saved if saved in methods else leading_method(result)
    return str(
        st.selectbox(
            "The report is about", methods, methods.index(first), format_func=label_of, key=f"about-{record.id}"
        )
    )


frame.open_page("Report")
record, result = frame.finished_audit()
record, is_readable = with_readable_statements(record)
form, page = st.columns([2, 3], gap="large")
with form:
    method = about(record, result)
    statements: Statements | None = record.statements
    is_saved, why = True, refusal(record, "tune")
    if why:
        st.caption(f"What people state about the audit is saved with it, and in the report. {why}")
    else:
        st.markdown("**What only you can say**")
        statements, is_saved = edit_statements(record, result)
if statements is None:
    st.stop()
template = team_template()
try:
    first = " Justified paths are measured first." if statements.justified_paths else ""
    with st.spinner(f"Making the report ...{first}"):
        audit, _ = subject_of_saved(store(), record.id, method, result, record)
        document = make_document(audit, statements, template)
except CfadError as error:
    st.error(as_text(error, 500))
    st.stop()
with page, st.container(key="report-preview"):
    offer_files(audit, document, record)
    st.iframe(html_report(document, interactive=False), height=_HEIGHT, alt="Preview of the report")
    st.caption(
        "A preview with what is typed on the left. *Present the summary* in its corner shows it full screen, with "
        f"arrow keys. The threshold is {audit.how}; choose another on the Threshold page."
    )
st.subheader("Sign")
offer_to_sign(audit, statements, template, saved=is_saved and is_readable)
st.subheader("Signed reports")
show_signed(record)
