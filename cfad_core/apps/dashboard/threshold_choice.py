"""The controls that choose a method and its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard.method_choice import choose_page_method
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.evaluation.choosing import Costs, costs, threshold_flagging
from cfad_core.runs.model import AuditRecord, ChosenThreshold, Period, WayOfChoosing

WAYS: dict[WayOfChoosing, str] = {
    "investigations": "People",
    "share": "Share",
    "score": "Score",
    "cost": "Lowest cost",
}
_ONCE = "at once"
_LOWEST, _HIGHEST = 0.1, 50.0  # percent of people that a slider flags


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    threshold : as it would be saved
    costs : what thresholds cost, if it was chosen by that
    """

    threshold: ChosenThreshold
    costs: Costs | None = None


def choose(record: AuditRecord, result: AuditResult) -> Choice:
    """The method and its threshold. Every audit has widgets of its own.

    At first it is the threshold that was saved, however it was chosen, or else the audit's own.
    """
    saved = record.threshold
    method = choose_page_method(record, result)
    report, key = result.report(method), f"{record.id}-{method}"
    ways = [way for way in WAYS if way != "cost" or report.curves.people.anomalies is not None]
    before = saved if saved is not None and saved.method == method else None
    usual = before.by if before is not None and before.by in ways else "share" if before is not None else ways[0]
    place, controls = st.columns([1.65, 2.35])
    by = place.segmented_control(
        "Choose by", ways, default=usual, format_func=lambda way: WAYS[way], required=True, key=f"by-{record.id}"
    )
    with controls:
        if by == "score":
            return Choice(_by_score(report, before, key))
        if by == "share":
            return Choice(_by_share(report, before, key))
        if by == "cost":
            return _by_cost(report, before, key, result.config.seed)
        return Choice(_by_capacity(report, before, key))


def _start(report: MethodReport, before: ChosenThreshold | None) -> tuple[float, int]:
    """The threshold to begin with, and how many people it flags."""
    value = report.threshold if before is None else before.value
    return value, report.curves.people.flagged(value)


def _by_capacity(report: MethodReport, before: ChosenThreshold | None, key: str) -> ChosenThreshold:
    """So many people can be looked at: of those at hand, or of so many who come in a period."""
    total, (start, flagged) = report.people.n, _start(report, before)
    asked = before if before is not None and before.by == "investigations" else None
    first, last, middle = st.columns([1.1, 1.25, 1])
    of_first = total if asked is None or asked.of is None else asked.of
    of = int(
        last.number_input(
            "Of how many people",
            1,
            max(10_000_000, of_first),
            of_first,
            key=f"of-{key}",
            help="At first the people of this audit. If they are a sample of those you decide about, or if others come "
            "each week, say how many there are: the same share of them is flagged.",
        )
    )
    usual = round(flagged * of / total) if asked is None else asked.count or 0
    count = int(
        first.number_input(
            "People we can look at",
            0,
            of,
            min(of, usual),
            key=f"n-{key}" if of == total else f"n-{key}-{of}",
            help="Those with the highest scores are flagged; fewer, where scores tie.",
        )
    )
    periods = [_ONCE, *get_args(Period)]
    chosen = _ONCE if asked is None or asked.period is None else asked.period
    picked = middle.selectbox("Period", periods, periods.index(chosen), key=f"p-{key}")
    period: Period | None = next((one for one in get_args(Period) if one == picked), None)
    here = count if of == total else int(count / of * total)
    value = threshold_flagging(report.people, here, start)
    of_whom = None if of == total and period is None else of
    return ChosenThreshold(report.method, "investigations", value, count=count, of=of_whom, period=period)


def _by_share(report: MethodReport, before: ChosenThreshold | None, key: str) -> ChosenThreshold:
    start, flagged = _start(report, before)
    own = 100.0 * flagged / max(report.people.n, 1)
    usual = round(own, 1)
    highest = max(_HIGHEST, usual)
    percents = st.slider(
        "Share of people to flag",
        0.0 if usual < _LOWEST else _LOWEST,
        highest,
        usual,
        0.1,
        format="%.1f %%",
        key=f"q-{key}",
        help="Those with the highest scores are flagged; fewer, where scores tie.",
    )
    share = own / 100.0 if percents == usual else percents / 100.0  # untouched, it is the threshold to begin with
    count = round(share * report.people.n)
    return ChosenThreshold(report.method, "share", threshold_flagging(report.people, count, start), share=share)


def _by_score(report: MethodReport, before: ChosenThreshold | None, key: str) -> ChosenThreshold:
    start, _ = _start(report, before)
    low, high = report.people.quantile(np.array([0.0, 0.99])).tolist()
    if high <= low:  # all scores are the same
        st.caption("All scores are the same: nobody can be flagged rather than somebody else.")
        return ChosenThreshold(report.method, "score", low)
    value = st.slider(
        "Score above which people are flagged",
        low,
        high,
        min(high, max(low, start)),
        step=(high - low) / 1000.0,
        format="%.4g",
        key=f"s-{key}",
    )
    return ChosenThreshold(report.method, "score", float(value))


def _by_cost(report: MethodReport, before: ChosenThreshold | None, key: str, seed: int) -> Choice:
    """The threshold that costs least, if a missed anomaly costs as much as so many needless checks."""
    curve = report.curves.people
    assert curve.anomalies is not None
    even = (curve.n - curve.anomalies.n) / max(
        curve.anomalies.n, 1
    )  # so that missing all costs as much as flagging all
    first = before.cost if before is not None and before.cost is not None else max(1.0, float(round(even)))
    missed = st.number_input(
        "A missed anomaly costs as much as so many needless checks",
        0.1,
        1_000_000.0,
        first,
        step=1.0,
        format="%g",
        key=f"c-{key}",
        help="A needless check is a flag on somebody who is no anomaly, by the labels. The threshold is then the one "
        "at which missed anomalies and needless checks together cost least.",
    )
    found = costs(curve.people, curve.anomalies, missed, seed)
    value = threshold_flagging(curve.people, found.cheapest, _start(report, before)[0])
    return Choice(ChosenThreshold(report.method, "cost", value, cost=missed), found)
