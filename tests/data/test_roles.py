from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.groups import Groups, matches
from cfad_core.data.roles import ColumnRoles, resolve_roles


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": ["f", "m", "f", "m"],
            "age": [20, 30, 40, 60],
            "pay": [1.5, 2.5, 3.5, 9.5],
            "id": ["a", "b", "c", "d"],
            "bad": [0, 0, 1, 0],
        }
    )


ROLES = ColumnRoles("sex", label="bad", anomaly="1", ignore=("id",))


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
        (ColumnRoles("id"), r"'id' has 4 values \('a', 'b', 'c', 'd'\)\. Pick the two groups to compare"),
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
        (ColumnRoles("sex", groups=("f", "m", "x")), "Expected one or two group values; got 3"),
        (ColumnRoles("sex", ignore=("age", "pay", "id", "bad")), "No profile attribute is left"),
    ],
)
def test_roles_that_do_not_fit_are_refused(roles: ColumnRoles, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        resolve_roles(table(), roles)


def test_a_constant_sensitive_column_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"has 1 value \('f'\)\. There is nobody to compare with"):
        resolve_roles(table().assign(sex="f"), ROLES)


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ([1, 0, 1], "1", [True, False, True]),
        ([1.0, 0.5], "1", [True, False]),
        (["01", "1"], "1", [True, True]),
        ([True, False], "True", [True, False]),
        (["yes", "no", None], "yes", [True, False, False]),
        ([np.nan, 2.0], "nan", [False, False]),
    ],
)
def test_values_match_as_text_or_as_numbers(column: list, text: str, expected: list[bool]) -> None:
    assert matches(pd.Series(column), text).tolist() == expected


def test_all_that_is_wrong_is_told_at_once() -> None:
    roles = ColumnRoles("gender", label="x", anomaly="1", ignore=("y",))
    with pytest.raises(InvalidDataError) as caught:
        resolve_roles(table(), roles)
    lines = str(caught.value).splitlines()
    assert [line.split("'")[1] for line in lines] == ["gender", "x", "y"]


@pytest.mark.parametrize(
    ("groups", "cells", "names", "signs"),
    [
        (Groups(("f", "m")), ["f", "m", "x", None], ("f", "m"), [-1, 1, 0, 0]),
        (Groups(("f",)), ["f", "m", "x", None], ("f", "not f"), [-1, 1, 1, 0]),
        (Groups(cut=40.0), [39, 40, 41.5, None], ("under 40", "40 or more"), [-1, 1, 1, 0]),
        (Groups(cut=2.5), ["2", "3", "old", None], ("under 2.5", "2.5 or more"), [-1, 1, 0, 0]),
        (Groups(("1", "2")), [1, 2, 3, 1], ("1", "2"), [-1, 1, 0, -1]),
        (Groups(("1",)), [1.0, 2.0, np.nan], ("1", "not 1"), [-1, 1, 0]),
    ],
)
def test_groups(groups: Groups, cells: list, names: tuple[str, str], signs: list[int]) -> None:
    column = pd.Series(cells)
    assert groups.names == names
    assert groups.signs(column).tolist() == signs
    flipped = groups.flip(column, -groups.signs(column))
    assert groups.signs(flipped).tolist() == [-sign for sign in signs]  # what is written can be read again
    assert groups.flip(column, groups.signs(column)).equals(column)


def test_categories_may_lack_the_other_group() -> None:
    column = pd.Series(pd.Categorical(["f", "f"]))
    assert Groups(("f", "m")).flip(column, np.array([1.0, 1.0])).tolist() == ["m", "m"]
    assert Groups(cut=1234567.5).names == ("under 1234567.5", "1234567.5 or more")


def test_columns_of_the_same_name_are_refused() -> None:
    twice = pd.concat([table(), table()[["age"]]], axis=1)
    with pytest.raises(InvalidDataError, match="Several columns have the same name: age. Rename them."):
        resolve_roles(twice, ROLES)


def test_a_flipped_group_of_many_values_is_named() -> None:
    ages = pd.Series([30, 50])
    assert Groups(cut=40.0).flip(ages, np.array([1.0, -1.0])).tolist() == ["40 or more", "under 40"]
    origin = pd.Series(["A", "B", "C"])
    assert Groups(("A",)).flip(origin, np.array([1.0, -1.0, -1.0])).tolist() == ["not A", "A", "A"]
