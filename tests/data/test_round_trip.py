"""The row shown is the row scored: decoding a legal twin and encoding it again gives the same bits."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.arrays import Floats
from cfad_core.core.config import Categories
from cfad_core.data.columns import MISSING
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.kinds import MAX_LEVELS, OTHER
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles, resolve_roles
from cfad_core.data.tables import write_table
from cfad_core.data.variables import Variable
from tests.data.worlds import ROLES, fit_to, table

N = 120
Rng = np.random.Generator


def gaps(values: Any, rng: Rng, share: float = 0.1) -> pd.Series[Any]:
    """The values as objects, some of them None."""
    cells = pd.Series(values).astype(object)
    return cells.mask(rng.random(len(cells)) < share, None)


def days(rng: Rng, year: int = 2020) -> pd.Series[Any]:
    start = np.datetime64(f"{year}-01-01", "us")
    return pd.Series(start + rng.integers(0, 900, N).astype("timedelta64[D]"))


def moments(rng: Rng, step: int) -> pd.Series[Any]:
    """Times of a resolution of so many microseconds."""
    start = np.datetime64("2020-01-01", "us")
    return pd.Series(start + (rng.integers(0, 10**9, N) * step).astype("timedelta64[us]"))


def floats(rng: Rng) -> Floats:
    return rng.normal(0.0, 1.0, N) * 10.0 ** rng.integers(-20, 20, N)


COLUMNS: dict[str, Callable[[Rng], pd.Series[Any]]] = {
    "integers": lambda rng: pd.Series(rng.integers(-50, 50, N)),
    "small integers": lambda rng: pd.Series(rng.integers(-120, 120, N).astype(np.int8)),
    "huge integers": lambda rng: pd.Series(rng.integers(-(2**62), 2**62, N) * 2 - 1),
    "integers with gaps": lambda rng: gaps(rng.integers(0, 50, N), rng).astype("Int64"),
    "integers with few gaps": lambda rng: pd.Series([None, *rng.integers(0, 50, N - 1)], dtype="Float64"),
    "two numbers": lambda rng: pd.Series(rng.choice([0.1, -7.3], N)),
    "floats": lambda rng: pd.Series(floats(rng)),
    "floats with gaps": lambda rng: gaps(floats(rng), rng).astype(np.float64),
    "floats with few gaps": lambda rng: pd.Series([np.nan, *floats(rng)[1:]]),
    "zeros of both signs": lambda rng: pd.Series(rng.choice([-0.0, 0.0, 1.5], N)),
    "floats as text": lambda rng: gaps([repr(float(value)) for value in floats(rng)], rng),
    "integers as text": lambda rng: pd.Series(rng.integers(0, 10**6, N).astype(str)),
    "booleans": lambda rng: pd.Series(rng.random(N) < 0.3),
    "booleans with gaps": lambda rng: gaps(rng.random(N) < 0.3, rng),
    "days": days,
    "days with gaps": lambda rng: days(rng).mask(rng.random(N) < 0.2),
    "late days": lambda rng: days(rng, 9990),
    "days as text": lambda rng: gaps(days(rng).dt.strftime("%Y-%m-%d"), rng),
    "seconds": lambda rng: moments(rng, 10**6),
    "seconds as text": lambda rng: gaps(moments(rng, 10**6).dt.strftime("%Y-%m-%d %H:%M:%S"), rng),
    "microseconds": lambda rng: moments(rng, 1),
    "nanoseconds": lambda rng: moments(rng, 1000).astype("datetime64[ns]"),
    "moments in a zone": lambda rng: moments(rng, 10**6).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "categories": lambda rng: pd.Series(rng.choice(["clerk", "nurse", "smith"], N)),
    "categories with gaps": lambda rng: gaps(rng.choice(["clerk", "nurse, or so", "smith"], N), rng),
    "one category with gaps": lambda rng: gaps(["clerk"] * N, rng),
    "many levels": lambda rng: pd.Series([f"town {k}" for k in rng.integers(0, MAX_LEVELS + 20, N)]),
    "many levels with gaps": lambda rng: gaps([f"town {k}" for k in rng.integers(0, MAX_LEVELS + 20, N)], rng, 0.01),
    "other": lambda rng: pd.Series(rng.choice(["clerk", OTHER, MISSING], N)),
}
# Types that a CSV file does not keep, though their cells survive within Python
PYTHON_ONLY: dict[str, Callable[[Rng], pd.Series[Any]]] = {
    "short floats": lambda rng: pd.Series(rng.normal(0.0, 1.0, N).astype(np.float32)),
    "dates": lambda rng: gaps(days(rng).dt.date, rng),
    "levels of a type": lambda rng: gaps(rng.choice(["clerk", "nurse"], N), rng).astype("category"),
    "texts and numbers": lambda rng: pd.Series(rng.choice(np.array(["x", 1, 2.5], dtype=object), N)),
    "booleans that may be missing": lambda rng: gaps(rng.random(N) < 0.3, rng).astype("boolean"),
    "levels like numbers": lambda rng: pd.Series(rng.choice(["01", "x", "NA", ""], N)),
}


def frame_of(names: list[str], kinds: dict[str, Callable[[Rng], pd.Series[Any]]], rng: Rng) -> pd.DataFrame:
    return pd.DataFrame({"S": rng.choice(["f", "m"], N)} | {name: kinds[name](rng) for name in names})


def legal(encoding: Encoding, seen: Floats, original: Floats, rng: Rng) -> Floats:
    """Random legal twins (n, d) of rows in the other group, some of whose variables stay as they are."""
    parts, start = [-original[:, :1]], 1
    for variable in encoding.variables:
        columns = slice(start, start + len(variable.columns))
        part = _levels if variable.kind == "category" else _numbers
        new = part(variable, seen[:, columns], len(original), rng)
        parts.append(np.where(rng.random((len(original), 1)) < 0.2, original[:, columns], new))
        start = columns.stop
    return np.column_stack(parts)


def _levels(variable: Variable, seen: Floats, n: int, rng: Rng) -> Floats:
    """Every level there is, also those that no row has."""
    level = rng.integers(0, len(variable.levels), n)
    if len(variable.levels) <= 2:
        return np.where(level == 0, -3.0, 3.0)[:, None]
    return np.where(level[:, None] == np.arange(len(variable.levels)), 3.0, -3.0)


def _numbers(variable: Variable, seen: Floats, n: int, rng: Rng) -> Floats:
    """Numbers that were seen, and any between the smallest and the largest."""
    known = seen[seen[:, -1] < 0.0] if variable.marks_missing else seen
    between = variable.low + rng.random(n) * (variable.high - variable.low)
    between = np.clip(np.rint(between) if variable.integer else between, variable.low, variable.high)
    numbers = np.where(rng.random(n) < 0.5, rng.choice(known[:, 0], n), between) + 0.0  # a zero has one sign
    if not variable.marks_missing:
        return numbers[:, None]
    missing = rng.random(n) < 0.3
    return np.column_stack([np.where(missing, variable.fill, numbers), np.where(missing, 3.0, -3.0)])


def assert_same_bits(found: Floats, expected: Floats, encoding: Encoding) -> None:
    different = {name for name, column in zip(encoding.names, (found != expected).T, strict=True) if column.any()}
    assert not different
    assert found.tobytes() == expected.tobytes()


kinds_of_columns = st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5, unique=True)
ways = st.sampled_from(["levels", "most-frequent"])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(kinds_of_columns, st.sampled_from(sorted(PYTHON_ONLY)), ways, st.integers(0, 2**31))
def test_legal_twins_keep_their_bits(names: list[str], special: str, way: Categories, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = frame_of([*names, special], COLUMNS | PYTHON_ONLY, rng)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("S")), "own", way)
    assert encoding.scaling == "own"
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding
    original = encoding.encode(frame)
    twins = legal(encoding, original, original, rng)
    found = encoding.decode(twins, original, frame)
    assert found.clipped == {}
    assert_same_bits(encoding.encode(found.rows), twins, encoding)
    assert_same_bits(encoding.encode(encoding.decode(original, twins, found.rows).rows), original, encoding)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(kinds_of_columns, ways, st.integers(0, 2**31))
def test_legal_twins_survive_a_csv_file(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], way: Categories, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = frame_of(names, COLUMNS, rng)
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("S")), "own", way)
    original = encoding.encode(frame)
    twins = legal(encoding, original, original, rng)
    path = tmp_path_factory.mktemp("twins") / "twins.csv"
    write_table(encoding.decode(twins, original, frame).rows, path)
    assert_same_bits(encoding.encode(read_table(path)), twins, encoding)


@pytest.mark.parametrize("name", sorted(COLUMNS | PYTHON_ONLY))
def test_people_who_were_not_trained_on(name: str) -> None:
    """Each kind by itself, with a table in which nothing is missing though training had gaps, and the other way."""
    rng = np.random.default_rng(7)
    frame = frame_of([name], COLUMNS | PYTHON_ONLY, rng)
    encoding = fit_to(frame, ColumnRoles("S"), "own")
    seen = encoding.encode(frame)
    for people in (frame.dropna().infer_objects(), frame[frame[name].isna()], frame.convert_dtypes()):
        original = encoding.encode(people)
        twins = legal(encoding, seen, original, rng)
        assert_same_bits(encoding.encode(encoding.decode(twins, original, people).rows), twins, encoding)


def test_own_units_by_hand() -> None:
    encoding = fit_to(table(), ROLES, "own")
    x = encoding.encode(table())
    assert x[:, 1].tolist() == [20.0, 30.0, 40.0, 60.0]
    assert x[:, 2].tolist() == [1.5, 2.5, 3.5, 9.5]
    assert encoding.variable_kinds == {"sex": "category", "age": "number", "pay": "number"}
    assert encoding.marks == {}


def test_what_a_causal_model_needs_to_know() -> None:
    frame = table().assign(pay=[1.5, np.nan, 3.5, 9.5], since=["2020-01-01"] * 3 + ["2021-01-01"], job=list("xxyz"))
    encoding = fit_to(frame, ROLES, "own")
    kinds = {"sex": "category", "age": "number", "pay": "number", "since": "number", "job": "category"}
    assert encoding.variable_kinds == kinds
    assert encoding.marks == {"pay": (3.5, 3.0)}
    assert fit_to(frame, ROLES, "range").marks == {"pay": ((3.5 - 5.5) / (8.0 / 6.0), 3.0)}


def moved(column: pd.Series[Any], changes: dict[int, list[float]]) -> pd.Series[Any]:
    """The column, of a table of four, after the encoded columns of some rows were set."""
    frame = table().assign(pay=column)
    encoding = fit_to(frame, ROLES, "own")
    x = encoding.encode(frame)
    twins = x.copy()
    for row, values in changes.items():
        twins[row, 2:] = values
    return encoding.decode(twins, x, frame).rows["pay"]


def test_a_number_becomes_missing_and_a_missing_one_known() -> None:
    cells = pd.Series([1.5, np.nan, 3.5, np.nan])
    found = moved(cells, {0: [2.5, 3.0], 1: [2.0, -3.0]})
    np.testing.assert_array_equal(found, [np.nan, 2.0, 3.5, np.nan])


@pytest.mark.parametrize(
    ("cells", "missing"),
    [
        (pd.Series([1, None, 3, 4], dtype="Int64"), pd.NA),
        (pd.Series(pd.to_datetime(["2020-01-01", "NaT", "2020-01-03", "2020-01-04"])), pd.NaT),
        (pd.Series(["1.5", None, "3.5", "4.5"], dtype=object), None),
    ],
)
def test_a_missing_cell_suits_its_column(cells: pd.Series[Any], missing: Any) -> None:
    frame = table().assign(pay=cells)
    encoding = fit_to(frame, ROLES, "own")
    fill, mark = encoding.marks["pay"]
    found = moved(cells, {0: [fill, mark]})
    assert found.dtype == cells.dtype
    assert found.isna().tolist() == [True, True, False, False]
    assert found.iloc[1] is missing  # it stays as it was
    assert found.iloc[2:].tolist() == cells.iloc[2:].tolist()


def test_whole_numbers_stay_whole_beside_a_missing_one() -> None:
    training = table().assign(age=[20, np.nan, 40, 60])
    encoding = fit_to(training, ROLES, "own")
    x = encoding.encode(table())
    twins = x.copy()
    twins[0, 1:3] = encoding.marks["age"]
    found = encoding.decode(twins, x, table()).rows["age"]
    assert found.isna().tolist() == [True, False, False, False]
    assert [str(age) for age in found[1:]] == ["30", "40", "60"]


def test_missing_numbers_that_are_not_marked() -> None:
    """Too few to mark them: what did not change stays missing, a changed number is written."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 150, "pay": [np.nan, np.nan, *np.arange(298.0)]})
    encoding = fit_to(frame, scaling="own")
    assert encoding.names == ("sex", "pay")
    x = encoding.encode(frame)
    twins = x.copy()
    twins[1, 1] = 7.0
    found = encoding.decode(twins, x, frame).rows["pay"]
    assert found.isna().tolist() == [True] + [False] * 299
    assert found[1] == 7.0


