from __future__ import annotations

import numpy as np
import pytest

from cfad_core.evaluation.edge_cuts import EdgeCuts

EDGES = (("S", "A"), ("S", "B"), ("A", "B"))


@pytest.mark.parametrize(
    ("people", "whole", "without", "carrier"),
    [
        (400, 0.2, [0.08, 0.2, 0.15], (("S", "A"), 0.6)),  # 48 of 80 people: more than 2 sqrt(80) = 18
        (400, 0.2, [0.2, 0.2, 0.0], (("A", "B"), 1.0)),
        (400, 0.2, [0.2, 0.1, 0.2], (("S", "B"), 0.5)),  # half is enough
        (400, 0.2, [0.2, 0.101, 0.2], None),  # less is not
        (400, 0.2, [0.3, 0.25, 0.2], None),  # without an edge it may be more
        (50, 0.1, [0.0, 0.1, 0.1], (("S", "A"), 1.0)),  # all 5 people, and 2 sqrt(5) = 4.5
        (40, 0.1, [0.0, 0.1, 0.1], None),  # all 4 people, and 2 sqrt(4) = 4
        (200, 0.03, [0.015, 0.03, 0.03], None),  # 3 of 6 people, and 2 sqrt(6) = 4.9
        (100, 0.1, [0.1, 0.1, 0.04], None),  # 6 of 10 people, and 2 sqrt(10) = 6.3
        (100, 0.1, [0.1, 0.1, 0.03], (("A", "B"), 0.7)),
        (400, 0.0, [0.0, 0.0, 0.0], None),
    ],
)
def test_the_edge_that_carries_the_changing_ratio(
    people: int, whole: float, without: list[float], carrier: tuple[tuple[str, str], float] | None
) -> None:
    found = EdgeCuts(people, EDGES, {"ae": whole}, {"ae": np.array(without)}).carrier("ae")
    if carrier is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == carrier[0]
        assert found[1] == pytest.approx(carrier[1])


def test_without_edges_none_carries_anything() -> None:
    assert EdgeCuts(100, (), {"ae": 0.5}, {"ae": np.zeros(0)}).carrier("ae") is None
