from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.attributes import Attribute
from cfad_core.data.groups import matches


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
def test_values_match_as_text_or_as_numbers(column: list[object], text: str, expected: list[bool]) -> None:
    assert matches(pd.Series(column), text).tolist() == expected


@pytest.mark.parametrize(
    ("asked", "cells", "names", "codes"),
    [
        (Attribute("x", ("f", "m")), ["f", "m", "x", None], ("f", "m"), [0, 1, -1, -1]),
        (Attribute("x", ("f",)), ["f", "m", "x", None], ("f", "not f"), [0, 1, 1, -1]),
        (Attribute("x", cuts=(40.0,)), [39, 40, 41.5, None], ("under 40", "40 or more"), [0, 1, 1, -1]),
        (Attribute("x", cuts=(2.5,)), ["2", "3", "old", None], ("under 2.5", "2.5 or more"), [0, 1, -1, -1]),
        (Attribute("x", ("1", "2")), [1, 2, 3, 1], ("1", "2"), [0, 1, -1, 0]),
        (Attribute("x", ("1",)), [1.0, 2.0, np.nan], ("1", "not 1"), [0, 1, -1]),
    ],
)
def test_two_groups(asked: Attribute, cells: list[object], names: tuple[str, str], codes: list[int]) -> None:
    column, groups = pd.Series(cells), asked.grouping
    assert groups.names == names
    assert groups.codes(column).tolist() == codes
    other = np.array([1 - code if code >= 0 else code for code in codes])
    assert groups.codes(groups.move(column, other)).tolist() == other.tolist()  # what is written can be read again
    assert groups.move(column, groups.codes(column)).equals(column)


def test_categories_may_lack_the_other_group() -> None:
    column = pd.Series(pd.Categorical(["f", "f"]))
    assert Attribute("x", ("f", "m")).grouping.move(column, np.array([1, 1])).tolist() == ["m", "m"]
    assert Attribute("x", cuts=(1234567.5,)).grouping.names == ("under 1234567.5", "1234567.5 or more")


def test_a_group_of_many_values_is_named_in_twins() -> None:
    ages = pd.Series([30, 50])
    assert Attribute("x", cuts=(40.0,)).grouping.move(ages, np.array([1, 0])).tolist() == ["40 or more", "under 40"]
    origin = pd.Series(["A", "B", "C"])
    assert Attribute("x", ("A",)).grouping.move(origin, np.array([1, 0, 0])).tolist() == ["not A", "A", "A"]
