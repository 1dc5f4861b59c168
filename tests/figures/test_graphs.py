from __future__ import annotations

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.figures import PALETTE, adjacency_figure, graph_figure
from tests.figures.drawing import assert_stands_on_any_page

VARIABLES = ["s", "a", "b", "c", "alone"]
STRENGTHS = np.zeros((5, 5))
STRENGTHS[0, 1], STRENGTHS[1, 2], STRENGTHS[0, 2], STRENGTHS[3, 2] = 0.31, -1.0, 0.5, 0.1


def nodes(figure: go.Figure) -> dict[str, tuple[float, float]]:
    traces = [trace for trace in figure.data if trace.mode == "markers+text"]
    return {t: (x, y) for trace in traces for t, x, y in zip(trace.text, trace.x, trace.y, strict=True)}


def edge_texts(figure: go.Figure) -> list[str]:
    return [text for trace in figure.data if trace.name == "edges" for text in trace.hovertext]


def test_causes_stand_left_of_effects_in_layers_of_the_longest_path() -> None:
    place = nodes(graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"]))
    columns = {name: sorted({x for x, _ in place.values()}).index(x) for name, (x, _) in place.items()}
    assert columns == {"s": 0, "alone": 0, "a": 1, "c": 1, "b": 2}  # c stands right before its only effect
    assert len(set(place.values())) == 5


def test_several_sensitive_attributes_look_alike() -> None:
    figure = graph_figure(VARIABLES, STRENGTHS, ["s", "a"], ["b"])
    (own,) = (trace for trace in figure.data if trace.name == "sensitive attribute")
    assert sorted(own.text) == ["a", "s"]


def test_layout_is_the_same_for_any_strength_and_any_call() -> None:
    figures = [graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], weakest=w) for w in (0.0, 0.0, 0.4, 1.0)]
    assert len({tuple(sorted(nodes(figure).items())) for figure in figures}) == 1
    assert (
        len({(figure.layout.xaxis.range, figure.layout.yaxis.range, figure.layout.height) for figure in figures}) == 1
    )


def test_weak_edges_vanish_and_hovers_hold_sign_and_value() -> None:
    everything = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"])
    assert sorted(edge_texts(everything)) == ["a → b: -1.00", "c → b: +0.10", "s → a: +0.31", "s → b: +0.50"]
    strong = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], weakest=0.4)
    assert sorted(edge_texts(strong)) == ["a → b: -1.00", "s → b: +0.50"]
    assert len(nodes(strong)) == 5
    weak = graph_figure(VARIABLES, STRENGTHS / 4.0, "s", ["a", "b"], weakest=0.1)  # a strength, not a share of one
    assert sorted(edge_texts(weak)) == ["a → b: -0.25", "s → b: +0.12"]


def test_edges_from_the_sensitive_variable_are_coloured_and_widths_follow_strength() -> None:
    traces = [t for t in graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"]).data if t.mode == "lines+markers"]
    causal = {t.line.width for t in traces if t.line.color in PALETTE and t.line.dash == "solid"}
    assert causal == {6, 4, 3}  # shares of 1, 0.5 and 0.31
    (other,) = (t for t in traces if t.line.color not in PALETTE)
    assert other.line.dash == "dot"
    place = nodes(graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"]))
    assert place["c"][0] < other.x[0] < other.x[-2] < place["b"][0]
    for trace in traces:  # heads only where an edge ends
        ends = np.flatnonzero(np.isnan(trace.x)) - 1
        assert np.array_equal(np.flatnonzero(trace.marker.size), ends)


def test_edges_that_seldom_came_back_are_thin_and_dashed() -> None:
    found = np.where(STRENGTHS != 0.0, 20, 0)
    found[0, 2], found[3, 2], found[1, 2] = 9, 3, 10
    figure = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], found=(found, 20))
    assert "s → b: +0.50<br>found in 9 of 20 subsamples" in edge_texts(figure)
    dashed = [t for t in figure.data if t.mode == "lines+markers" and t.line.dash == "dash"]
    assert sorted((t.line.color in PALETTE, t.line.width) for t in dashed) == [(False, 1), (True, 1)]
    (solid, *rest) = sorted(
        (t for t in figure.data if t.mode == "lines+markers" and t.line.dash == "solid"), key=lambda t: -t.line.width
    )
    assert solid.line.width == 6  # of half of the graphs
    assert len(rest) == 1


def test_open_directions_have_a_question_mark_and_say_so() -> None:
    is_open = np.zeros(STRENGTHS.shape, dtype=np.bool_)
    is_open[1, 2] = is_open[3, 2] = True
    figure = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], is_open=is_open)
    (marks,) = (trace for trace in figure.data if trace.name == "direction open (?)")
    assert list(marks.text) == ["?", "?"]
    assert marks.showlegend is not False
    (hovers,) = (trace for trace in figure.data if trace.name == "edges")
    places = {(x, y): text for x, y, text in zip(hovers.x, hovers.y, hovers.hovertext, strict=True)}
    marked = {places[point] for point in zip(marks.x, marks.y, strict=True)}
    says = "<br>direction open: either may be the cause"
    assert marked == {f"a → b: -1.00{says}", f"c → b: +0.10{says}"}
    assert sum(says in text for text in edge_texts(figure)) == 2
    order = [trace.name for trace in figure.data]
    assert order.index("direction open (?)") < order.index("edges")  # what says it lies on top
    strong = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], weakest=0.2, is_open=is_open)
    (marks,) = (trace for trace in strong.data if trace.name == "direction open (?)")
    assert len(marks.text) == 1
    clear = graph_figure(VARIABLES, STRENGTHS, "s", ["a", "b"], is_open=np.zeros_like(is_open))
    assert "direction open (?)" not in [trace.name for trace in clear.data]


def test_edges_go_around_nodes_and_their_names() -> None:
    chain = np.triu(np.ones((3, 3)), 1)
    figure = graph_figure(["s", "a", "b"], chain, "s", ["a", "b"])
    x, y = nodes(figure)["a"]
    traces = [trace for trace in figure.data if trace.mode == "lines+markers"]
    around = 0
    for trace in traces:
        breaks = np.flatnonzero(np.isnan(trace.x))
        for line in np.split(np.stack([trace.x, trace.y], axis=1), breaks):
            own = line[~np.isnan(line[:, 0])]
            if len(own) and own[0, 0] < x - 50.0 and own[-1, 0] > x + 50.0:  # from s to b
                inside = (np.abs(own[:, 0] - x) < 12.0) & (own[:, 1] > y - 12.0) & (own[:, 1] < y + 24.0)
                assert not inside.any()
                around += 1
    assert around == 1


def test_edges_do_not_cross_where_they_need_not() -> None:
    crossed = np.zeros((4, 4))
    crossed[0, 3] = crossed[1, 2] = 1.0
    place = nodes(graph_figure(["p", "q", "of q", "of p"], crossed, "p", ["of p"]))
    assert (place["p"][1] > place["q"][1]) == (place["of p"][1] > place["of q"][1])


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
