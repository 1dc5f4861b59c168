"""A running audit, live; and what to do when it is done."""

from __future__ import annotations

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.comparison import same_but_seed
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.tables import show_metrics
from cfad_core.apps.dashboard.uncertainty import choose_evidence, show_verdicts
from cfad_core.apps.dashboard.views import choose_view, otherwise
from cfad_core.apps.dashboard.waiting import answer_again
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.audit.run import stages
from cfad_core.core.formats import duration
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import METHODS
from cfad_core.figures import training_figure
from cfad_core.runs.model import AuditRecord, Report

STAGE_NAMES: dict[str, str] = {
    "discovery": "Learning the causal graph",
    "refit": "Fitting the causal model",
    "mechanisms": "Fitting a mechanism for each variable",
    "judge: discovery": "Learning an independent judge's graph",
    "judge: refit": "Fitting the judge's model",
    **{method.stage: method.doing for method in METHODS.values() if method.stage is not None},
    "subsample models": "Learning a causal model from each subsample",
    "judging": "Making twins by other causal models",
    "evaluation": "Scoring everybody and their twins",
    "checks": "Testing the causal model",
    "slices": "Looking for subgroups that stand out",
    "uncertainty": "Measuring the uncertainty",
}


@st.fragment(run_every=1.0)
def watch(audit: str) -> None:
    """Progress of a queued or running audit, every second; the page can be left meanwhile."""
    record = store().get(audit)
    if record.status not in ("queued", "running"):
        st.rerun()
    reports = store().reports(audit)
    if record.status == "queued":
        waiting = [other.id for other in reversed(store().find(status="queued"))]
        place = waiting.index(audit) + 1 if audit in waiting else 1
        st.progress(0.0, text=f"In the queue, place {place}")
    else:
        left = f" · about {duration(record.seconds_left)} left" if record.seconds_left is not None else ""
        name = STAGE_NAMES.get(record.stage, "Starting")
        st.progress(min(1.0, record.progress), text=f"{name} · {record.progress:.0%}{left}")
    stages, curves = st.columns([1, 2], gap="large")
    with stages:
        _stage_list(record, reports)
        stopping = record.cancel_requested
        if st.button("Cancelling ..." if stopping else "Cancel the audit", disabled=stopping, key=f"cancel-{audit}"):
            store().request_cancel(audit)
            st.rerun(scope="fragment")
        st.caption("You can leave this page or close the browser; the audit goes on. Its address brings you back.")
    with curves:
        _curve(
            record,
            reports,
            "loss",
            "loss",
            "The loss of each stage. It levels off when the stage has learned what it can.",
            log=False,
        )
        _curve(
            record,
            reports,
            "h",
            "acyclicity h",
            "How far the graph is from having no cycles. It goes to zero.",
            log=True,
        )


def _stages(record: AuditRecord) -> list[str]:
    return list(stages(record.config, knows_truth="test_counterfactual" in record.tables))


def _stage_list(record: AuditRecord, reports: list[Report]) -> None:
    seen = {report.stage: report for report in reports}
    for stage in _stages(record):
        if stage in seen:
            report = seen[stage]
            ended = stage != record.stage or report.step >= report.total
            st.markdown(f"{'✓' if ended else '▸'} {STAGE_NAMES[stage]}")
        else:
            st.markdown(f":gray[○ {STAGE_NAMES[stage]}]")


def _curve(record: AuditRecord, reports: list[Report], key: str, name: str, reading: str, *, log: bool) -> None:
    series = {}
    for stage in _stages(record):
        points = [
            (report.at, report.values[key]) for report in reports if report.stage == stage and key in report.values
        ]
        if len(points) > 1:
            at, values = np.array(points).T
            series[STAGE_NAMES[stage]] = (at - reports[0].at, np.maximum(values, 1e-12) if log else values)
    if series:
        st.plotly_chart(training_figure(series, name, log=log), width="stretch", key=f"curve-{key}")
        st.caption(reading)


def finished_view(record: AuditRecord) -> None:
    """A finished audit: its headline, and the way on."""
    result = frame.result_or_stop(record)
    st.success(f"The audit is done. It took {duration(record.seconds)}.")
    frame.warn_of_older_engine(record, result)
    _ways_on()
    result = choose_view(record, result)
    show_verdicts(result)
    choose_evidence(result, f"evidence-{record.id}")
    show_metrics(result)
    judges = "their true twins" if result.people.truth is not None else "causal models that no detector knows"
    st.caption(
        f"{result.judged_people:,} people judged, threshold at the {as_text(result.threshold_rule)}. "
        f"*outcome changes*: share of people whose outcome would change, {otherwise(result)}, by {judges}."
    )
    if result.asked is not None and store().has_questions(record.id):
        with st.expander(f"Other scores of {as_text(result.asked.name)}"):
            answer_again(record)
    with st.expander("Run it again"):
        run_with_seeds(record)
    others = [finding for finding in result.findings if finding.code != OLDER_ENGINE]
    for _, text in merge_alike([finding for finding in others if finding.severity == "warning"]):
        st.warning(text)
    if st.button("Audit another table"):
        st.session_state.pop("audit", None)
        st.query_params.pop("audit", None)
        st.switch_page(frame.DATA)


def _ways_on() -> None:
    ways = (
        (frame.GRAPH, "Causal graph"),
        (frame.PEOPLE, "Counterfactuals"),
        (frame.DENSITIES, "Score densities"),
        (frame.THRESHOLD, "Threshold"),
        (frame.GROUPS, "Groups"),
        (frame.METHODS_PAGE, "Methods"),
        (frame.REPORT, "Report"),
    )
    for place, (page, label) in zip(st.columns(len(ways)), ways, strict=True):
        if place.button(label, key=f"to-{page}", width="stretch"):
            st.switch_page(page)


def run_with_seeds(record: AuditRecord) -> None:
    """The same audit with other seeds: how much of it is chance?"""
    count = int(st.number_input("More seeds", 1, 20, 4, key=f"seeds-{record.id}"))
    if st.button("Run with more seeds", key=f"run-seeds-{record.id}"):
        taken = {other.config.seed for other in same_but_seed(record)}
        seeds = [seed for seed in range(len(taken) + count) if seed not in taken][:count]
        for seed in seeds:
            again(record.id, record.config.replace(seed=seed), f"{record.name} (seed {seed})")
        waits = "" if record.config.asked is None else " Each of them will wait for scores of its own rows."
        st.success(f"{len(seeds)} audits are in the queue; they appear among the saved audits.{waits}")
