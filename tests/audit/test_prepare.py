from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import score_rows, twin_rows
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from tests.audit.worlds import QUICK, ROLES, codes
from tests.conftest import make_people


@pytest.mark.slow
def test_the_table_is_left_as_it_was() -> None:
    table = make_people(300, seed=1)
    before = table.copy()
    run_audit(table, ROLES, QUICK)
    pd.testing.assert_frame_equal(table, before)


def test_the_detector_learns_from_normal_rows_only(result: AuditResult) -> None:
    assert result.provenance.n_train_normal < result.provenance.n_train
    assert len(result.scores["ae"].train) == result.provenance.n_train_normal
    assert len(result.scores["cfad"].train) == 2 * result.provenance.n_train_normal


def test_a_mistyped_anomaly_value_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="No cell of the label column 'fraud' is 'Yes'; it holds 'no', 'yes'"):
        run_audit(make_people(300, seed=4), dataclasses.replace(ROLES, anomaly="Yes"), QUICK)


@pytest.mark.slow
def test_a_test_table_may_lack_what_is_ignored_but_nothing_else() -> None:
    table = make_people(300, seed=4).assign(id=1)
    roles = dataclasses.replace(ROLES, ignore=("id",))
    test = make_people(100, seed=5)
    assert len(run_audit(table, roles, QUICK, test=test).people.row) == 100
    with pytest.raises(InvalidDataError, match="The test table lacks columns of the training table: income"):
        run_audit(table, roles, QUICK, test=test.drop(columns="income"))


@pytest.mark.slow
def test_rows_outside_the_groups_are_left_out_and_counted() -> None:
    table = make_people(500, seed=6)
    table.loc[table.index[:40], "group"] = "c"
    found = run_audit(table, dataclasses.replace(ROLES, groups=("b", "a")), QUICK)
    assert found.provenance.n_train + len(found.people.row) == 460
    notice = next(notice for notice in found.notices if notice.code == "rows-outside-groups")
    assert notice.message == "40 of 500 rows are left out: their 'group' is neither 'b' nor 'a'."
    assert found.encoding.group_names(0) == ("b", "a")
    with pytest.raises(InvalidDataError, match="40 of 500 rows have a 'group' that is neither 'b' nor 'a'"):
        score_rows(found, table)


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    table = make_people(300, seed=8).assign(who=[f"person {k}" for k in range(300)], empty=np.nan)
    table.loc[5, "debt"] = np.inf
    with pytest.raises(InvalidDataError) as caught:
        run_audit(table, dataclasses.replace(ROLES, anomaly="Yes"), QUICK)
    assert [line.split("'")[1] for line in str(caught.value).splitlines()] == ["fraud", "debt", "who", "empty"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"groups": ("a",)}, ("a", "not a")),
        ({"sensitive": "years", "cut": 40.0, "ignore": ("group",)}, ("under 40", "40 or more")),
    ],
)
def test_one_against_all_and_cut_points(change: dict[str, Any], names: tuple[str, str]) -> None:
    table = make_people(500, seed=6)
    table["years"] = np.where(table["group"] == "a", 30, 50) + np.random.default_rng(0).integers(0, 10, 500)
    table.loc[table["income"] > 2.0, "group"] = "c"
    found = run_audit(table, dataclasses.replace(ROLES, **change), QUICK)
    assert found.encoding.group_names(0) == names
    assert found.provenance.n_train + len(found.people.row) == 500
    twins = twin_rows(found, table).rows
    assert len(score_rows(found, twins)) == 500  # counterfactual rows can be scored like any others
    assert json.loads(json.dumps(summary(found)))["roles"]["cut"] == change.get("cut")


@pytest.mark.slow
def test_columns_may_be_numbered() -> None:
    table = make_people(300, seed=8)
    table.columns = [0, 1, 2, 3, 4]
    found = run_audit(table, ColumnRoles("0", label="4", anomaly="yes"), QUICK)
    assert found.encoding.names == ("0", "1", "2", "3")


def test_unknown_categories_of_test_rows_are_reported() -> None:
    table = make_people(300, seed=8).assign(job=["x", "y", "z"] * 100)
    test = make_people(100, seed=9).assign(job=["x", "new"] * 50)
    found = run_audit(table, ROLES, QUICK, test=test)
    notice = next(notice for notice in found.notices if notice.code == "unknown-categories")
    assert notice.message.startswith("50 test rows have a 'job' that training rows do not")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.assign(group="a"), "has 1 value \\('a'\\). There is nobody to compare with"),
        (lambda t: t.assign(debt=t["debt"].where(t["debt"] > 0, np.inf)), "Column 'debt' has [0-9]+ infinite cells"),
        (
            lambda t: t.assign(who=[f"person {k}" for k in range(len(t))]),
            "'who' looks like names or free text \\(300 values in 300 rows\\)",
        ),
        (lambda t: t[:120], "There are 90 training rows; at least 100 are needed"),
        (lambda t: pd.concat([t[t["group"] == "a"], t[t["group"] == "b"][:20]]), "Group 'b' of 'group' has 20 rows"),
        (lambda t: pd.concat([t[t["group"] == "a"], t[t["group"] == "b"][:32]]), "Group 'b' has 24 training rows"),
        (lambda t: t.assign(fraud="yes"), "All 300 rows to learn from are anomalies by 'fraud'"),
        (lambda t: t.assign(fraud=t["fraud"].where(t["income"] > 0)), "'fraud' has .* missing cells"),
    ],
)
def test_tables_that_cannot_be_audited_are_refused(spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        run_audit(spoil(make_people(300, seed=8)), ROLES, QUICK)


@pytest.mark.slow
def test_true_counterfactuals_are_the_judge() -> None:
    data = generate_synthetic(4, n_train=800, n_test_normal=200, n_test_anomaly=40)
    roles = ColumnRoles("S", label="label", anomaly="1")
    truth = data.test_counterfactual
    found = run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=truth)
    assert found.judges == 0
    assert found.encoding.scaling == "own"
    assert found.people.truth is not None
    assert np.array_equal(found.people.truth, found.encoding.encode(truth))
    assert "selected-rows" in codes(found)
    assert summary(found)["judge"] == "true twins"
    report, scores = found.report("cfad"), found.scores["cfad"]
    assert scores.truth is not None
    changed = (scores.truth > report.threshold) != (scores.factual > report.threshold)
    assert report.metrics.changing_ratio == changed.mean()
    assert np.array_equal(report.change_probability(report.threshold), changed)
    assert scores.judged.shape == (0, 1, 240)
    with pytest.raises(InvalidDataError, match="must match the test table row by row; they have 239 rows"):
        run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=truth[1:])
    nobody = truth.assign(S=truth["S"].where(truth["S"] < 0.0, 7.0))  # who should be of the second group is of none
    for wrong in (data.test, nobody):
        with pytest.raises(InvalidDataError, match="^Every true twin must belong to the other group.$"):
            run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=wrong)
    with pytest.raises(InvalidDataError, match="^True twins need the test table that they belong to.$"):
        run_audit(data.train, roles, QUICK, test_counterfactual=truth)
