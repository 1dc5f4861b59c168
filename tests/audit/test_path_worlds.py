"""Worlds whose path-specific twins are known, and what is measured on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.path_truth import paths_of, report, summarise
from benchmarks.worlds import SENSITIVE, draw_world

FAMILIES = ("mixed", "categories", "interactions", "messy", "spread")


@pytest.mark.parametrize("family", FAMILIES)
def test_without_closed_paths_they_are_the_twins_and_without_any_path_the_people(family: str) -> None:
    world = draw_world(5, family)
    people, twins = world.people(200, seed=3)
    pd.testing.assert_frame_equal(world.twins_without(200, 3, set()), twins)
    first = {(SENSITIVE, str(name)) for name in world.graph.columns if world.graph.loc[SENSITIVE, name]}
    nothing = world.twins_without(200, 3, first)
    pd.testing.assert_frame_equal(nothing.drop(columns=SENSITIVE), people.drop(columns=SENSITIVE))
    assert (nothing[SENSITIVE] != people[SENSITIVE]).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_closed_path_stops_what_follows_from_it_alone(family: str) -> None:
    world = draw_world(6, family)
    people, twins = world.people(300, seed=1)
    graph = world.graph
    path = next(one for one in paths_of(world) if SENSITIVE in world.columns[one[1]].causes)
    found = world.twins_without(300, 1, {path})
    other_causes = [name for name in world.columns[path[1]].causes if name in world.reached]
    if not other_causes:  # nothing else moves it
        pd.testing.assert_series_equal(found[path[1]], people[path[1]])
    reached, below = world.reached, {path[1]}
    while more := {str(b) for a in below for b in graph.columns if graph.loc[a, b]} - below:
        below |= more
    for name in world.columns:
        if name not in below:
            pd.testing.assert_series_equal(found[name], twins[name])
        if name not in reached:
            pd.testing.assert_series_equal(found[name], people[name])


def test_what_comes_before_the_end_of_a_closed_path_moves() -> None:
    """Closing group -> a -> b leaves a its move; b no longer hears it."""
    world = next(
        world
        for number in range(40)
        if (world := draw_world(number, "numbers")) and any(len(path) == 3 for path in paths_of(world))
    )
    path = next(one for one in paths_of(world) if len(one) == 3)
    _, twins = world.people(100, seed=0)
    found = world.twins_without(100, 0, {path})
    pd.testing.assert_series_equal(found[path[1]], twins[path[1]])
    assert not np.array_equal(found[path[2]], twins[path[2]])


def test_what_is_summarised() -> None:
    def said(truth: float, says: float, low: float, high: float) -> dict[str, object]:
        return {"truth": truth, "says": says, "interval": [low, high]}

    def case(graphs: float, truth: float) -> dict[str, object]:
        whole, left = said(0.2, 0.25, 0.1, 0.3), said(truth, 0.1, 0.05, 0.15)
        gone = said(0.2 - truth, 0.1, 0.0, 0.2)
        return {"path": [], "method": "ae", "graphs": graphs, "whole": whole, "remaining": left, "gone": gone}

    records = [
        {"world": 1, "family": "mixed", "cases": [case(1.0, 0.1), case(0.2, 0.2)], "seconds": 1.0},
        {"world": 2, "family": "mixed", "error": "refused"},
    ]
    found = summarise(records)
    assert set(found) == {
        *("mixed", "all identified", "path in half of the graphs or more", "path in fewer", "method ae"),
    }
    assert found["mixed"]["cases"] == 2
    assert found["mixed"]["remaining"]["error"] == pytest.approx(0.05)
    assert found["mixed"]["remaining"]["covered"] == 0.5
    assert found["path in fewer"]["remaining"]["bias"] == pytest.approx(-0.1)
    assert "| mixed | 2 | 0.200 | 0.150 | 0.0500 | -0.0500 | 50% | 0.0500 | 100% | 0.0500 | 100% |" in report(found)
