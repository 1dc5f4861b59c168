from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.roles import ColumnRoles
from cfad_core.data.validation import validate
from tests.conftest import make_people

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")


def people(n: int = 600) -> pd.DataFrame:
    return make_people(n, seed=0)


def found(table: pd.DataFrame, roles: ColumnRoles = ROLES, test: pd.DataFrame | None = None) -> set[tuple]:
    return {(p.code, p.severity, p.column, p.count) for p in validate(table, roles, test)}


def test_a_clean_table_has_no_problems() -> None:
    assert validate(people(), ROLES) == []


def spoiled(**cells: object) -> pd.DataFrame:
    return people().assign(**cells)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (spoiled(extra=np.nan), ("all-missing", "error", "extra", 600)),
        (spoiled(extra=[1.0] * 9 + [np.nan] * 591), ("nearly-empty", "error", "extra", 591)),
        (spoiled(extra=[np.inf] * 3 + [1.0] * 597), ("infinite", "error", "extra", 3)),
        (spoiled(extra=["?1"] * 5 + list(range(595))), ("mixed", "error", "extra", 5)),
        (spoiled(extra=[f"person {k}" for k in range(600)]), ("free-text", "error", "extra", 600)),
        (spoiled(extra=[f"town {k % 40}" for k in range(600)]), ("high-cardinality", "warning", "extra", 40)),
        (spoiled(extra=7), ("constant", "warning", "extra", 600)),
        (spoiled(extra=[None] * 9 + ["x", "y", "y"] * 197), ("missing", "warning", "extra", 9)),
        (spoiled(extra=[np.nan] * 400 + list(range(200))), ("missing", "warning", "extra", 400)),
        (spoiled(extra=people()["fraud"].map({"yes": 1, "no": 0})), ("label-leak", "warning", "extra", 600)),
        (spoiled(extra=people()["group"].str.upper()), ("sensitive-copied", "warning", "extra", 600)),
        (pd.concat([people(), people()[:10]]), ("duplicates", "info", None, 10)),
        (pd.concat([people(), people()[:200]]), ("duplicates", "warning", None, 200)),
        (people(300), ("few-rows", "warning", None, 300)),
        (people(90), ("few-rows", "error", None, 90)),
        (spoiled(group=["a"] * 10 + ["b"] * 590), ("small-group", "error", "group", 10)),
        (people(2000).assign(group=["a"] * 50 + ["b"] * 1950), ("small-group", "warning", "group", 50)),
        (spoiled(fraud=[None] * 4 + ["no", "yes"] * 298), ("label-missing", "error", "fraud", 4)),
        (spoiled(fraud="no"), ("one-label", "error", "fraud", None)),
        (spoiled(fraud="yes"), ("one-label", "error", "fraud", 600)),
    ],
)
def test_each_problem_is_found(table: pd.DataFrame, expected: tuple) -> None:
    assert expected in found(table)
    problem = next(p for p in validate(table, ROLES) if p.code == expected[0])
    assert problem.message.endswith(".")
    if problem.severity == "error":
        assert problem.remedy.endswith(".")


def test_one_group_only() -> None:
    problems = validate(spoiled(group="a"), ROLES)
    assert [(p.code, p.severity) for p in problems] == [("no-groups", "error")]
    assert "There is nobody to compare with" in problems[0].text


def test_rows_outside_the_groups_are_counted_and_not_looked_at() -> None:
    table = spoiled(group=["a", "b", "c"] * 200, extra=1.0)
    table.loc[table["group"] == "c", "extra"] = np.inf
    roles = dataclasses.replace(ROLES, groups=("a", "b"))
    assert found(table, roles) == {
        ("rows-outside-groups", "info", "group", 200),
        ("few-rows", "warning", None, 400),
        ("constant", "warning", "extra", 400),
    }


def test_wrong_roles_do_not_hide_wrong_columns() -> None:
    table = spoiled(extra=np.nan)
    codes = [p.code for p in validate(table, ColumnRoles("nobody", label="nothing"))]
    assert codes == ["unknown-column", "unknown-column", "all-missing"]


def test_errors_come_first() -> None:
    problems = validate(spoiled(extra=[np.nan] * 9 + list(range(591)), more=np.nan), ROLES)
    assert [p.severity for p in problems] == ["error", "warning"]


def test_a_test_table_of_its_own() -> None:
    test = make_people(200, seed=1)
    assert validate(people(), ROLES, test) == []
    assert ("test-columns", "error", None, 1) in found(people(), ROLES, test.drop(columns="debt"))
    assert ("one-test-label", "warning", "fraud", 200) in found(people(), ROLES, test.assign(fraud="no"))
    assert ("no-test-rows", "error", "group", None) in found(people(), ROLES, test.assign(group="c"))
    assert ("rows-outside-groups", "info", "group", 200) in found(people(), ROLES, test.assign(group="c"))
    normal = people().assign(fraud="no")
    assert validate(normal, ROLES, test) == []  # anomalies to judge are enough


def test_a_rare_value_that_happens_to_tell_the_label_is_no_leak() -> None:
    assert not {p.code for p in validate(spoiled(extra=range(600)), ROLES)} & {"label-leak", "sensitive-copied"}
