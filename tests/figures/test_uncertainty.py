from __future__ import annotations

import numpy as np

from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.path_shares import PathShare
from cfad_core.figures import edge_cuts_figure, path_shares_figure, reach_figure
from tests.figures.drawing import assert_stands_on_any_page


def test_reach_distinguishes_what_this_graph_reaches() -> None:
    figure = reach_figure({"a": 0.25, "b": 1.0, "c": 0.5}, ["b", "a"], 20)
    here, elsewhere = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["b", "c", "a"]
    assert (list(here.y), list(here.x)) == ([0, 2], [1.0, 0.25])
    assert (list(elsewhere.y), list(elsewhere.x), list(elsewhere.text)) == ([1], [0.5], ["10"])
    assert elsewhere.hovertext[0] == "c<br>not reached in this graph<br>reached in 10 of 20 subsamples"
    assert here.marker.pattern.shape != elsewhere.marker.pattern.shape
    assert len(reach_figure({f"v{k}": 0.5 for k in range(99)}, [], 20).layout.yaxis.ticktext) == 14


def test_what_goes_with_an_edge() -> None:
    figure = edge_cuts_figure([("s", "a"), ("a", "b"), ("s", "b")], np.array([0.25, 0.6, -0.1]))
    (bars,) = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["a → b", "s → a", "s → b"]
    assert list(bars.x) == [0.6, 0.25, -0.1]
    assert list(bars.text) == ["60 %", "25 %", "-10 %"]
    assert bars.hovertext[0] == "a → b<br>60 % of the change goes with it"
    assert bars.hovertext[2] == "s → b<br>works against the others: without it, 10 % more outcomes change"
    low, high = figure.layout.xaxis.range
    assert low < -0.1  # room for the text beside the bar
    assert high > 1.0
    assert edge_cuts_figure([("s", "a")], np.array([0.5])).layout.xaxis.range[0] == 0.0
    assert len(edge_cuts_figure([("s", f"v{k}") for k in range(99)], np.zeros(99)).layout.yaxis.ticktext) == 14
    assert_stands_on_any_page(edge_cuts_figure([("s", "a")], np.zeros(1)))


def _path(gone: float | None, interval: Interval | None, *path: str) -> PathShare:
    return PathShare(path, 4, Estimate(0.1), Estimate(gone, interval), Estimate(0.1))


def test_what_goes_with_a_path() -> None:
    rows = [
        _path(0.6, Interval(0.3, 0.9), "s", "a"),
        _path(-3.8, Interval(-4.2, -3.4), "s", "a", "b"),
        _path(None, None, "s", "c"),
        _path(0.1, None),
    ]
    figure = path_shares_figure(rows)
    (bars,) = figure.data
    assert list(figure.layout.yaxis.ticktext) == [
        "s → a  <b>60 %</b>",
        "s → a → b  <b>-380 %</b>",
        "all other paths  <b>10 %</b>",
    ]
    assert list(bars.x) == [0.6, -1.0, 0.1]  # cut where it would make all others thin; its name says how far it goes
    np.testing.assert_allclose(bars.error_x.array, [0.3, 0.0, np.nan], atol=1e-12)
    np.testing.assert_allclose(bars.error_x.arrayminus, [0.3, 0.0, np.nan], atol=1e-12)
    assert bars.hovertext[1] == "s → a → b<br>works against the others: without it, 380 % more outcomes change"
    low, high = figure.layout.xaxis.range
    assert low < -1.0
    assert high > 1.0
    assert path_shares_figure(rows[:1]).layout.xaxis.range[0] > -0.1
    hostile = path_shares_figure([_path(0.5, None, "s", "<img src=x> $x$")])
    assert "<img" not in hostile.layout.yaxis.ticktext[0] + hostile.data[0].hovertext[0]
    assert len(path_shares_figure([_path(0.1, None, "s", f"v{k}") for k in range(99)]).layout.yaxis.ticktext) == 14
    assert_stands_on_any_page(figure)
    assert_stands_on_any_page(path_shares_figure([]))
