"""The sections of the page about groups."""

from __future__ import annotations

from functools import partial

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.downloads import csv_file
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.group_tables import (
    ALLOWED,
    ALONE,
    TOGETHER,
    against_shown,
    between_shown,
    between_to_take,
    interaction_shown,
    interaction_to_take,
    known_metrics,
    metrics_shown,
    metrics_to_take,
    pairs_shown,
    pairs_to_take,
)
from cfad_core.apps.dashboard.slice_view import show_slices
from cfad_core.apps.dashboard.tables import kept_here
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.uncertainty import span
from cfad_core.audit.group_report import GroupReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import SMALLEST_GROUP, counted, percent
from cfad_core.core.markdown import as_text
from cfad_core.evaluation.group_lines import gap_line, impact_line
from cfad_core.evaluation.group_metrics import GroupTable
from cfad_core.evaluation.interaction import Interaction, cancelling_line, interaction_line
from cfad_core.evaluation.metrics import GROUP_METRICS, evaluate_group
from cfad_core.evaluation.pair_table import PairTable, worst_line
from cfad_core.figures import group_bars_figure, pairs_figure
from cfad_core.runs.model import AuditRecord

_LONGEST = 1000  # of a sentence, which names groups
_SQUARE = 6  # groups up to which the matrix and the bars stand beside each other


def show_groups_page(record: AuditRecord, result: AuditResult, report: GroupReport, threshold: float) -> None:
    """Everything about the groups of one comparison, at a threshold.

    Parameters
    ----------
    result : the audit through that comparison
    """
    pairs, both = report.pairs_at(threshold), report.interaction_at(threshold)
    metrics = report.metrics_at(threshold)
    _findings(report, pairs, both, metrics)
    if result.stability is None:
        st.page_link(frame.GRAPH, label="The uncertainty was not measured: measure it on the Causal graph page.")
    if pairs is not None and len(pairs.names) == 2:
        _two_groups(pairs)
    beside = pairs is not None and 2 < len(pairs.names) <= _SQUARE
    left, right = st.columns(2, gap="large") if beside else (st.container(), st.container())
    if pairs is not None and len(pairs.names) > 2:
        with left:
            _matrix(result, pairs)
    with right:
        metric = _bars(record, result, report, metrics)
    if both is not None:
        _interaction(report, both)
    _tables(result, report, metrics, metric)
    if pairs is not None:
        _pairs_table(result, pairs)
    found, own = result.slices.get(report.method), report.report.threshold
    name = f"{report.method}-slices.csv"
    show_slices(record, found, report.comparison.name, name, is_own_threshold=threshold == own)
    _downloads(record, report, metrics, pairs, both)


def _findings(report: GroupReport, pairs: PairTable | None, both: Interaction | None, metrics: GroupTable) -> None:
    """What stands out, a sentence each."""
    lines = []
    if pairs is not None and len(pairs.names) > 2:
        lines.append(worst_line(pairs, report.comparison.name))
    if both is not None:
        lines.append(interaction_line(both, *_two_attributes(report)))
    lines += [gap_line(metrics), impact_line(metrics)]
    text = "\n".join(f"- {as_text(line, _LONGEST)}" for line in lines)
    st.container(border=True).markdown(text, help=HELP["impact ratio"])


def _two_attributes(report: GroupReport) -> tuple[str, str]:
    first, second = (report.audit.encoding.attribute_names[s] for s in report.comparison.attributes)
    return first, second


def _two_groups(table: PairTable) -> None:
    """Either direction, where there are two: a matrix would say no more."""
    for place, pair in zip(st.columns(2), table.pairs, strict=False):
        source, target = (as_text(table.names[group], 60) for group in (pair.source, pair.target))
        label = f"outcome changes for {source}, had they been {target}"
        place.metric(label, percent(pair.ratio), border=True, help=HELP["changing ratio"])
        ends = "" if pair.interval is None else f" Interval: **{span(pair.interval)}**."
        place.caption(f"Of {pair.n:,} people who are {source}.{ends}")


def _matrix(result: AuditResult, table: PairTable) -> None:
    with kept_here("matrix", result):
        show_chart(pairs_figure(table), "pairs", "Between which groups outcomes change, a cell for each pair.")
    any_other = table.any_other
    ends = "" if any_other.interval is None else f" ({span(any_other.interval)})"
    every = len(table.names) * (len(table.names) - 1)
    notes = " Groups that are not compared have no cell." if len(table.pairs) < every else ""
    if any(pair.is_impossible for pair in table.pairs):
        notes += " A question mark: the flag rates of the two groups contradict it, so it is a guess."
    st.caption(
        "Each cell: of the people of the row's group, the share whose outcome would change, had they belonged to the "
        f"column's group; darker is more, the frame marks the highest.{notes} "
        f"{percent(any_other.ratio)} of people{ends} have another outcome in at least one other group.",
        help=HELP["simultaneous interval"],
    )


