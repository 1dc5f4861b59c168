"""The pictures of a report: as SVG for print, and as plotly figures for the screen. Small groups are in neither."""

from __future__ import annotations

import numpy as np

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.audit.drawing import group_rates, most_flagged, tradeoff
from cfad_core.core.formats import SMALLEST_GROUP, percent
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.metrics import GROUP_METRICS, suppressed
from cfad_core.evaluation.shapes import smoothing_line
from cfad_core.figures import graph_figure, rates_figure, score_panels_figure, tradeoff_figure
from cfad_core.figures.graph_sketch import graph_sketch
from cfad_core.figures.sketches import RateRow, densities_sketch, rates_sketch
from cfad_core.figures.tradeoff_sketch import tradeoff_sketch
from cfad_core.report.document import Picture
from cfad_core.report.subject import Subject

_RATES = ("flag_rate", "flag_rate_counterfactual")


def sizes(audit: Subject, comparison: Comparison) -> dict[str, int]:
    """How many people each group has, of those who are moved to another one."""
    return {name: one.n for name, one in audit.report(comparison).curves.groups.items()}


def _shown(audit: Subject, comparison: Comparison) -> list[str]:
    """The groups that are large enough to be drawn."""
    return [name for name, n in sizes(audit, comparison).items() if n >= SMALLEST_GROUP]


def rates_svg(audit: Subject, comparison: Comparison, most: int | None = None) -> str:
    """Who is flagged, by group, people and twins; of more than ``most`` groups, those flagged most and least often."""
    found, people = suppressed(audit.report(comparison).metrics_at(audit.threshold).groups), sizes(audit, comparison)
    if most is not None and len(found) > most:
        often = sorted(_shown(audit, comparison), key=lambda name: -(found[name]["flag_rate"] or 0.0))
        kept = {*often[: most // 2], *often[-(most - most // 2) :]}
        found = {name: values for name, values in found.items() if name in kept}
    return rates_sketch(
        [
            RateRow(name, people[name], values["flag_rate"], values["flag_rate_counterfactual"])
            for name, values in found.items()
        ]
    )


def rates_picture(audit: Subject, comparison: Comparison) -> Picture:
    """The same, also to be pointed at."""
    report, drawn = audit.report(comparison), _shown(audit, comparison)
    rates = group_rates(report, audit.threshold)
    kept = {  # no more than the table says: rates among a group's anomalies may be of a few people
        title: {GROUP_METRICS[metric].label: values.get(GROUP_METRICS[metric].label) for metric in _RATES}
        for (title, values), name in zip(rates.items(), report.basis.groups, strict=True)
        if name in drawn
    }
    people = sum(sizes(audit, comparison).values())
    return Picture(
        f"rates_{comparison.name}",
        f"Who is flagged by {audit.label}, by {comparison.name}",
        f"Each group as it is, and its twins: the same {people:,} people, had they belonged to another group.",
        rates_svg(audit, comparison),
        rates_figure(kept).to_json() if kept else "",
    )


def densities_picture(audit: Subject, comparison: Comparison) -> Picture | None:
    """How scores are spread; None if there are none that could be drawn."""
    report = audit.report(comparison)
    if not _shown(audit, comparison) or not all(
        np.isfinite(some).all() for some in (report.scores.factual, report.scores.judged)
    ):
        return None
    shapes, look = report.shapes(audit.threshold), look_of(audit.method)
    return Picture(
        f"densities_{comparison.name}",
        f"Scores of {audit.label}, by {comparison.name}",
        "Filled: people as they are. Line: their twins. The closer the line is to the edge of the filled area, the "
        f"less the score depends on the group. People right of the threshold are flagged. {smoothing_line(shapes)}",
        densities_sketch(shapes),
        score_panels_figure({look: shapes.to_take}).to_json(),
    )


def tradeoff_picture(audit: Subject) -> Picture:
    """What another threshold, or another detector, would cost and save."""
    result, with_labels = audit.result.seen(), audit.has_labels
    about = f", by {audit.comparisons[0].name}" if len(audit.comparisons) > 1 else ""
    reports = result.reports
    most = max(most_flagged(one, audit.threshold if name == audit.method else None) for name, one in reports.items())
    curves = {look_of(name): tradeoff(one, with_labels=with_labels, most=most) for name, one in reports.items()}
    metrics = result.reports[audit.method].metrics_at(audit.threshold)
    quality = metrics.macro_f1 if with_labels else metrics.flag_rate
    chosen = {look_of(audit.method): (metrics.changing_ratio or 0.0, quality or 0.0)}
    better = "Left and up is better" if with_labels else "At the same share flagged, further left is fairer"
    return Picture(
        "tradeoff",
        f"What other thresholds and detectors would do{about}",
        f"Each point of a line is a threshold. {better}. The star is the threshold that this report is about. Left "
        f"out: thresholds that flag over {percent(most, 0)} of people, and ends where flagging more makes both worse.",
        tradeoff_sketch(curves, chosen, with_labels=with_labels),
        tradeoff_figure(curves, chosen, with_labels=with_labels).to_json(),
    )


def graph_picture(audit: Subject) -> Picture:
    """What causes what."""
    result = audit.result
    variables, strengths = result.model.strengths()
    stability, is_open = result.stability, open_directions(result)
    found = None if stability is None else (times_found(stability), len(stability.graphs))
    names, affected = result.model.attributes, result.model.affected_names
    return Picture(
        "graph",
        "The causal graph",
        "An arrow leads from a cause to its effect. Dashed arrows were found in fewer than half of the subsamples; at "
        "a question mark the data leave the direction open.",
        graph_sketch(variables, strengths, names, affected, found=found, is_open=is_open),
        graph_figure(variables, strengths, names, affected, found=found, is_open=is_open).to_json(),
    )
