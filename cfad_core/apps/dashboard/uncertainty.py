"""What is uncertain about an audit, for the pages."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.text import as_text
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AuditConfig
from cfad_core.core.formats import percent
from cfad_core.evaluation.intervals import ENOUGH, Interval
from cfad_core.evaluation.plausibility import Plausibility
from cfad_core.runs.model import AuditRecord

LONGEST = 2000  # of a verdict, which names columns


def show_uncertainty(result: AuditResult, report: MethodReport, threshold: float) -> None:
    """Below the tiles: the interval, what is left without implausible twins, and what else supports the number."""
    stability = report.stability
    if stability is None:
        st.page_link(frame.GRAPH, label="The uncertainty was not measured: measure it on the Causal graph page.")
        _show_evidence(report, threshold)
        return
    if no_path(result):
        st.caption(f"None of {len(stability.graphs)} subsamples shows a path either: nobody's outcome can change.")
        return
    found = report.changing_ratio_interval(threshold)
    far, plausible = int(stability.plausibility.far.sum()), report.plausible_changing_ratio(threshold)
    one, two = st.columns(2)
    if found is not None:
        one.caption(f"**{span(found)}**: {interval_name(result)}", help=HELP["interval"])
    if not far:
        words = "Every twin is plausible"
    elif plausible is None:
        words = "All twins are implausible"
    else:
        people = "1 person" if far == 1 else f"{far:,} people"
        words = f"**{percent(plausible)}** without {people} whose twin is implausible"
    two.caption(words, help=HELP["plausible twin"])
    _show_evidence(report, threshold)


def _show_evidence(report: MethodReport, threshold: float) -> None:
    """What supports the number, a sentence each."""
    lines = report.evidence_lines_at(threshold)
    if lines:
        with st.expander("How far to trust this number"):
            st.markdown("\n".join(f"- {as_text(line, LONGEST)}" for line in lines))


def no_path(result: AuditResult) -> bool:
    """Whether the sensitive attribute affects nothing in any graph: then nobody's outcome can change."""
    stability = result.stability
    return stability is not None and not result.model.affected_names and stability.without_path == len(stability.graphs)


def span(found: Interval, digits: int = 1) -> str:
    return f"{percent(found.low, digits)} to {percent(found.high, digits)}"


def interval_name(result: AuditResult) -> str:
    """What the bounds are: few subsamples have no 90 % interval."""
    count = 0 if result.stability is None else len(result.stability.graphs)
    return f"90 % interval of {count} subsamples" if count >= ENOUGH else f"lowest to highest of {count} subsamples"


def show_verdicts(result: AuditResult) -> None:
    """A line for each method, and one about the twins."""
    lines = [f"- **{report.label}**: {as_text(report.verdict, LONGEST)}" for report in result.reports.values()]
    st.markdown("\n".join(lines))
    if result.stability is not None:
        st.caption(twins_sentence(result.stability.plausibility), help=HELP["plausible twin"])


def twins_sentence(found: Plausibility) -> str:
    """How many of the twins are plausible."""
    parts = (
        (found.far, "are far from any real person"),
        (found.out_of_range, "have a number beyond all that were seen"),
        (found.between_levels, "have a category between two values"),
    )
    odd = [f"{percent(float(marked.mean()))} {words}" for marked, words in parts if marked.any()]
    n = f"Of the {len(found.far):,} twins, "
    return n + (", ".join(odd) + "." if odd else "all are plausible.")


def offer_measuring(record: AuditRecord) -> None:
    """An audit whose uncertainty was not measured: run it again, and measure it."""
    st.info(
        "This audit learned one graph. Whether the graphs of subsamples, random halves of the rows, agree with it was "
        "not measured."
    )
    if st.button("Measure the uncertainty", key=f"measure-{record.id}", type="primary"):
        config = record.config.replace(subsamples=AuditConfig().subsamples)
        frame.choose_audit(again(record.id, config, f"{record.name} (with uncertainty)"))
        st.switch_page(frame.TRAIN)
    st.caption("It runs the audit again, with the same settings and seed, and 20 subsamples: a new audit.")
