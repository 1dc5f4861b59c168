from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest

from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.intervals import ResampledScores
from tests.audit.worlds import make_stability


def test_how_often_an_edge_is_there_and_what_is_reached() -> None:
    found = make_stability()
    expected = np.zeros((3, 3))
    expected[0, 1], expected[0, 2], expected[1, 2], expected[2, 1] = 0.5, 0.25, 0.5, 0.25
    assert np.array_equal(found.edge_frequency, expected)
    assert found.reach == {"A": 0.75, "B": 0.5}  # B in the first graph by way of A, A in the third by way of B
    assert found.without_path == 1


def test_the_sensitive_attribute_need_not_come_first() -> None:
    found = make_stability()
    order = [1, 2, 0]
    turned = dataclasses.replace(found, variables=("A", "B", "S"), graphs=found.graphs[:, order][:, :, order])
    assert turned.reach == found.reach
    assert turned.without_path == 1


@pytest.mark.parametrize(
    ("threshold", "model_error"),
    [
        # the people 0, 2, 3 have 0.9, 0.2, 0.3; after flipping there and back 0.9, 0.1, 0.9 and 0.1, 0.1, 0.9
        (0.5, 0.5),  # one of three, and two of three: the median of two is their mean
        (0.15, 2.0 / 3.0 * 0.5 + 1.0 / 3.0 * 0.5),  # person 2 changes in both, person 0 in the second
        (0.05, 0.0),
        (0.9, 0.0),  # flagged is above, not at
    ],
)
def test_the_model_error_by_hand(threshold: float, model_error: float) -> None:
    score = np.array([0.9, 5.0, 0.2, 0.3])
    assert make_stability().model_error("ae", score, threshold) == pytest.approx(model_error)


def test_the_model_error_is_a_median_of_pairs() -> None:
    returned = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = dataclasses.replace(make_stability(), returned={"ae": returned})
    assert found.model_error("ae", np.zeros(4), 0.5) == pytest.approx(1.0 / 3.0)


def test_intervals_are_about_the_people_who_were_judged() -> None:
    found = make_stability()
    score, s = np.array([0.3, 99.0, -0.2, 0.1]), np.array([-1.0, -1.0, 1.0, 1.0])
    judged = [0, 2, 3]
    expected = ResampledScores(score[judged], found.twin_scores["ae"], s[judged], seed=11)
    assert found.resampled("ae", score, s).at(0.0) == expected.at(0.0)
    assert found.resampled("lof-2", score, s).at(0.0) != expected.at(0.0)
    assert np.array_equal(found.resampled("ae", score, s).band(score)[1], expected.band(score)[1])


def test_the_summary_is_plain_json() -> None:
    summary = make_stability().to_dict()
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
    make_stability().check(4, ["S", "A", "B"], ["ae", "lof-2"])


PARTS = "its parts do not match"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"people": np.array([0, 2, 4])}, PARTS),
        ({"people": np.array([-1, 2, 3])}, PARTS),
        ({"people": np.array([0.0, 2.0, 3.0])}, PARTS),
        ({"graphs": np.zeros((4, 1, 1))}, "graphs"),
        ({"graphs": np.full((4, 3, 3), np.nan)}, "graphs"),
        ({"twin_scores": {"ae": np.zeros((4, 2)), "lof-2": np.zeros((4, 3))}}, "worlds.ae"),
        ({"twin_scores": {"ae": np.zeros((4, 3))}}, PARTS),
        ({"returned": {"ae": np.zeros((4, 3)), "lof-2": np.zeros((2, 3))}}, "returned.ae"),
        ({"variables": ("S", "A", "C")}, PARTS),
        ({"sensitive": "A"}, PARTS),
        ({"seed": -1}, PARTS),
        ({"seed": "0"}, PARTS),
        ({"edge_cuts": {"edges": (("S", "A"), ("S", "![x](https://example.org)"), ("A", "B"))}}, PARTS),
        ({"edge_cuts": {"whole": {"ae": 0.2, "![x](https://example.org)": 0.1}}}, PARTS),
        ({"edge_cuts": {"whole": {"ae": "0.2", "lof-2": 0.3}}}, PARTS),
        ({"plausibility": {"distance": np.zeros(3)}}, "distance"),
        ({"plausibility": {"usual": np.full(4, np.inf)}}, "usual"),
    ],
    ids=str,
)
def test_what_does_not_belong_to_the_audit_is_refused(changes: dict[str, Any], wrong: str) -> None:
    found = make_stability()
    for part in ("edge_cuts", "plausibility"):
        if part in changes:
            changes = {part: dataclasses.replace(getattr(found, part), **changes[part])}
    what = wrong if wrong == PARTS else f"its {wrong} has another shape, or holds no numbers"
    message = f"The uncertainty does not belong to the audit: {what}."
    with pytest.raises(InvalidArtifactError, match=f"^{re.escape(message)}$"):
        dataclasses.replace(found, **changes).check(4, ["S", "A", "B"], ["ae", "lof-2"])
