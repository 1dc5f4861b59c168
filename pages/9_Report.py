"""Report: what only a person can say, a live preview, every format, and signed copies."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.report_files import offer_files, offer_to_sign, show_signed, team_template
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.statements_form import edit_statements
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of
from cfad_core.report.html import html_report
from cfad_core.report.making import make_document
from cfad_core.report.subject import subject_of_saved
from cfad_core.runs.model import AuditRecord

_HEIGHT = 900  # of the preview, in pixels


def about(record: AuditRecord, result: AuditResult) -> str | None:
    """The detector that the report is about; one alone is not asked for."""
    if len(result.scores) == 1:
        return None
    usual = None if record.threshold is None else record.threshold.method
    methods = list(result.scores)
    first = subject_of_saved(store(), record.id, result=result)[0].method if usual not in methods else usual
    return str(
        st.selectbox(
            "The report is about", methods, methods.index(str(first)), format_func=label_of, key=f"about-{record.id}"
        )
    )


frame.open_page("Report")
st.title("Report")
record, result = frame.finished_audit()
try:
    _ = record.statements
except CfadError as error:
    st.error(f"{as_text(error, 400)} Save them anew.")
    st.stop()
form, page = st.columns([2, 3], gap="large")
with form:
    method = about(record, result)
    st.markdown("**What only you can say**")
    statements, is_saved = edit_statements(record, result)
if statements is None:
    st.stop()
template = team_template()
try:
    audit, _ = subject_of_saved(store(), record.id, method, result)
    document = make_document(audit, statements, template)
except CfadError as error:
    st.error(as_text(error, 500))
    st.stop()
with page:
    offer_files(audit, document)
    st.iframe(html_report(document, interactive=False), height=_HEIGHT)
    st.caption(
        "A preview with what is typed on the left. *Present the summary* in its corner shows it full screen, with "
        "arrow keys. "
        f"The threshold is {audit.how}; choose another on the Threshold page."
    )
st.subheader("Sign")
offer_to_sign(audit, statements, template, saved=is_saved)
st.subheader("Signed reports")
show_signed(record.id)
