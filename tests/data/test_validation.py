from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidDataError
from cfad_core.data import roles as roles_module
from cfad_core.data.attributes import Attribute
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.validation import validate
from tests.conftest import make_people
from tests.data.worlds import arrests

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")


def people(n: int = 600) -> pd.DataFrame:
    return make_people(n, seed=0)


Found = tuple[str, str, str | None, int | None]


def found(table: pd.DataFrame, roles: ColumnRoles = ROLES, test: pd.DataFrame | None = None) -> set[Found]:
    return {(f.code, f.severity, f.column, f.count) for f in validate(table, roles, test).findings}


def codes(table: pd.DataFrame, roles: ColumnRoles = ROLES) -> list[str]:
    return [finding.code for finding in validate(table, roles).findings]


def test_nothing_is_found_about_a_clean_table() -> None:
    validation = validate(people(), ROLES)
    assert validation.findings == ()
    assert validation.is_usable
    assert validation.usable_roles() == dataclasses.replace(ROLES, groups=("a", "b"))


def test_roles_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = count_calls(monkeypatch, roles_module, "_column_findings")
    validate(people(), ROLES, make_people(200, seed=1)).usable_roles()
    assert len(checked) == 1


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """A list that grows with every call of a module's function."""
    calls: list[str] = []
    function: Callable[..., Any] = getattr(module, name)

    def counted(*arguments: Any) -> Any:
        calls.append(name)
        return function(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_errors_of_the_table_leave_the_roles_settled() -> None:
    validation = validate(spoiled(extra=np.nan), ROLES)
    assert validation.roles == dataclasses.replace(ROLES, groups=("a", "b"))
    assert [finding.code for finding in validation.errors] == ["all-missing"]
    assert not validation.is_usable
    with pytest.raises(InvalidDataError, match="Column 'extra' has no values at all. Ignore it."):
        validation.usable_roles()


def spoiled(**cells: Any) -> pd.DataFrame:
    return people().assign(**cells)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (spoiled(extra=np.nan), ("all-missing", "error", "extra", 600)),
        (spoiled(extra=[1.0] * 9 + [np.nan] * 591), ("nearly-empty", "error", "extra", 591)),
        (spoiled(extra=[np.inf] * 3 + [1.0] * 597), ("infinite", "error", "extra", 3)),
        (spoiled(extra=["?1"] * 5 + list(range(595))), ("mixed", "error", "extra", 5)),
        (spoiled(extra=[f"person {k}" for k in range(600)]), ("free-text", "error", "extra", 600)),
        (spoiled(extra=[f"town {k % 40}" for k in range(600)]), ("high-cardinality", "warning", "extra", 40)),
        (spoiled(extra=7), ("constant", "warning", "extra", 600)),
        (spoiled(extra=[None] * 9 + ["x", "y", "y"] * 197), ("missing", "warning", "extra", 9)),
        (spoiled(extra=[np.nan] * 400 + list(range(200))), ("missing", "warning", "extra", 400)),
        (spoiled(extra=people()["fraud"].map({"yes": 1, "no": 0})), ("label-leak", "warning", "extra", 600)),
        (spoiled(extra=people()["group"].str.upper()), ("sensitive-copied", "warning", "extra", 600)),
        (pd.concat([people(), people()[:10]]), ("duplicates", "info", None, 10)),
        (pd.concat([people(), people()[:200]]), ("duplicates", "warning", None, 200)),
        (people(300), ("few-rows", "warning", None, 300)),
        (spoiled(fraud=["yes"] * 400 + ["no"] * 200), ("mostly-anomalies", "warning", "fraud", 400)),
        (spoiled(extra=people()["debt"] * 2.0 + 1.0), ("same-column", "warning", "extra", None)),
        (spoiled(extra=people()["debt"] - people()["income"]), ("fixed-column", "warning", "extra", None)),
        (people(90), ("few-rows", "error", None, 90)),
        (spoiled(group=["a"] * 10 + ["b"] * 590), ("small-group", "error", "group", 10)),
        (people(2000).assign(group=["a"] * 50 + ["b"] * 1950), ("small-group", "warning", "group", 50)),
        (spoiled(fraud=[None] * 4 + ["no", "yes"] * 298), ("label-missing", "error", "fraud", 4)),
        (spoiled(fraud="no"), ("one-label", "error", "fraud", None)),
        (spoiled(fraud="yes"), ("one-label", "error", "fraud", 600)),
    ],
)
def test_each_finding_is_made(table: pd.DataFrame, expected: Found) -> None:
    assert expected in found(table)
    finding = next(f for f in validate(table, ROLES).findings if f.code == expected[0])
    assert finding.message.endswith(".")
    if finding.severity == "error":
        assert finding.remedy.endswith(".")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            spoiled(extra=people()["fraud"].map({"yes": 1, "no": 0})),
            "Column 'extra' determines the label 'fraud' exactly. Ignore it unless that is meant.",
        ),
        (
            spoiled(extra=people()["group"].str.upper()),
            "Column 'extra' determines the group of 'group' exactly. Ignore it unless that is meant.",
        ),
        (
            spoiled(extra=[f"town {k % 40}" for k in range(600)]),
            "Column 'extra' has 40 values; the 29 most frequent ones are distinguished. Merge values that belong "
            "together.",
        ),
        (
            spoiled(extra=["?1"] * 5 + list(range(595))),
            "Column 'extra' holds numbers, but text in 5 cells, such as '?1'. Correct them, or ignore the column.",
        ),
        (
            spoiled(extra=[None] * 9 + ["x", "y", "y"] * 197),
            "Column 'extra' has 9 missing cells of 600; they are a category of their own.",
        ),
        (
            spoiled(extra=[np.nan] * 400 + list(range(200))),
            "Column 'extra' has 400 missing cells of 600; they are filled with the median. Consider ignoring the "
            "column.",
        ),
    ],
)
def test_what_a_finding_says(table: pd.DataFrame, text: str) -> None:
    assert [finding.text for finding in validate(table, ROLES).findings] == [text]


