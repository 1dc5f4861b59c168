from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.config import Categories, Scaling
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.roles import ColumnRoles, resolve_roles
from cfad_core.data.validation import validate
from tests.data.worlds import ROLES, fit_to, mixed, table

JOBS = np.array(["nurse", "clerk", "nurse", None], dtype=object)


def test_decoding_flips_the_group_and_keeps_what_did_not_move() -> None:
    encoding = fit_to(table(), ROLES, "range")
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
    encoding = fit_to(frame, ColumnRoles("sex", groups=("0", "1"), ignore=("id",)), "raw")
    x = encoding.encode(frame)
    assert x[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0]
    assert encoding.decode(x * np.array([-1.0, 1, 1, 1]), x, frame).rows["sex"].tolist() == [False, True, False, True]


@pytest.mark.parametrize("values", [[0, 1], [0.5, 1.5], [False, True], ["x", "y"]])
def test_the_group_keeps_its_type(values: list[Any]) -> None:
    frame = table().assign(sex=[values[0], values[1]] * 2)
    encoding = fit_to(frame, ROLES, "raw")
    x = encoding.encode(frame)
    back = encoding.decode(x * np.array([-1.0, 1.0, 1.0]), x, frame).rows
    assert back["sex"].tolist() == [values[1], values[0]] * 2
    assert back["sex"].dtype == frame["sex"].dtype


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=4), st.sampled_from(["raw", "range"]))
def test_what_is_encoded_can_be_decoded(values: list[float], scaling: Scaling) -> None:
    frame = table().assign(pay=values)
    encoding = fit_to(frame, ROLES, scaling)
    x = encoding.encode(frame)
    back = encoding.decode(x, np.full_like(x, np.nan), frame).rows  # as if everything had moved
    np.testing.assert_allclose(back["pay"], values, atol=1e-9 * (1 + max(map(abs, values))))
    assert back["age"].tolist() == frame["age"].tolist()
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_each_kind_of_column_has_its_columns() -> None:
    encoding = fit_to(mixed())
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
    encoding = fit_to(mixed())
    x = encoding.encode(mixed())
    pd.testing.assert_frame_equal(encoding.decode(x, x, mixed()).rows, mixed())


def test_moved_cells_come_back_legal() -> None:
    encoding = fit_to(mixed())
    x = encoding.encode(mixed())
    rng = np.random.default_rng(1)
    found = encoding.decode(x + rng.normal(0.0, 3.0, x.shape) * (np.arange(10) > 0), x, mixed())
    back = found.rows
    assert pd.api.types.is_integer_dtype(back["age"])
    assert set(back["job"].dropna()) <= {"clerk", "nurse", "smith"}
    assert (back["job"].isna() & mixed()["job"].notna()).any()  # some are not known any more, some became known
    assert (back["job"].notna() & mixed()["job"].isna()).any()
    assert pd.api.types.is_bool_dtype(back["owner"])
    assert pd.api.types.is_datetime64_any_dtype(back["since"])
    assert (back["pay"].isna() & mixed()["pay"].notna()).any()
    assert (back["pay"].notna() & mixed()["pay"].isna()).any()
    for name in ("age", "job", "owner", "since", "pay"):
        assert not back[name].equals(mixed()[name])
    for name in ("age", "since", "pay"):
        assert back[name].min() >= mixed()[name].min()
        assert back[name].max() <= mixed()[name].max()
        assert 0 < found.clipped[name] < 60
    assert set(found.clipped) == {"age", "since", "pay"}


def test_clipping_is_counted_by_hand_and_can_be_left_out() -> None:
    encoding = fit_to(table(), ROLES, "range")
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
    frame = table().assign(job=JOBS)
    encoding = fit_encoding(frame, resolve_roles(frame, ROLES), "range", "most-frequent")
    assert encoding.variables[-1].levels == ("nurse", "(other)")
    x = encoding.encode(frame)
    assert x[:, 3].tolist() == [-3.0, 3.0, -3.0, 3.0]
    found = encoding.decode(x * [1, 1, 1, -1], x, frame).rows["job"]
    assert found.tolist() == ["clerk", "nurse", "clerk", "nurse"]  # the most frequent of the others
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)


def test_unknown_categories_are_counted() -> None:
    encoding = fit_to(mixed())
    assert encoding.unknown(mixed()) == {}
    strange = mixed().assign(job=["astronaut"] * 5 + ["nurse"] * 55)
    assert encoding.unknown(strange) == {"job": 5}