def test_what_stands_for_missing_numbers_is_a_number_that_was_seen() -> None:
    """Between two whole numbers there would be none, and a causal model would not take the column for whole."""
    frame = table().assign(age=[20, 30, 40, 60])
    assert fit_to(frame, ROLES, "own").variables[0].fill == 30.0
    assert fit_to(frame, ROLES, "range").variables[0].fill == 35.0  # the median, as in the paper's mode it was


def test_a_category_becomes_missing_and_a_missing_one_known() -> None:
    frame = table().assign(job=np.array(["clerk", "clerk", None, "nurse"], dtype=object))
    encoding = fit_to(frame, ROLES, "own")
    assert encoding.names[3:] == ("job = clerk", "job = (missing)", "job = nurse")
    x = encoding.encode(frame)
    twins = x.copy()
    twins[0, 3:], twins[2, 3:] = x[2, 3:], x[3, 3:]
    found = encoding.decode(twins, x, frame).rows["job"]
    assert found.isna().tolist() == [True, False, False, False]
    assert found.tolist()[1:] == ["clerk", "nurse", "nurse"]


def test_who_becomes_other_gets_the_most_frequent_of_the_merged_values() -> None:
    jobs = ["nurse"] * 4 + ["clerk"] * 2 + [None] * 3 + ["smith"]
    frame = pd.DataFrame({"sex": ["f", "m"] * 5, "pay": np.arange(10.0), "job": jobs})
    encoding = fit_encoding(frame, resolve_roles(frame, ColumnRoles("sex")), "own", "most-frequent")
    assert encoding.variables[-1].levels == ("nurse", OTHER)
    assert encoding.variables[-1].other == "clerk"  # missing ones are more, but no value
    x = encoding.encode(frame)
    twins = x * [1.0, 1.0, -1.0]
    found = encoding.decode(twins, x, frame).rows["job"]
    assert found.tolist() == ["clerk"] * 4 + ["nurse"] * 6
    stays = encoding.decode(x, x, frame).rows["job"]
    pd.testing.assert_series_equal(stays, frame["job"])


