"""What the page about the threshold says and shows, all of it about one choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.charts import TRADEOFF, show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.tables import kept_here
from cfad_core.apps.dashboard.threshold_choice import Choice
from cfad_core.apps.dashboard.uncertainty import LONGEST, interval_caption, interval_name, no_path
from cfad_core.apps.dashboard.views import otherwise, view_of
from cfad_core.audit.drawing import by_share, most_flagged, tradeoff
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import number, percent
from cfad_core.core.looks import Look
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.choosing import Costs, threshold_flagging, usual_range
from cfad_core.evaluation.group_metrics import GroupTable
from cfad_core.evaluation.metrics import GROUP_METRICS, GroupMetric, Metrics
from cfad_core.evaluation.verdict import reliability, verdict_sentences
from cfad_core.figures import costs_figure, shares_figure, tradeoff_figure

_BESIDE = 2  # groups whose table has room beside a chart
_BY_SHARE, _BY_QUALITY = "if more are flagged", "as in the paper"


@dataclass(frozen=True)
class Chosen:
    """One choice, and what is looked at.

    Attributes
    ----------
    whole, result : the audit, about everybody; and the view of it that is shown
    """

    whole: AuditResult
    result: AuditResult
    choice: Choice

    @property
    def report(self) -> MethodReport:
        return self.result.report(self.choice.threshold.method)

    @property
    def value(self) -> float:
        return self.choice.threshold.value

    @property
    def metrics(self) -> Metrics:
        return self.report.metrics_at(self.value)

    @property
    def has_band(self) -> bool:
        return self.report.stability is not None and not no_path(self.result)

    def in_all_methods(self) -> dict[str, float]:
        """By method, the threshold that flags as many of all people as the chosen one."""
        method = self.choice.threshold.method
        count = self.whole.report(method).curves.people.flagged(self.value)
        found = {
            name: threshold_flagging(self.whole.report(name).people, count, self.whole.report(name).threshold)
            for name in self.result.reports
        }
        return found | {method: self.value}


def show_impact(chosen: Chosen) -> None:
    """Who is flagged, whose outcome changes, and whether to rely on it: in a few sentences."""
    metrics, result = chosen.metrics, chosen.result
    with st.container(border=True):
        st.markdown(f"#### {impact(metrics, otherwise(result))}")
        expected = expected_line(chosen.choice, metrics)
        if expected:
            st.markdown(expected)
        found = chosen.report.evidence_at(chosen.value)
        word, why = reliability(found, was_tested=chosen.report.basis.checks is not None)
        colour = {"yes": "green", "no": "red", "as far as tested": "green"}.get(word, "orange")
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            sentences = verdict_sentences(found)[: 1 if found.sees_path else 2]  # the second: whether that may be
            head = as_text(". ".join(sentences), LONGEST)
            st.markdown(f"{head}. :{colour}-badge[Reliable: {as_text(word)}] {as_text(why)}.", width="content")
            st.page_link(frame.FINDINGS, label="The whole verdict", width="content")


def impact(metrics: Metrics, otherwise_words: str) -> str:
    """Who is flagged, and whose outcome changes, in people."""
    flagged = round((metrics.flag_rate or 0.0) * metrics.n)
    words = f"{flagged:,} of {metrics.n:,} people {'is' if flagged == 1 else 'are'} flagged"
    if metrics.newly_flagged is None or metrics.newly_cleared is None:
        return f"{words}."
    only_now, only_then = round(metrics.newly_cleared * metrics.n), round(metrics.newly_flagged * metrics.n)
    if not only_now and not only_then:
        return f"{words}. {otherwise_words[:1].upper()}{otherwise_words[1:]}, nearly nobody's outcome would change."
    return (
        f"{words}. {otherwise_words[:1].upper()}{otherwise_words[1:]}, about {only_now:,} of them would not be, and "
        f"about {only_then:,} others would be."
    )


def expected_line(choice: Choice, metrics: Metrics) -> str:
    """How many are to be expected, of others than those at hand; empty if it was not asked."""
    chosen = choice.threshold
    if chosen.of is None or metrics.flag_rate is None:
        return ""
    low, high = usual_range(metrics.flag_rate, chosen.of)
    when = "" if chosen.period is None else f" {chosen.period}"
    return (
        f"Of {chosen.of:,} such people{when}, expect about **{metrics.flag_rate * chosen.of:,.0f}** to be flagged: by "
        f"chance alone {low:,} to {high:,}, nine times in ten."
    )


def show_tiles(chosen: Chosen) -> None:
    """The numbers that people look at first; below the one that leads, its interval."""
    metrics = chosen.metrics
    found = chosen.report.curves.people.at(chosen.value)
    tiles = [
        (f"flagged of {metrics.n:,}", f"{round((metrics.flag_rate or 0.0) * metrics.n):,}", HELP["flagged"]),
        ("outcome changes", percent(metrics.changing_ratio), HELP["changing ratio"]),
    ]
    if metrics.n_anomaly is not None:
        about = "People whose label says that they are an anomaly, and who are flagged. All others of them are missed."
        of = "1 anomaly" if metrics.n_anomaly == 1 else f"{metrics.n_anomaly:,} anomalies"
        tiles.append((f"found of {of}", f"{int(found.true_positive):,}", about))
        tiles.append(("needless checks", f"{int(found.false_positive):,}", "Flagged, but no anomaly by their label."))
    else:
        tiles.append(("threshold", number(chosen.value), HELP["threshold"]))
    places = st.columns(len(tiles))
    for place, (label, value, about) in zip(places, tiles, strict=True):
        place.metric(label, value, border=True, help=about)
    interval = interval_caption(chosen.result, chosen.report, chosen.value)
    if interval:
        places[1].caption(interval, help=HELP["interval"])
    if metrics.n_anomaly is not None:
        places[0].caption(f"by a score above {number(chosen.value)}", help=HELP["threshold"])
        if metrics.macro_f1 is not None:
            places[2].caption(f"Macro-F1 {number(metrics.macro_f1)}", help=HELP["Macro-F1"])


def show_costs(chosen: Chosen) -> None:
    """What other thresholds would cost, if it was chosen by that."""
    found, missed = chosen.choice.costs, chosen.choice.threshold.cost
    if found is None or missed is None:
        return
    n = chosen.whole.report(chosen.choice.threshold.method).people.n
    share = found.cheapest / n
    left, right = st.columns([3, 2], gap="large")
    with left:
        said = _costs_said(found, n).replace("**", "")
        show_chart(costs_figure(found, (share, found.least)), "costs", said, toolbar=False)
    right.markdown(_costs_said(found, n))
    right.caption(
        "The cost counts missed anomalies and needless checks by the labels, and nothing else: not what a flag does to "
        "people, nor whose outcome changes. Where labels are wrong or missing, it is wrong, too. The band is where the "
        "cheapest threshold lies in other samples of the people."
    )


def _costs_said(found: Costs, n: int) -> str:
    """The cheapest threshold in words."""
    saved = 0.0 if not found.nobody else 1.0 - found.least / found.nobody
    return (
        f"It costs least to flag **{found.cheapest:,} of {n:,} people ({percent(found.cheapest / n)})**: "
        f"{percent(saved, 0)} less than to flag nobody. With other people of the same kind it would be "
        f"{percent(found.range.low)} to {percent(found.range.high)} of them (90 % interval)."
    )


def show_curves(chosen: Chosen) -> None:
    """Every method's curve, and where the same number of people is flagged on it."""
    kind = st.segmented_control(
        "Chart", [_BY_SHARE, _BY_QUALITY], default=_BY_SHARE, required=True, key="chart", label_visibility="collapsed"
    )
    thresholds = chosen.in_all_methods()
    most = max(most_flagged(report, thresholds[name]) for name, report in chosen.result.reports.items())
    (_show_shares if kind == _BY_SHARE else _show_quality)(chosen, most)