def test_columns_that_would_be_called_alike_stay_apart() -> None:
    frame = mixed().assign(**{"pay is missing": np.arange(60.0)})
    assert fit_to(frame).names[-3:] == ("pay", "pay is missing", "pay is missing (2)")


def test_mixed_encodings_survive_json() -> None:
    encoding = fit_to(mixed())
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_the_json_of_an_encoding() -> None:
    """Flat objects with their keys in this order: audits that are already stored have them."""
    frame = table().assign(job=JOBS)
    plain = json.loads(json.dumps(fit_to(frame, ROLES, "range").to_dict()))
    assert list(plain) == ["attributes", "variables", "scaling"]
    (groups,) = plain["attributes"]
    assert list(groups.items()) == [("column", "sex"), ("names", ["f", "m"]), ("values", [["f"], ["m"]]), ("cuts", [])]
    number, _, category = plain["variables"]
    assert list(number.items()) == [
        ("name", "age"),
        ("kind", "number"),
        ("offset", 40.0),
        ("scale", 40.0 / 6.0),
        ("low", 20.0),
        ("high", 60.0),
        ("integer", True),
        ("fill", 35.0),
        ("marks_missing", False),
        ("levels", []),
        ("other", None),
        ("seconds", 86_400.0),
    ]
    assert list(category) == list(number)
    assert category["levels"] == ["nurse", "clerk", "(missing)"]


# More than two groups, and more than one attribute

CROSSED = ColumnRoles(
    (Attribute("sex"), Attribute("age", cuts=(30.0, 55.0)), Attribute("job", ("clerk",), others="rest"))
)


def crossed(n: int = 60) -> pd.DataFrame:
    return mixed(n).assign(job=lambda frame: frame["job"].fillna("none"))


def test_three_attributes_are_one_column() -> None:
    frame = crossed()
    encoding = fit_to(frame, CROSSED, "own")
    assert encoding.attribute_names == ("sex", "age", "job")
    assert encoding.sensitive == "sex and age and job"
    assert encoding.states.sizes == (2, 3, 2)
    assert encoding.names[:2] == ("sex and age and job", "owner")
    assert encoding.column_variables[:2] == ("sex and age and job", "owner")
    assert encoding.group_names(1) == ("under 30", "30 to under 55", "55 or more")
    assert encoding.state_name(0) == "f, under 30, clerk"
    assert encoding.state_name(11) == "m, 55 or more, rest"
    x = encoding.encode(frame)
    codes = [
        6 * (row["sex"] == "m") + 2 * int(np.searchsorted([30, 55], row["age"], side="right")) + (row["job"] != "clerk")
        for _, row in frame.iterrows()
    ]
    assert x[:, 0].tolist() == codes
    assert encoding.variable_kinds["sex and age and job"] == "category"
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_rows_outside_any_attribute_are_outside() -> None:
    frame = crossed()
    frame.loc[0, "sex"] = "x"
    frame["age"] = frame["age"].astype(object)
    frame.loc[1, "age"] = None
    frame.loc[2, "job"] = None
    encoding = fit_to(crossed(), CROSSED, "own")
    assert np.flatnonzero(~encoding.in_groups(frame)).tolist() == [0, 1, 2]
    x = encoding.encode(frame)
    assert np.flatnonzero(np.isnan(x[:, 0])).tolist() == [0, 1, 2]  # and nobody takes them for others
    assert np.array_equal(x[3:], encoding.encode(crossed())[3:])


@pytest.mark.slow
@pytest.mark.parametrize(
    "roles",
    [
        CROSSED,
        ColumnRoles("job"),
        ColumnRoles((Attribute("job", ("help", "smith"), {"help": ("clerk", "nurse")}), "owner")),
        ColumnRoles((Attribute("age", bands=5),)),
    ],
    ids=["three", "one", "merged", "bands"],
)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_twins_of_k_groups_are_read_as_they_were_written(roles: ColumnRoles, seed: int) -> None:
    """To the bit, whichever state people are moved to; who stays keeps every cell."""
    rng, frame = np.random.default_rng(seed), crossed()
    encoding = fit_to(frame, roles, "own")
    inside = encoding.in_groups(frame)
    frame = frame[inside]
    x = encoding.encode(frame)
    assert set(x[:, 0]) <= set(encoding.states.codes)
    twins = x[rng.permutation(len(x))]  # other people's legal rows
    twins[:, 0] = rng.choice(encoding.states.codes, len(x))
    back = encoding.decode(twins, x, frame).rows
    np.testing.assert_array_equal(encoding.encode(back), twins)
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)
    alone = x.copy()
    alone[:, 0] = twins[:, 0]
    moved = encoding.decode(alone, x, frame).rows
    assert moved.drop(columns=[*encoding.attribute_names]).equals(frame.drop(columns=[*encoding.attribute_names]))
    stay = alone[:, 0] == x[:, 0]
    for name in encoding.attribute_names:
        assert moved.loc[stay, name].tolist() == frame.loc[stay, name].tolist()


