"""Columns that give the label away, or say what others say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.findings import Finding
from cfad_core.data.leaks import Target, near_leaks, redundant_columns
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.validation import validate
from tests.conftest import make_people
from tests.data.worlds import applications, mixed

N = 3000
DRAW = np.random.default_rng(0)
DENIED = DRAW.random(N) < 0.2
LABEL = Target(DENIED, "the label", "'denied' is '1'", "label-leak")
ONE, OTHER = DRAW.normal(50.0, 9.0, N), DRAW.normal(9.0, 1.0, N)
LEVEL, PLACE = DRAW.choice(["a", "b", "c"], N), DRAW.choice(["n", "s"], N)
NEARLY = DENIED ^ (DRAW.random(N) < 0.005)


def leaks(**cells: Any) -> list[str]:
    return [finding.message for finding in near_leaks(pd.DataFrame(cells), list(cells), [LABEL])]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (np.where(DENIED, ONE, 0.0), "it is above 0 exactly where"),
        (np.where(DENIED, ONE, np.nan), "its cells are filled exactly where"),
        (np.where(DENIED, np.nan, ONE), "its cells are missing exactly where"),
        (np.where(DENIED, "refused", LEVEL), "it is 'refused' exactly where"),
        (np.where(DENIED, LEVEL, "paid"), "it is 'a' or 'c' or the like exactly where"),
        (np.where(NEARLY, ONE, 0.0), "it is above 0 where"),
        (np.where(NEARLY, "yes", "no"), "it is 'yes' where"),
        (np.where(NEARLY, np.array(None, dtype=object), LEVEL), "its cells are missing where"),
    ],
)
def test_what_gives_the_label_away(cells: Any, says: str) -> None:
    (message,) = leaks(extra=cells)
    assert message.startswith(f"Column 'extra' gives the label away: {says} 'denied' is '1'") or "or" in says
    assert message.endswith("% of the rows.") == ("exactly" not in says)


@pytest.mark.parametrize(
    "cells",
    [
        ONE,
        np.where(DENIED, ONE, ONE + 9.0),
        np.where(DRAW.random(N) < 0.9, np.where(DENIED, "yes", "no"), "?"),  # nine in ten are not nearly all
        [f"person {k}" for k in range(N)],
        np.where(DENIED, np.nan, np.where(DRAW.random(N) < 0.1, np.nan, ONE)),
        np.full(N, np.nan),
        np.full(N, 7.0),
    ],
)
def test_what_does_not(cells: Any) -> None:
    assert leaks(extra=cells) == []


def test_too_few_people_with_the_label_say_nothing() -> None:
    few = Target(np.arange(N) < 5, "the label", "it is", "label-leak")
    assert near_leaks(pd.DataFrame({"extra": np.arange(N)}), ["extra"], [few]) == []


def said(**cells: Any) -> dict[str, str]:
    return {str(f.column): f.message for f in redundant_columns(pd.DataFrame(cells), list(cells))}


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"x": np.log(ONE).round(4)}, "rises with 'one' as its logarithm"),
        ({"x": 2.0 * ONE - 7.0}, "rises with 'one' in proportion"),
        ({"x": -(ONE**3)}, "falls with 'one': they say the same"),
        ({"x": ONE + OTHER}, "is a sum or difference of 'one' and 'other'"),
        ({"x": (3.0 * ONE - OTHER).round(1)}, "is a sum or difference of 'one' and 'other'"),
        ({"x": (100.0 * ONE / OTHER).round(2)}, "is a product or ratio of 'one' and 'other'"),
        ({"x": np.where(DRAW.random(N) < 0.1, np.nan, ONE * OTHER)}, "is a product or ratio of 'one' and 'other'"),
        ({"x": pd.Series(LEVEL).map({"a": 3, "b": 1, "c": 2})}, "says the same as 'level'"),
        ({"x": LEVEL == "a"}, "is fixed by 'level'"),
        ({"x": (LEVEL == "a") ^ (PLACE == "n")}, "is fixed by 'level' and 'place' together"),
    ],
)
def test_what_others_say_already(cells: dict[str, Any], says: str) -> None:
    found = said(one=ONE, other=OTHER, level=LEVEL, place=PLACE, **cells)
    assert list(found) == ["x"]
    assert says in found["x"]


@pytest.mark.parametrize(
    "cells",
    [
        ONE + DRAW.normal(0.0, 1.0, N),
        ONE + OTHER + DRAW.normal(0.0, 0.5, N),
        np.where(DRAW.random(N) < 0.02, "c", LEVEL),
        np.where(np.arange(N) < 20, "rare", "usual"),
        np.concatenate([[1e9, -1e9], ONE[2:] * 0.0 + DRAW.normal(0.0, 1.0, N - 2)]),  # two far out make no relation
    ],
)
def test_what_they_do_not(cells: Any) -> None:
    assert said(one=ONE, other=OTHER, level=LEVEL, place=PLACE, x=cells) == {}


def test_ordinary_tables_have_none() -> None:
    for table in (make_people(2000, seed=1), mixed(2000)):
        assert redundant_columns(table, [str(name) for name in table]) == []


def test_all_rows_confirm_what_some_show() -> None:
    last = np.concatenate([[level == "a" for level in LEVEL], [False]])
    table = pd.DataFrame({"level": [*LEVEL, "a"], "x": last})
    longer = pd.concat([table.iloc[:-1]] * 3 + [table.iloc[-1:]], ignore_index=True)
    assert redundant_columns(longer, ["level", "x"]) == []
    assert redundant_columns(longer.iloc[:-1], ["level", "x"]) != []


def test_applications_for_mortgages() -> None:
    """Every column that was made to leak is found, and no other one."""
    table = applications(3000)
    roles = ColumnRoles("derived_sex", groups=("Female", "Male"), label="action_taken", anomaly="3")
    found = validate(table, roles).findings
    assert columns_of(found, "label-leak") == {"interest_rate", "rate_spread", "origination_charges", "denial_reason_1"}
    assert columns_of(found, "same-column") == {"log_loan_amount", "applicant_race_1"}
    assert columns_of(found, "fixed-column") == {"loan_to_value_ratio", "total_fees", "applicant_over_62"}
    assert columns_of(found, "sensitive-copied") == {"applicant_sex"}


def columns_of(findings: tuple[Finding, ...], code: str) -> set[str | None]:
    return {finding.column for finding in findings if finding.code == code}
