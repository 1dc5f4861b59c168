"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from cfad_core.core.formats import counted, duration, number, percent, rounded_percent


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (0.0199, "2.0 %"), (0.02, "2 %"), (0.031, "3 %"), (0.125, "12 %"), (1.0, "100 %")],
)
def test_percents_of_sentences(share: float, text: str) -> None:
    assert rounded_percent(share) == text
    assert percent(share, 2) == f"{100 * share:.2f} %"


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