def test_people_who_are_alike_by_chance_are_no_mistake() -> None:
    """Eight columns of few values: of 1,200 people many are alike, and nobody is there twice."""
    table = arrests()
    roles = ColumnRoles("colour", label="released", anomaly="No")
    (finding,) = (finding for finding in validate(table, roles).findings if finding.code == "duplicates")
    repeated = int(table.duplicated().sum())
    assert (finding.severity, finding.count) == ("info", repeated)
    assert repeated > 0.05 * len(table)
    assert "that is to be expected: they are different people." in finding.text
    twice = table.assign(pay=np.random.default_rng(0).normal(size=len(table)))
    (real,) = validate(pd.concat([twice, twice.head(300)]), roles).findings
    assert (real.code, real.severity, real.count) == ("duplicates", "warning", 300)


def test_one_group_only() -> None:
    validation = validate(spoiled(group="a"), ROLES)
    message = "The sensitive column 'group' has 1 value ('a')."
    assert validation.findings == (
        Finding("no-groups", "error", message, "There is nobody to compare with.", column="group"),
    )
    assert validation.roles is None
    assert not validation.is_usable


def test_rows_outside_the_groups_are_counted_and_not_looked_at() -> None:
    table = spoiled(group=["a", "b", "c"] * 200, extra=1.0)
    table.loc[table["group"] == "c", "extra"] = np.inf
    roles = dataclasses.replace(ROLES, groups=("a", "b"))
    assert found(table, roles) == {
        ("rows-outside-groups", "info", "group", 200),
        ("few-rows", "warning", None, 400),
        ("constant", "warning", "extra", 400),
    }


def test_wrong_roles_do_not_hide_wrong_columns() -> None:
    wrong = ColumnRoles("nobody", label="nothing")
    assert codes(spoiled(extra=np.nan), wrong) == ["unknown-column", "unknown-column", "all-missing"]
    assert codes(pd.concat([people(), people()[["debt"]]], axis=1), wrong) == ["duplicate-columns"]


def test_errors_come_first() -> None:
    assert codes(spoiled(extra=[np.nan] * 9 + list(range(591)), more=np.nan)) == ["all-missing", "missing"]


def test_a_test_table_of_its_own() -> None:
    test = make_people(200, seed=1)
    assert validate(people(), ROLES, test).findings == ()
    assert ("test-columns", "error", None, 1) in found(people(), ROLES, test.drop(columns="debt"))
    assert ("one-test-label", "warning", "fraud", 200) in found(people(), ROLES, test.assign(fraud="no"))
    assert ("no-test-rows", "error", "group", None) in found(people(), ROLES, test.assign(group="c"))
    assert ("rows-outside-groups", "info", "group", 200) in found(people(), ROLES, test.assign(group="c"))
    normal = people().assign(fraud="no")
    assert validate(normal, ROLES, test).findings == ()  # anomalies to judge are enough


