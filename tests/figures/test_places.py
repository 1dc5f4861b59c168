"""Where nodes of a drawn graph stand: causes on the left, few crossings, and always the same."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.figures.graph_board import PAGE, SCREEN, Graph, board_of, edges_of
from cfad_core.figures.places import crossings, places
from cfad_core.figures.routes import inside, points

# Crossings of straight edges, in all of ten graphs, by the layout that there was before (its better one of two)
BEFORE = [(8, 0.3, 6), (12, 0.3, 123), (20, 0.1, 53), (30, 0.1, 678), (54, 0.03, 339)]


def graph(variables: int, density: float, seed: int) -> Floats:
    """A graph without cycles whose variables stand in no order."""
    rng = np.random.default_rng(seed)
    strengths = np.triu(rng.normal(size=(variables, variables)) * (rng.random((variables, variables)) < density), 1)
    order = rng.permutation(variables)
    return strengths[np.ix_(order, order)]


def edges_in(strengths: Floats) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in np.argwhere(strengths)]


def test_crossings_are_counted() -> None:
    place = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert crossings(place, [(0, 3), (1, 2)]) == 1
    assert crossings(place, [(0, 2), (1, 3)]) == 0
    assert crossings(place, [(0, 2), (0, 3), (1, 3)]) == 0  # those with an end in common do not cross
    assert crossings(place, []) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "density", "before"), BEFORE)
def test_fewer_edges_cross_than_before(variables: int, density: float, before: int) -> None:
    found = 0
    for seed in range(10):
        strengths = graph(variables, density, seed)
        place = places(strengths)
        found += crossings(place, edges_in(strengths))
        assert all(place[j, 0] < place[i, 0] for j, i in edges_in(strengths))
    assert found <= before


@pytest.mark.parametrize(("variables", "density", "rows"), [(1, 0.0, 10), (40, 0.0, 6), (40, 0.1, 6), (12, 1.0, 4)])
def test_causes_stand_left_and_nobody_stands_on_another(variables: int, density: float, rows: int) -> None:
    strengths = graph(variables, density, 0)
    place = places(strengths, rows)
    assert all(place[j, 0] < place[i, 0] for j, i in edges_in(strengths))
    assert len({tuple(one) for one in place.tolist()}) == variables
    assert max(np.unique(place[:, 0], return_counts=True)[1]) <= rows
    assert set(np.unique(place[:, 0])) == set(range(int(place[:, 0].max()) + 1))
    heights = place[:, 1] - place[:, 1].min()
    assert np.array_equal(heights, np.round(heights))
    assert place[:, 1].min() == -place[:, 1].max()


def test_a_cause_of_one_stands_right_before_it() -> None:
    strengths = np.zeros((5, 5))
    strengths[0, 1] = strengths[1, 2] = strengths[0, 2] = strengths[3, 2] = 1.0
    assert places(strengths)[:, 0].tolist() == [0.0, 1.0, 2.0, 1.0, 0.0]


def test_the_same_graph_always_has_the_same_places() -> None:
    strengths = graph(20, 0.1, 3)
    before = strengths.copy()
    assert np.array_equal(places(strengths), places(3.0 * strengths))  # whatever the strengths are
    assert np.array_equal(strengths, before)


@pytest.mark.parametrize("sheet", [PAGE, SCREEN])
def test_no_name_lies_under_an_edge_or_on_another_name(sheet: object) -> None:
    names = [f"a column of {k}" for k in range(14)]
    strengths = graph(14, 0.12, 1)
    drawn = Graph.of(names, strengths, names[:1], names[1:4])
    board = board_of(drawn, PAGE if sheet is PAGE else SCREEN)
    labels = board.boxes[len(names) :]
    for k, (left, top, right, bottom) in enumerate(labels):
        rest = np.delete(board.boxes, [k, len(names) + k], axis=0)
        beside = (rest[:, 2] <= left) | (rest[:, 0] >= right) | (rest[:, 3] <= top) | (rest[:, 1] >= bottom)
        assert beside.all()
    edges = edges_of(drawn, board, None)
    assert len(edges) == int((strengths != 0.0).sum())
    assert not any(inside(points(edge.curve), board.others(edge.cause, edge.effect)).any() for edge in edges)


@pytest.mark.slow
def test_few_edges_of_54_columns_run_under_a_name() -> None:
    """Where an edge cannot go around a name, the name has a background and the sketch a gap."""
    names = [f"column {k}" for k in range(54)]
    strengths = graph(54, 0.03, 0)
    drawn = Graph.of(names, strengths, names[:1], names[1:9])
    board = board_of(drawn, SCREEN)
    labels = board.boxes[len(names) :]
    for k, (left, top, right, bottom) in enumerate(labels):
        rest = np.delete(labels, k, axis=0)
        assert ((rest[:, 2] <= left) | (rest[:, 0] >= right) | (rest[:, 3] <= top) | (rest[:, 1] >= bottom)).all()
    under = [bool(inside(points(e.curve), board.others(e.cause, e.effect)).any()) for e in edges_of(drawn, board, None)]
    assert sum(under) <= len(under) // 4
