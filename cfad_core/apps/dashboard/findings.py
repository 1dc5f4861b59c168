"""The findings of an audit: the verdict, what changes for whom, where to look next, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import site
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.apps.dashboard.tables import MITIGATED, kept_here
from cfad_core.apps.dashboard.uncertainty import LONGEST, no_path, plausible_lines
from cfad_core.apps.dashboard.views import otherwise, view_of
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import SMALLEST_GROUP, counted, listed, percent, share_of_people
from cfad_core.core.markdown import as_text
from cfad_core.data.findings import Finding
from cfad_core.detectors.registry import help_of, title_of
from cfad_core.evaluation.changes import changes_line, group_changes
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.group_lines import gap_line
from cfad_core.evaluation.group_metrics import GroupTable
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.verdict import failed_tests, reliability, verdict_sentences
from cfad_core.figures import changes_figure, group_bars_figure
from cfad_core.report.subject import Subject
from cfad_core.report.turning import carried_edges, turning_points
from cfad_core.runs.model import AuditRecord, operating_threshold

_MOST_TURNS = 4  # of what would turn the verdict
_MOST_LOOKS = 4  # ways on
_CLEAR = 0.05  # a difference of flag rates, in shares, from which on it is worth a look
_LIKELY = 0.5  # a person's outcome is likely to change from here on
_SAID = (OLDER_ENGINE, "no-path-from-sensitive", "fair-because-useless")  # by the frame, or by the verdict
_ABOUT = {
    "The causal model": (
        "no-overlap",
        "additive-twins",
        "ready-graph",
        "rows-learned-from",
        "selected-rows",
        "scaling",
    ),
    "The detectors": (
        "nobody-flagged",
        "detector-noise",
        "other-scores",
        "not-row-by-row",
        "asked-detector",
        "asked-rows",
        "foreign-detector",
        "fine-tuning",
        "fairod-base",
        "kernel",
    ),
}


@dataclass(frozen=True)
class Seen:
    """What the page is about: one detector of an audit at its threshold, through a view.

    Attributes
    ----------
    whole, result : the audit, and the view of it that is shown
    method, threshold, how : the detector, where it flags, and what that threshold is
    """

    record: AuditRecord
    whole: AuditResult
    result: AuditResult
    method: str
    threshold: float
    how: str

    @property
    def report(self) -> MethodReport:
        return self.result.report(self.method)

    @property
    def evidence(self) -> Evidence:
        return self.report.evidence_at(self.threshold)

    @property
    def subject(self) -> Subject:
        """As the report sees it."""
        return Subject(self.whole, self.method, self.threshold, self.how, content=b"", name=self.record.name)

    @property
    def group_table(self) -> GroupTable:
        return self.whole.group_report(self.method, view_of(self.result).comparison.name).metrics_at(self.threshold)

    def of(self, method: str) -> Seen:
        """The same of another detector."""
        threshold, how = operating_threshold(self.record, self.whole, method)
        return Seen(self.record, self.whole, self.result, method, threshold, how)


def show_verdict(seen: Seen) -> None:
    """The leading number, large, what it means in words, and whether it can be relied on."""
    found = seen.evidence
    head, *rest = verdict_sentences(found)
    word, why = reliability(found, was_tested=seen.report.basis.checks is not None)
    number, words = st.columns([1, 3.2], gap="medium", vertical_alignment="center")
    known = found.ratio is not None and (found.sees_path or found.known_truth)
    with number:
        shown = share_of_people(found.ratio) if known and found.ratio is not None else "not known"
        st.metric("people whose outcome changes", shown, help=HELP["changing ratio"])
        if known and found.interval is not None:
            ends = f"**{percent(found.interval.low)} to {percent(found.interval.high)}**"
            st.caption(f"likely {ends} ({bounds_name(found.graphs)})", help=HELP["interval"])
        if known:
            st.caption(f"of {seen.result.judged_people:,} people who were judged")
    with words:
        st.markdown(f"#### {as_text(head, LONGEST)}.")
        if rest:
            st.markdown(as_text(". ".join(rest) + ".", LONGEST))
        colour = {"yes": "green", "no": "red", "as far as tested": "green"}.get(word, "orange")
        st.markdown(f":{colour}-badge[Reliable: {as_text(word)}] {as_text(why)}.")


def show_other_detector(seen: Seen, other: str) -> None:
    """The detector that was made fairer, beside the plain one; or the other way round."""
    found = seen.of(other)
    line = seen.result.improvement_line(other) or verdict_sentences(found.evidence)[0] + "."
    doubted = failed_tests(found.evidence)
    caveat = " Not reliable: the causal model failed a test, here as there." if doubted else ""
    st.markdown(f"**{as_text(title_of(other))}.** {as_text(line, LONGEST)}{caveat}", help=help_of(other))


def show_changes(seen: Seen) -> None:
    """One picture: what changes for whom."""
    groups = group_changes(seen.report.curves.groups, seen.threshold)
    st.subheader("What changes for whom", anchor=False)
    if no_path(seen.result) or not groups:
        st.info("In the causal graph nothing follows from the sensitive attribute: nobody's outcome can change.")
        return
    with kept_here("changes", seen.result):
        show_chart(
            changes_figure(groups),
            "changes",
            "Of each group, who is flagged either way, only as they are, and only as their twin.",
            toolbar=False,
        )
    worst = max(groups, key=lambda one: one.only_person + one.only_twin)
    st.caption(f"{as_text(changes_line(worst, otherwise(seen.result)), 400)}", help=HELP["twin"])
    with st.expander("The numbers behind it"):
        rows = {
            one.name: {
                "people": "<10" if one.n < SMALLEST_GROUP else f"{one.n:,}",
                "flagged": percent(one.flag_rate),
                "flagged, but their twin is not": percent(one.only_person),
                "not flagged, but their twin is": percent(one.only_twin),
            }
            for one in groups
        }
        with kept_here("changes-table", seen.result):
            st.dataframe(pd.DataFrame.from_dict(rows, orient="index"), width="stretch")


def show_disparity(seen: Seen) -> None:
    """How often each group is flagged as it is: a finding of its own, whatever the twins say."""
    table = seen.group_table
    st.subheader("How often each group is flagged", anchor=False)
    with kept_here("disparity", seen.result):
        show_chart(
            group_bars_figure(table, "flag_rate"), "disparity", "The share flagged of each group.", toolbar=False
        )
    st.caption(as_text(gap_line(table), 600))
    st.caption(
        "This is how the groups differ as they are. It is a finding even where few outcomes change: causes that a twin "
        "keeps, and differences that the detector rightly sees, count here too."
    )


@dataclass(frozen=True)
class Look:
    """Something worth a look, and the page where it is."""

    page: str
    label: str
    why: str


def looks(seen: Seen) -> list[Look]:
    """Where to look next, the most important first."""
    return list(_looks(seen))[:_MOST_LOOKS]


def _looks(seen: Seen) -> Iterator[Look]:
    found, result = seen.evidence, seen.result
    sensitive = view_of(result).comparison.name
    if not found.known_truth and failed_tests(found):
        why = "The causal model does not fit this table: check its arrows, and say what you know."
        yield Look(site.GRAPH, "Mend the causal graph", why)
    elif not found.known_truth and not found.sees_path:
        why = f"No chain of arrows leads from {sensitive} anywhere. Is that so? If not, say what you know."
        yield Look(site.GRAPH, "Check the causal graph", why)
    if result.stability is None and not found.known_truth:
        yield Look(site.GRAPH, "Measure the uncertainty", "It was not measured: one graph may be chance.")
    edges = [edge for edge in carried_edges(seen.subject, view_of(result).comparison) if edge.matters]
    if edges and (edges[0].carried or 0.0) > 0.0 and not found.known_truth:
        why = f"What changes goes mostly through {edges[0].name}. Is that how {sensitive} works here?"
        yield Look(site.GRAPH, "See which way it comes", why)
    likely = int((seen.report.change_probability(seen.threshold) >= _LIKELY).sum())
    if likely:
        people = "There is 1 person" if likely == 1 else f"There are {likely:,} people"
        why = f"{people} whose outcome would probably change. Look at one."
        yield Look(site.PEOPLE, "Meet the people", why)
    gap = seen.group_table.between["flag_rate"]
    if gap is not None and gap.difference.value is not None and gap.difference.value >= _CLEAR:
        ends = gap.difference.interval
        chance = ", which may be chance" if ends is not None and ends.low <= 0.0 else ""
        points = f"{100.0 * gap.difference.value:.0f} points"
        why = f"{gap.highest}: flagged {points} more often than {gap.lowest}{chance}."
        yield Look(site.GROUPS, "Compare the groups", why)
    yield Look(site.THRESHOLD, "Choose the threshold", "How many can you look at? Fewer flags change fewer outcomes.")
    yield Look(site.METHODS_PAGE, "Compare detectors", "Does another detector change fewer outcomes?")


def show_looks(found: Sequence[Look]) -> None:
    """A card for each thing that is worth a look."""
    st.subheader("Look at next", anchor=False)
    for k, (place, look) in enumerate(zip(st.columns(len(found)), found, strict=True)):
        with place.container(border=True, height="stretch"):
            if st.button(look.label, key=f"look-{k}", width="stretch"):
                site.go(look.page)
            st.caption(as_text(look.why, 300))


def show_trust(seen: Seen) -> None:
    """What supports the numbers and speaks against them; what would turn the verdict; each notice once."""
    st.subheader("How far to trust it", anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**What was checked**")
        checked = seen.report.evidence_lines_at(seen.threshold)
        if seen.evidence.sees_path:
            checked += plausible_lines(seen.report, seen.threshold)
        _bullets(checked or ["Nothing was checked: this audit is too small."])
    with right:
        st.markdown("**What would turn the verdict**")
        _bullets(turning_points(seen.subject, view_of(seen.result).comparison)[:_MOST_TURNS])
    groups = notices_by_subject(seen.whole.findings)
    if groups:
        count = sum(len(lines) for lines in groups.values())
        with st.expander(f"{counted(count, 'thing')} to know about the table, the model and the detectors"):
            for about, lines in groups.items():
                st.markdown(f"**{about}**\n" + "\n".join(f"- {line}" for line in lines))


def notices_by_subject(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """What the reader must know, as Markdown: by what it is about, warnings first, each once."""
    known = sorted(
        (one for one in dict.fromkeys(findings) if one.code not in _SAID and one.severity != "error"),
        key=lambda one: one.severity != "warning",
    )
    subjects: dict[str, list[Finding]] = {}
    for one in known:
        about = next((about for about, codes in _ABOUT.items() if one.code in codes), "The table")
        subjects.setdefault(about, []).append(one)
    return {about: [text for _, text in merge_alike(some)] for about, some in subjects.items()}


def _bullets(lines: Sequence[str]) -> None:
    st.markdown("\n".join(f"- {as_text(line, LONGEST)}" for line in lines))


def other_detector(result: AuditResult, method: str) -> str | None:
    """What a detector is set beside: one that was made fairer, or the plain one for that; None if there is none."""
    others = ("ae",) if method in MITIGATED else MITIGATED
    return next((name for name in others if name in result.scores and name != method), None)


def about_threshold(seen: Seen) -> str:
    """At which threshold, and for whom."""
    names = listed([as_text(name) for name in seen.report.basis.groups], 6)
    return f"{seen.result.judged_people:,} people judged ({names}). Flagged are scores above the threshold: {seen.how}."
