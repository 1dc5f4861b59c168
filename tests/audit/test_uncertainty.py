from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfad_core.audit.stability import Uncertainty, Validity, WhatIf
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.intervals import ResampledScores

EDGES = (("S", "A"), ("S", "B"), ("A", "B"))


def make_uncertainty() -> Uncertainty:
    """Four graphs over S, A, B; people 0, 2 and 3 of four."""
    graphs = np.zeros((4, 3, 3))
    graphs[0, 0, 1], graphs[0, 1, 2] = 0.5, 0.2  # S -> A -> B
    graphs[1, 0, 1] = 0.7  # S -> A
    graphs[2, 0, 2], graphs[2, 2, 1] = 0.1, 0.3  # S -> B -> A
    graphs[3, 1, 2] = 0.9  # A -> B: no path from S
    rng = np.random.default_rng(0)
    return Uncertainty(
        variables=("S", "A", "B"),
        sensitive="S",
        graphs=graphs,
        people=np.array([0, 2, 3]),
        worlds={method: rng.normal(size=(4, 3)) for method in ("ae", "lof-2")},
        returned={"ae": np.array([[0.9, 0.1, 0.9], [0.1, 0.1, 0.9]]), "lof-2": rng.normal(size=(2, 3))},
        validity=Validity(
            out_of_range=np.array([True, False, False, False]),
            between_levels=np.array([True, True, False, False]),
            distance=np.array([0.1, 2.0, 2.1, 1.0 / 3.0]),
            real_median=0.1 + 0.2,
            usual=np.full(4, 2.0),
        ),
        what_if=WhatIf(
            people=400,
            edges=EDGES,
            whole={"ae": 0.2, "lof-2": 0.1 + 0.2},
            without={"ae": np.array([0.08, 0.2, 0.15]), "lof-2": np.array([0.3, 0.1 + 0.2, 0.29])},
        ),
        seed=11,
    )


def test_how_often_an_edge_is_there_and_what_is_reached() -> None:
    found = make_uncertainty()
    expected = np.zeros((3, 3))
    expected[0, 1], expected[0, 2], expected[1, 2], expected[2, 1] = 0.5, 0.25, 0.5, 0.25
    assert np.array_equal(found.edge_frequency, expected)
    assert found.reach == {"A": 0.75, "B": 0.5}  # B in the first graph by way of A, A in the third by way of B
    assert found.without_path == 1


def test_the_sensitive_attribute_need_not_come_first() -> None:
    found = make_uncertainty()
    order = [1, 2, 0]
    turned = dataclasses.replace(found, variables=("A", "B", "S"), graphs=found.graphs[:, order][:, :, order])
    assert turned.reach == found.reach
    assert turned.without_path == 1


@pytest.mark.parametrize(
    ("threshold", "floor"),
    [
        # the people 0, 2, 3 have 0.9, 0.2, 0.3; after flipping there and back 0.9, 0.1, 0.9 and 0.1, 0.1, 0.9
        (0.5, 0.5),  # one of three, and two of three: the median of two is their mean
        (0.15, 2.0 / 3.0 * 0.5 + 1.0 / 3.0 * 0.5),  # person 2 changes in both, person 0 in the second
        (0.05, 0.0),
        (0.9, 0.0),  # flagged is above, not at
    ],
)
def test_the_floor_by_hand(threshold: float, floor: float) -> None:
    score = np.array([0.9, 5.0, 0.2, 0.3])
    assert make_uncertainty().floor("ae", score, threshold) == pytest.approx(floor)


def test_the_floor_is_a_median_of_pairs() -> None:
    returned = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = dataclasses.replace(make_uncertainty(), returned={"ae": returned})
    assert found.floor("ae", np.zeros(4), 0.5) == pytest.approx(1.0 / 3.0)


def test_intervals_are_about_the_people_who_were_judged() -> None:
    found = make_uncertainty()
    score, s = np.array([0.3, 99.0, -0.2, 0.1]), np.array([-1.0, -1.0, 1.0, 1.0])
    judged = [0, 2, 3]
    expected = ResampledScores(score[judged], found.worlds["ae"], s[judged], seed=11)
    assert found.intervals("ae", score, s, 0.0) == expected.at(0.0)
    assert found.intervals("lof-2", score, s, 0.0) != expected.at(0.0)
    assert np.array_equal(found.resampled("ae", score, s).band(score)[1], expected.band(score)[1])


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
def test_the_edge_that_carries_the_changing_ratio(people: int, whole: float, without: list[float], carrier) -> None:
    found = WhatIf(people, EDGES, {"ae": whole}, {"ae": np.array(without)}).carrier("ae")
    if carrier is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == carrier[0]
        assert found[1] == pytest.approx(carrier[1])


def test_without_edges_none_carries_anything() -> None:
    assert WhatIf(100, (), {"ae": 0.5}, {"ae": np.zeros(0)}).carrier("ae") is None


