"""Real values for people who were moved to another group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.cells import as_held_by, with_numbers
from cfad_core.data.group_values import moved_cells, stand_ins


def test_the_most_frequent_value_stands_for_a_group() -> None:
    groups = Attribute("region", groups=("rest", "a"), merged={"rest": ("b", "c")}, others="other").grouping
    column = pd.Series(["a", "b", "c", "c", "x", "y", "y"])
    assert stand_ins(groups, column) == {"rest": "c", "a": "a", "other": "y"}
    before = pd.Series(["a", "b", "x"])
    assert moved_cells(groups, before, np.array([0, 0, 0]), column).tolist() == ["c", "b", "c"]
    assert moved_cells(groups, before, np.array([1, 1, 2]), column).tolist() == ["a", "a", "x"]


@pytest.mark.parametrize("kind", [np.int64, np.float64, object])
def test_values_have_the_type_of_the_column(kind: Any) -> None:
    groups = Attribute("group", groups=("0", "rest"), merged={"rest": ("1", "2")}).grouping
    column = pd.Series([0, 1, 1, 2]).astype(kind)
    moved = moved_cells(groups, pd.Series([1, 2]).astype(kind), np.array([0, 0]), column)
    assert moved.dtype == column.dtype
    assert moved.tolist() == [0, 0]


@pytest.mark.parametrize("kind", [np.int64, np.float64, str])
def test_a_band_is_entered_at_the_same_rank(kind: Any) -> None:
    groups = Attribute("age", cuts=(30.0,)).grouping
    column = pd.Series([10, 20, 21, 29, 30, 40, 50, 90]).astype(kind)
    before = pd.Series([10, 29, 30, 90]).astype(kind)
    moved = moved_cells(groups, before, np.array([1, 1, 0, 0]), column)
    assert moved.astype(int).tolist() == [30, 90, 10, 29]
    assert set(moved.map(type)) == set(column.map(type))
    same = moved_cells(groups, before, groups.codes(before), column)
    assert same.tolist() == before.tolist()


def test_numbers_as_text_are_written_as_the_others() -> None:
    def written(texts: list[str], numbers: list[float], *, whole: bool) -> list[str]:
        which = np.ones(len(texts), dtype=np.bool_)
        return with_numbers(pd.Series(texts, dtype=object), which, np.array(numbers), whole=whole).tolist()

    assert written(["0125", "0007"], [37.0, 8.0], whole=True) == ["0037", "0008"]
    assert written(["4.40", "0.25"], [6.2, 1.125], whole=False) == ["6.20", "1.125"]  # not another number
    assert written(["4.4", "12"], [6.25, 7.0], whole=False) == ["6.25", "7.0"]


def test_cells_take_the_type_of_another_column() -> None:
    whole, yes, text = pd.Series([1, 2]), pd.Series([True, False]), pd.Series(["a", "b"])
    day = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    assert as_held_by(pd.Series(["3", "4"]), whole).tolist() == [3, 4]
    assert as_held_by(pd.Series(["true", "0"]), yes).tolist() == [True, False]
    assert as_held_by(pd.Series([3, 4]), text).tolist() == ["3", "4"]
    assert as_held_by(pd.Series(["2021-05-05", "2021-05-06"]), day).dt.year.tolist() == [2021, 2021]
    assert as_held_by(pd.Series([1.5, 2.0]), whole).tolist() == [1.5, 2.0]
    with pytest.raises(InvalidDataError, match="holds int64 in the table, but the test table has 1 other cells"):
        as_held_by(pd.Series(["3", "many"], name="x"), whole)