def _show_shares(chosen: Chosen, most: float) -> None:
    curves, stars = {}, {}
    for name, threshold in chosen.in_all_methods().items():
        report = chosen.result.report(name)
        curves[look_of(name)] = by_share(report, most, with_band=chosen.has_band and report is chosen.report)
        at, anomalies = report.curves.people.at(threshold), report.curves.people.n_anomaly
        found = float(at.true_positive) / anomalies if anomalies else None
        stars[look_of(name)] = (float(at.flag_rate), float(at.changing_ratio), found)
    with_labels = any(curve.found is not None for curve in curves.values())
    show_chart(shares_figure(curves, stars), "shares", _stars_said(stars), toolbar=False)
    below = " Below: the share of the anomalies that are found; higher is better." if with_labels else ""
    st.caption(
        f"The more people are flagged, the more outcomes change; lower is fairer.{below} Stars: every method, flagging "
        f"as many people as chosen above.{_band(chosen)} Drawn up to {percent(most, 0)} flagged: if nearly everybody "
        "is flagged, hardly any outcome can change, which says nothing about fairness."
    )


def _show_quality(chosen: Chosen, most: float) -> None:
    with_labels = chosen.metrics.n_anomaly is not None
    curves, stars = {}, {}
    for name, threshold in chosen.in_all_methods().items():
        report = chosen.result.report(name)
        with_band = chosen.has_band and report is chosen.report
        curves[look_of(name)] = tradeoff(report, with_labels=with_labels, with_band=with_band, most=most)
        at = report.curves.people.at(threshold)
        stars[look_of(name)] = (float(at.changing_ratio), float(at.macro_f1 if with_labels else at.flag_rate))
    show_chart(tradeoff_figure(curves, stars, with_labels=with_labels), "tradeoff", TRADEOFF, toolbar=False)
    better = (
        "Left and up is better: outcomes change less often, and flags match the labels better (Macro-F1, up to 1)."
        if with_labels
        else "At the same share flagged, further left is fairer: outcomes change less often."
    )
    st.caption(
        f"Each point of a line is a threshold. {better} Stars: every method, flagging as many people as chosen above. "
        f"Marks: the thresholds of the paper.{_band(chosen)} Left out: thresholds that flag over {percent(most, 0)} "
        "of people, and the end of a line where flagging more makes both worse.",
        help=HELP["Macro-F1"],
    )


