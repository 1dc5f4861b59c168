from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.groups import Groups, matches


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
    ("groups", "cells", "names", "signs"),
    [
        (Groups(("f", "m")), ["f", "m", "x", None], ("f", "m"), [-1, 1, 0, 0]),
        (Groups(("f",)), ["f", "m", "x", None], ("f", "not f"), [-1, 1, 1, 0]),
        (Groups(cut=40.0), [39, 40, 41.5, None], ("under 40", "40 or more"), [-1, 1, 1, 0]),
        (Groups(cut=2.5), ["2", "3", "old", None], ("under 2.5", "2.5 or more"), [-1, 1, 0, 0]),
        (Groups(("1", "2")), [1, 2, 3, 1], ("1", "2"), [-1, 1, 0, -1]),
        (Groups(("1",)), [1.0, 2.0, np.nan], ("1", "not 1"), [-1, 1, 0]),
    ],
)
def test_groups(groups: Groups, cells: list[object], names: tuple[str, str], signs: list[int]) -> None:
    column = pd.Series(cells)
    assert groups.names == names
    assert groups.signs(column).tolist() == signs
    flipped = groups.flip(column, -groups.signs(column))
    assert groups.signs(flipped).tolist() == [-sign for sign in signs]  # what is written can be read again
    assert groups.flip(column, groups.signs(column)).equals(column)


def test_categories_may_lack_the_other_group() -> None:
    column = pd.Series(pd.Categorical(["f", "f"]))
    assert Groups(("f", "m")).flip(column, np.array([1.0, 1.0])).tolist() == ["m", "m"]
    assert Groups(cut=1234567.5).names == ("under 1234567.5", "1234567.5 or more")


def test_a_flipped_group_of_many_values_is_named() -> None:
    ages = pd.Series([30, 50])
    assert Groups(cut=40.0).flip(ages, np.array([1.0, -1.0])).tolist() == ["40 or more", "under 40"]
    origin = pd.Series(["A", "B", "C"])
    assert Groups(("A",)).flip(origin, np.array([1.0, -1.0, -1.0])).tolist() == ["not A", "A", "A"]
