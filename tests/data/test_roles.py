from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles, resolve_roles, state_codes
from tests.data.worlds import ROLES, table


def test_two_values_settle_the_groups() -> None:
    assert resolve_roles(table(), ROLES).groups == ("f", "m")
    numbers = table().assign(sex=[1, -1, 1, -1])
    assert resolve_roles(numbers, ROLES).groups == ("-1", "1")
    assert ROLES.features(table()) == ["age", "pay"]


def test_several_values_are_several_groups() -> None:
    roles = resolve_roles(table(), ColumnRoles("id"))
    assert (roles.sensitive, roles.groups) == ("id", ("a", "b", "c", "d"))  # as short as it was given
    assert roles.groupings[0].names == ("a", "b", "c", "d")
    assert resolve_roles(table(), ColumnRoles("id", groups=("d", "a", "b"))).groupings[0].names == ("d", "a", "b")


SEVERAL = ColumnRoles(
    (
        Attribute("sex", reference="m"),
        Attribute("age", cuts=(25.0, 40.0), compare=("under 25",)),
        Attribute("id", ("a", "bc"), {"bc": ("b", "c")}, others="rest"),
    ),
    label="bad",
    anomaly="1",
)


def test_several_attributes_are_settled_each() -> None:
    roles = resolve_roles(table(), SEVERAL)
    assert roles.are_settled
    assert not SEVERAL.are_settled
    assert roles.attributes[0] == Attribute("sex", ("f", "m"), reference="m")
    assert roles.attributes[1:] == SEVERAL.attributes[1:]
    assert [groups.names for groups in roles.groupings] == [
        ("f", "m"),
        ("under 25", "25 to under 40", "40 or more"),
        ("a", "bc", "rest"),
    ]
    assert roles.sensitive_columns == ("sex", "age", "id")
    assert roles.sensitive_name == "sex and age and id"
    assert roles.features(table()) == ["pay"]
    assert resolve_roles(table(), roles) is roles


def test_names_attributes_and_one_attribute_say_the_same() -> None:
    by_name = ColumnRoles(("sex", "id"))
    assert by_name == ColumnRoles((Attribute("sex"), "id")) == ColumnRoles((Attribute("sex"), Attribute("id")))
    assert ColumnRoles(("sex",)).attributes == ColumnRoles("sex").attributes
    assert ColumnRoles("age", cut=30.0).attributes == (Attribute("age", cuts=(30.0,)),)
    assert ColumnRoles("sex", groups=("m", "f")).groupings == ColumnRoles((Attribute("sex", ("m", "f")),)).groupings


def test_states_against_pandas() -> None:
    frame = table()
    roles = resolve_roles(frame, SEVERAL)
    expected = [
        (
            {"f": 0, "m": 1}[row["sex"]],
            0 if row["age"] < 25 else 1 if row["age"] < 40 else 2,
            {"a": 0, "b": 1, "c": 1}.get(row["id"], 2),
        )
        for _, row in frame.iterrows()
    ]
    assert state_codes(frame, roles.groupings).tolist() == [9 * a + 3 * b + c for a, b, c in expected]
    some = frame.assign(age=[20, np.nan, 40, 60])
    assert state_codes(some, roles.groupings).tolist()[1] == -1  # of no band, so in no state
    assert state_codes(some, roles.groupings).tolist()[::2] == state_codes(frame, roles.groupings).tolist()[::2]


@pytest.mark.parametrize(
    "roles", [ROLES, SEVERAL, ColumnRoles("age", cut=30.0), ColumnRoles((Attribute("age", bands=2),))]
)
def test_roles_survive_json(roles: ColumnRoles) -> None:
    assert ColumnRoles.from_dict(json.loads(json.dumps(roles.to_dict()))) == roles
    settled = resolve_roles(table(), roles)
    assert ColumnRoles.from_dict(json.loads(json.dumps(settled.to_dict()))) == settled


def test_roles_of_older_programs_are_read() -> None:
    older = {"sensitive": "sex", "groups": ["f", "m"], "label": "bad", "anomaly": "1", "ignore": ["id"], "cut": None}
    assert ColumnRoles.from_dict(older) == ColumnRoles("sex", ("f", "m"), "bad", "1", ("id",))
    with_cut = older | {"sensitive": "age", "groups": None, "cut": 30.0}
    assert ColumnRoles.from_dict(with_cut).groupings[0].names == ("under 30", "30 or more")
    first = {"sensitive": "sex", "groups": None, "label": None, "anomaly": None}  # there were no cut points at first
    assert ColumnRoles.from_dict(first) == ColumnRoles("sex")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sensitive": ()}, "Expected a sensitive column; got none. Name one."),
        (
            {"sensitive": ("sex",), "groups": ("f", "m")},
            "Groups and a cut point belong to an attribute where attributes ",
        ),
        ({"sensitive": ("age",), "cut": 3.0}, "Put them there."),
    ],
)
def test_attributes_have_groups_of_their_own(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        ColumnRoles(**given)


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
        (
            ColumnRoles(("sex", "age", "id", "bad")),
            "Expected 1 to 3 different sensitive columns; got sex, age, id, bad. Name fewer of them.",
        ),
        (ColumnRoles(("sex", "sex")), "Expected 1 to 3 different sensitive columns; got sex, sex."),
        (ColumnRoles(("sex", "gender")), "sensitive column 'gender' is not in the table"),
        (ColumnRoles(("sex", "id"), ignore=("id",)), "'id' cannot be both sensitive and ignored"),
        (ColumnRoles(("sex", Attribute("id", ("a", "z")))), "No row of 'id' holds the group 'z'"),
        (
            ColumnRoles((Attribute("sex", reference="x"),)),
            "'x' \\(reference\\) is no group of 'sex'; its groups are f, m",
        ),
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
