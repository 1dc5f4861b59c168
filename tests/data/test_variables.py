from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidConfigError
from cfad_core.data.kinds import Choices
from cfad_core.data.scaling import Scale
from cfad_core.data.variables import Variable, fit_variable

RANGE = Choices(Scale("range"))
JOB = Variable("job", "category", levels=("x", "y", "z"))
OWNER = Variable("owner", "category", levels=("no", "yes"))
AGE = Variable("age", "number", offset=40.0, scale=10.0, low=20.0, high=60.0, integer=True, fill=30.0)


def test_a_number_is_learned_by_hand() -> None:
    pay = fit_variable(pd.Series([2.0, 4.5, 8.0, np.nan], name="pay"), "number", RANGE)
    assert pay == Variable(
        "pay", "number", offset=5.0, scale=1.0, low=2.0, high=8.0, integer=False, fill=4.5, marks_missing=True
    )
    assert pay.columns == ("pay", "pay is missing")
    assert pay.encode(pd.Series([3.0, np.nan])).tolist() == [[-2.0, -3.0], [-0.5, 3.0]]


def test_few_missing_numbers_are_filled_but_not_marked() -> None:
    cells = pd.Series([*range(200), None], name="pay", dtype=object)
    assert not fit_variable(cells, "number", RANGE).marks_missing  # 1 of 201
    assert fit_variable(cells[101:], "number", RANGE).marks_missing  # 1 of 100


def test_a_date_is_learned_by_hand() -> None:
    since = fit_variable(pd.Series(["1970-01-01", "1970-01-13"], name="since"), "date", RANGE)
    assert since == Variable("since", "date", offset=6.0, scale=2.0, low=0.0, high=12.0, integer=True, fill=6.0)


def test_columns_of_categories_by_hand() -> None:
    assert JOB.columns == ("job = x", "job = y", "job = z")
    assert JOB.encode(pd.Series(["y", "?"])).tolist() == [[-3.0, 3.0, -3.0], [3.0, -3.0, -3.0]]
    assert OWNER.columns == ("owner",)
    assert OWNER.encode(pd.Series(["yes", "no"])).tolist() == [[3.0], [-3.0]]


def test_levels_are_decoded_by_hand() -> None:
    cells = pd.Series(["x", "y", "z"])
    x = JOB.encode(cells)
    back, clipped = JOB.decode(x + np.array([[0.0, 0.0, 6.5], [0.0, 0.0, 5.5], [0.0, 0.0, 9.0]]), x, cells, clip=True)
    assert back.tolist() == ["z", "y", "z"]  # the largest column wins
    assert clipped == 0


def test_numbers_are_decoded_by_hand() -> None:
    cells = pd.Series([30, 50, 58])
    x = AGE.encode(cells)
    moved = x + np.array([[0.26], [0.0], [0.9]])
    back, clipped = AGE.decode(moved, x, cells, clip=True)
    assert back.tolist() == [33, 50, 60]
    assert clipped == 1
    assert AGE.decode(moved, x, cells, clip=False)[0].tolist() == [33, 50, 67]


def test_what_lies_beyond_training() -> None:
    assert AGE.is_out_of_range(np.array([[-2.0], [2.0], [2.1], [-2.1]])).tolist() == [False, False, True, True]
    assert JOB.is_out_of_range(np.full((2, 3), 9.0)).tolist() == [False, False]


def test_what_lies_between_levels() -> None:
    assert OWNER.is_between_levels(np.array([[-3.0], [-1.6], [-1.4], [1.6]])).tolist() == [False, False, True, False]
    columns = np.array([[3.0, -3.0, -3.0], [3.0, -1.4, -3.0], [1.4, -3.0, -3.0]])
    assert JOB.is_between_levels(columns).tolist() == [False, True, True]
    assert AGE.is_between_levels(np.array([[0.5]])).tolist() == [False]
    marked = Variable("pay", "number", marks_missing=True)
    assert marked.is_between_levels(np.array([[0.5, -3.0], [0.5, 0.0], [0.5, 2.0]])).tolist() == [False, True, False]


def test_unknown_categories_are_counted() -> None:
    assert JOB.is_unknown(pd.Series(["x", "?", None])).tolist() == [False, True, True]
    assert Variable("job", "category", levels=("x", "(other)")).is_unknown(pd.Series(["?"])).tolist() == [False]
    assert AGE.is_unknown(pd.Series([99])).tolist() == [False]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="must be one of number, date, category; got 'colour'"):
        Variable("skin", "colour")
