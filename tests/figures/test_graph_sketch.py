from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.figures import PALETTE
from cfad_core.figures.graph_sketch import MOST_NODES, graph_sketch
from cfad_core.figures.routes import drawn, inside, points, routes
from tests.figures.svg import NASTY, parsed, texts

VARIABLES = ["s", "a", "b", "c", "alone"]
STRENGTHS = np.zeros((5, 5))
STRENGTHS[0, 1], STRENGTHS[1, 2], STRENGTHS[0, 2], STRENGTHS[3, 2] = 0.31, -1.0, 0.5, 0.1
RARE = "5 3"


def graph(variables: int, density: float) -> Floats:
    rng = np.random.default_rng(0)
    links = rng.random((variables, variables)) < density
    return np.triu(rng.normal(size=(variables, variables)) * links, 1)


def edges(root: ET.Element) -> dict[str, list[ET.Element]]:
    """By what an edge says, its line and its head."""
    groups = ((node.findtext("title") or "", node.findall("path")) for node in root.iter("g"))
    return {says: paths for says, paths in groups if "→" in says}


def nodes(root: ET.Element) -> dict[str, tuple[float, float]]:
    """By what a node says, where it stands."""
    found = {}
    for group in root.iter("g"):
        says, inner = group.findtext("title"), group.find("g")
        if says and inner is not None and "→" not in says:
            x, y = re.findall(r"[-\d.]+", inner.get("transform", ""))
            found[says] = float(x), float(y)
    return found


