from __future__ import annotations

import json

import pandas as pd
import pytest

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.roles import ColumnRoles, resolve_roles
from tests.data.worlds import ROLES, table


def test_two_values_settle_the_groups() -> None:
    assert resolve_roles(table(), ROLES).groups == ("f", "m")
    numbers = table().assign(sex=[1, -1, 1, -1])
    assert resolve_roles(numbers, ROLES).groups == ("-1", "1")
    assert ROLES.features(table()) == ["age", "pay"]


def test_roles_survive_json() -> None:
    roles = resolve_roles(table(), ROLES)
    assert ColumnRoles.from_dict(json.loads(json.dumps(roles.to_dict()))) == roles


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (ColumnRoles("gender"), "sensitive column 'gender' is not in the table; it has: sex, age, pay, id, bad"),
        (ColumnRoles("sex", label="x", anomaly="1"), "label column 'x' is not in the table"),
        (ColumnRoles("sex", ignore=("y",)), "ignored column 'y' is not in the table"),
        (ColumnRoles("sex", label="sex", anomaly="f"), "'sex' cannot be both sensitive and label"),
        (ColumnRoles("sex", groups=("f", "x")), "No row of 'sex' holds the group 'x'; it holds 'f', 'm'"),
        (ColumnRoles("sex", groups=("f", "f")), "two groups must differ; 'f' and 'f' do not"),
        (
            ColumnRoles("sex", label="bad"),
            "'bad' holds '0', '1'. Say which value of the label column 'bad' means anomaly",
        ),
        (ColumnRoles("bad", groups=("1", "1.0")), "two groups must differ; '1' and '1.0' do not"),
        (ColumnRoles("sex", anomaly="1"), "The anomaly value '1' needs a label column"),
        (ColumnRoles("sex", groups=("f",), cut=3.0), "by values or by a cut point, not by both"),
        (ColumnRoles("age", cut=float("nan")), "must be a finite number"),
        (ColumnRoles("sex", groups=()), "Expected 1 to 12 groups of 'sex'; got 0"),
        (ColumnRoles("sex", ignore=("age", "pay", "id", "bad")), "No profile attribute is left"),
    ],
)
def test_roles_that_do_not_fit_are_refused(roles: ColumnRoles, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        resolve_roles(table(), roles)


def test_a_constant_sensitive_column_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"has 1 value \('f'\)\. There is nobody to compare with"):
        resolve_roles(table().assign(sex="f"), ROLES)


def test_all_that_is_wrong_is_reported_at_once() -> None:
    roles = ColumnRoles("gender", label="x", anomaly="1", ignore=("y",))
    with pytest.raises(InvalidDataError) as caught:
        resolve_roles(table(), roles)
    lines = str(caught.value).splitlines()
    assert [line.split("'")[1] for line in lines] == ["gender", "x", "y"]


def test_columns_of_the_same_name_are_refused() -> None:
    twice = pd.concat([table(), table()[["age"]]], axis=1)
    with pytest.raises(InvalidDataError, match="Several columns have the same name: age. Rename them."):
        resolve_roles(twice, ROLES)
