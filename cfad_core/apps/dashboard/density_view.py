"""What the page about score densities asks and says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.downloads import csv_file
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.tables import kept_here
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.uncertainty import interval_name, no_path, span
from cfad_core.apps.dashboard.views import otherwise
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, percent
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of, look_of
from cfad_core.evaluation.shapes import GroupShape, Shapes, flagged_line, smoothing_line, suits_log
from cfad_core.figures import densities_figure, score_panels_figure
from cfad_core.runs.model import AuditRecord, operating_threshold

Picture = Literal["each group by itself", "all groups in one, as in the paper"]
Drawing = Literal["smooth curves", "exact counts"]
Scale = Literal["as it suits", "linear", "logarithmic"]

_PANELS = 4
_READABLE = 4  # groups whose lines can be followed in one picture
_ALIKE = ("ae", "cfad", "twin")  # their scores have the same units


@dataclass(frozen=True)
class Wanted:
    """What is to be drawn."""

    methods: tuple[str, ...]
    picture: Picture
    drawing: Drawing
    scale: Scale

    @property
    def units(self) -> list[int]:
        """A number for each method: the same for scores with the same units."""
        return [0 if method in _ALIKE else k for k, method in enumerate(self.methods, start=1)]


def ask_drawing(result: AuditResult) -> Wanted | None:
    """Which methods, and how; None without any method."""
    own = () if result.asked is None else (result.asked.name,)
    usual = [method for method in (*own, "ae", "cfad") if method in result.scores][:2]
    methods = st.multiselect(
        "Methods",
        list(result.scores),
        default=usual or list(result.scores)[:2],
        max_selections=_PANELS,
        format_func=label_of,
        help=HELP["method"],
    )
    place = st.container(horizontal=True)
    pictures: list[Picture] = ["each group by itself", "all groups in one, as in the paper"]
    picture = place.segmented_control("Show", pictures, default=pictures[0], required=True, key="picture")
    drawings: list[Drawing] = ["smooth curves", "exact counts"]
    drawing = place.segmented_control("Draw", drawings, default=drawings[0], required=True, key="drawing")
    scales: list[Scale] = ["as it suits", "linear", "logarithmic"]
    scale = place.segmented_control(
        "Scale",
        scales,
        default=scales[0],
        required=True,
        key="scale",
        help="On a logarithmic scale, equal distances are equal factors: 1, 10, 100. It shows low scores and very high "
        "ones at once. It suits scores above 0 of which a few are far higher than most.",
    )
    return Wanted(tuple(methods), picture, drawing, scale) if methods else None


def shapes_of(record: AuditRecord, result: AuditResult, wanted: Wanted) -> dict[str, Shapes]:
    """By method, how scores are spread; methods whose scores have the same units have the same scale."""
    reports = {method: result.report(method) for method in wanted.methods}
    exact = wanted.drawing == "exact counts"
    suits = {method: suits_log(report.worlds) for method, report in reports.items()}
    alike = [suits[method] for method in wanted.methods if method in _ALIKE]
    found = {}
    for method, report in reports.items():
        log = {"linear": False, "logarithmic": True}.get(
            wanted.scale, all(alike) if method in _ALIKE else suits[method]
        )
        found[method] = report.shapes(operating_threshold(record, result, method)[0], log=log, exact=exact)
    return found


def show_shapes(result: AuditResult, wanted: Wanted, shapes: Mapping[str, Shapes]) -> None:
    """The picture, and what it says in words."""
    panels = {look_of(method): one for method, one in shapes.items()}
    by_itself = wanted.picture == "each group by itself"
    figure = (score_panels_figure if by_itself else densities_figure)(panels, wanted.units)
    st.markdown("  \n".join(f"**{as_text(line, 400)}**" for line in widest_lines(result, shapes)))
    with kept_here("densities", result):
        show_chart(figure, "densities", in_words(result, shapes), toolbar=False)
    people, twins = ("Filled", "Line") if by_itself else ("Solid", "Dashed")
    whose = "which are known here" if result.people.truth is not None else "all that other causal models make of them"
    notes = [
        f"{people}: people as they are. {twins}: their twins, the same people {otherwise(result)} ({whose}). Where the "
        "two differ, the score depends on the group. The higher, the more people score so; each whole area is 100 %.",
        "People right of the dotted threshold are flagged.",
        *_notes(result, wanted, shapes),
    ]
    st.caption(" ".join(notes), help=HELP["twin"])


def widest_lines(result: AuditResult, shapes: Mapping[str, Shapes]) -> list[str]:
    """Where people and their twins differ most at the threshold, a sentence for each method."""
    lines = []
    for method, one in shapes.items():
        known = [group for group in one.groups if group.flagged is not None and group.twins_flagged is not None]
        if known:
            worst = max(known, key=_gap)
            words = f"{label_of(method)} flags {percent(worst.flagged)} of the group {worst.name}"
            twins = f"{percent(worst.twins_flagged)} of the same people, {otherwise(result)}"
            lines.append(f"{words}, and would flag {twins}.")
    return lines


def _gap(group: GroupShape) -> float:
    return abs((group.flagged or 0.0) - (group.twins_flagged or 0.0))


def in_words(result: AuditResult, shapes: Mapping[str, Shapes]) -> str:
    """The whole picture for people who cannot see it."""
    return " ".join(
        f"{label_of(method)}: " + " ".join(flagged_line(group, otherwise(result)) for group in one.groups)
        for method, one in shapes.items()
    )


def _notes(result: AuditResult, wanted: Wanted, shapes: Mapping[str, Shapes]) -> list[str]:
    """What else is to be known about the picture."""
    if len({(one.kind, one.log) for one in shapes.values()}) == 1:
        notes = [smoothing_line(*shapes.values())]
    else:
        notes = [f"{label_of(method)}: {smoothing_line(one)}" for method, one in shapes.items()]
    if wanted.scale == "logarithmic" and any(not one.log for one in shapes.values()):
        notes.append("A logarithmic scale has no place for scores of 0 or less: those methods have a linear one.")
    if len(set(wanted.units)) > 1:
        notes.append("Scores of different methods have different units: they have scales of their own.")
    beyond = max(one.beyond for one in shapes.values())
    if beyond > 1e-9:
        notes.append(f"Up to {percent(beyond, 2)} of a group score far beyond the picture.")
    if wanted.picture != "each group by itself" and len(result.groups) > _READABLE:
        notes.append("Choose two groups above to see them without the others.")
    return notes


def show_numbers(record: AuditRecord, shapes: Mapping[str, Shapes]) -> None:
    """The table behind the picture, and its curves as a file; nothing about groups of fewer than ten people."""
    with st.expander("The numbers behind it"):
        rows = [
            {
                "method": label_of(method),
                "group": group.name,
                "people": HIDDEN_SIZE if group.is_hidden else f"{group.n:,}",
                "flagged": percent(group.flagged),
                "twins flagged": percent(group.twins_flagged),
            }
            for method, one in shapes.items()
            for group in one.groups
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")
        offer_file(
            "The curves (CSV)",
            lambda: csv_file(curves_table(shapes)),
            record.file("score-densities.csv"),
            "text/csv",
            audit=record.id,
            key=f"curves-{record.id}",
        )
        st.caption(f"Nothing is said about groups of fewer than {SMALLEST_GROUP} people.")


def curves_table(shapes: Mapping[str, Shapes]) -> pd.DataFrame:
    """A row for each drawn point; heights as in ``Shapes``."""
    parts = []
    for method, one in shapes.items():
        for group in one.groups:
            if group.people is not None:
                at = one.scores[: len(group.people)]
                twins = np.full(len(at), np.nan) if group.twins is None else group.twins
                columns = {"method": method, "group": group.name, "drawn_as": one.kind, "logarithmic": one.log}
                parts.append(pd.DataFrame({**columns, "score": at, "people": group.people, "twins": twins}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def show_distances(result: AuditResult, reports: Mapping[str, MethodReport]) -> None:
    """How far people's scores are from their twins', in plain words, and for statisticians."""
    sizes = result.group_sizes
    found = [
        (report, group, one)
        for report in reports.values()
        for group, one in report.distances.items()
        if sizes[group] >= SMALLEST_GROUP
    ]
    if not found:
        return
    with st.expander("For statisticians: how far the two curves are apart"):
        rows = [
            {
                "method": report.label,
                "group": group,
                "people": sizes[group],
                "largest difference in shares (Kolmogorov-Smirnov)": one.kolmogorov_smirnov,
                "average shift of the score (Wasserstein)": one.wasserstein,
            }
            for report, group, one in found
        ]
        shares, shifts = list(rows[0])[3:]
        st.dataframe(
            pd.DataFrame(rows).style.format({shares: "{:.3f}", shifts: "{:.3g}"}), hide_index=True, width="stretch"
        )
        report, group, largest = max(found, key=lambda row: row[2].kolmogorov_smirnov)
        st.markdown(
            "Between people's scores and their twins', the mean over the twins. **Kolmogorov-Smirnov**: choose the "
            "threshold at which the shares of people and of twins above it differ most; this is how much they differ: "
            f"at most {percent(largest.kolmogorov_smirnov)} here ({report.label}, {as_text(group)}). **Wasserstein**: "
            "how far scores move on average, in units of the score."
        )
        _intervals(result, reports)


def _intervals(result: AuditResult, reports: Mapping[str, MethodReport]) -> None:
    known = {one.label: one.resampled.distance for one in reports.values() if one.resampled is not None}
    spans = [f"{name} {span(found)}" for name, found in known.items() if found is not None]
    if spans and not no_path(result):
        st.caption(
            f"Kolmogorov-Smirnov, {interval_name(result)}, in the group where it is largest: {'; '.join(spans)}.",
            help=HELP["interval"],
        )