def test_moving_one_attribute_leaves_the_cells_of_another() -> None:
    frame = crossed()
    encoding = fit_to(frame, CROSSED, "own")
    x, states = encoding.encode(frame), encoding.states
    for attribute, size in enumerate(states.sizes):
        for group in range(size):
            twins = x.copy()
            twins[:, 0] = states.codes[states.moved(states.of_codes(x[:, 0]), {attribute: group})]
            rows = encoding.decode(twins, x, frame).rows
            groups = encoding.attributes[attribute]
            assert (groups.codes(rows[groups.column]) == group).all()
            others = [name for name in frame.columns if name != groups.column]
            assert rows[others].equals(frame[others])


@pytest.mark.parametrize(
    ("grouping", "names"),
    [
        ({"values": ["f", "m"], "cut": None}, ("f", "m")),
        ({"values": ["f"], "cut": None}, ("f", "not f")),
        ({"values": [], "cut": 2.5}, ("under 2.5", "2.5 or more")),
        ({"cut": 2.5}, ("under 2.5", "2.5 or more")),
        ({"values": ["f", "m"]}, ("f", "m")),
    ],
)
def test_encodings_of_two_groups_are_read(grouping: dict[str, Any], names: tuple[str, str]) -> None:
    """As programs wrote them that knew no more."""
    today = fit_to(table(), ROLES, "own").to_dict()
    older = {"sensitive": "sex", "grouping": grouping, "variables": today["variables"], "scaling": "own"}
    found = Encoding.from_dict(json.loads(json.dumps(older)))
    assert (found.attribute_names, found.group_names(0)) == (("sex",), names)
    if names == ("f", "m"):
        assert found == fit_to(table(), ROLES, "own")


CELLS = (
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-1e9, 1e9) | st.none(),
    st.text(max_size=2),
    st.sampled_from(["x", "y", "z", None]),
    st.dates(min_value=dt.date(1700, 1, 1)).map(str),
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_table_is_encoded_and_decoded_or_clearly_refused(data: st.DataObject) -> None:
    n = data.draw(st.integers(10, 16))  # fewer known cells are refused
    columns = data.draw(
        st.lists(st.text(max_size=5).filter(lambda name: name != "S"), min_size=1, max_size=4, unique=True)
    )
    cells = {name: data.draw(st.sampled_from(CELLS)) for name in columns}
    frame = pd.DataFrame({name: data.draw(st.lists(kind, min_size=n, max_size=n)) for name, kind in cells.items()})
    frame = frame.infer_objects().assign(S=[k % 2 for k in range(n)])
    validation = validate(frame, ColumnRoles("S"))
    if {error.code for error in validation.errors} - {"small-group", "few-rows"}:
        return
    assert validation.roles is not None
    ways: tuple[tuple[Scaling, Categories], ...] = (("own", "levels"), ("auto", "levels"), ("auto", "most-frequent"))
    for scaling, categories in ways:
        encoding = fit_encoding(frame, validation.roles, scaling, categories)
        x = encoding.encode(frame)
        assert np.isfinite(x).all()
        pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)
        twins = encoding.decode(-x, x, frame).rows
        assert twins["S"].tolist() == [1 - k % 2 for k in range(n)]
        assert list(twins.columns) == list(frame.columns)
        assert np.isfinite(encoding.encode(twins)).all()


def test_a_missing_column_is_named() -> None:
    encoding = fit_to(table(), ROLES, "raw")
    with pytest.raises(InvalidDataError, match="lacks the column pay of the audit; it has: sex, age, id, bad"):
        encoding.encode(table().drop(columns="pay"))
