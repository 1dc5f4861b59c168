from __future__ import annotations

import numpy as np

from cfad_core.causal.differences import GraphDifference
from cfad_core.causal.graph import find_cycle


def matrix(*edges: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found = np.zeros((4, 4))
    for j, i in edges:
        found[j, i] = 0.5
    return found


def test_arrows_of_either_graph_are_in_both_or_in_one_or_turned() -> None:
    names = ["s", "a", "b", "c"]
    found = GraphDifference.between(names, matrix((0, 1), (1, 2), (0, 3)), names, matrix((0, 1), (2, 1), (2, 3)))
    assert found.kinds == {(0, 1): "both", (1, 2): "turned", (0, 3): "here", (2, 3): "there"}
    assert [found.count(kind) for kind in ("both", "here", "there", "turned")] == [1, 1, 1, 1]


def test_only_columns_that_both_have_count_whatever_their_order() -> None:
    found = GraphDifference.between(
        ["s", "a", "b", "own"], matrix((0, 1), (3, 1)), ["b", "a", "s", "x"], matrix((2, 1), (1, 0))
    )
    assert found.variables == ("s", "a", "b")
    assert found.kinds == {(0, 1): "both", (1, 2): "there"}


def test_what_is_laid_out_has_no_circle() -> None:
    names = ["s", "a", "b", "c"]
    found = GraphDifference.between(names, matrix((1, 2), (2, 3)), names, matrix((3, 1), (0, 1)))
    assert found.kinds[3, 1] == "there"
    assert not find_cycle(found.drawable != 0.0)
    assert found.drawable[0, 1]
    assert not found.drawable[3, 1]