def _stars_said(stars: Mapping[Look, tuple[float, float, float | None]]) -> str:
    return "At the same number of people flagged: " + "; ".join(
        f"{look.label}: outcome changes for {percent(ratio)}"
        + ("" if found is None else f", {percent(found)} of the anomalies found")
        for look, (_, ratio, found) in stars.items()
    )


def _band(chosen: Chosen) -> str:
    return f" Band: {chosen.report.label}, {interval_name(chosen.result)}." if chosen.has_band else ""


def show_chart_and_groups(chosen: Chosen) -> None:
    """The groups' numbers with intervals beside the chart; below it, where there are too many of them."""
    method, comparison = chosen.choice.threshold.method, view_of(chosen.result).comparison.name
    table = groups_frame(
        chosen.report, chosen.value, chosen.whole.group_report(method, comparison).metrics_at(chosen.value)
    )
    beside = len(table) <= _BESIDE
    left, right = st.columns([3, 2.5]) if beside else (st.container(), st.container())
    with left:
        show_curves(chosen)
    with right:
        st.markdown("**Group by group**")
        with kept_here("groups", chosen.result):
            config = {about.label: st.column_config.TextColumn(help=about.help) for about in GROUP_METRICS.values()}
            st.dataframe(
                table.T if beside else table,
                width="stretch",
                height="content",
                column_config={} if beside else config,
            )
        st.caption(
            "In brackets the 90 % interval: with other people of the group, the number would lie there. Twins: the "
            f"same people, {otherwise(chosen.result)}. The Groups page explains each number.",
            help=HELP["interval of a group"],
        )


def groups_frame(report: MethodReport, threshold: float, table: GroupTable) -> pd.DataFrame:
    """A row for each group, every metric that some group has as text, with its interval where there is one."""
    found = report.metrics_at(threshold).groups
    shown = {
        name: metric
        for name, metric in GROUP_METRICS.items()
        if any(values[name] is not None for values in found.values())
    }
    rows = {
        group: {
            metric.label: _cell(metric, values[name]) + _interval(table, group, name, metric)
            for name, metric in shown.items()
        }
        for group, values in found.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _cell(metric: GroupMetric, value: float | None) -> str:
    if value is None:
        return "n/a"
    return percent(value) if metric.is_share else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _interval(table: GroupTable, group: str, name: str, metric: GroupMetric) -> str:
    known = table.group(group).metrics.get(name)
    if known is None or known.interval is None:
        return ""
    low, high = known.interval.low, known.interval.high
    return f" ({100 * low:.1f} to {100 * high:.1f})" if metric.is_share else f" ({low:.2f} to {high:.2f})"