def _bars(record: AuditRecord, result: AuditResult, report: GroupReport, metrics: GroupTable) -> str:
    """One metric of each group; its name."""
    known = known_metrics(metrics)
    metric = st.selectbox(
        "Metric",
        list(known),
        format_func=lambda name: GROUP_METRICS[name].label,
        key=f"metric-{record.id}",
        help="The table below has them all.",
    )
    people = report.report.curves.people
    overall = evaluate_group(people, metrics.threshold, people.median)[metric]
    with kept_here("bars", result):
        show_chart(group_bars_figure(metrics, metric, overall), "bars", "One metric of each group.")
    about = GROUP_METRICS[metric]
    st.caption(
        f"{about.help} Whiskers: 90 % interval; dashed: all people. If they differ: {about.difference}",
        help=HELP["interval of a group"],
    )
    return metric


def _interaction(report: GroupReport, found: Interaction) -> None:
    """Two attributes at once."""
    first, second = _two_attributes(report)
    st.subheader("If both change", help=HELP["interaction"])
    shown = interaction_shown(found, first, second)
    st.dataframe(shown, hide_index=True, width="content")
    lines = " ".join(line(found, first, second) for line in (interaction_line, cancelling_line))
    judged = f"{found.n:,} people" if found.n is not None else f"fewer than {SMALLEST_GROUP} people"
    st.caption(f"{as_text(lines, _LONGEST)} Counted on {judged}, each moved to other groups of both in turn.")


def _tables(result: AuditResult, report: GroupReport, metrics: GroupTable, metric: str) -> None:
    st.subheader("Group by group")
    config = {about.label: st.column_config.TextColumn(help=about.help) for about in GROUP_METRICS.values()}
    with kept_here("metrics", result):
        st.dataframe(metrics_shown(metrics), width="stretch", column_config=config)
    st.caption(
        "Everybody as they are, without any twin; in brackets the 90 % interval. n/a: nobody to count it on.",
        help=HELP["intersection"] if report.comparison.is_joint else HELP["interval of a group"],
    )
    with kept_here("between", result):
        st.dataframe(between_shown(metrics), hide_index=True, width="stretch")
    st.caption(
        "Between the two groups that are furthest apart: highest minus lowest, and lowest over highest, with 90 % "
        "intervals that allow for having looked at all groups."
    )
    reference = _reference(report)
    if reference is not None:
        with kept_here("against", result):
            st.dataframe(against_shown(metrics, reference, metric), width="content")
        st.caption(f"{GROUP_METRICS[metric].label}: each group beside the reference, {as_text(reference)}.")


def _reference(report: GroupReport) -> str | None:
    """The group that the others are compared with, if the audit has one."""
    wanted = {one.column: one.reference for one in report.audit.roles.attributes}
    return wanted.get(report.comparison.name)


def _pairs_table(result: AuditResult, table: PairTable) -> None:
    with st.expander("All pairs of groups"):
        config = {
            ALONE: st.column_config.TextColumn(help=HELP["interval"]),
            TOGETHER: st.column_config.TextColumn(help=HELP["simultaneous interval"]),
            ALLOWED: st.column_config.TextColumn(help=HELP["graph-free bounds"]),
        }
        with kept_here("pairs", result):
            st.dataframe(pairs_shown(table), hide_index=True, width="stretch", column_config=config)
        st.caption(f"{counted(len(table.pairs), 'pair')}, those between which most outcomes change first.")


def _downloads(
    record: AuditRecord, report: GroupReport, metrics: GroupTable, pairs: PairTable | None, both: Interaction | None
) -> None:
    """The numbers as files."""
    files = {
        "Metrics by group": ("groups", metrics_to_take(metrics)),
        "Differences between groups": ("differences", between_to_take(metrics)),
    }
    if pairs is not None:
        files["Pairs of groups"] = ("pairs", pairs_to_take(pairs))
    if both is not None:
        files["If both change"] = ("interaction", interaction_to_take(both))
    st.subheader("Downloads")
    place = record.id, report.method, report.audit.plan.comparisons.index(report.comparison)
    for column, (label, (name, table)) in zip(st.columns(3), files.items(), strict=False):
        with column:
            offer_file(
                f"{label} (CSV)",
                partial(csv_file, table),
                record.file(f"{report.method}-{name}.csv"),
                "text/csv",
                audit=record.id,
                key=f"{name}-{place}",
                width="stretch",
            )
    st.caption(
        f"Files say nothing about groups of fewer than {SMALLEST_GROUP} people: their numbers may tell who they are."
    )
