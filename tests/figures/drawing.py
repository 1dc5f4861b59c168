"""Figures to look at, and what is asserted of all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.bounds import Bounds
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.group_metrics import COMPARED, Group, GroupTable
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable
from cfad_core.evaluation.shapes import BothWorlds, Shapes, score_shapes
from cfad_core.evaluation.tally import Tally
from cfad_core.figures import (
    Moment,
    ShareCurve,
    Tradeoff,
    adjacency_figure,
    adjacency_pair_figure,
    comparison_figure,
    contributions_figure,
    densities_figure,
    edge_cuts_figure,
    generation_error_figure,
    graph_figure,
    group_bars_figure,
    history_figure,
    levels_figure,
    numbers_figure,
    pairs_figure,
    rates_figure,
    reach_figure,
    score_panels_figure,
    sensitivity_figure,
    shares_figure,
    tradeoff_figure,
    tradeoff_points_figure,
    training_figure,
)

IMAGE = "<img src=x onerror=1>"
HOSTILE = [IMAGE, "**bold**", "x" * 10_000, IMAGE * 500, "%{y} $a$ \"'&<br>", "<a href='javascript:1'>"]


def strings(value: Any) -> Iterator[str]:
    """All texts in a figure as the browser gets them; its JSON itself hides every < in an escape."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != "bdata":  # numbers
                yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def texts(figure: go.Figure) -> list[str]:
    return list(strings(json.loads(figure.to_json())))


def assert_shows_only_escaped_names(figure: go.Figure, kind: str) -> None:
    for text in texts(figure):
        left = text.replace("<br>", "").replace("<extra></extra>", "")
        assert "<" not in left, f"{kind}: {text}"
        assert "x" * 201 not in text, kind
        assert len(text) < 3000, kind
    # Plotly fills in what a template holds, so no name may become part of one.
    assert not any("bold" in str(trace.hovertemplate) for trace in figure.data), kind


def assert_stands_on_any_page(figure: go.Figure) -> None:
    assert json.loads(figure.to_json())["layout"]["paper_bgcolor"] == "rgba(0,0,0,0)"
    assert figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.font.color is None
    assert 200 <= figure.layout.height <= 520


def tradeoff(**changes: Any) -> Tradeoff:
    line = np.linspace(0.0, 1.0, 101)
    fields = {
        "changing_ratio": line,
        "quality": line**2,
        "flag_rate": 1.0 - line,
        "quantiles": np.array([0.9, 0.95]),
        "quantile_changing_ratio": np.array([0.2, 0.1]),
        "quantile_quality": np.array([0.04, 0.01]),
    }
    return Tradeoff(**{**fields, **changes})


def pair_table(names: Sequence[str]) -> PairTable:
    """Every group of 12 people with every other one."""
    span, count = Interval(0.4, 0.6), len(names)
    pairs = [
        Pair(a, b, 12, 0.5, 0.2, 0.3, span, span, Bounds(0.0, 1.0))
        for a in range(count)
        for b in range(count)
        if a != b
    ]
    one = AnyOther(12, 0.5, span)
    return PairTable(0.5, tuple(names), (12,) * count, tuple(pairs), one, (one,) * count)


def shapes(names: Sequence[str], *, log: bool = False, exact: bool = False, shift: float = 0.0) -> Shapes:
    """Groups of 50 people with a twin each; the threshold flags some."""
    rng = np.random.default_rng(0)
    sets = {
        name: BothWorlds(*(Tally.of(rng.lognormal(size=50) + shift) for _ in range(2))) for name in dict.fromkeys(names)
    }
    return score_shapes(sets, 2.0 + shift, log=log, exact=exact)


def group_table(names: Sequence[str]) -> GroupTable:
    """Groups of 12 people, 3 of them anomalies, that do not differ."""
    metrics = dict.fromkeys(COMPARED, Estimate(0.5, Interval(0.4, 0.6)))
    return GroupTable(0.5, tuple(Group(name, 12, 3, metrics) for name in names))