def test_missing_cells_may_be_among_the_merged_ones() -> None:
    towns = [f"town {k}" for k in range(MAX_LEVELS)]
    frame = pd.DataFrame({"sex": ["f", "m"] * MAX_LEVELS + ["f"], "town": [*towns, *towns, None]})
    town = fit_to(frame, scaling="own").variables[0]
    assert town.levels == (*towns[:-1], OTHER)
    assert town.other == towns[-1]
    assert town.encode(pd.Series([None, towns[-1]])).argmax(axis=1).tolist() == [MAX_LEVELS - 1] * 2


def test_an_encoding_of_an_older_audit() -> None:
    """It has neither units of dates nor a value for merged levels: nobody becomes other, and days are days."""
    number = {"offset": 40.0, "scale": 10.0, "low": 20.0, "high": 60.0, "integer": True, "fill": 35.0}
    plain = {
        "sensitive": "sex",
        "grouping": {"values": ["f", "m"], "cut": None},
        "variables": [
            {"name": "age", "kind": "number", "marks_missing": False, "levels": []} | number,
            {"name": "job", "kind": "category", "levels": ["nurse", OTHER]},
            {"name": "since", "kind": "date", "low": 0.0, "high": 10.0, "integer": False},
        ],
        "scaling": "range",
    }
    encoding = Encoding.from_dict(plain)
    frame = table().assign(job=["nurse", "clerk", "nurse", "smith"], since="1970-01-02 12:00:00")
    x = encoding.encode(frame)
    assert x[:, 1:].tolist() == [[-2.0, -3.0, 1.5], [-1.0, 3.0, 1.5], [0.0, -3.0, 1.5], [2.0, 3.0, 1.5]]
    found = encoding.decode(x * [1.0, 1.0, -1.0, 2.0], x, frame).rows
    assert found["job"].tolist() == ["nurse", "nurse", "nurse", "nurse"]
    assert found["since"].tolist() == ["1970-01-04 00:00:00"] * 4


def test_dates_have_the_largest_unit_in_which_all_are_whole() -> None:
    def seconds(*dates: str) -> float:
        frame = pd.DataFrame({"sex": ["f", "m"], "since": dates})
        return fit_to(frame, scaling="own").variables[0].seconds

    assert seconds("2020-01-01", "2020-01-02") == 86_400.0
    assert seconds("2020-01-01", "2020-01-02 10:00:00") == 1.0
    assert seconds("2020-01-01 10:00:00.5", "2020-01-02 10:00:00") == 1e-3
    assert seconds("2020-01-01 10:00:00.000001", "2020-01-02 10:00:00") == 1e-6


def test_dates_may_be_objects() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "since": [dt.date(2020, 1, 1), dt.date(2020, 1, 9)]})
    encoding = fit_to(frame, scaling="own")
    x = encoding.encode(frame)
    found = encoding.decode(x + np.array([[0.0, 4.0], [0.0, 0.0]]), x, frame).rows["since"]
    assert found.tolist() == [dt.date(2020, 1, 5), dt.date(2020, 1, 9)]
