from __future__ import annotations

import numpy as np

from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import score_rows, twin_rows
from tests.conftest import make_people


def test_counterfactuals_differ_and_the_twin_is_scored_alike(result: AuditResult) -> None:
    people = result.people
    assert (people.counterfactual[:, 0] == -people.factual[:, 0]).all()
    table = make_people(50, seed=3)
    found = twin_rows(result, table, clip=False)
    twins = found.rows
    assert found.clipped == {}
    moved = (twins["income"] - table["income"]) * np.where(table["group"] == "a", 1.0, -1.0)
    np.testing.assert_allclose(moved, 3.0, atol=0.5)  # income = 1.5 S + ...: the flip moves it by 3
    twin = result.scores["twin"]
    assert np.array_equal(twin.factual, twin.counterfactual)
    assert result.report("twin").metrics.changing_ratio == 0.0
    assert not np.array_equal(twin.factual, twin.independent)


def test_the_sensitive_column_is_never_scored(result: AuditResult) -> None:
    """Flipping the group alone, with nothing else moved, changes no score of AE and CFAD."""
    table = make_people(50, seed=3)
    flipped = table.assign(group=np.where(table["group"] == "a", "b", "a"))
    first, second = score_rows(result, table), score_rows(result, flipped)
    for method in ("ae", "cfad"):
        assert first[f"{method}_score"].equals(second[f"{method}_score"])
