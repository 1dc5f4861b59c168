from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.figures import (
    adjacency_pair_figure,
    color_of,
    generation_error_figure,
    sensitivity_figure,
    tradeoff_points_figure,
)
from tests.figures.drawing import assert_stands_on_any_page

VARIABLES = ["s", "a", "b"]
TRUE = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, -2.0], [0.0, 0.0, 0.0]])
LEARNED = np.array([[0.0, 0.4, 0.3], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def errors() -> dict[str, dict[str, tuple[float, float]]]:
    return {
        "plain GAE": {"factual": (3.4, 0.3), "counterfactual": (5.876, 0.9)},
        "joint": {"factual": (1.9, np.nan), "counterfactual": (0.4, 0.1)},
    }


def traces(figure: go.Figure, kind: str) -> list[Any]:
    """The bars and heatmaps by their type, all others by their mode."""
    return [trace for trace in figure.data if kind == (trace.mode if trace.type == "scatter" else trace.type)]


def test_errors_are_bars_with_error_bars_and_a_label_above_them() -> None:
    figure = generation_error_figure(errors())
    factual, counterfactual = traces(figure, "bar")
    assert (factual.name, counterfactual.name) == ("factual", "counterfactual")
    assert list(counterfactual.y) == [5.876, 0.4]
    assert list(counterfactual.error_y.array) == [0.9, 0.1]
    assert counterfactual.hovertext[0] == "plain GAE<br>counterfactual: 5.88 ± 0.900"
    assert factual.hovertext[1] == "joint<br>factual: 1.90"  # a single run has no deviation
    assert factual.marker.pattern.shape != counterfactual.marker.pattern.shape
    assert list(figure.layout.xaxis.ticktext) == ["plain GAE", "joint"]
    for bars, labels in zip((factual, counterfactual), traces(figure, "text"), strict=True):
        assert np.array_equal(labels.x, bars.x)
        assert np.array_equal(labels.y, bars.y + bars.error_y.array)  # clear of the error bar
        assert (labels.legendgroup, labels.showlegend) == (bars.legendgroup, False)  # hidden together
    assert list(traces(figure, "text")[1].text) == ["5.88", "0.400"]
    assert factual.x[0] + factual.width / 2.0 < counterfactual.x[0] - counterfactual.width / 2.0


def test_an_error_that_is_unknown_says_so() -> None:
    bars = traces(generation_error_figure({"a": {"factual": (1.0, 0.1)}, "b": {"other": (2.0, 0.1)}}), "bar")
    assert [list(trace.y) for trace in bars] == [[1.0, 0.0], [0.0, 2.0]]
    assert bars[0].hovertext[1] == "b<br>factual: n/a"


def test_a_setting_of_zero_has_a_place_and_values_are_sorted() -> None:
    values = np.array([10.0, 0.0, 0.1])
    means, deviations = np.array([0.1, 0.3, 0.2]), np.array([0.01, 0.03, np.nan])
    figure = sensitivity_figure("lambda", values, {"Macro-F1": (means, deviations), "changing ratio": (means, means)})
    quality, fairness = figure.data
    assert list(figure.layout.xaxis.ticktext) == ["0", "0.1", "10"]
    assert list(figure.layout.xaxis.tickvals) == [0.0, 1.0, 2.0]
    assert figure.layout.xaxis.title.text == "lambda, values evenly spaced"
    assert np.allclose(quality.x, figure.layout.xaxis.tickvals, atol=0.2)
    assert (quality.x < fairness.x).all()  # side by side
    assert list(quality.y) == [0.3, 0.2, 0.1]
    assert list(quality.error_y.array) == [0.03, 0.0, 0.01]
    assert list(quality.hovertext) == [
        "lambda 0<br>Macro-F1: 0.300 ± 0.0300",
        "lambda 0.1<br>Macro-F1: 0.200",
        "lambda 10<br>Macro-F1: 0.100 ± 0.0100",
    ]
    assert quality.line.dash != fairness.line.dash
    assert quality.marker.symbol != fairness.marker.symbol
    assert list(values) == [10.0, 0.0, 0.1]


def test_a_linear_axis_keeps_the_values() -> None:
    values = np.array([0.5, 0.1])
    figure = sensitivity_figure("rate", values, {"Macro-F1": (values, values), "other": (values, values)}, log=False)
    assert [list(line.x) for line in figure.data] == [[0.1, 0.5]] * 2
    assert figure.layout.xaxis.title.text == "rate"
    assert figure.layout.xaxis.ticktext is None


def test_two_graphs_share_their_colours_and_differences_are_marked() -> None:
    figure = adjacency_pair_figure(VARIABLES, TRUE, LEARNED)
    assert [annotation.text for annotation in figure.layout.annotations] == ["true", "learned"]
    here, there = traces(figure, "heatmap")
    assert (here.xaxis, there.xaxis) == ("x", "x2")
    assert (here.zmin, here.zmax) == (there.zmin, there.zmax) == (-2.0, 2.0)
    assert [here.showscale, there.showscale] == [False, True]
    assert here.text[1][2] == "-2.00"
    missed, extra = traces(figure, "markers")
    # Each mark stands in a blank cell, effects to the right and causes downwards.
    assert (missed.xaxis, list(missed.x), list(missed.y)) == ("x2", [2], [1])
    assert (extra.xaxis, list(extra.x), list(extra.y)) == ("x", [2], [0])
    assert list(missed.hovertext) == ["a → b: -2.00<br>missed: true, not learned"]
    assert list(extra.hovertext) == ["s → b: +0.30<br>extra: learned, not true"]
    assert missed.marker.symbol != extra.marker.symbol
    for frame, mark, axis in zip(traces(figure, "lines"), (missed, extra), ("x", "x2"), strict=True):
        assert (frame.xaxis, frame.legendgroup) == (axis, mark.legendgroup)  # around the cell that has the edge
        assert np.nanmean(frame.x[:4]) == pytest.approx(mark.x[0])
        assert np.nanmean(frame.y[:4]) == pytest.approx(mark.y[0])
    assert list(figure.layout.yaxis.range) == list(figure.layout.yaxis2.range) == [2.5, -0.5]


def test_equal_graphs_have_no_marks_and_many_variables_are_named_in_part() -> None:
    figure = adjacency_pair_figure([f"v{k}" for k in range(100)], np.eye(100, k=1), np.eye(100, k=1))
    assert all(len(trace.x) == 0 for trace in figure.data if trace.type == "scatter")
    assert len(figure.layout.xaxis.ticktext) == 20
    assert all(trace.text is None for trace in traces(figure, "heatmap"))


def test_the_papers_points_are_hollow_and_of_the_methods_colour() -> None:
    quantiles = np.linspace(0.8, 0.99, 9)
    ratios, qualities = np.linspace(0.4, 0.0, 9), np.linspace(0.5, 0.6, 9)
    cfad, ae = look_of("cfad"), look_of("ae")
    figure = tradeoff_points_figure({cfad: (quantiles, ratios, qualities)}, {cfad: (0.057, 0.576), ae: (0.6, 0.6)})
    line, point, other = figure.data
    assert (line.name, line.mode, line.line.dash, line.marker.symbol) == ("CFAD", "lines+markers", cfad.dash, "circle")
    assert np.array_equal(line.x, ratios)
    assert np.array_equal(line.y, qualities)
    assert line.hovertext[8] == "CFAD, quantile 0.99: Macro-F1 0.600, changing ratio 0.000"
    assert (point.name, point.marker.symbol, point.marker.color) == ("CFAD, paper", "circle-open", color_of(cfad))
    assert (list(point.x), list(point.y)) == ([0.057], [0.576])
    assert list(point.hovertext) == ["CFAD, paper: Macro-F1 0.576, changing ratio 0.057"]
    assert other.name == "AE, paper"  # a method may be the paper's alone
    assert len(tradeoff_points_figure({cfad: (quantiles, ratios, qualities)}, None).data) == 1


def test_nothing_over_a_linear_axis_can_be_drawn() -> None:
    nothing = np.array([])
    figure = sensitivity_figure("rate", nothing, {"a": (nothing, nothing)}, log=False)
    assert_stands_on_any_page(figure)
    assert all(axis.title.text for axis in [*figure.select_xaxes(), figure.layout.yaxis])
