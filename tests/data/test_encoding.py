from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.encoding import Encoding, choose_scaling, fit_encoding
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles, resolve_roles
from cfad_core.data.split import stratified_split
from cfad_core.data.tables import digest, write_table
from cfad_core.data.validation import validate
from tests.data.test_roles import ROLES, table


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
    back = encoding.decode(twin, x, table()).rows
    assert back["sex"].tolist() == ["m", "f", "m", "f"]
    assert back["age"].equals(table()["age"])
    assert back["id"].equals(table()["id"])
    np.testing.assert_allclose(back["pay"], [1.5 + 8.0 / 6.0, 2.5, 3.5, 9.5])


def test_numbers_may_name_the_groups_of_a_boolean_column() -> None:
    frame = table().assign(sex=[True, False, True, False])
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex", groups=("0", "1"), ignore=("id",))), "raw")
    x = encoding.encode(frame)
    assert x[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0]
    assert encoding.decode(x * np.array([-1.0, 1, 1, 1]), x, frame).rows["sex"].tolist() == [False, True, False, True]


@pytest.mark.parametrize("values", [[0, 1], [0.5, 1.5], [False, True], ["x", "y"]])
def test_the_group_keeps_its_type(values: list) -> None:
    frame = table().assign(sex=[values[0], values[1]] * 2)
    encoding = fit_encoding(frame, resolve_roles(frame, ROLES), "raw")
    x = encoding.encode(frame)
    back = encoding.decode(x * np.array([-1.0, 1.0, 1.0]), x, frame).rows
    assert back["sex"].tolist() == [values[1], values[0]] * 2
    assert back["sex"].dtype == frame["sex"].dtype


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=4), st.sampled_from(["raw", "range"]))
def test_what_is_encoded_can_be_decoded(values: list[float], scaling) -> None:
    frame = table().assign(pay=values)
    encoding = fit_encoding(frame, resolve_roles(frame, ROLES), scaling)
    x = encoding.encode(frame)
    back = encoding.decode(x, np.full_like(x, np.nan), frame).rows  # as if everything had moved
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
    pd.testing.assert_frame_equal(encoding.decode(x, x, mixed()).rows, mixed())


def test_moved_cells_come_back_legal() -> None:
    encoding = fit_mixed()
    x = encoding.encode(mixed())
    rng = np.random.default_rng(1)
    found = encoding.decode(x + rng.normal(0.0, 3.0, x.shape) * (np.arange(10) > 0), x, mixed())
    back = found.rows
    assert pd.api.types.is_integer_dtype(back["age"])
    assert set(back["job"].dropna()) <= {"clerk", "nurse", "smith"}
    assert back["job"].isna().sum() < mixed()["job"].isna().sum()  # some were given a job, nobody lost one
    assert not back["job"].isna()[mixed()["job"].notna()].any()
    assert pd.api.types.is_bool_dtype(back["owner"])
    assert pd.api.types.is_datetime64_any_dtype(back["since"])
    assert np.array_equal(back["pay"].isna(), mixed()["pay"].isna())
    for name in ("age", "job", "owner", "since", "pay"):
        assert not back[name].equals(mixed()[name])
    for name in ("age", "since", "pay"):
        assert back[name].min() >= mixed()[name].min()
        assert back[name].max() <= mixed()[name].max()
        assert 0 < found.clipped[name] < 60
    assert set(found.clipped) == {"age", "since", "pay"}


def test_clipping_is_counted_by_hand_and_can_be_left_out() -> None:
    encoding = fit_encoding(table(), resolve_roles(table(), ROLES), "range")
    x = encoding.encode(table())
    twin = x.copy()
    twin[:, 1] += 1.0  # one sixth of the range of 40 years: 6.67
    found = encoding.decode(twin, x, table())
    assert found.rows["age"].tolist() == [27, 37, 47, 60]
    assert found.clipped == {"age": 1}
    free = encoding.decode(twin, x, table(), clip=False)
    assert free.rows["age"].tolist() == [27, 37, 47, 67]
    assert free.clipped == {}


