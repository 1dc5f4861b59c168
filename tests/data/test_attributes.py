"""Sensitive attributes: which groups they have, by hand, against pandas, and whatever the column holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain
from cfad_core.data.attributes import MAX_GROUPS, Attribute, attribute_findings, settle
from cfad_core.data.groups import OUTSIDE, Groups, band_names


def column(**counts: int) -> pd.Series[Any]:
    """So many cells of each value, in an order that says nothing."""
    cells = [value for value, count in counts.items() for _ in range(count)]
    return pd.Series(np.random.default_rng(0).permutation(cells), name="race")


def problems(cells: pd.Series[Any], asked: Attribute) -> list[tuple[str, str]]:
    return [(finding.code, finding.text) for finding in attribute_findings(cells, asked)]


def settled(cells: pd.Series[Any], asked: Attribute | None = None) -> Attribute:
    asked = asked or Attribute("race")
    assert attribute_findings(cells, asked) == []
    return settle(cells, asked)


# Groups that nobody named


def test_two_values_are_two_groups_in_their_order() -> None:
    assert settled(column(White=40, Black=900)).groups == ("Black", "White")
    assert settled(pd.Series([1.0, -1.0, 1.0])).groups == ("-1.0", "1.0")
    assert settled(pd.Series([True, False, None])).groups == ("False", "True")


def test_every_frequent_value_is_a_group_the_most_frequent_first() -> None:
    found = settled(column(a=100, b=300, c=200))
    assert (found.groups, found.others, found.merged) == (("b", "c", "a"), None, {})
    assert found.is_settled
    assert found.grouping.names == ("b", "c", "a")
    alike = column(c=200, b=200, a=200)
    assert settled(alike).groups == settled(alike[::-1]).groups == ("a", "b", "c")


def test_rarer_values_are_taken_together() -> None:
    found = settled(column(a=300, b=200, c=99, d=1))
    assert (found.groups, found.others) == (("a", "b"), "other")
    assert found.grouping.names == ("a", "b", "other")
    cells = pd.Series(["c", "a", "d", "b", None, "never seen"])
    assert found.grouping.codes(cells).tolist() == [2, 0, 2, 1, OUTSIDE, 2]


@pytest.mark.parametrize("called", ["Other", "other", "OTHERS"])
def test_rarer_values_join_one_that_is_called_other(called: str) -> None:
    found = settled(column(**{"a": 300, called: 200, "c": 99, "d": 1}))
    assert (found.groups, found.others) == (("a", called), None)
    assert found.merged == {called: (called, "c", "d")}
    assert found.grouping.codes(pd.Series(["c", "a", called, "d"])).tolist() == [1, 0, 1, 1]


def test_a_few_people_of_rare_values_are_left_out() -> None:
    """Fewer than 60 in all: nothing could be said about them."""
    found = settled(column(a=300, b=200, c=59))
    assert (found.groups, found.others) == (("a", "b"), None)
    assert found.grouping.codes(pd.Series(["c", "a"])).tolist() == [OUTSIDE, 0]
    assert settled(column(a=300, b=200, c=30, d=30)).others == "other"


def test_in_a_small_table_every_value_is_a_group() -> None:
    assert settled(column(a=20, b=30, c=25)).groups == ("b", "c", "a")
    assert settled(column(a=150, b=30, c=25)).groups == ("a", "b", "c")


@pytest.mark.parametrize(("values", "named", "others"), [(12, 12, None), (13, 11, "other"), (30, 11, "other")])
def test_there_are_no_more_than_twelve(values: int, named: int, others: str | None) -> None:
    counts = {f"v{k:02d}": 400 - k for k in range(values)}
    found = settled(column(**counts))
    assert found.groups == tuple(counts)[:named]
    assert found.others == others
    assert len(found.grouping.names) == min(12, values) <= MAX_GROUPS
    rare = {f"r{k}": 5 for k in range(20)}
    with_rare = settled(column(**{f"v{k:02d}": 400 - k for k in range(12)}, **rare))
    assert len(with_rare.grouping.names) == 12  # eleven, and all others
    codes = with_rare.grouping.codes(pd.Series(["v00", "v10", "v11", "r0"]))
    assert codes.tolist() == [0, 10, 11, 11]


def test_values_may_be_merged_where_the_others_are_groups_by_themselves() -> None:
    asked = Attribute("race", merged={"Asian": ("Chinese", "Indian")})
    found = settled(column(White=500, Black=300, Chinese=20, Indian=30, x=3), asked)
    assert found.groups == ("White", "Black", "Asian")  # however few they are
    assert found.grouping.codes(pd.Series(["Indian", "Chinese", "Asian", "x"])).tolist() == [2, 2, 2, OUTSIDE]
    numbers = pd.Series([1.0] * 200 + [2.0] * 150 + [3.0] * 120)
    found = settled(numbers, Attribute("race", merged={"low": ("1", "2")}))
    assert found.grouping.codes(pd.Series([1.0, 2.0, 3.0])).tolist() == [0, 0, 1]


def test_categories_that_nobody_has_are_no_groups() -> None:
    cells = column(a=300, b=200, c=150).astype(pd.CategoricalDtype(["a", "b", "c", "other", "z"]))
    found = settled(cells)
    assert (found.groups, found.others, found.merged) == (("a", "b", "c"), None, {})


# Groups that somebody named


def test_named_groups_keep_their_order_and_others_may_have_a_name() -> None:
    cells = column(a=30, b=30, c=30, d=30)
    groups = settled(cells, Attribute("race", ("c", "a"))).grouping
    assert groups == Groups("race", ("c", "a"), (("c",), ("a",)))
    assert groups.codes(pd.Series(["a", "b", "c"])).tolist() == [1, OUTSIDE, 0]
    rest = settled(cells, Attribute("race", ("c", "a"), others="the rest")).grouping
    assert rest.names == ("c", "a", "the rest")
    assert rest.codes(pd.Series(["a", "b", "c", "d", "e", None])).tolist() == [1, 2, 0, 2, 2, OUTSIDE]
    one = settled(cells, Attribute("race", ("c",), others="the rest")).grouping
    assert one.names == ("c", "the rest")
    assert settled(cells, Attribute("race", ("c",))).grouping.names == ("c", "not c")


def test_merged_groups_by_hand() -> None:
    cells = column(a=30, b=30, c=30, d=30)
    asked = Attribute("race", ("ab", "c"), merged={"ab": ("a", "b")})
    groups = settled(cells, asked).grouping
    assert groups.codes(pd.Series(["a", "b", "c", "d", "ab"])).tolist() == [0, 0, 1, OUTSIDE, 0]
    moved = groups.move(pd.Series(["a", "b", "c"]), np.array([1, 0, 0]))
    assert moved.tolist() == ["c", "b", "ab"]  # nobody knows which of the two


def test_groups_may_be_renamed() -> None:
    groups = settled(
        pd.Series([1, 2, 3] * 9), Attribute("race", ("north", "south"), {"north": ("1",), "south": ("3",)})
    )
    assert groups.grouping.codes(pd.Series([1, 2, 3])).tolist() == [0, OUTSIDE, 1]
    moved = groups.grouping.move(pd.Series([1, 3]), np.array([1, 0]))
    assert moved.tolist() == [3, 1]
    assert moved.dtype == np.int64


# Bands


@pytest.mark.parametrize(
    ("cuts", "names"),
    [
        ((40.0,), ("under 40", "40 or more")),
        ((25.0, 40.0), ("under 25", "25 to under 40", "40 or more")),
        ((-1.5, 0.0, 1e6), ("under -1.5", "-1.5 to under 0", "0 to under 1000000", "1000000 or more")),
    ],
)
def test_names_of_bands(cuts: tuple[float, ...], names: tuple[str, ...]) -> None:
    assert band_names(cuts) == names
    assert Attribute("age", cuts=cuts).grouping.names == names


def test_a_number_at_a_cut_point_is_above_it() -> None:
    groups = Attribute("age", cuts=(25.0, 40.0)).grouping
    cells = pd.Series([24.999, 25.0, 39, 40, "41", "old", None, -np.inf, np.inf], dtype=object)
    assert groups.codes(cells).tolist() == [0, 1, 1, 2, 2, OUTSIDE, OUTSIDE, 0, 2]
    moved = groups.move(pd.Series([10, 30, 50]), np.array([0, 2, 1]))
    assert moved.tolist() == [10, "40 or more", "25 to under 40"]
    assert groups.codes(moved).tolist() == [0, 2, 1]


@pytest.mark.parametrize("bands", [2, 3, 6])
def test_bands_have_about_as_many_people(bands: int) -> None:
    ages = pd.Series(np.random.default_rng(0).integers(18, 90, 3000), name="age")
    found = settled(ages, Attribute("age", bands=bands))
    assert found.bands is None
    assert len(found.cuts) == bands - 1
    shares = np.bincount(found.grouping.codes(ages)) / 3000
    np.testing.assert_allclose(shares, 1.0 / bands, atol=0.02)
    assert set(found.cuts) <= set(ages)  # people know these numbers


@pytest.mark.parametrize("bands", [2, 3])
def test_bands_of_a_column_in_which_most_have_the_lowest_number(bands: int) -> None:
    gains = pd.Series([0.0] * 70 + list(range(1, 31)))
    message = f"Column 'x' has too few different numbers for {bands} bands of people. Give fewer bands, or cut points."
    assert problems(gains, Attribute("x", bands=bands)) == [("bad-cut", message)]
    assert settled(gains, Attribute("x", cuts=(1.0,))).grouping.codes(gains).sum() == 30
    fewer = pd.Series([0.0] * 40 + list(range(1, 61)))
    assert settled(fewer, Attribute("x", bands=2)).cuts == (11.0,)


# What is refused


RACES = column(a=30, b=30, c=30)
AGES = pd.Series(np.arange(90.0), name="age")


@pytest.mark.parametrize(
    ("cells", "asked", "code", "text"),
    [
        (RACES, Attribute("race", ("a", "x")), "unknown-group", "No row of 'race' holds the group 'x'; it holds "),
        (RACES, Attribute("race", ()), "no-groups", "Expected 1 to 12 groups of 'race'; got 0."),
        (RACES, Attribute("race", tuple("abcdefghijklm")), "no-groups", "Expected 1 to 12 groups of 'race'; got 13."),
        (RACES, Attribute("race", tuple("abcdefghijkl"), others="z"), "no-groups", "of 'race'; got 13."),
        (RACES, Attribute("race", ("a", "b", "a")), "same-group", "The two groups must differ; 'a' and 'a' do not."),
        (RACES, Attribute("race", ("a", "b"), others="b"), "same-group", "The groups must differ; 'b' is there twice."),
        (
            RACES,
            Attribute("race", ("ab", "b"), {"ab": ("a", "b")}),
            "same-group",
            "The two groups must differ; 'ab' and 'b' do not.",
        ),
        (
            RACES,
            Attribute("race", ("a", "b"), {"x": ("c",)}),
            "no-groups",
            "The merged group 'x' is not among the groups a, b.",
        ),
        (RACES, Attribute("race", ("a", "x"), {"x": ()}), "no-groups", "The merged group 'x' has no values."),
        (
            RACES,
            Attribute("race", ("a", "x"), {"x": ("b", "z")}),
            "unknown-group",
            "No row of 'race' holds the group 'z'; it holds ",
        ),
        (
            RACES,
            Attribute("race", ("c", "x"), {"c": ("a", "b"), "x": ("c",)}),
            "same-group",
            "called like a value that it does not hold. Call it something else, or add the value.",
        ),
        (
            RACES,
            Attribute("race", ("a", "b"), {"a": ("b",), "b": ("a",)}),
            "same-group",
            "Group 'a' of 'race' is called like a value that it does not hold.",
        ),
        (
            RACES,
            Attribute("race", ("ab",), {"ab": ("a", "b")}, others="b"),
            "same-group",
            "Group 'b' of 'race' is called like a value that it does not hold.",
        ),
        (
            RACES,
            Attribute("race", merged={"x": ("typo",)}),
            "unknown-group",
            "No row of 'race' holds the group 'typo'; it holds ",
        ),
        (
            column(a=300, b=200, other=20, c=70),
            Attribute("race", merged={"few": ("other",)}),
            "same-group",
            "Group 'other' of 'race' is called like a value that it does not hold.",
        ),
        (
            AGES,
            Attribute("age"),
            "no-groups",
            "The sensitive column 'age' holds 90 different numbers. Give cut points ",
        ),
        (AGES, Attribute("age", cuts=(np.nan,)), "bad-cut", "The cut point must be a finite number."),
        (AGES, Attribute("age", cuts=(np.inf,)), "bad-cut", "The cut point must be a finite number."),
        (
            AGES,
            Attribute("age", cuts=(40.0, 25.0)),
            "bad-cut",
            "Expected ascending cut points of 'age', at most 11; got 40, 25.",
        ),
        (
            AGES,
            Attribute("age", cuts=(4.0, 4.0)),
            "bad-cut",
            "Expected ascending cut points of 'age', at most 11; got 4, 4.",
        ),
        (
            AGES,
            Attribute("age", cuts=tuple(map(float, range(12)))),
            "bad-cut",
            "Expected ascending cut points of 'age', at most 11; got 0, 1, 2, ",
        ),
        (
            RACES,
            Attribute("race", cuts=(4.0,)),
            "bad-cut",
            "not numbers. Name its groups by their values.",
        ),
        (AGES, Attribute("age", bands=1), "bad-cut", "Expected 2 to 6 bands of 'age'; got 1."),
        (AGES, Attribute("age", bands=7), "bad-cut", "Expected 2 to 6 bands of 'age'; got 7."),
        (
            AGES,
            Attribute("age", ("1",), cuts=(4.0,)),
            "two-groupings",
            "Groups are given by values or by a cut point, not by both. Drop one.",
        ),
        (
            AGES,
            Attribute("age", others="x", bands=3),
            "two-groupings",
            "Groups are given by values or by a band, not by both. Drop one.",
        ),
        (
            AGES,
            Attribute("age", cuts=(4.0,), bands=3),
            "two-groupings",
            "by values or by a band, not by both. Drop one.",
        ),
        (
            RACES,
            Attribute("race", ("a", "b"), reference="c"),
            "unknown-reference",
            "'c' (reference) is no group of 'race'; its groups are a, b. Name one of them.",
        ),
        (
            RACES,
            Attribute("race", ("a", "b"), compare=("a", "z")),
            "unknown-reference",
            "'z' (compare) is no group of 'race'; its groups are a, b. Name one of them.",
        ),
        (
            AGES,
            Attribute("age", cuts=(40.0,), reference="40"),
            "unknown-reference",
            "'40' (reference) is no group of 'age'; its groups are under 40, 40 or more. Name one of them.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused(cells: pd.Series[Any], asked: Attribute, code: str, text: str) -> None:
    ((found, message),) = problems(cells, asked)
    assert found == code
    assert re.search(re.escape(text), message)


def test_all_choices_that_are_wrong_are_named() -> None:
    asked = Attribute("race", ("a", "b"), reference="x", compare=("y", "a"))
    assert [text.split("'")[1] for _, text in problems(RACES, asked)] == ["x", "y"]
    by_default = Attribute("race", reference="a", compare=("b", "c"))
    assert problems(RACES, by_default) == []  # of groups that nobody named


def test_groups_must_be_settled_first() -> None:
    for asked in (Attribute("race"), Attribute("age", bands=3)):
        assert not asked.is_settled
        with pytest.raises(InvalidDataError, match="groups of the sensitive column '.*' must be settled first"):
            _ = asked.grouping
    assert Attribute("race", ("a",)).is_settled
    assert Attribute("age", cuts=(1.0,)).is_settled


def test_they_survive_json_and_can_be_hashed() -> None:
    asked = Attribute("race", ("ab", "c"), {"ab": ("a", "b")}, others="rest", reference="c", compare=("ab", "rest"))
    for one in (asked, Attribute("age", cuts=(0.1 + 0.2, 4.0)), Attribute("age", bands=3), Attribute("sex")):
        plain = json.loads(json.dumps(vars(one)))
        assert from_plain(Attribute, plain, "attribute") == one
        assert hash(one) == hash(replace(one))


# Whatever the column holds

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "1", "2.5", "other", "not a", "under 3"])


@st.composite
def attributes(draw: st.DrawFn) -> tuple[pd.Series[Any], Attribute]:
    """A column, and an attribute that fits it."""
    values = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    cells = pd.Series(draw(st.lists(st.sampled_from(values) | st.none(), min_size=20, max_size=60)), dtype=object)
    held = [value for value in values if (cells == value).any()]
    assume(len(held) >= 2)
    names = draw(st.permutations(held))[: draw(st.integers(1, len(held)))]
    merged: dict[str, tuple[str, ...]] = {}
    groups = list(names)
    if len(names) > 2 and draw(st.booleans()):
        merged = {"merged": tuple(names[:2])}
        groups = ["merged", *names[2:]]
    others = draw(st.sampled_from([None, "the others"]))
    asked = Attribute("x", tuple(groups), merged, others)
    assume(not attribute_findings(cells, asked))
    return cells, asked


def by_brute_force(cells: pd.Series[Any], groups: Groups) -> list[int]:
    """Cell by cell."""
    found = []
    for cell in cells:
        if cell is None or pd.isna(cell):
            found.append(OUTSIDE)
            continue
        held = [k for k, some in enumerate(groups.values) if cell in some]
        named = [k for k, name in enumerate(groups.names) if cell == name]
        rest = [k for k, some in enumerate(groups.values) if not some]
        found.append([*held, *named, *rest, OUTSIDE][0])
    return found


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(attributes(), st.randoms(use_true_random=False))
def test_people_can_be_moved_to_any_group(case: tuple[pd.Series[Any], Attribute], random: Any) -> None:
    cells, asked = case
    groups = settle(cells, asked).grouping
    codes = groups.codes(cells)
    assert codes.tolist() == by_brute_force(cells, groups)
    assert codes.min() >= OUTSIDE
    assert codes.max() < len(groups.names)
    assert groups.move(cells, codes).equals(cells)  # every bit
    target = np.array([random.randrange(len(groups.names)) if code >= 0 else code for code in codes])
    moved = groups.move(cells, target)
    assert groups.codes(moved).tolist() == target.tolist()
    stay = target == codes
    assert moved[stay].equals(cells[stay].astype(moved.dtype))
    back = groups.move(moved, codes)
    assert groups.codes(back).tolist() == codes.tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-100, 100) | st.none(), min_size=5, max_size=40),
    st.lists(st.integers(-80, 80), min_size=1, max_size=5, unique=True),
    st.randoms(use_true_random=False),
)
def test_bands_are_those_of_pandas(values: list[float | None], cuts: list[int], random: Any) -> None:
    cells = pd.Series(values, dtype=np.float64)
    ends = tuple(map(float, sorted(cuts)))
    groups = Attribute("x", cuts=ends).grouping
    expected = pd.cut(cells, [-np.inf, *ends, np.inf], right=False).cat.codes
    codes = groups.codes(cells)
    assert codes.tolist() == expected.tolist()
    assert groups.move(cells, codes).equals(cells)
    target = np.array([random.randrange(len(groups.names)) if code >= 0 else code for code in codes])
    assert groups.codes(groups.move(cells, target)).tolist() == target.tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=3), st.integers(1, 250)), min_size=2, max_size=18))
def test_whatever_a_column_holds_everybody_is_in_one_group_or_left_out(counts: list[tuple[str, int]]) -> None:
    cells = pd.Series([value for value, count in counts for _ in range(count)], dtype=object)
    if attribute_findings(cells, Attribute("x")):
        return  # texts that are the same number, or one value only
    groups = settle(cells, Attribute("x")).grouping
    assert 2 <= len(groups.names) <= MAX_GROUPS
    sizes = np.bincount(groups.codes(cells) + 1, minlength=len(groups.names) + 1)
    assert (sizes[1:] > 0).all()
    assert sizes[0] < 60 or sizes[0] == (cells.isna()).sum()
