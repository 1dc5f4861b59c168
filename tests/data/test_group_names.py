from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.attributes import Attribute
from cfad_core.data.group_names import as_values, with_names
from cfad_core.data.roles import ColumnRoles, resolve_roles


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (Attribute("black", ("1", "0")), ("black = 1", "black = 0")),
        (Attribute("black", ("1.0", "0.0")), ("black = 1", "black = 0")),
        (Attribute("citizen", ("No", "Yes")), ("citizen = No", "citizen = Yes")),
        (Attribute("race", ("3",)), ("race = 3", "race other than 3")),
        (Attribute("race", ("3", "5"), others="other"), ("race = 3", "race = 5", "other")),
        (Attribute("race", ("mixed", "5"), {"mixed": ("1", "2")}), ("mixed", "race = 5")),
        (Attribute("sex", ("Female", "Male")), ("Female", "Male")),
        (Attribute("age", cuts=(40.0,)), ("under 40", "40 or more")),
    ],
)
def test_names_of_groups(asked: Attribute, names: tuple[str, ...]) -> None:
    named = with_names(asked)
    assert named.grouping.names == names
    assert as_values(named) == asked
    assert with_names(named) == named


def test_a_reference_is_named_too() -> None:
    asked = Attribute("race", ("1", "2", "3"), reference="3", compare=("1", "3"))
    named = with_names(asked)
    assert (named.reference, named.compare) == ("race = 3", ("race = 1", "race = 3"))
    assert as_values(named) == asked


def test_the_groups_hold_the_same_people_and_twins_the_same_values() -> None:
    table = pd.DataFrame({"black": [0, 1, 1, 0], "pay": [1.0, 2.0, 3.0, 4.0]})
    asked = Attribute("black", ("1", "0"))
    roles = resolve_roles(table, ColumnRoles((with_names(asked),)))
    (groups,) = roles.groupings
    codes = groups.codes(table["black"])
    np.testing.assert_array_equal(codes, asked.grouping.codes(table["black"]))
    moved = groups.move(table["black"], 1 - codes)
    assert moved.tolist() == [1, 0, 0, 1]
    assert moved.dtype == table["black"].dtype
