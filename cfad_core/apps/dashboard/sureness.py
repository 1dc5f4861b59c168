"""How sure an audit is, for the pages: computed once for each method, told in words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.services import curves_of, result_of, store
from cfad_core.apps.dashboard.text import as_text
from cfad_core.apps.dashboard.thresholds import grid_of
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Validity
from cfad_core.core.arrays import Floats
from cfad_core.core.config import METHOD_NAMES, AuditConfig
from cfad_core.core.formats import percent
from cfad_core.evaluation.intervals import ENOUGH, Interval, ResampledScores, interval
from cfad_core.evaluation.outcomes import Outcomes
from cfad_core.evaluation.verdict import Evidence, verdict
from cfad_core.runs.model import AuditRecord

LONGEST = 2000  # of a verdict, which names columns


@dataclass(frozen=True)
class Sure:
    """What a moving threshold needs of a method: its scores in every world, and the band along its curve."""

    resampled: ResampledScores
    low: Floats
    high: Floats

    def at(self, threshold: float) -> Interval | None:
        """The changing ratio may be this."""
        return interval(self.resampled.changing_ratio(np.array([threshold]))[:, 0])


def sure_of(record: AuditRecord, method: str) -> Sure | None:
    """None if the audit does not tell how sure it is."""
    return _sure(record.id, record.finished, method, str(store().home), record)


@st.cache_resource(show_spinner=False, max_entries=8)  # each holds the scores of 10,000 people in every world
def _sure(audit: str, finished: float | None, method: str, home: str, _record: AuditRecord) -> Sure | None:  # noqa: ARG001
    resampled = result_of(_record).resampled(method)
    return None if resampled is None else Sure(resampled, *resampled.band(grid_of(curves_of(_record, method))))


def evidence_of(record: AuditRecord, method: str) -> Evidence:
    """What the verdict is made of, at the audit's own threshold."""
    return _evidence(record.id, record.finished, method, str(store().home), result_of(record))


@st.cache_resource(show_spinner=False, max_entries=64)
def _evidence(audit: str, finished: float | None, method: str, home: str, _result: AuditResult) -> Evidence:  # noqa: ARG001
    return _result.evidence(method)


def distance_of(record: AuditRecord, method: str) -> Interval | None:
    """Of the Kolmogorov-Smirnov distance between the worlds, in the group where it is largest."""
    return _distance(record.id, record.finished, method, str(store().home), result_of(record))


@st.cache_resource(show_spinner=False, max_entries=64)
def _distance(audit: str, finished: float | None, method: str, home: str, _result: AuditResult) -> Interval | None:  # noqa: ARG001
    resampled = _result.resampled(method)
    return None if resampled is None else resampled.distance


def verdict_at(record: AuditRecord, method: str, threshold: float, own: Outcomes, judged: Outcomes) -> str:
    """As ``AuditResult.verdict``, from what was computed before: a slider cannot wait for it."""
    found = dataclasses.replace(
        evidence_of(record, method),
        changing_ratio=float(own.changing_ratio),
        changing_ratio_independent=float(judged.changing_ratio),
        flag_rate=float(own.flag_rate),
    )
    sure = sure_of(record, method)
    if sure is not None:
        floor = result_of(record).floor(method, threshold)
        found = dataclasses.replace(found, interval=sure.at(threshold), floor=floor)
    if threshold != result_of(record).threshold(method):
        found = dataclasses.replace(found, carrier=None)  # it is known at the audit's own threshold only
    return as_text(verdict(found), LONGEST)


def show_sureness(record: AuditRecord, method: str, threshold: float) -> None:
    """Below the tiles: the interval, model error, and what is left without twins that are nobody."""
    result, sure = result_of(record), sure_of(record, method)
    if result.uncertainty is None or sure is None:
        st.page_link(frame.GRAPH, label="How sure this is was not measured: measure it on the page about the graph.")
        return
    if no_path(result):
        graphs = len(result.uncertainty.graphs)
        st.caption(f"None of {graphs} other graphs sees a path either: there is nothing to be sure of.")
        return
    found, floor = sure.at(threshold), result.floor(method, threshold)
    far, near = int(result.uncertainty.validity.far.sum()), result.changing_ratio_of_near(method, threshold)
    one, two, three = st.columns([1.15, 0.8, 1.45])
    if found is not None:
        one.caption(f"**{span(found)}**: {kind(result)}", help=HELP["interval"])
    two.caption(f"**{percent(floor)}** by model error alone", help=HELP["model error"])
    if not far:
        three.caption("No twin is far from anything real", help=HELP["far"])
    elif near is None:
        three.caption("All twins are far from anything real", help=HELP["far"])
    else:
        people = "1 person" if far == 1 else f"{far:,} people"
        three.caption(f"**{percent(near)}** without {people} whose twin is far from anything real", help=HELP["far"])


def no_path(result: AuditResult) -> bool:
    """Whether the sensitive attribute affects nothing in any graph: then nobody's outcome can change."""
    sure = result.uncertainty
    return sure is not None and not result.scm.affected and sure.without_path == len(sure.graphs)


def span(found: Interval, digits: int = 1) -> str:
    return f"{percent(found.low, digits)} to {percent(found.high, digits)}"


def kind(result: AuditResult) -> str:
    """What the bounds are: few graphs have no 90 % interval."""
    graphs = 0 if result.uncertainty is None else len(result.uncertainty.graphs)
    return f"90 % interval of {graphs} graphs" if graphs >= ENOUGH else f"lowest to highest of {graphs} graphs"


def show_verdicts(record: AuditRecord, result: AuditResult) -> None:
    """A line for each method, and one about the twins."""
    lines = [
        f"- **{METHOD_NAMES.get(method, method)}**: {as_text(verdict(evidence_of(record, method)), LONGEST)}"
        for method in result.scores
    ]
    st.markdown("\n".join(lines))
    if result.uncertainty is not None:
        st.caption(twins_sentence(result.uncertainty.validity), help=HELP["far"])


def twins_sentence(validity: Validity) -> str:
    """How many of the twins could be people."""
    parts = (
        (validity.far, "far from anything real"),
        (validity.out_of_range, "beyond all numbers seen"),
        (validity.between_levels, "between two values of a category"),
    )
    told = [f"{percent(float(marked.mean()))} are {words}" for marked, words in parts if marked.any()]
    n = f"Of the {len(validity.far):,} twins by the audit's own causal model, "
    return n + (", ".join(told) + "." if told else "none is far from anything real, or could be nobody.")


def offer_measuring(record: AuditRecord) -> None:
    """An audit that does not tell how sure it is: run it again, so that it does."""
    st.info(
        "This audit learned one graph, and did not measure how sure it is: how often other graphs, learned from "
        "random halves of the rows, agree with it."
    )
    if st.button("Measure how sure this audit is", key=f"measure-{record.id}", type="primary"):
        config = dataclasses.replace(record.config, bootstrap=AuditConfig.bootstrap)
        frame.choose_audit(again(record.id, config, f"{record.name} (how sure)"))
        st.switch_page(frame.TRAIN)
    st.caption("It runs the audit again, with the same settings and seed, and 20 more graphs: a new audit.")
