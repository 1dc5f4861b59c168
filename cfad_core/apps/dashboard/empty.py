"""A result page while there is no audit: what it will show, with the demo's picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import site
from cfad_core.apps.dashboard.demo import PLAIN, RECORDING, show_miniature
from cfad_core.apps.dashboard.markup import show_markup
from cfad_core.apps.dashboard.services import store
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import cell_text
from cfad_core.data.sets.demo import generate_demo
from cfad_core.report.subject import Subject
from cfad_core.runs.recording import NAME, recorded_result


@dataclass(frozen=True)
class Promise:
    """What a page will show: in two sentences, and what draws it for the demo."""

    words: str
    draw: Callable[[], None]


def show_promise(file: str) -> bool:
    """What this page will show; whether the demo is asked for."""
    promise = PROMISES.get(file)
    words, picture = st.columns([2, 3], gap="large")
    with words:
        st.info("There is no audit to show yet.")
        if promise is not None:
            st.markdown(promise.words)
        asked = st.button("See the demo", type="primary", help="A finished audit of invented taxpayers, here and now.")
        st.page_link(site.HOME, label="Or start one of your own")
    if promise is not None:
        with picture.container(border=True, key="promise"):
            st.caption("This is the demo, so that you see what will be here:")
            promise.draw()
    return asked


@st.cache_resource(show_spinner=False)
def _recorded(home: str) -> AuditResult:  # noqa: ARG001 - the result reads files of the store
    return recorded_result(RECORDING, store().home)


def _subject() -> Subject:
    result = _recorded(str(store().home))
    return Subject(result, PLAIN, result.report(PLAIN).threshold, result.how_flagged(PLAIN), content=b"", name=NAME)


def _graph() -> None:
    from cfad_core.report.pictures import graph_picture

    show_markup(graph_picture(_subject()).svg, "promise-graph")


def _tradeoff() -> None:
    from cfad_core.report.pictures import tradeoff_picture

    show_markup(tradeoff_picture(_subject()).svg, "promise-tradeoff")


def _densities() -> None:
    from cfad_core.report.pictures import densities_picture

    subject = _subject()
    picture = densities_picture(subject, subject.comparisons[0])
    if picture is not None:
        show_markup(picture.svg, "promise-densities")


def _rates() -> None:
    from cfad_core.report.pictures import rates_svg

    subject = _subject()
    show_markup(rates_svg(subject, subject.comparisons[0]), "promise-rates")


def _person() -> None:
    """The person whose outcome is most likely to change, and their twin."""
    result = _recorded(str(store().home))
    report = result.report(PLAIN)
    row = int(result.people.row[int(report.change_probability(report.threshold).argmax())])
    found = result.explain(row, PLAIN, table=generate_demo().test)
    rows = [
        {"column": one.column, "as they are": cell_text(one.value), f"as {group}": cell_text(twin)}
        for one in found.columns
        for group, twin in one.twins.items()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


PROMISES = {
    site.FINDINGS: Promise(
        "It will say in plain words for how many people the outcome changes, had they belonged to the other group, and "
        "for whom. Below that stand what was checked, and where to look next.",
        show_miniature,
    ),
    site.THRESHOLD: Promise(
        "It will let you choose how many people are flagged, and show at once what that costs whom. The further left a "
        "line, the fewer outcomes change.",
        _tradeoff,
    ),
    site.REPORT: Promise(
        "It will hold what you hand on: the verdict, the evidence and your own statements, to sign and to check. You "
        "can take it along as a page, as a PDF or as data.",
        show_miniature,
    ),
    site.GRAPH: Promise(
        "It will show what causes what in your table, and on which ways the sensitive attribute reaches other columns. "
        "You can forbid or require arrows, and run the audit again.",
        _graph,
    ),
    site.PEOPLE: Promise(
        "It will set a person beside their twin, the same person had they belonged to the other group. You see which "
        "columns move, and what that does to the score.",
        _person,
    ),
    site.DENSITIES: Promise(
        "It will show how a detector's scores are spread, in each group and among its twins. The closer the two lines "
        "of a group lie, the less the score depends on the group.",
        _densities,
    ),
    site.GROUPS: Promise(
        "It will set the groups beside each other: how often each is flagged, and how often its outcomes change. It "
        "also looks for subgroups that nobody asked about.",
        _rates,
    ),
    site.METHODS_PAGE: Promise(
        "It will set detectors beside each other on your table: how well each finds anomalies, and how often its "
        "outcome changes.",
        show_miniature,
    ),
}
