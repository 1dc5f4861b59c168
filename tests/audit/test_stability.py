from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest

from cfad_core.core.errors import InvalidArtifactError
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
        # they have 0.9, 0.2, 0.3; after there and back 0.9, 0.1, 0.9 and 0.1, 0.1, 0.9; by one model 0.9, 0.1, 0.2
        (0.5, 0.5),  # one of three, and two of three: the median of two is their mean
        (0.15, 0.5 - 1.0 / 3.0),  # the second person changes in both, the first in the second; by one model the second
        (0.05, 0.0),
        (0.9, 0.0),  # flagged is above, not at
    ],
)
def test_the_model_error_by_hand(threshold: float, model_error: float) -> None:
    score = np.array([0.9, 0.2, 0.3])
    found = make_stability()
    assert found.model_error("ae", score, threshold) == pytest.approx(model_error)
    older = dataclasses.replace(found, returned_by_same={})  # an older engine drew nothing on the way back
    by_chance = 1.0 / 3.0 if threshold == 0.15 else 0.0
    assert older.model_error("ae", score, threshold) == pytest.approx(model_error + by_chance)


def test_the_model_error_is_a_median_of_pairs() -> None:
    returned = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])[:, None]
    found = dataclasses.replace(make_stability(), returned={"ae": returned}, returned_by_same={"ae": 0.0 * returned})
    assert found.model_error("ae", np.zeros(3), 0.5) == pytest.approx(1.0 / 3.0)


def test_chance_alone_is_no_model_error() -> None:
    """Where one model there and back loses as many people as two do, the models are not at fault; never below 0."""
    same = {"ae": np.array([[[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]])}
    found = dataclasses.replace(make_stability(), returned=same, returned_by_same=same)
    assert found.model_error("ae", np.zeros(3), 0.5) == 0.0
    more = dataclasses.replace(found, returned_by_same={"ae": np.ones((2, 1, 3))})
    assert more.model_error("ae", np.zeros(3), 0.5) == 0.0


def test_the_summary_is_plain_json() -> None:
    summary = make_stability().to_dict()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["graphs"], summary["graphs_without_path"]) == (4, 1)
    assert summary["reach"] == {"A": 0.75, "B": 0.5}
    assert {(e["cause"], e["effect"]): e["frequency"] for e in summary["edges"]} == {
        ("S", "A"): 0.5,
        ("S", "B"): 0.25,
        ("A", "B"): 0.5,
        ("B", "A"): 0.25,
    }
    assert summary["what_if"]["people"] == 400
    edge = summary["what_if"]["edges"][2]
    assert (edge["cause"], edge["effect"]) == ("A", "B")
    assert edge["carried"] == pytest.approx({"ae": 1.0 - 0.15 / 0.2, "lof-2": 1.0 - 0.29 / 0.3})


def test_what_belongs_to_the_audit_passes() -> None:
    make_stability().check(4, 3, ["S", "A", "B"], ["ae", "lof-2"], 1)
    older = dataclasses.replace(make_stability(), returned_by_same={})
    older.check(4, 3, ["S", "A", "B"], ["ae", "lof-2"], 1)


PARTS = "its parts do not match"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"graphs": np.zeros((4, 1, 1))}, "graphs"),
        ({"graphs": np.full((4, 3, 3), np.nan)}, "graphs"),
        ({"returned": {"ae": np.zeros((4, 1, 3)), "lof-2": np.zeros((2, 1, 3))}}, "returned.ae"),
        ({"returned": {"ae": np.zeros((2, 1, 2)), "lof-2": np.zeros((2, 1, 3))}}, "returned.ae"),
        ({"returned": {"ae": np.zeros((2, 1, 3))}}, PARTS),
        ({"returned_by_same": {"ae": np.zeros((2, 1, 3)), "lof-2": np.full((2, 1, 3), np.nan)}}, "by same.lof-2"),
        ({"returned_by_same": {"ae": np.zeros((2, 1, 3))}}, PARTS),
        ({"graphs": np.zeros((1, 3, 3))}, "returned.ae"),
        ({"variables": ("S", "A", "C")}, PARTS),
        ({"sensitive": ("A",)}, PARTS),
        ({"went": np.array([0, 1, 3])}, PARTS),
        ({"went": np.array([0.0, 1.0, 2.0])}, PARTS),
        ({"went": np.arange(2)}, "returned.ae"),
        ({"returned": {"ae": np.zeros((2, 2, 3)), "lof-2": np.zeros((2, 1, 3))}}, "returned.ae"),
        ({"seed": -1}, PARTS),
        ({"seed": "0"}, PARTS),
        ({"edge_cuts": {"edges": (("S", "A"), ("S", "![x](https://example.org)"), ("A", "B"))}}, PARTS),
        ({"edge_cuts": {"whole": {"ae": 0.2, "![x](https://example.org)": 0.1}}}, PARTS),
        ({"edge_cuts": {"whole": {"ae": "0.2", "lof-2": 0.3}}}, PARTS),
        ({"plausibility": {"distance": np.zeros((1, 3))}}, "distance"),
        ({"plausibility": {"distance": np.zeros((2, 4))}}, "distance"),
        ({"plausibility": {"usual": np.full((1, 4), np.inf)}}, "usual"),
    ],
    ids=str,
)
def test_what_does_not_belong_to_the_audit_is_refused(changes: dict[str, Any], wrong: str) -> None:
    found = make_stability()
    if "plausibility" in changes:
        changes = {"plausibility": dataclasses.replace(found.plausibility, **changes["plausibility"])}
    if "edge_cuts" in changes:
        changes = {"edge_cuts": (dataclasses.replace(found.edge_cuts[0], **changes["edge_cuts"]),)}
    what = wrong if wrong == PARTS else f"its {wrong} has another shape, or holds no numbers"
    message = f"The uncertainty does not belong to the audit: {what}."
    with pytest.raises(InvalidArtifactError, match=f"^{re.escape(message)}$"):
        dataclasses.replace(found, **changes).check(4, 3, ["S", "A", "B"], ["ae", "lof-2"], 1)
