"""What a page's component is given of a graph: the places and the curves of every other picture."""

from __future__ import annotations

import json

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.figures.graph_board import PAGE, Board, Edge, Graph, board_of, edges_of
from cfad_core.figures.graph_elements import curve_of, edge_elements, node_elements
from cfad_core.figures.routes import points

NAMES = ["s", "a", "b", "<img src=x>"]
STRENGTHS = np.zeros((4, 4))
STRENGTHS[0, 1], STRENGTHS[1, 2], STRENGTHS[0, 2], STRENGTHS[3, 2] = 0.31, -1.0, 0.5, 0.1


def drawn() -> tuple[Graph, Board, list[Edge]]:
    graph = Graph.of(NAMES, STRENGTHS, ["s"], ["a", "b"])
    board = board_of(graph, PAGE)
    return graph, board, edges_of(graph, board, None)


def numbers(text: str) -> Floats:
    return np.array([float(part.removesuffix("px")) for part in text.split()])


def test_nodes_stand_where_they_stand_in_every_picture() -> None:
    graph, board, _ = drawn()
    found = node_elements(graph, board, [5, 2, 7, 9], [["says"]] * 4, {2: "marked"})
    assert [(one["x"], one["y"]) for one in found] == [tuple(np.round(place, 1)) for place in board.place.tolist()]
    assert [one["id"] for one in found] == ["5", "2", "7", "9"]
    assert [one["kind"] for one in found] == [0, 1, 1, 2]
    assert [one["mark"] for one in found] == ["", "marked", "", ""]
    assert found[3]["name"] == "<img src=x>"  # as text: the component draws it on a canvas
    json.dumps(found)


def test_a_curve_is_two_quadratic_ones_with_the_same_ends_and_middle() -> None:
    _, board, edges = drawn()
    for edge in edges:
        given = curve_of(edge, board)
        start, end = board.place[edge.cause], board.place[edge.effect]
        along = end - start
        beside = np.array([-along[1], along[0]]) / np.hypot(*along)
        weights, distances = numbers(given["weights"]), numbers(given["distances"])
        controls = start + weights[:, None] * along + distances[:, None] * beside
        middle = points(edge.curve, np.array([0.5]))[0]
        assert np.hypot(*(controls.mean(axis=0) - middle)) < 0.5 * edge.head + 0.1
        assert np.allclose(start + numbers(given["from"]), edge.curve[0], atol=0.1)
        tip = end + numbers(given["to"])
        assert np.isclose(np.hypot(*(tip - edge.curve[3])), 0.8 * edge.head, atol=0.2)  # its head ends there


def test_edges_are_marked_and_more_can_be_drawn() -> None:
    _, board, edges = drawn()
    columns = [5, 2, 7, 9]
    marks = {(5, 2): "forbidden", (2, 9): "required", (2, 4): "required"}
    found = edge_elements(edges, board, columns, {(5, 2): ["s → a"]}, [(2, 7)], marks)
    by_pair = {(one["cause"], one["effect"]): one for one in found}
    assert set(by_pair) == {(5, 2), (2, 7), (5, 7), (9, 7), (2, 9)}  # 4 is not drawn
    assert by_pair[5, 2]["mark"] == "forbidden"
    assert by_pair[5, 2]["says"] == ["s → a"]
    assert by_pair[2, 7]["open"]
    assert not by_pair[5, 7]["open"]
    assert "curve" not in by_pair[2, 9]
    assert by_pair[5, 7]["causal"]
    assert not by_pair[9, 7]["causal"]
    json.dumps(found)
