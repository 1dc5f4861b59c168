from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.columns import (
    as_numbers,
    as_texts,
    as_time,
    holds_booleans,
    holds_dates,
    holds_numbers,
    too_large,
    unreadable,
)

MIXED = pd.Series(["1", 2.5, "old", None, np.inf], dtype=object)


def test_cells_as_numbers() -> None:
    np.testing.assert_array_equal(as_numbers(MIXED), [1.0, 2.5, np.nan, np.nan, np.inf])
    np.testing.assert_array_equal(as_numbers(pd.Series([1, None], dtype="Int64")), [1.0, np.nan])


def test_cells_as_time() -> None:
    texts = pd.Series(["1970-01-02", "1969-12-31T12:00:00", None, "1970-01-01T01:00:00+01:00"])
    np.testing.assert_array_equal(as_time(texts[:1]), [1.0])
    np.testing.assert_array_equal(as_time(texts[1:2]), [-0.5])
    np.testing.assert_array_equal(as_time(texts[2:]), [np.nan, 0.0])
    np.testing.assert_array_equal(as_time(pd.Series(["9999-12-31", None])), [2_932_896.0, np.nan])
    np.testing.assert_array_equal(as_time(pd.Series(["1970-01-02", "1970-01-03 12:00:00.5"]), 1.0), [86400.0, 216000.5])
    zoned = pd.Series(pd.to_datetime(["1970-01-02"])).dt.tz_localize("Europe/Berlin")
    np.testing.assert_array_equal(as_time(zoned), [1.0 - 1.0 / 24.0])


def test_cells_as_texts() -> None:
    assert as_texts(MIXED).tolist() == ["1", "2.5", "old", "(missing)", "inf"]
    assert as_texts(pd.Series([True, False])).tolist() == ["True", "False"]


def test_what_cannot_be_read() -> None:
    assert unreadable(MIXED).tolist() == [False, False, True, False, False]
    dates = pd.Series(["2020-01-31", "soon", None])
    assert unreadable(dates, as_time).tolist() == [False, True, False]


def test_what_is_too_large() -> None:
    assert too_large(pd.Series([1e99, 1e101, -np.inf, np.nan])).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("cells", "booleans", "numbers", "dates"),
    [
        (pd.Series([True, False]), True, False, False),
        (pd.Series([True, None], dtype=object), True, False, False),
        (pd.Series([True, 1], dtype=object), False, True, False),
        (pd.Series([1, 2]), False, True, False),
        (pd.Series(["1", "2"]), False, True, False),
        (pd.Series(["1", "x"]), False, False, False),
        (pd.Series(["2020-01-31", None]), False, False, True),
        (pd.Series(["2020-01-31", "2020-99-99"]), False, False, False),
        (pd.Series(pd.to_datetime(["2020-01-31"])), False, False, True),
        (pd.Series([None, None], dtype=object), False, False, False),
    ],
)
def test_what_a_column_holds(cells: pd.Series[Any], booleans: bool, numbers: bool, dates: bool) -> None:
    assert (holds_booleans(cells), holds_numbers(cells), holds_dates(cells)) == (booleans, numbers, dates)
