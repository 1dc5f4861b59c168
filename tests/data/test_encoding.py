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
    assert back["age"].tolist() == frame["age"].tolist()
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def mixed(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "nurse", "smith", None], n),
            "owner": rng.choice([True, False], n),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(10.0, 3.0, n)),
        }
    )


def fit_mixed() -> Encoding:
    return fit_encoding(mixed(), resolve_roles(mixed(), ColumnRoles("sex")), "auto")


def test_each_kind_of_column_has_its_columns() -> None:
    encoding = fit_mixed()
    assert [variable.kind for variable in encoding.variables] == ["number", "category", "category", "date", "number"]
    assert encoding.scaling == "range"
    assert encoding.column_variables == ("sex", "age", "job", "job", "job", "job", "owner", "since", "pay", "pay")
    assert set(encoding.variables[1].levels) == {"clerk", "nurse", "smith", "(missing)"}
    x = encoding.encode(mixed())
    assert x.shape == (60, 10)
    assert np.abs(x[:, 1:]).max() <= 3.0 + 1e-9
    assert ((x[:, 2:6] == 3.0).sum(axis=1) == 1).all()  # one level each
    assert np.array_equal(x[:, 9] == 3.0, mixed()["pay"].isna())  # missing numbers are marked


def test_what_did_not_move_keeps_its_cell() -> None:
    encoding = fit_mixed()
    x = encoding.encode(mixed())
    pd.testing.assert_frame_equal(encoding.decode(x, x, mixed()), mixed())


def test_moved_cells_come_back_legal() -> None:
    encoding = fit_mixed()
    x = encoding.encode(mixed())
    rng = np.random.default_rng(1)
    back = encoding.decode(x + rng.normal(0.0, 3.0, x.shape) * (np.arange(10) > 0), x, mixed())
    assert pd.api.types.is_integer_dtype(back["age"])
    assert set(back["job"].dropna()) <= {"clerk", "nurse", "smith"}
    assert back["job"].isna().sum() < mixed()["job"].isna().sum()  # some were given a job, nobody lost one
    assert not back["job"].isna()[mixed()["job"].notna()].any()
    assert pd.api.types.is_bool_dtype(back["owner"])
    assert pd.api.types.is_datetime64_any_dtype(back["since"])
    assert np.array_equal(back["pay"].isna(), mixed()["pay"].isna())
    for name in ("age", "job", "owner", "since", "pay"):
        assert not back[name].equals(mixed()[name])


def test_unknown_categories_are_the_most_frequent_one() -> None:
    encoding = fit_mixed()
    strange = mixed().assign(job="astronaut")
    assert np.array_equal(
        encoding.encode(strange)[:, 2:6], encoding.encode(mixed().assign(job=encoding.variables[1].levels[0]))[:, 2:6]
    )


def test_many_categories_are_merged() -> None:
    frame = mixed(400).assign(town=[f"town {k % 50}" for k in range(400)])
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    town = encoding.variables[-1]
    assert len(town.levels) == 30
    assert town.levels[-1] == "(other)"
    assert np.isfinite(encoding.encode(frame)).all()


def test_mixed_encodings_survive_json() -> None:
    encoding = fit_mixed()
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": np.inf}, r"found infinite ones in 'age' \(60 rows\); correct these cells"),
        ({"pay": np.nan}, "These columns have no values at all: 'pay'; ignore them"),
        ({"job": [f"name {k}" for k in range(60)]}, r"look like names or free text: 'job' \(60 values in 60 rows\)"),
    ],
)
def test_unusable_columns_are_named(change: dict, message: str) -> None:
    frame = mixed().assign(**change)
    with pytest.raises(InvalidDataError, match=message):
        fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")


def test_text_where_numbers_were_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"found text in 'age' \(60 rows, such as 'old'\)"):
        fit_mixed().encode(mixed().assign(age="old"))


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_table_is_encoded_and_decoded_or_clearly_refused(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    columns = data.draw(st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True))
    frame = pd.DataFrame({name: data.draw(st.lists(CELLS, min_size=n, max_size=n)) for name in columns})
    frame = frame.infer_objects().assign(S=[k % 2 for k in range(n)])
    if "S" in columns:
        return
    try:
        encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("S")), "auto")
        x = encoding.encode(frame)
    except InvalidDataError:
        return
    assert np.isfinite(x).all()
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame), frame)
    encoding.decode(-x, x, frame)  # whatever comes back, it comes back


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