def history(names: Sequence[str]) -> list[Moment]:
    """An audit, and a batch for each name, every other one with an alarm."""
    rates: dict[str, float | None] = dict.fromkeys(names, 0.2)
    own = Moment(0.0, "the audit", 0.05, Interval(0.02, 0.08), rates, is_audit=True)
    days, alarms = 86_400.0 * np.arange(1, 1 + len(names)), np.arange(len(names)) % 2 > 0
    batches = zip(days.tolist(), names, alarms.tolist(), strict=True)
    return [own, *(Moment(at, name, 0.1, None, rates, has_alarm=alarm) for at, name, alarm in batches)]


def audit_figures(names: list[str]) -> dict[str, go.Figure]:
    """Every figure of an audit, with these names wherever names go."""
    looks = [look_of(name) for name in names]
    strengths = np.triu(np.ones((len(names), len(names))), 1)
    parts = np.arange(float(len(names)))
    line = np.linspace(0.0, 1.0, 11)
    band = tradeoff(changing_ratio=line, quality=line, flag_rate=line, low=line / 2.0, high=line)
    panel, shares = shapes(names), ShareCurve(line, line, line, line / 2.0, line)
    return {
        "graph": graph_figure(names, strengths, names[0] if names else "", names[1:2]),
        "how often": graph_figure(
            names,
            strengths,
            names[0] if names else "",
            [],
            found=((strengths * 3).astype(np.int64), 7),
            is_open=strengths > 0.0,
        ),
        "reach": reach_figure(dict.fromkeys(names, 0.5), names[1:2], 20),
        "edge cuts": edge_cuts_figure([(name, names[0]) for name in names], parts - 1.0),
        "band": tradeoff_figure(dict.fromkeys(looks, band)),
        "adjacency": adjacency_figure(names, strengths),
        "densities": densities_figure(dict.fromkeys(looks, panel)),
        "shares": shares_figure(dict.fromkeys(looks, shares), dict.fromkeys(looks, (0.1, 0.2, 0.3))),
        "score panels": score_panels_figure(dict.fromkeys(looks, panel), list(range(len(looks)))),
        "tradeoff": tradeoff_figure({look: tradeoff() for look in looks}, dict.fromkeys(looks, (0.1, 0.2))),
        "training": training_figure(dict.fromkeys(names, (parts, parts)), names[0] if names else "loss"),
        "contributions": contributions_figure(names, parts, parts, named=parts > 1.0, top=4),
        "rates": rates_figure({name: dict.fromkeys(names, 0.5) for name in names}),
        "numbers": numbers_figure(dict.fromkeys(names, parts)),
        "levels": levels_figure({name: dict.fromkeys(names, 0.5) for name in names}),
        "pairs": pairs_figure(pair_table(names)),
        "history": history_figure(history(names)),
        "groups": group_bars_figure(group_table(names), "flag_rate", 0.4),
        "comparison": comparison_figure({name: dict.fromkeys(looks, (0.5, 0.1)) for name in names}),
    }


def experiment_figures(names: Sequence[str]) -> dict[str, go.Figure]:
    """Every figure of the experiments, with these names wherever names go."""
    looks = [look_of(name) for name in names]
    strengths = np.triu(np.ones((len(names), len(names))), 1)
    line = np.arange(3.0)
    return {
        "generation": generation_error_figure({name: dict.fromkeys(names, (0.5, 0.1)) for name in names}),
        "sensitivity": sensitivity_figure(names[0] if names else "lambda", line, dict.fromkeys(names, (line, line))),
        "pair": adjacency_pair_figure(names, strengths, strengths.T),
        "points": tradeoff_points_figure(dict.fromkeys(looks, (line, line, line)), dict.fromkeys(looks, (0.1, 0.2))),
    }