def test_a_rare_value_that_happens_to_determine_the_label_is_no_leak() -> None:
    assert codes(spoiled(extra=range(600))) == []
    assert codes(spoiled(extra=[k // 21 for k in range(600)])) == []  # frequent values, but they determine nothing


# More than two groups, and more than one attribute


def with_groups(**counts: int) -> pd.DataFrame:
    cells = [value for value, count in counts.items() for _ in range(count)]
    return make_people(len(cells), seed=0).assign(group=np.random.default_rng(0).permutation(cells))


def texts(table: pd.DataFrame, roles: ColumnRoles) -> list[str]:
    return [finding.text for finding in validate(table, roles).findings]


def test_rare_values_that_were_taken_together_are_counted() -> None:
    table = with_groups(a=400, b=300, c=50, d=40, e=2)
    validation = validate(table, ROLES)
    assert validation.is_usable
    assert validation.usable_roles().groupings[0].names == ("a", "b", "other")
    assert found(table) == {("merged-values", "info", "group", None)}  # 92 would give the 2 away
    assert texts(table, ROLES) == ["Group 'other' of 'group' takes together 'c' (50), 'd' (40), 'e' (<10)."]
    larger = with_groups(a=400, b=300, c=50, d=40, e=10)
    assert found(larger) == {("merged-values", "info", "group", 100)}
    assert texts(larger, ROLES) == ["Group 'other' of 'group' takes together 'c' (50), 'd' (40), 'e' (10)."]


def test_rare_values_that_join_others_are_counted_with_them() -> None:
    table = with_groups(a=400, Other=300, c=50)
    assert texts(table, ROLES) == ["Group 'Other' of 'group' takes together 'Other' (300), 'c' (50)."]
    many = with_groups(a=400, b=300, **{f"v{k}": 20 - k for k in range(10)})
    (text,) = texts(many, ROLES)
    assert text.endswith("'v6' (14), 'v7' (13) and 2 more.")
    assert found(many) == {("merged-values", "info", "group", 155)}


def test_merged_values_are_named_but_one_against_all_others_says_it_all() -> None:
    table = with_groups(a=300, b=200, c=200)
    asked = dataclasses.replace(ROLES, sensitive=(Attribute("group", ("x", "c"), {"x": ("a", "b")}),))
    assert texts(table, asked) == ["Group 'x' of 'group' takes together 'a' (300), 'b' (200)."]
    assert texts(table, dataclasses.replace(ROLES, groups=("a",))) == []


def test_rows_outside_are_counted_by_attribute() -> None:
    table = with_groups(a=300, b=200, c=200, d=30, e=20).assign(region=["n", "s"] * 375)
    table.loc[table.index[:11], "region"] = None
    roles = dataclasses.replace(ROLES, sensitive=(Attribute("group", ("a", "b", "c")), Attribute("region")))
    assert [text for text in texts(table, roles) if "left out" in text] == [
        "50 of 750 rows are left out: their 'group' is none of 'a', 'b', 'c'.",
        "11 of 750 rows are left out: their 'region' is neither 'n' nor 's'.",
    ]
    table["region"] = ["n", "s"] * 375
    table.loc[table.index[:9], "region"] = None
    few = [finding for finding in validate(table, roles).findings if finding.column == "region"]
    assert [finding.text for finding in few] == ["<10 rows are left out: their 'region' is neither 'n' nor 's'."]
    assert few[0].to_dict()["count"] is None


def test_every_group_of_every_attribute_must_be_large_enough() -> None:
    table = with_groups(a=300, b=280, c=20)
    roles = dataclasses.replace(ROLES, sensitive=(Attribute("group"), Attribute("region")))
    named = dataclasses.replace(ROLES, sensitive=(Attribute("group", ("a", "b", "c")), Attribute("region")))
    table["region"] = np.where(np.arange(600) < 575, "n", "s")
    table = table.assign(group=lambda some: some["group"].mask(some["region"] == "s", "a"))
    outside = int((table["group"] == "c").sum())
    assert ("small-group", "error", "region", 25) in found(table, roles)
    assert ("rows-outside-groups", "info", "group", outside) in found(table, roles)  # too few to be a group
    assert ("small-group", "error", "group", outside) in found(table, named)
    few = "There are 90 rows in the groups; at least 100 are needed. Add more rows."
    assert few in texts(with_groups(a=30, b=30, c=30), ROLES)


def test_what_determines_a_group_of_any_attribute_is_named() -> None:
    table = with_groups(a=300, b=200, c=200).assign(region=["n", "s"] * 350)
    table["copy"] = table["group"].str.upper()
    table["half"] = table["region"].map({"n": 1, "s": 2})
    roles = dataclasses.replace(ROLES, sensitive=("group", "region"))
    assert [text for text in texts(table, roles) if "determines" in text] == [
        "Column 'copy' determines the group of 'group' exactly. Ignore it unless that is meant.",
        "Column 'half' determines the group of 'region' exactly. Ignore it unless that is meant.",
    ]


def test_a_test_table_needs_all_attributes_and_people_of_their_groups() -> None:
    table = with_groups(a=300, b=200, c=200).assign(region=["n", "s"] * 350)
    roles = dataclasses.replace(ROLES, sensitive=("group", "region"))
    assert ("test-columns", "error", None, 1) in found(table, roles, table.drop(columns="region"))
    nobody = [f.text for f in validate(table, roles, table.assign(region="west")).errors]
    assert nobody == [
        "No test row belongs to one of the groups 'a' and 'b' and 'c' and 'n' and 's'. Add rows of these groups."
    ]


@pytest.mark.parametrize("sensitive", [("group", "group"), ("group", "debt", "income", "schooling")])
def test_columns_that_cannot_be_sensitive_do_not_hide_wrong_columns(sensitive: tuple[str, ...]) -> None:
    wrong = dataclasses.replace(ROLES, sensitive=sensitive)
    assert {"sensitive-columns", "all-missing"} <= set(codes(spoiled(extra=np.nan), wrong))
