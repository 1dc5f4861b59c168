"""How two audits differ, in short words."""

from __future__ import annotations

from typing import Any

import pytest

from cfad_core.core.config import AskedDetector, AuditConfig, Knowledge, preset
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.runs.differences import MOST, differences

ROLES = ColumnRoles("gender", groups=("f", "m"), label="fraud", anomaly="yes", ignore=("id",))
CONFIG = AuditConfig()


def roles(**changes: Any) -> ColumnRoles:
    given: dict[str, Any] = {"sensitive": "gender", "groups": ("f", "m"), "label": "fraud", "anomaly": "yes"}
    return ColumnRoles(**({**given, "ignore": ("id",)} | changes))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ()),
        ({"sensitive": "region", "groups": ("a", "b")}, ("sensitive: region instead of gender",)),
        (
            {"sensitive": (Attribute("gender", ("f", "m")), Attribute("age", cuts=(40.0, 60.5))), "groups": None},
            ("sensitive: gender and age instead of gender",),
        ),
        ({"groups": ("f",)}, ("groups of gender: f instead of f, m",)),
        (
            {"sensitive": (Attribute("gender", ("f", "o"), {"o": ("m", "d")}, reference="f"),), "groups": None},
            (
                "groups of gender: f, o instead of f, m",
                "merged values of gender: o of m, d instead of none",
                "reference group of gender: f instead of none",
            ),
        ),
        ({"label": None, "anomaly": None}, ("label: none instead of fraud", "anomaly: none instead of yes")),
        ({"ignore": ("age", "id")}, ("ignored columns: +age",)),
        ({"ignore": ()}, ("ignored columns: -id",)),
        ({"sensitive": (Attribute("gender", ("f", "m")),), "groups": None}, ()),  # the same, written at length
    ],
)
def test_roles(changed: dict[str, Any], words: tuple[str, ...]) -> None:
    assert differences((ROLES, CONFIG), (roles(**changed), CONFIG)) == words


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (CONFIG.replace(seed=3), ("seed 3 instead of 0",)),
        (CONFIG.replace(subsamples=0), ("subsamples 0 instead of 20",)),
        (CONFIG.replace(quantile=0.9), ("quantile 0.9 instead of 0.95",)),
        (CONFIG.replace(methods=("ae", "pca")), ("methods: +pca, -cfad, -twin, -surprise",)),
        (
            CONFIG.replace(methods=("cfad", "ae", "twin", "surprise")),
            ("methods cfad, ae, twin, surprise instead of ae, cfad, twin, surprise",),
        ),
        (CONFIG.replace(knowledge=Knowledge(roots=("age",))), ("other domain knowledge",)),
        (CONFIG.with_detector(fairness_weight=2.0), ("detector fairness weight 2 instead of automatic",)),
        (CONFIG.with_detector(reconstruct_counterfactuals=False), ("detector reconstruct counterfactuals no instead",)),
        (CONFIG.replace(asked=AskedDetector(name="theirs")), ("detector of your own: theirs instead of none",)),
    ],
)
def test_settings(changed: AuditConfig, words: tuple[str, ...]) -> None:
    found = differences((ROLES, CONFIG), (ROLES, changed))
    assert len(found) == len(words)
    assert all(one.startswith(begin) for one, begin in zip(found, words, strict=True))


def test_many_differences_are_counted_and_long_ones_are_cut() -> None:
    found = differences((ROLES, CONFIG), (roles(ignore=tuple("abcdefghijklmnopqrstuvwxyz")), preset("paper", seed=9)))
    assert len(found) == MOST + 1
    assert found[0].startswith("ignored columns: +a, +b")
    assert found[0].endswith("...")
    assert found[1:3] == ("preset paper instead of fast", "seed 9 instead of 0")
    assert found[-1].startswith("and ")
    assert found[-1].endswith(" more")
    assert all(len(one) < 200 for one in found)