def test_causes_stand_left_of_effects() -> None:
    place = nodes(parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"])))
    kinds = {"s: sensitive attribute", "a: affected", "b: affected", "c: not affected", "alone: not affected"}
    assert set(place) == kinds
    assert place["s: sensitive attribute"][0] < place["a: affected"][0] < place["b: affected"][0]
    assert place["c: not affected"][0] < place["b: affected"][0]


def test_kinds_of_nodes_differ_in_more_than_colour() -> None:
    root = parsed(graph_sketch(VARIABLES, STRENGTHS, ["s", "c"], ["a", "b"]))
    shapes = {}
    for group in root.iter("g"):
        inner = group.find("g")
        if inner is not None and (says := group.findtext("title")):
            shapes[says.split(":")[0]] = (inner[0].tag, inner[0].get("stroke-width"))
    assert shapes == {
        "s": ("path", None),
        "c": ("path", None),
        "a": ("circle", "3"),
        "b": ("circle", "3"),
        "alone": ("circle", None),
    }


def test_edges_from_the_sensitive_attribute_stand_out_and_are_as_wide_as_they_are_strong() -> None:
    found = edges(parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"])))
    assert set(found) == {"s → a: +0.31", "a → b: -1.00", "s → b: +0.50", "c → b: +0.10"}
    lines = {says: paths[0] for says, paths in found.items()}
    widths = {says: float(line.get("stroke-width", "")) for says, line in lines.items()}
    assert widths["a → b: -1.00"] > widths["s → b: +0.50"] > widths["s → a: +0.31"] > widths["c → b: +0.10"]
    assert {says for says, line in lines.items() if line.get("stroke") == PALETTE[1]} == set(found) - {"c → b: +0.10"}
    heads = {says: paths[1].get("fill") for says, paths in found.items()}
    assert {says for says, fill in heads.items() if fill == "none"} == {"c → b: +0.10"}
    assert not any(line.get("stroke-dasharray") for line in lines.values())


def test_edges_that_seldom_came_back_are_dashed() -> None:
    found = np.where(STRENGTHS != 0.0, 20, 0)
    found[0, 2], found[3, 2], found[1, 2] = 9, 3, 10
    root = parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"], found=(found, 20)))
    dashed = {says for says, paths in edges(root).items() if paths[0].get("stroke-dasharray") == RARE}
    assert dashed == {"s → b: +0.50, found in 9 of 20 subsamples", "c → b: +0.10, found in 3 of 20 subsamples"}
    assert "found in fewer than half of the subsamples" in texts(root)
    sure = parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"], found=(np.full((5, 5), 20), 20)))
    assert "found in fewer than half of the subsamples" not in texts(sure)


def test_open_directions_have_a_question_mark() -> None:
    is_open = np.zeros((5, 5), dtype=np.bool_)
    is_open[0, 1] = is_open[3, 2] = is_open[2, 3] = True  # the last one is not an edge
    said = texts(parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"], is_open=is_open)))
    assert said.count("?") == 3  # two edges and the legend
    assert "direction open" in said
    assert "?" not in texts(parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["a", "b"])))


def test_it_says_what_it_shows() -> None:
    said = parsed(graph_sketch(VARIABLES, STRENGTHS, "s", ["b", "a"])).findtext("desc")
    assert said == "5 variables and 4 edges. s affects 2 of them: a, b."
    assert "s and c affect none of them" in graph_sketch(VARIABLES, STRENGTHS, ["s", "c"], [])


def test_of_many_variables_those_are_drawn_that_matter() -> None:
    names = [f"v{k}" for k in range(59)]
    strengths = np.zeros((59, 59))
    strengths[0, 1] = strengths[1, 2] = strengths[3, 2] = strengths[4, 3] = strengths[5, 0] = strengths[5, 3] = 1.0
    root = parsed(graph_sketch(names, strengths, "v0", ["v1", "v2"]))
    assert {says.split(":")[0] for says in nodes(root)} == {"v0", "v1", "v2", "v3", "v5"}
    note = "Not drawn: 54 more variables, none of them affected; 1 edge between variables that are not affected."
    assert note in texts(root)
    assert len(edges(root)) == 4
    assert (root.findtext("desc") or "").startswith("59 variables and 6 edges. v0 affects 2 of them: v1, v2.")


def test_many_affected_variables_are_counted() -> None:
    names = [f"v{k}" for k in range(59)]
    strengths = np.zeros((59, 59))
    strengths[0, 1:51] = np.arange(50.0) + 1.0
    root = parsed(graph_sketch(names, strengths, "v0", names[1:51]))
    drawn_names = {says.split(":")[0] for says in nodes(root)}
    assert drawn_names == {"v0", *names[51 - MOST_NODES + 1 : 51]}  # the strongest
    assert "Not drawn: 19 more variables, 11 of them affected." in texts(root)
    assert all(f"{name}," in f"{root.findtext('desc')}," for name in names[1:50])


@pytest.mark.parametrize(("variables", "density"), [(8, 1.0), (20, 0.1), (20, 0.4), (24, 0.0), (59, 0.1)])
def test_names_do_not_touch_and_are_never_cut_off(variables: int, density: float) -> None:
    names = [f"a_name_of_{k}" for k in range(variables)]
    strengths = graph(variables, density)
    affected = [names[k] for k in range(1, variables) if strengths[0, k] or density == 1.0]
    root = parsed(graph_sketch(names, strengths, names[0], affected))
    assert set(affected) <= {says.split(":")[0] for says in nodes(root)} & set(texts(root))
    labels = [node for node in root.iter("text") if (node.text or "").startswith("a_name_of_")]
    boxes = np.array([(float(n.get("x", "")), float(n.get("y", "")), 6.4 * len(n.text or "")) for n in labels])
    assert (boxes[:, 0] - boxes[:, 2] / 2.0 >= 0.0).all()
    assert (boxes[:, 0] + boxes[:, 2] / 2.0 <= 680.0).all()
    apart = np.abs(boxes[:, None] - boxes)
    wide = (boxes[:, None, 2] + boxes[:, 2]) / 2.0
    assert ((apart[..., 0] >= wide) | (apart[..., 1] >= 11.0) | np.eye(len(boxes), dtype=np.bool_)).all()
    height = float(root.get("viewBox", "").split()[3])
    assert 60.0 < height < 1000.0


def test_names_are_text() -> None:
    strengths = graph(len(NASTY), 0.5)
    svg = graph_sketch(NASTY, strengths, NASTY[0], NASTY[1:4], found=(np.ones_like(strengths, dtype=np.int64), 9))
    parsed(svg)
    assert len(svg) < 60_000
    assert not set(svg) & {"\u202e", "\u2066", "\x00", "\x1b", "\n"}
    assert "<img" not in svg


def test_the_same_graph_gives_the_same_picture_and_inputs_stay() -> None:
    strengths = graph(12, 0.3)
    before = strengths.copy()
    first, second = (graph_sketch([f"v{k}" for k in range(12)], strengths, "v0", ["v3"]) for _ in range(2))
    assert first == second
    assert np.array_equal(strengths, before)


def test_small_graphs_are_drawn() -> None:
    assert "There are no variables." in texts(parsed(graph_sketch([], np.zeros((0, 0)), "s", [])))
    assert "s" in texts(parsed(graph_sketch(["s"], np.zeros((1, 1)), "s", [])))


def test_an_edge_goes_around_what_it_passes_or_has_a_gap() -> None:
    place = np.array([[0.0, 0.0], [100.0, 0.0], [200.0, 0.0]])
    boxes = np.concatenate([place - 10.0, place + 10.0], axis=1)
    (curve,) = routes(place, [(0, 2)], boxes, [(10.0, 10.0)])
    assert not inside(points(curve), boxes[1:2]).any()
    wall = np.array([[90.0, -1000.0, 110.0, 1000.0]])
    assert drawn(curve, boxes[1:2]).count("M") == 1
    assert drawn(curve, wall).count("M") == 2
    assert drawn(curve, np.array([[-1e4, -1e4, 1e4, 1e4]])) == ""
