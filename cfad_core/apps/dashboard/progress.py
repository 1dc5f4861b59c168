"""A running audit, live; and what to do when it is done."""

from __future__ import annotations

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard import frame, site
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.comparison import same_but_seed
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.rights import no_making, press, refusal, refusals_in_words
from cfad_core.apps.dashboard.services import store, workers
from cfad_core.apps.dashboard.waiting import answer_again
from cfad_core.core.formats import duration
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import METHODS
from cfad_core.figures import training_figure
from cfad_core.runs.forecast import outlook_words, outlooks_of, stages_of, time_left
from cfad_core.runs.model import AuditRecord, Report

STAGE_NAMES: dict[str, str] = {
    "preparation": "Reading and checking the table",
    "discovery": "Learning what causes what",
    "refit": "Fitting the causal model",
    "mechanisms": "Learning how each column follows from its causes",
    "judge: discovery": "Learning a second causal model, to judge by",
    "judge: refit": "Fitting that second model",
    **{method.stage: method.doing for method in METHODS.values() if method.stage is not None},
    "subsample models": "Learning causal models from halves of the rows",
    "judging": "Scoring twins made by those other models",
    "evaluation": "Scoring everybody and their twins",
    "checks": "Testing the causal model",
    "slices": "Looking for subgroups that stand out",
    "uncertainty": "Measuring the uncertainty",
}


@st.fragment(run_every=1.0)
def watch(audit: str) -> None:
    """Progress of a queued or running audit, every second; the page can be left meanwhile."""
    record = frame.record_or_stop(audit)
    if record.status not in ("queued", "running"):
        st.rerun()
    reports = store().reports(audit)
    if record.status == "queued":
        st.progress(0.0, text=_in_the_queue(audit))
    else:
        words = [STAGE_NAMES.get(record.stage, "Starting"), f"{record.progress:.0%}", time_left(record)]
        st.progress(min(1.0, record.progress), text=" · ".join(word for word in words if word))
    list_place, curves = st.columns([1, 2], gap="large")
    with list_place:
        _stage_list(record, reports)
        stopping = record.cancel_requested
        label, why = "Cancelling ..." if stopping else "Cancel the audit", refusal(record, "own")
        if press(label, why, disabled=stopping, key=f"cancel-{audit}"):
            with refusals_in_words():
                store().request_cancel(audit)
                st.rerun(scope="fragment")
        st.caption("You can leave this page or close the browser; the audit goes on. Its address brings you back.")
    with curves:
        _curves(record, reports)


def _in_the_queue(audit: str) -> str:
    found = outlooks_of(store(), workers()).get(audit)
    return "In the queue" if found is None else f"In the queue, place {found.place} · {outlook_words(found)}"


def _stage_list(record: AuditRecord, reports: list[Report]) -> None:
    seen = {report.stage: report for report in reports}
    for stage in stages_of(record):
        name = STAGE_NAMES.get(stage, stage)
        if stage in seen:
            report = seen[stage]
            ended = stage != record.stage or report.step >= report.total
            st.markdown(f"{'✓' if ended else '▸'} {name}")
        else:
            st.markdown(f":gray[○ {name}]")


def _curves(record: AuditRecord, reports: list[Report]) -> None:
    """What the parts that learn have learned so far."""
    _curve(
        record,
        reports,
        "loss",
        "what is still wrong",
        "How wrong each part still is while it learns (its *loss*). Each line falls, then levels off: it has learned "
        "what it can. Only its shape matters; lines of different parts cannot be compared.",
        log=False,
    )
    _curve(
        record,
        reports,
        "h",
        "circles left",
        "Nothing causes itself, so the arrows of the causal graph must not run in circles. This measures how much of "
        "such circles is left while the graph is searched for; it ends near zero.",
        log=True,
    )


def _curve(record: AuditRecord, reports: list[Report], key: str, name: str, reading: str, *, log: bool) -> None:
    series = {}
    for stage in stages_of(record):
        points = [
            (report.at, report.values[key]) for report in reports if report.stage == stage and key in report.values
        ]
        if len(points) > 1:
            at, values = np.array(points).T
            shown = np.maximum(values, 1e-12) if log else values
            series[STAGE_NAMES.get(stage, stage)] = (at - reports[0].at, shown)
    if series:
        show_chart(training_figure(series, name, log=log), f"curve-{key}", f"{name} during training.")
        st.caption(reading)


def finished_view(record: AuditRecord) -> None:
    """A finished audit: that it is done, and the way to its findings."""
    result = frame.result_or_stop(record)
    st.success(f"The audit is done. It took {duration(record.seconds)}.")
    frame.warn_of_older_engine(record, result)
    if st.button("See the findings", type="primary", key="to-findings"):
        site.go(frame.FINDINGS)
    if result.asked is not None and not refusal(record, "tune") and store().has_questions(record.id):
        with st.expander(f"Other scores of {as_text(result.asked.name)}"):
            answer_again(record)
    with st.expander("Run it again"):
        run_with_seeds(record)
    if not no_making() and st.button("Audit another table"):
        st.session_state.pop("audit", None)
        st.query_params.pop("audit", None)
        st.switch_page(frame.DATA)


def run_with_seeds(record: AuditRecord) -> None:
    """The same audit with other seeds: how much of it is chance?"""
    count = int(st.number_input("More seeds", 1, 20, 4, key=f"seeds-{record.id}"))
    if press("Run with more seeds", no_making(), key=f"run-seeds-{record.id}"):
        taken = {other.config.seed for other in same_but_seed(record)}
        seeds = [seed for seed in range(len(taken) + count) if seed not in taken][:count]
        with refusals_in_words():
            for seed in seeds:
                again(record.id, record.config.replace(seed=seed), f"{record.name} (seed {seed})")
            waits = "" if record.config.asked is None else " Each of them will wait for scores of its own rows."
            st.success(f"{len(seeds)} audits are in the queue; they appear among the saved audits.{waits}")
