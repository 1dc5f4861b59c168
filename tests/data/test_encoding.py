from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.data.encoding import Encoding, choose_scaling, fit_encoding
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles, matches, resolve_roles
from cfad_core.data.split import stratified_split
from cfad_core.data.tables import digest, write_table
from cfad_core.errors import InvalidDataError


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
        (ColumnRoles("id"), r"'id' has 4 values \('a', 'b', 'c', 'd'\); pick the two groups to compare"),
        (ColumnRoles("sex", groups=("f", "x")), "No row of 'sex' holds the group 'x'; the column holds 'f', 'm'"),
        (ColumnRoles("sex", groups=("f", "f")), "two groups must differ; both are 'f'"),
        (ColumnRoles("sex", label="bad"), "Say which value of the label column 'bad' means anomaly; it holds '0', '1'"),
        (ColumnRoles("sex", anomaly="1"), "The anomaly value '1' needs a label column"),
        (ColumnRoles("sex", ignore=("age", "pay", "id", "bad")), "No profile attribute is left"),
    ],
)
def test_roles_that_do_not_fit_are_refused(roles: ColumnRoles, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        resolve_roles(table(), roles)


def test_a_constant_sensitive_column_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"has 1 value \('f'\); there is nobody to compare with"):
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


def test_range_scaling_by_hand() -> None:
    encoding = fit_encoding(table(), resolve_roles(table(), ROLES), "range")
    x = encoding.encode(table())
    np.testing.assert_allclose(x[:, 1], [-3.0, -1.5, 0.0, 3.0])
    assert x[:, 0].tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert encoding.names == ("sex", "age", "pay")


def test_decoding_flips_the_group_and_keeps_what_did_not_move() -> None:
    encoding = fit_encoding(table(), resolve_roles(table(), ROLES), "range")
    x = encoding.encode(table())
    twin = x.copy()
    twin[:, 0] *= -1.0
    twin[0, 2] += 1.0
    back = encoding.decode(twin, x, table())
    assert back["sex"].tolist() == ["m", "f", "m", "f"]
    assert back["age"].equals(table()["age"])
    assert back["id"].equals(table()["id"])
    np.testing.assert_allclose(back["pay"], [1.5 + 8.0 / 6.0, 2.5, 3.5, 9.5])


def test_numbers_may_name_the_groups_of_a_boolean_column() -> None:
    frame = table().assign(sex=[True, False, True, False])
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex", groups=("0", "1"), ignore=("id",))), "raw")
    x = encoding.encode(frame)
    assert x[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0]
    assert encoding.decode(x * np.array([-1.0, 1, 1, 1]), x, frame)["sex"].tolist() == [False, True, False, True]


@pytest.mark.parametrize("values", [[0, 1], [0.5, 1.5], [False, True], ["x", "y"]])
def test_the_group_keeps_its_type(values: list) -> None:
    frame = table().assign(sex=[values[0], values[1]] * 2)
    encoding = fit_encoding(frame, resolve_roles(frame, ROLES), "raw")
    x = encoding.encode(frame)
    back = encoding.decode(x * np.array([-1.0, 1.0, 1.0]), x, frame)
    assert back["sex"].tolist() == [values[1], values[0]] * 2
    assert back["sex"].dtype == frame["sex"].dtype


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=4), st.sampled_from(["raw", "range"]))
def test_what_is_encoded_can_be_decoded(values: list[float], scaling) -> None:
    frame = table().assign(pay=values)
    encoding = fit_encoding(frame, resolve_roles(frame, ROLES), scaling)
    x = encoding.encode(frame)
    back = encoding.decode(x, np.full_like(x, np.nan), frame)  # as if everything had moved
    np.testing.assert_allclose(back["pay"], values, atol=1e-9 * (1 + np.abs(values).max()))
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_every_unusable_column_is_named_at_once() -> None:
    frame = table().assign(age=[1, 2, np.nan, np.inf], pay=["1", "two", "3", None], more=[np.nan] * 4)
    with pytest.raises(InvalidDataError) as caught:
        fit_encoding(frame, resolve_roles(frame, ROLES), "auto")
    message = str(caught.value)
    assert "found text in 'pay' (1 rows, such as 'two')" in message
    assert "'age' (1 missing, 1 infinite)" in message
    assert "'more' (4 missing, 0 infinite)" in message


def test_a_missing_column_is_named() -> None:
    encoding = fit_encoding(table(), resolve_roles(table(), ROLES), "raw")
    with pytest.raises(InvalidDataError, match="lacks the column pay of the audit; it has: sex, age, id, bad"):
        encoding.encode(table().drop(columns="pay"))


def test_scaling_is_chosen_by_the_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    assert choose_scaling(x) == "raw"
    assert choose_scaling(x * [1.0, 1.0, 100.0]) == "range"
    assert choose_scaling(np.column_stack([x, x[:, 0] > 0])) == "range"
    assert choose_scaling(np.column_stack([x, np.zeros(100)])) == "range"


def test_splits_are_stratified_and_seeded() -> None:
    strata = np.array([0] * 80 + [1] * 20)
    first, second = stratified_split(strata, 0.25, np.random.default_rng(0))
    assert len(second) == 25
    assert (strata[second] == 1).sum() == 5
    assert sorted([*first, *second]) == list(range(100))
    assert np.array_equal(second, stratified_split(strata, 0.25, np.random.default_rng(0))[1])


def test_digests_tell_tables_apart() -> None:
    base = digest(table())
    assert base == digest(table())
    assert base != digest(table().assign(age=[20, 30, 40, 61]))
    assert base != digest(table().rename(columns={"age": "years"}))
    assert base != digest(table().iloc[::-1])


def test_reading_and_writing_files(tmp_path) -> None:
    path = tmp_path / "new" / "table.csv"
    write_table(table(), path)
    assert read_table(path).equals(table())
    assert [p.name for p in path.parent.iterdir()] == ["table.csv"]
