from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from cfad_core.core.config import METHOD_NAMES
from cfad_core.evaluation.densities import Densities, score_densities
from cfad_core.figures import (
    DASHES,
    METHOD_STYLE,
    PALETTE,
    Tradeoff,
    adjacency_figure,
    comparison_figure,
    contributions_figure,
    densities_figure,
    escaped,
    graph_figure,
    method_style,
    rates_figure,
    reach_figure,
    tradeoff_figure,
    training_figure,
    what_if_figure,
)

VARIABLES = ["s", "a", "b", "c", "alone"]
STRENGTHS = np.zeros((5, 5))
STRENGTHS[0, 1], STRENGTHS[1, 2], STRENGTHS[0, 2], STRENGTHS[3, 2] = 0.31, -1.0, 0.5, 0.1
IMAGE = "<img src=x onerror=1>"
HOSTILE = [IMAGE, "**bold**", "x" * 10_000, IMAGE * 500, "%{y} $a$ \"'&<br>", "<a href='javascript:1'>"]


def strings(value: Any) -> Iterator[str]:
    """All texts in a figure as the browser gets them; its JSON itself hides every < in an escape."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
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


def nodes(figure: go.Figure) -> dict[str, tuple[float, float]]:
    traces = [trace for trace in figure.data if trace.mode == "markers+text"]
    return {t: (x, y) for trace in traces for t, x, y in zip(trace.text, trace.x, trace.y, strict=True)}


def edge_texts(figure: go.Figure) -> list[str]:
    return [text for trace in figure.data if trace.name == "edges" for text in trace.hovertext]


def densities(shift: float = 0.0) -> Densities:
    scores = np.linspace(1.0, 2.0, 20) + shift
    names = ["f", "f (counterfactual)", "m", "m (counterfactual)"]
    return score_densities({name: scores + k for k, name in enumerate(names)}, bins=8)


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


def test_palette_is_readable_on_white_and_on_dark() -> None:
    def luminance(color: str) -> float:
        c = np.array([int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    assert len(set(PALETTE)) == 10
    for color in PALETTE:
        assert 1.05 / (luminance(color) + 0.05) > 2.2
        assert (luminance(color) + 0.05) / (luminance("#0e1117") + 0.05) > 2.2


def test_methods_differ_by_more_than_colour_and_unknown_ones_have_a_stable_style() -> None:
    known = {"pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "cfad", "twin"}
    assert set(METHOD_STYLE) == set(METHOD_NAMES) == known
    styles = [*METHOD_STYLE.values(), method_style("new")]
    for values in ({style.color for style in styles}, {style.symbol for style in styles}):
        assert len(values) == 9
    assert len({METHOD_STYLE[method].dash for method in ("ae", "cfad", "twin")}) == 3  # drawn side by side most often
    assert {style.dash for style in styles} <= set(DASHES)  # plotly has six
    assert method_style("new") == method_style("new")
    assert method_style("new").color not in {style.color for style in METHOD_STYLE.values()}


def test_escaped() -> None:
    assert escaped("a < b & c") == "a &lt; b &amp; c"
    assert escaped("x" * 41) == "x" * 39 + "…"
    assert escaped("x" * 40) == "x" * 40
    assert escaped("\"'$") == "&#34;&#39;&#36;"  # entities that plotly knows
    assert escaped("<" * 9, 3) == "&lt;&lt;…"  # shortened first: no entity is cut


def test_causes_stand_left_of_effects_in_layers_of_the_longest_path() -> None:
    place = nodes(graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"]))
    assert {name: x for name, (x, _) in place.items()} == {"s": 0.0, "c": 0.0, "alone": 0.0, "a": 1.0, "b": 2.0}
    assert len(set(place.values())) == 5


def test_layout_is_the_same_for_any_share_and_any_call() -> None:
    figures = [graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], min_share=m) for m in (0.0, 0.0, 0.4, 1.0)]
    assert len({tuple(sorted(nodes(figure).items())) for figure in figures}) == 1
    assert (
        len({(figure.layout.xaxis.range, figure.layout.yaxis.range, figure.layout.height) for figure in figures}) == 1
    )


def test_weak_edges_vanish_and_hovers_hold_sign_and_value() -> None:
    everything = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"])
    assert sorted(edge_texts(everything)) == ["a → b: -1.00", "c → b: +0.10", "s → a: +0.31", "s → b: +0.50"]
    strong = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], min_share=0.4)
    assert sorted(edge_texts(strong)) == ["a → b: -1.00", "s → b: +0.50"]
    assert len(nodes(strong)) == 5


def test_edges_from_the_sensitive_variable_are_coloured_and_widths_follow_strength() -> None:
    traces = [t for t in graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"]).data if t.mode == "lines+markers"]
    causal = {t.line.width for t in traces if t.line.color in PALETTE and t.line.dash == "solid"}
    assert causal == {6, 4, 3}  # shares of 1, 0.5 and 0.31
    (other,) = (t for t in traces if t.line.color not in PALETTE)
    assert other.line.dash == "dot"
    assert (other.x[0], other.x[-2]) == (0.0, 2.0)  # from c to b
    for trace in traces:  # heads only where an edge ends
        ends = np.flatnonzero(np.isnan(trace.x)) - 1
        assert np.array_equal(np.flatnonzero(trace.marker.size), ends)


def test_edges_that_seldom_came_back_are_thin_and_dashed() -> None:
    found = np.where(STRENGTHS != 0.0, 20, 0)
    found[0, 2], found[3, 2], found[1, 2] = 9, 3, 10
    figure = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], found=found, graphs=20)
    assert "s → b: +0.50<br>found in 9 of 20 graphs" in edge_texts(figure)
    dashed = [t for t in figure.data if t.mode == "lines+markers" and t.line.dash == "dash"]
    assert sorted((t.line.color in PALETTE, t.line.width) for t in dashed) == [(False, 1), (True, 1)]
    (solid, *rest) = sorted(
        (t for t in figure.data if t.mode == "lines+markers" and t.line.dash == "solid"), key=lambda t: -t.line.width
    )
    assert solid.line.width == 6  # of half of the graphs
    assert len(rest) == 1


def test_reach_distinguishes_what_this_graph_reaches() -> None:
    figure = reach_figure({"a": 0.25, "b": 1.0, "c": 0.5}, ["b", "a"], 20)
    here, elsewhere = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["b", "c", "a"]
    assert (list(here.y), list(here.x)) == ([0, 2], [1.0, 0.25])
    assert (list(elsewhere.y), list(elsewhere.x), list(elsewhere.text)) == ([1], [0.5], ["10"])
    assert elsewhere.hovertext[0] == "c<br>not reached in this graph<br>reached in 10 of 20 graphs"
    assert here.marker.pattern.shape != elsewhere.marker.pattern.shape
    assert len(reach_figure({f"v{k}": 0.5 for k in range(99)}, [], 20).layout.yaxis.ticktext) == 14


def test_what_goes_with_an_edge() -> None:
    figure = what_if_figure([("s", "a"), ("a", "b")], np.array([0.3, 0.05]), 0.1)
    bars, whole, labels = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["a → b", "s → a"]
    assert list(bars.x) == [0.05, 0.3]
    assert bars.hovertext[0] == "without a → b<br>changed: 5.0 %, with all edges 10.0 %"
    assert list(whole.x) == [0.1, 0.1]
    assert list(labels.text) == ["\u20025.0 %", "\u200230.0 %"]
    assert list(labels.x) == [0.05, 0.3]
    close = what_if_figure([("s", "a")], np.array([0.099]), 0.1)
    assert list(close.data[2].x) == [0.1]  # beside the line, not under it
    assert_stands_on_any_page(what_if_figure([("s", "a")], np.zeros(1), 0.0))


def test_a_band_has_no_holes_where_the_curve_turns_back() -> None:
    curve = tradeoff(quality=np.abs(np.linspace(-1.0, 1.0, 101)))
    assert len(tradeoff_figure({"ae": curve}).data) == 2
    wide = tradeoff(quality=curve.quality, low=curve.changing_ratio - 0.1, high=curve.changing_ratio + 0.7)
    figure = tradeoff_figure({"cfad": wide})
    band = figure.data[0]
    assert (band.name, band.fill) == ("CFAD, other graphs", "toself")
    x, y = (np.array(values).reshape(-1, 6)[:, :5] for values in (band.x, band.y))
    areas = 0.5 * (x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]).sum(axis=1)
    assert (areas < 0.0).all()  # all go round the same way
    assert figure.layout.xaxis.range[1] > 1.7
    unknown = tradeoff(low=np.full(101, np.nan), high=np.full(101, np.nan))
    assert tradeoff_figure({"cfad": unknown}).layout.xaxis.range[1] == pytest.approx(1.05)


def test_an_edge_over_a_node_goes_around_it() -> None:
    chain = np.triu(np.ones((3, 3)), 1)
    figure = graph_figure(["s", "a", "b"], chain, "s", ["a", "b"])
    (hovers,) = (trace for trace in figure.data if trace.name == "edges")
    middle = {t: (x, y) for t, x, y in zip(hovers.hovertext, hovers.x, hovers.y, strict=True)}
    assert nodes(figure)["a"] == (1.0, 0.0)
    assert middle["s → b: +1.00"][0] == 1.0
    assert middle["s → b: +1.00"][1] > 0.2


def test_children_follow_the_order_of_their_parents() -> None:
    crossed = np.zeros((4, 4))
    crossed[0, 3] = crossed[1, 2] = 1.0
    place = nodes(graph_figure(["p", "q", "of q", "of p"], crossed, "p", ["of p"]))
    assert place["p"][1] > place["q"][1]
    assert place["of p"][1] > place["of q"][1]


def test_node_kinds() -> None:
    figure = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"])
    kinds = {trace.name: trace for trace in figure.data if trace.mode == "markers+text"}
    assert list(kinds["sensitive attribute"].text) == ["s"]
    assert kinds["sensitive attribute"].marker.symbol == "diamond"
    assert list(kinds["affected by it"].text) == ["a", "b"]
    assert kinds["affected by it"].marker.line.width > kinds["not affected"].marker.line.width


def test_a_hundred_variables_stay_apart() -> None:
    rng = np.random.default_rng(0)
    strengths = np.triu(rng.normal(size=(100, 100)) * (rng.random((100, 100)) < 0.05), 1)
    figure = graph_figure([f"v{k}" for k in range(100)], strengths, "v0", [])
    place = nodes(figure)
    assert len(set(place.values())) == 100
    assert all(place[f"v{j}"][0] < place[f"v{i}"][0] for j, i in np.argwhere(strengths))
    assert len(figure.data) < 20
    alone = nodes(graph_figure([f"v{k}" for k in range(100)], np.zeros((100, 100)), "v0", []))
    assert len(set(alone.values())) == 100
    assert_stands_on_any_page(figure)


def test_blank_cells_have_no_edge_and_colours_are_centred_at_zero() -> None:
    (heatmap,) = adjacency_figure(VARIABLES, STRENGTHS).data
    assert np.array_equal(np.isnan(heatmap.z), STRENGTHS == 0.0)
    assert heatmap.zmin == -heatmap.zmax == -1.0
    assert heatmap.hovertext[1][2] == "a → b: -1.00"
    assert heatmap.text[1][2] == "-1.00"
    assert heatmap.text[2][1] == ""


def test_density_panels_share_axes_and_colours_pair_up() -> None:
    figure = densities_figure({"ae": densities(), "cfad": densities(5.0)}, {"ae": 1.5, "cfad": 6.5})
    assert figure.layout.xaxis2.matches == "x"
    assert figure.layout.yaxis2.matches == "y"
    assert [a.text for a in figure.layout.annotations] == ["AE", "CFAD"]
    lines = {(t.name, t.xaxis): t.line for t in figure.data}
    for axis in ("x", "x2"):
        assert lines["f", axis].color == lines["f (counterfactual)", axis].color == lines["f", "x"].color
        assert lines["f", axis].color != lines["m", axis].color
        assert (lines["f", axis].dash, lines["f (counterfactual)", axis].dash) == ("solid", "dash")
    thresholds = {t.xaxis: t for t in figure.data if t.name == "threshold"}
    assert {axis: list(t.x) for axis, t in thresholds.items()} == {"x": [1.5, 1.5], "x2": [6.5, 6.5]}
    assert all(t.line.dash == "dot" for t in thresholds.values())
    in_legend = [t.name for t in figure.data if t.showlegend]
    assert len(in_legend) == len(set(in_legend)) == 5


def test_long_groups_keep_their_world_and_groups_differ_in_width() -> None:
    names = ["x" * 50, "x" * 50 + " (counterfactual)", "y"]
    figure = densities_figure({"ae": Densities(np.arange(3.0), {name: np.ones(2) for name in names})})
    assert [t.name for t in figure.data] == ["x" * 39 + "…", "x" * 39 + "… (counterfactual)", "y"]
    widths = [t.line.width for t in figure.data]
    assert widths[0] == widths[1] != widths[2]


def test_densities_on_a_log_axis_and_of_nobody() -> None:
    panel = score_densities({"f": np.array([0.1, 1.0]), "m": np.array([])}, bins=4, log=True)
    figure = densities_figure({"ae": panel}, {"ae": 0.0, "unknown": 1.0}, log=True)
    assert figure.layout.xaxis.type == "log"
    assert [t.name for t in figure.data] == ["f", "m"]  # a log axis has no place for a threshold of 0
    assert_stands_on_any_page(figure)


def test_star_and_quantiles() -> None:
    figure = tradeoff_figure({"cfad": tradeoff()}, {"cfad": (0.3, 0.09)})
    line, points, star = figure.data
    assert (line.mode, line.line.dash) == ("lines", METHOD_STYLE["cfad"].dash)
    assert points.hovertext[1] == "CFAD, quantile 0.95: Macro-F1 0.01, changing ratio 0.10, flagged 90.0 %"
    assert (star.marker.symbol, list(star.x), list(star.y)) == ("star", [0.3], [0.09])
    assert figure.layout.yaxis.title.text == "Macro-F1"


def test_flag_rate_without_labels() -> None:
    curve = tradeoff(quantile_quality=np.array([0.1, 0.05]))
    figure = tradeoff_figure({"other": curve}, {"other": (0.1, 0.05)}, with_labels=False)
    assert figure.layout.yaxis.title.text == "flag rate"
    assert figure.data[1].hovertext[1] == "other, quantile 0.95: flagged 5.0 %, changing ratio 0.10"


def test_flag_rates_of_quantiles_are_shown_only_if_known() -> None:
    given = tradeoff(quantile_flag_rate=np.array([0.1, 0.05]))
    assert tradeoff_figure({"ae": given}).data[1].hovertext[1].endswith("flagged 5.0 %")
    flat = tradeoff(changing_ratio=np.full(101, 0.1), quality=np.full(101, 0.01))
    assert tradeoff_figure({"ae": flat}).data[1].hovertext[1].endswith("changing ratio 0.10")


def test_training_curves() -> None:
    seconds = np.arange(3.0)
    figure = training_figure(
        {"scm": (seconds, seconds + 1.0), "ae": (seconds[:1], seconds[:1])}, "acyclicity h", log=True
    )
    assert [(t.name, t.mode) for t in figure.data] == [("scm", "lines"), ("ae", "markers")]
    assert (figure.layout.yaxis.title.text, figure.layout.yaxis.type) == ("acyclicity h", "log")
    assert figure.layout.height == 260


def test_all_others_add_up_to_the_total() -> None:
    rng = np.random.default_rng(0)
    factual, counterfactual = rng.random(30), rng.random(30)
    figure = contributions_figure([f"v{k}" for k in range(30)], factual, counterfactual, top=5)
    here, there = figure.data
    assert figure.layout.yaxis.ticktext[-1] == "all others"
    assert len(here.x) == 6
    assert here.x.sum() == pytest.approx(factual.sum())
    assert there.x.sum() == pytest.approx(counterfactual.sum())
    assert figure.layout.yaxis.ticktext[0] == f"v{np.maximum(factual, counterfactual).argmax()}"
    assert here.marker.pattern.shape != there.marker.pattern.shape
    assert "all others" not in contributions_figure(["a"], np.ones(1), np.ones(1)).layout.yaxis.ticktext


def test_rates_that_are_none_say_so() -> None:
    rates: dict[str, dict[str, float | None]] = {"f": {"flagged": 0.05, "true positives": None}, "m": {"flagged": 0.0}}
    figure = rates_figure(rates)
    flagged, hits = figure.data
    assert list(flagged.y) == [0.05, 0.0]
    assert list(flagged.text) == ["5.0 %", "0.0 %"]
    assert list(hits.hovertext) == ["f<br>true positives: n/a", "m<br>true positives: n/a"]
    assert flagged.marker.pattern.shape != hits.marker.pattern.shape
    assert figure.layout.yaxis.tickformat == ".0%"


def test_comparison_has_a_panel_per_metric() -> None:
    values = {f"metric {k}": {"ae": (0.5 + k, 0.1), "cfad": (0.7, np.nan), "twin": None} for k in range(5)}
    figure = comparison_figure(values)
    assert len(figure.data) == 10
    assert figure.data[2].y[0] == 1.5
    assert figure.data[2].error_y.array[0] == 0.1
    assert figure.data[2].hovertext[0] == "AE<br>metric 1: 1.500 ± 0.100"
    assert figure.data[3].hovertext[0] == "CFAD<br>metric 1: 0.700"
    assert figure.layout.yaxis5.title.text == "metric 4"
    assert list(figure.layout.xaxis.ticktext) == ["AE", "CFAD", "Twin"]


def figures(names: list[str]) -> dict[str, go.Figure]:
    """Every figure, with these names wherever names go."""
    strengths = np.triu(np.ones((len(names), len(names))), 1)
    parts = np.arange(float(len(names)))
    line = np.linspace(0.0, 1.0, 11)
    band = tradeoff(changing_ratio=line, quality=line, flag_rate=line, low=line / 2.0, high=line)
    panel = Densities(np.arange(3.0), {f"{n}{c}": np.ones(2) for n in names for c in ("", " (counterfactual)")})
    return {
        "graph": graph_figure(names, strengths, names[0] if names else "", names[1:2]),
        "how often": graph_figure(
            names, strengths, names[0] if names else "", [], found=(strengths * 3).astype(np.int64), graphs=7
        ),
        "reach": reach_figure(dict.fromkeys(names, 0.5), names[1:2], 20),
        "what if": what_if_figure([(name, names[0]) for name in names], parts, 0.5),
        "band": tradeoff_figure(dict.fromkeys(names, band)),
        "adjacency": adjacency_figure(names, strengths),
        "densities": densities_figure(dict.fromkeys(names, panel), dict.fromkeys(names, 1.0)),
        "tradeoff": tradeoff_figure({name: tradeoff() for name in names}, dict.fromkeys(names, (0.1, 0.2))),
        "training": training_figure(dict.fromkeys(names, (parts, parts)), names[0] if names else "loss"),
        "contributions": contributions_figure(names, parts, parts, top=4),
        "rates": rates_figure({name: dict.fromkeys(names, 0.5) for name in names}),
        "comparison": comparison_figure({name: dict.fromkeys(names, (0.5, 0.1)) for name in names}),
    }


@pytest.mark.parametrize("names", [HOSTILE, HOSTILE[3:] + HOSTILE[:3]], ids=["forwards", "backwards"])
def test_hostile_names_appear_only_escaped_and_shortened(names: list[str]) -> None:
    for kind, figure in figures(names).items():
        assert_shows_only_escaped_names(figure, kind)


@pytest.mark.parametrize("names", [[], ["only"]], ids=["nothing", "one"])
def test_little_or_nothing_can_be_drawn(names: list[str]) -> None:
    for figure in figures(names).values():
        assert_stands_on_any_page(figure)


def test_names_that_look_the_same_once_shortened_keep_their_own_bars() -> None:
    names = ["x" * 50 + "1", "x" * 50 + "2"]
    figure = contributions_figure(names, np.array([1.0, 2.0]), np.zeros(2))
    assert list(figure.data[0].y) == [0, 1]
    assert list(rates_figure({name: {"flagged": 0.1} for name in names}).data[0].x) == [0, 1]
