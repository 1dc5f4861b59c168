"""Numbers as people read them."""

from __future__ import annotations

import math
from datetime import datetime

import pytest

from cfad_core.core.formats import (
    cell_text,
    cells_differ,
    counted,
    duration,
    listed,
    number,
    one_in,
    percent,
    percent_range,
    rounded_percent,
    share_of_people,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (0.0199, "2.0 %"), (0.02, "2 %"), (0.031, "3 %"), (0.125, "12 %"), (1.0, "100 %")],
)
def test_percents_of_sentences(share: float, text: str) -> None:
    assert rounded_percent(share) == text
    assert percent(share, 2) == f"{100 * share:.2f} %"


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0 %"), (0.0004, "under 0.1 %"), (0.001, "0.1 %"), (0.061, "6.1 %"), (1.0, "100.0 %")]
)
def test_shares_of_people(share: float, text: str) -> None:
    assert share_of_people(share) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.04, 0.089, "4.0 % to 8.9 %"),
        (0.0004, 0.089, "0 % to 8.9 %"),
        (0.0005, 0.089, "0.1 % to 8.9 %"),
        (0.0452, 0.0454, "4.5 %"),
        (0.0, 0.0009, "under 0.1 %"),
    ],
)
def test_ranges(low: float, high: float, text: str) -> None:
    assert percent_range(low, high) == text


@pytest.mark.parametrize("undefined", [None, math.nan])
def test_what_is_undefined_is_not_zero(undefined: float | None) -> None:
    assert percent(undefined) == number(undefined) == "n/a"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.000"), (12.34567, "12.346"), (-0.1, "-0.100"), (0.0123456, "0.0123"), (1e-9, "1e-09")]
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown"), (0.0, "1 s"), (5.2, "5 s"), (200.0, "3 min"), (4000.0, "1 h 7 min")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_counts() -> None:
    assert [counted(n, "edge") for n in (0, 1, 2000)] == ["0 edges", "1 edge", "2,000 edges"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "fewer than 1 in 1,000"),
        (0.00099, "fewer than 1 in 1,000"),
        (0.001, "about 1 in 1,000"),
        (0.0061, "about 1 in 160"),
        (0.05, "about 1 in 20"),
        (0.06, "about 1 in 17"),
        (0.15, "about 1 in 7"),
        (0.25, "about 1 in 4"),
        (0.274, "about 1 in 4"),
        (0.276, "about 3 in 10"),
        (1.0 / 3.0, "about 3 in 10"),
        (0.44, "about 4 in 10"),
        (0.5, "about 1 in 2"),
        (0.94, "about 9 in 10"),
        (0.95, "nearly everybody"),
    ],
)
def test_what_a_share_means_for_a_person(share: float, text: str) -> None:
    assert one_in(share) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["age"], "age"),
        (["age", "job"], "age and job"),
        (["age", "job", "city"], "age, job and city"),
        (["age", "job", "city", "debt", "sex"], "age, job, city and 2 more"),
    ],
)
def test_names_in_a_sentence(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_cells_of_a_table() -> None:
    assert cell_text(None) == "missing"
    assert cell_text(0.123456789) == "0.123457"
    assert cell_text(1.0 + 1e-9, 1.0) == "1.000000001"  # as many digits as distinguish the two
    assert cell_text(1.0, 1.0) == "1"
    assert cell_text(3, 4.0) == "3"
    assert cell_text("clerk", "smith") == "clerk"
    assert cell_text(datetime(2020, 1, 8)) == "2020-01-08"
    assert cell_text(datetime(2020, 1, 8, 12, 30)) == "2020-01-08 12:30:00"
    assert cells_differ(1, None)
    assert cells_differ("a", "b")
    assert not cells_differ(3, 3.0)
    assert not cells_differ(True, "True")
