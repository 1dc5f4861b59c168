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
    figure = edge_cuts_figure([("s", "a"), ("a", "b")], np.array([0.3, 0.05]), 0.1)
    bars, whole, labels = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["a → b", "s → a"]
    assert list(bars.x) == [0.05, 0.3]
    assert bars.hovertext[0] == "without a → b<br>changed: 5.0 %, with all edges 10.0 %"
    assert list(whole.x) == [0.1, 0.1]
    assert list(labels.text) == ["\u20025.0 %", "\u200230.0 %"]
    assert list(labels.x) == [0.05, 0.3]
    close = edge_cuts_figure([("s", "a")], np.array([0.099]), 0.1)
    assert list(close.data[2].x) == [0.1]  # beside the line, not under it
    assert_stands_on_any_page(edge_cuts_figure([("s", "a")], np.zeros(1), 0.0))
