from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import kaleido  # type: ignore[import-untyped]
import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest
from kaleido.errors import BrowserFailedError  # type: ignore[import-untyped]

from cfad_core.core.errors import CfadError
from cfad_core.figures import (
    METHOD_STYLE,
    adjacency_pair_figure,
    check_images,
    generation_error_figure,
    sensitivity_figure,
    tradeoff_points_figure,
    write_figure,
    write_figures,
)
from tests.figures.test_figures import HOSTILE, assert_shows_only_escaped_names, assert_stands_on_any_page

VARIABLES = ["s", "a", "b"]
TRUE = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, -2.0], [0.0, 0.0, 0.0]])
LEARNED = np.array([[0.0, 0.4, 0.3], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
FIND = "choreographer.browsers.chromium.Chromium.find_browser"
SVG = "{http://www.w3.org/2000/svg}"


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
    figure = tradeoff_points_figure(
        {"cfad": (quantiles, ratios, qualities)}, {"cfad": (0.057, 0.576), "ae": (0.6, 0.6)}
    )
    line, point, other = figure.data
    style = METHOD_STYLE["cfad"]
    assert (line.name, line.mode, line.line.dash, line.marker.symbol) == ("CFAD", "lines+markers", style.dash, "circle")
    assert np.array_equal(line.x, ratios)
    assert np.array_equal(line.y, qualities)
    assert line.hovertext[8] == "CFAD, quantile 0.99: Macro-F1 0.600, changing ratio 0.000"
    assert (point.name, point.marker.symbol, point.marker.color) == ("CFAD, paper", "circle-open", style.color)
    assert (list(point.x), list(point.y)) == ([0.057], [0.576])
    assert list(point.hovertext) == ["CFAD, paper: Macro-F1 0.576, changing ratio 0.057"]
    assert other.name == "AE, paper"  # a method may be the paper's alone
    assert len(tradeoff_points_figure({"cfad": (quantiles, ratios, qualities)}, None).data) == 1


def figures(names: Sequence[str]) -> dict[str, go.Figure]:
    """Every figure, with these names wherever names go."""
    strengths = np.triu(np.ones((len(names), len(names))), 1)
    line = np.arange(3.0)
    return {
        "generation": generation_error_figure({name: dict.fromkeys(names, (0.5, 0.1)) for name in names}),
        "sensitivity": sensitivity_figure(names[0] if names else "lambda", line, dict.fromkeys(names, (line, line))),
        "pair": adjacency_pair_figure(names, strengths, strengths.T),
        "points": tradeoff_points_figure(dict.fromkeys(names, (line, line, line)), dict.fromkeys(names, (0.1, 0.2))),
    }


@pytest.mark.parametrize("names", [HOSTILE, HOSTILE[3:] + HOSTILE[:3]], ids=["forwards", "backwards"])
def test_hostile_names_appear_only_escaped_and_shortened(names: list[str]) -> None:
    for kind, figure in figures(names).items():
        assert_shows_only_escaped_names(figure, kind)


@pytest.mark.parametrize("names", [[], ["only"]], ids=["nothing", "one"])
def test_little_or_nothing_can_be_drawn(names: list[str]) -> None:
    nothing = np.array([])
    for figure in [*figures(names).values(), sensitivity_figure("rate", nothing, {"a": (nothing, nothing)}, log=False)]:
        assert_stands_on_any_page(figure)
        assert all(axis.title.text for axis in [*figure.select_xaxes(), figure.layout.yaxis])


def test_pages_share_one_plotly_and_fetch_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    paths = write_figures({"b": generation_error_figure(errors()), "a=0.5": go.Figure()}, folder, images=False)
    assert paths == [folder / "b.html", folder / "a=0.5.html"]
    assert sorted(path.name for path in folder.iterdir()) == ["a=0.5.html", "b.html", "plotly.min.js"]
    for path in paths:
        page = path.read_text(encoding="utf-8")
        assert "plotly.min.js" in page
        assert "http" not in page.replace('"http://www.w3.org/1999/xhtml"', "").replace("https://plot.ly", "")
        assert len(page) < 50_000
    before = paths[0].read_bytes()
    assert write_figure(generation_error_figure(errors()), folder / "b", image=False) == paths[:1]
    assert paths[0].read_bytes() == before  # the same figure, the same page


def test_nothing_to_write_needs_no_browser(tmp_path: Path) -> None:
    assert write_figures({}, tmp_path / "folder", images=True) == []
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("name", ["", ".", "../a", "a/b", "/a"])
def test_figures_are_named_like_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(CfadError, match="without folders"):
        write_figures({name: go.Figure()}, tmp_path, images=False)
    assert list(tmp_path.iterdir()) == []


def test_images_are_drawn_together_on_white_and_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def draw(drawings: list[dict[str, Any]], **options: Any) -> None:
        calls.append((drawings, options))
        for drawing in drawings:
            drawing["path"].touch()

    monkeypatch.setattr(FIND, lambda **_: __file__)
    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", draw)
    wanted = figures(["ae", "cfad"])
    paths = write_figures(wanted, tmp_path, images=True)
    assert [path.name for path in paths[:3]] == ["generation.html", "generation.svg", "sensitivity.html"]
    assert all(path.is_file() for path in paths)
    ((drawings, options),) = calls
    assert options == {"kopts": {"mathjax": False}, "cancel_on_error": True}
    assert [drawing["fig"].layout.paper_bgcolor for drawing in drawings] == ["white"] * 4
    assert [drawing["fig"].layout.plot_bgcolor for drawing in drawings] == ["white"] * 4
    assert wanted["pair"].layout.paper_bgcolor == "rgba(0,0,0,0)"  # what came in stays as it is


def test_without_a_browser_the_remedy_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(FIND, lambda **_: None)
    expected = (
        "Images are drawn by Chrome or Chromium, and none was found: "
        "install it (Debian: apt-get install chromium), or write the figures without images."
    )
    with pytest.raises(CfadError) as caught:
        write_figure(go.Figure(), tmp_path / "folder" / "a", image=True)
    assert str(caught.value) == expected
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("BROWSER_PATH", "/nowhere")
    with pytest.raises(CfadError, match="BROWSER_PATH names '/nowhere', which is not one: install it"):
        check_images()


@pytest.mark.parametrize("error", [BrowserFailedError("closed at once"), TimeoutError()], ids=["failed", "late"])
def test_a_browser_that_fails_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(FIND, lambda **_: __file__)
    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", fail)
    with pytest.raises(CfadError, match="Chromium, which failed: check that it starts") as caught:
        write_figure(go.Figure(), tmp_path / "a", image=True)
    assert type(error).__name__ in caught.value.details
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_chromium_draws_every_figure(tmp_path: Path) -> None:
    wanted = {
        **figures(HOSTILE),
        "errors": generation_error_figure(errors()),
        "graphs": adjacency_pair_figure(VARIABLES, TRUE, LEARNED),
    }
    paths = write_figures(wanted, tmp_path, images=True)
    assert len(paths) == 12
    assert len(list(tmp_path.iterdir())) == 13  # and plotly.min.js
    for path in paths:
        if path.suffix == ".svg":
            image = ET.parse(path).getroot()
            assert (image.tag, image.get("width"), image.get("height")) == (f"{SVG}svg", "1100", "460")
            assert "fill: rgb(255, 255, 255)" in image[0].get("style", "")
            addresses = [cells.get("{http://www.w3.org/1999/xlink}href", "") for cells in image.iter(f"{SVG}image")]
            assert all(address.startswith("data:image/png;base64,") for address in addresses)  # heatmaps
            assert not list(image.iter(f"{SVG}a"))
    shown = {"".join(text.itertext()) for text in ET.parse(tmp_path / "errors.svg").iter(f"{SVG}text")}
    assert {"plain GAE", "joint", "model", "5.88", "0.400", "counterfactual"} <= shown
    shown = {"".join(text.itertext()) for text in ET.parse(tmp_path / "generation.svg").iter(f"{SVG}text")}
    assert any(text.startswith("<img src=x onerror=1>") for text in shown)  # as it is written in the table
