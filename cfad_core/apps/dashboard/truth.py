"""What an audit said beside the truth, where true twins were kept from it."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.markup import show_markup
from cfad_core.apps.dashboard.services import stored_table
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.audit.truth import KeptTruth, kept_truth
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.formats import listed
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.truth import TruthCheck
from cfad_core.figures.sketches import RatioRow, ratios_sketch
from cfad_core.runs.model import AuditRecord


def show_truth(record: AuditRecord, result: AuditResult, report: MethodReport, threshold: float) -> None:
    """Whether the audit was right about a method at a threshold, in a sentence; nothing where nobody knows."""
    check = truth_check(record, result, report, threshold)
    if check is not None:
        colour = {True: "green", False: "red", None: "orange"}[check.holds]
        word = {True: "The audit was right", False: "The audit missed it", None: "The truth is known"}[check.holds]
        kept = "The true twins of these invented people are known, and the audit did not see them."
        st.markdown(f":{colour}-badge[{word}] {check.line}", help=f"{kept} {HELP['interval']}")


def show_truth_of_all(record: AuditRecord, result: AuditResult) -> None:
    """The same of every method, at the audit's own thresholds, as a picture; nothing where nobody knows."""
    rows, checks = truth_rows(record, result), truth_checks(record, result)
    if not checks:
        return
    missed = [name for name, check in checks.items() if check.holds is False]
    with st.expander("Was it right? The true twins are known here, and the audit did not see them"):
        show_markup(ratios_sketch(rows), f"truth-{record.id}")
        which = f"it misses the truth of {listed(missed, 6)}" if missed else "none of them misses it"
        st.caption(
            f"Each line is what the audit said of a detector, each cross what is true, of {result.judged_people:,} "
            f"people at the audit's own thresholds. Of {len(checks)} intervals, {which}. An interval of 90 % may "
            "miss the truth one time in ten."
        )


def truth_rows(record: AuditRecord, result: AuditResult) -> list[RatioRow]:
    """What the audit said of each method, and what is true where that is known."""
    checks = truth_checks(record, result)
    return [
        RatioRow(
            look_of(name),
            report.metrics.changing_ratio,
            report.changing_ratio_interval(report.threshold),
            truth=checks[report.label].true if report.label in checks else None,
        )
        for name, report in result.reports.items()
    ]


def truth_checks(record: AuditRecord, result: AuditResult) -> dict[str, TruthCheck]:
    """By the label of each method, whether the audit was right about it; empty where nobody knows."""
    found = {one.label: truth_check(record, result, one, one.threshold) for one in result.reports.values()}
    return {label: check for label, check in found.items() if check is not None}


def truth_check(record: AuditRecord, result: AuditResult, report: MethodReport, threshold: float) -> TruthCheck | None:
    """Whether the audit was right about a method at a threshold; None where nobody knows."""
    digest = record.tables.get("truth")
    return None if digest is None else _kept_truth(record.id, digest, result).check(report, threshold)


@st.cache_resource(show_spinner=False, max_entries=4)
def _kept_truth(audit: str, digest: str, _result: AuditResult) -> KeptTruth:  # noqa: ARG001 - the audit is the key
    try:
        return kept_truth(_result, stored_table(digest))
    except InvalidDataError:  # of twins in the groups of another column than the one that is audited
        return KeptTruth({})