def test_far_is_further_than_usual() -> None:
    validity = make_uncertainty().validity
    assert validity.far.tolist() == [False, False, True, False]  # 2.0 itself is usual
    assert validity.summary() == {
        "out_of_range": 0.25,
        "between_levels": 0.5,
        "far": 0.25,
        "distance_median": pytest.approx((1.0 / 3.0 + 2.0) / 2.0),
        "distance_median_real": 0.1 + 0.2,
        "distance_usual": 2.0,
    }


@pytest.mark.parametrize("empty", [False, True], ids=["with edges", "without a path"])
def test_save_and_load_keep_every_bit(tmp_path: Path, empty: bool) -> None:
    found = make_uncertainty()
    if empty:
        nothing = WhatIf(400, (), {"ae": 0.0, "lof-2": 0.0}, {"ae": np.zeros(0), "lof-2": np.zeros(0)})
        found = dataclasses.replace(found, graphs=np.zeros((4, 3, 3)), what_if=nothing)
    found.save(tmp_path / "uncertainty")
    assert {path.name for path in tmp_path.iterdir()} == {"uncertainty.json", "uncertainty.safetensors"}
    again = Uncertainty.load(tmp_path / "uncertainty")
    for name in ("graphs", "people"):
        assert getattr(again, name).dtype == getattr(found, name).dtype
        assert np.array_equal(getattr(again, name), getattr(found, name))
    for mine, theirs in (
        (found.worlds, again.worlds),
        (found.returned, again.returned),
        (found.what_if.without, again.what_if.without),
    ):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[method], theirs[method]) for method in mine)
    for name in ("out_of_range", "between_levels", "distance", "far"):
        assert getattr(again.validity, name).dtype == getattr(found.validity, name).dtype
        assert np.array_equal(getattr(again.validity, name), getattr(found.validity, name))
    assert again.validity.real_median == found.validity.real_median
    np.testing.assert_array_equal(again.validity.usual, found.validity.usual)
    assert (again.what_if.people, again.what_if.edges) == (found.what_if.people, found.what_if.edges)
    assert again.what_if.whole == found.what_if.whole
    assert (again.variables, again.sensitive, again.seed) == (found.variables, found.sensitive, found.seed)
    assert again.summary() == found.summary()


def test_the_summary_is_plain_json() -> None:
    summary = make_uncertainty().summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["graphs"], summary["people"], summary["graphs_without_path"]) == (4, 3, 1)
    assert summary["reach"] == {"A": 0.75, "B": 0.5}
    assert {(e["cause"], e["effect"]): e["frequency"] for e in summary["edges"]} == {
        ("S", "A"): 0.5,
        ("S", "B"): 0.25,
        ("A", "B"): 0.5,
        ("B", "A"): 0.25,
    }
    assert summary["what_if"]["people"] == 400
    assert summary["what_if"]["changing_ratio"] == {"ae": 0.2, "lof-2": 0.1 + 0.2}
    assert summary["what_if"]["edges"][2] == {
        "cause": "A",
        "effect": "B",
        "changing_ratio": {"ae": 0.15, "lof-2": 0.29},
    }


def test_what_belongs_to_the_audit_passes() -> None:
    make_uncertainty().check(4, ["S", "A", "B"], ["ae", "lof-2"])


@pytest.mark.parametrize(
    "changes",
    [
        {"people": np.array([0, 2, 4])},
        {"people": np.array([-1, 2, 3])},
        {"people": np.array([0.0, 2.0, 3.0])},
        {"graphs": np.zeros((4, 1, 1))},
        {"graphs": np.full((4, 3, 3), np.nan)},
        {"worlds": {"ae": np.zeros((4, 2)), "lof-2": np.zeros((4, 3))}},
        {"worlds": {"ae": np.zeros((4, 3))}},
        {"returned": {"ae": np.zeros((4, 3)), "lof-2": np.zeros((2, 3))}},
        {"variables": ("S", "A", "C")},
        {"sensitive": "A"},
        {"seed": -1},
        {"seed": "0"},
        {"what_if": {"edges": (("S", "A"), ("S", "![x](https://example.org)"), ("A", "B"))}},
        {"what_if": {"whole": {"ae": 0.2, "![x](https://example.org)": 0.1}}},
        {"what_if": {"whole": {"ae": "0.2", "lof-2": 0.3}}},
        {"validity": {"distance": np.zeros(3)}},
        {"validity": {"usual": np.full(4, np.inf)}},
    ],
    ids=str,
)
def test_what_does_not_belong_to_the_audit_is_refused(changes: dict[str, Any]) -> None:
    found = make_uncertainty()
    for part in ("what_if", "validity"):
        if part in changes:
            changes = {part: dataclasses.replace(getattr(found, part), **changes[part])}
    with pytest.raises(InvalidArtifactError, match="does not belong to it"):
        dataclasses.replace(found, **changes).check(4, ["S", "A", "B"], ["ae", "lof-2"])
