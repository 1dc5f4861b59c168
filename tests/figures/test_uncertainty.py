from __future__ import annotations

import numpy as np

from cfad_core.figures import edge_cuts_figure, reach_figure
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
