"""What is uncertain about an audit, for the pages."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.rights import no_making, press, refusals_in_words
from cfad_core.apps.dashboard.tables import interval_kind
from cfad_core.apps.dashboard.views import reached
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AuditConfig
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.evaluation.intervals import Interval
from cfad_core.runs.model import AuditRecord

LONGEST = 2000  # of a verdict, which names columns


def show_evidence(result: AuditResult, report: MethodReport, threshold: float, title: str) -> None:
    """What supports the number that leads, or speaks against it, a sentence each."""
    lines = [*report.evidence_lines_at(threshold), *plausible_lines(report, threshold)]
    if lines:
        with st.expander(title):
            _list(lines)
    if result.stability is None:
        st.page_link(frame.GRAPH, label="The uncertainty was not measured: measure it on the Causal graph page.")


def _list(lines: Sequence[str]) -> None:
    st.markdown("\n".join(f"- {as_text(line, LONGEST)}" for line in lines) or "Nothing was measured.")


def plausible_lines(report: MethodReport, threshold: float) -> list[str]:
    """What is left of the number without people whose shown twin is implausible."""
    if report.stability is None or report.scores.truth is not None:
        return []
    far, ratio = int(report.stability.plausibility.far.sum()), report.plausible_changing_ratio(threshold)
    if not far:
        return ["The twin that is shown of every person is plausible."]
    if ratio is None:
        return ["The twins that are shown are all implausible: what a detector says of them says little."]
    people = "1 person" if far == 1 else f"{far:,} people"
    whose = "whose shown twin is implausible" if report.basis.view.others == 1 else "who have an implausible twin"
    return [f"Without {people} {whose}, it would be {percent(ratio)}."]


def interval_caption(result: AuditResult, report: MethodReport, threshold: float) -> str:
    """The interval of the number that leads, at a threshold; empty if it was not measured."""
    if no_path(result) and result.stability is not None:
        others = len(result.stability.graphs)
        return f"None of {others} other causal models shows a path either: nobody's outcome can change."
    found = report.changing_ratio_interval(threshold)
    return "" if found is None else f"**{span(found)}**: {interval_name(result)}"


def no_path(result: AuditResult) -> bool:
    """Whether what is compared affects nothing in any graph: then nobody's outcome can change."""
    stability = result.stability
    return stability is not None and not reached(result) and stability.without_path == len(stability.graphs)


def span(found: Interval, digits: int = 1) -> str:
    return f"{percent(found.low, digits)} to {percent(found.high, digits)}"


def interval_name(result: AuditResult) -> str:
    """What the bounds are: few subsamples have no 90 % interval."""
    count = 0 if result.stability is None else len(result.stability.graphs)
    return f"{interval_kind(result)} over {count} causal models"


def offer_measuring(record: AuditRecord) -> None:
    """An audit whose uncertainty was not measured: run it again, and measure it."""
    st.info(
        "This audit learned one graph. Whether the graphs of subsamples, random halves of the rows, agree with it was "
        "not measured."
    )
    if press("Measure the uncertainty", no_making(), key=f"measure-{record.id}", primary=True):
        config = record.config.replace(subsamples=AuditConfig().subsamples)
        with refusals_in_words():
            frame.choose_audit(again(record.id, config, f"{record.name} (with uncertainty)"))
            st.switch_page(frame.TRAIN)
    st.caption("It runs the audit again, with the same settings and seed, and 20 subsamples: a new audit.")