def test_the_most_frequent_value_or_not() -> None:
    frame = mixed(200)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto", "most-frequent")
    job = encoding.variables[1]
    most = frame["job"].fillna("(missing)").mode()[0]
    assert job.levels == (most, "(other)")
    x = encoding.encode(frame)
    assert np.array_equal(x[:, 2] == -3.0, frame["job"].fillna("(missing)") == most)
    moved = encoding.decode(np.where(np.arange(x.shape[1]) == 2, -3.0, x), x, frame).rows
    assert (moved["job"].fillna("(missing)") == most).all() or most == "(missing)"
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_dates_come_back_as_dates(zone: str | None) -> None:
    frame = mixed()
    frame["since"] = frame["since"].dt.tz_localize(zone)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    x = encoding.encode(frame)
    moved = encoding.decode(x + 0.01 * (np.arange(x.shape[1]) == 7), x, frame).rows
    assert moved["since"].dtype == frame["since"].dtype
    assert (moved["since"] != frame["since"]).any()


def test_dates_as_text_stay_text() -> None:
    frame = mixed().assign(since=mixed()["since"].dt.strftime("%Y-%m-%d"))
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    x = encoding.encode(frame)
    moved = encoding.decode(x + 0.1 * (np.arange(x.shape[1]) == 7), x, frame).rows
    assert moved["since"].str.fullmatch(r"\d{4}-\d{2}-\d{2}").all()
    assert (moved["since"] >= frame["since"]).all()
    assert (moved["since"] > frame["since"]).any()


def test_booleans_with_gaps_stay_booleans() -> None:
    frame = mixed()
    frame["owner"] = frame["owner"].astype(object).where(np.arange(60) % 7 > 0)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    x = encoding.encode(frame)
    back = encoding.decode(np.where(np.arange(x.shape[1]) > 5, -x, x), x, frame).rows["owner"]
    assert {type(cell) for cell in back.dropna()} == {bool}


def test_unknown_categories_are_the_most_frequent_one() -> None:
    encoding = fit_mixed()
    strange = mixed().assign(job="astronaut")
    assert np.array_equal(
        encoding.encode(strange)[:, 2:6], encoding.encode(mixed().assign(job=encoding.variables[1].levels[0]))[:, 2:6]
    )


def test_unknown_categories_are_counted() -> None:
    encoding = fit_mixed()
    assert encoding.unknown(mixed()) == {}
    strange = mixed().assign(job=["astronaut"] * 5 + ["nurse"] * 55)
    assert encoding.unknown(strange) == {"job": 5}


def test_booleans_may_be_spelled_as_numbers() -> None:
    encoding = fit_mixed()
    numbers = mixed().assign(owner=mixed()["owner"].astype(int))
    assert np.array_equal(encoding.encode(numbers), encoding.encode(mixed()))
    assert encoding.unknown(numbers) == {}


def test_whole_numbers_in_new_rows_do_not_make_a_column_whole() -> None:
    encoding = fit_encoding(table(), resolve_roles(table(), ROLES), "range")
    whole = table().assign(pay=[2, 3, 4, 5])
    x = encoding.encode(whole)
    moved = encoding.decode(x + 0.1 * (np.arange(3) == 2), x, whole).rows["pay"]
    np.testing.assert_allclose(moved, np.array([2, 3, 4, 5]) + 0.1 * 8.0 / 6.0)


def test_dates_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="Expected dates in 'since', found something else in 60 rows"):
        fit_mixed().encode(mixed().assign(since="gestern"))


def test_summer_and_winter_time() -> None:
    times = ["2020-01-05T00:00:00+01:00", "2020-07-05T00:00:00+02:00"] * 30
    frame = mixed().assign(since=times)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    assert encoding.variables[3].kind == "date"
    x = encoding.encode(frame)
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)
    encoding.decode(x + 0.1, x, frame)


def test_columns_that_would_be_called_alike_stay_apart() -> None:
    frame = mixed().assign(**{"pay is missing": np.arange(60.0)})
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "auto")
    assert len(set(encoding.names)) == len(encoding.names)


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


def test_text_where_numbers_were_is_refused() -> None:
    with pytest.raises(
        InvalidDataError, match="Expected numbers in 'age', found something else in 60 rows, such as 'old'"
    ):
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
    validation = validate(frame, ColumnRoles("S"))
    if {error.code for error in validation.errors} - {"small-group", "few-rows"}:
        return
    assert validation.roles is not None
    for categories in ("levels", "most-frequent"):
        encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("S")), "auto", categories)
        x = encoding.encode(frame)
        assert np.isfinite(x).all()
        pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)
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
