"""Numbers are what is written: the values of the JSON are those of the text, to the digit."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cfad_core.evaluation.intervals import Interval
from cfad_core.report.numbers import Number, amount, count, decimal, points, share, share_range
from tests.report.kinds import printed

SHARES = st.floats(0.0, 1.0)
FLOATS = st.floats(-1e6, 1e6)


def values(number: Number) -> list[float]:
    return [value for value in (number.value, number.low, number.high) if value is not None]


@settings(max_examples=200, derandomize=True)
@given(SHARES, st.tuples(SHARES, SHARES))
@example(0.0005, (0.00049999, 0.2675))
@example(0.125, (0.0625, 0.9995))
def test_shares(value: float, ends: tuple[float, float]) -> None:
    for number in (
        share(value),
        share(value, Interval(*ends)),
        share(np.float64(value), Interval(*map(np.float64, ends))),
    ):
        assert values(number) == printed(number.shown)
        assert number.unit == "%"
        assert number.value is not None
        assert abs(number.value - 100.0 * value) <= 0.05 + 1e-9
    alone = share_range(*ends)
    assert [alone.low, alone.high] == printed(alone.shown)
    assert alone.value is None


@settings(max_examples=200, derandomize=True)
@given(FLOATS, st.tuples(FLOATS, FLOATS), st.integers(1, 3))
@example(2.675, (1.005, -0.0004), 2)
def test_plain_numbers_and_points(value: float, ends: tuple[float, float], digits: int) -> None:
    between = Interval(*ends)
    for number in (decimal(value, between, digits), decimal(np.float64(value), digits=digits), points(value, between)):
        assert values(number) == printed(number.shown)
        assert "-0.0 " not in f"{number.shown} "
        assert json.loads(json.dumps(number.to_dict(), allow_nan=False))["value"] == number.value
    assert abs((decimal(value, digits=digits).value or 0.0) - value) <= 0.5 * 10.0**-digits + 1e-9


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_undefined_has_no_value(value: float | None) -> None:
    for number in (share(value), decimal(value), points(value)):
        assert number.to_dict() == {"value": None, "shown": "n/a"}
    assert share(value, undefined="nobody").shown == decimal(value, undefined="nobody").shown == "nobody"


@pytest.mark.parametrize("ends", [(0.1, math.inf), (math.nan, 0.2)])
def test_an_interval_without_an_end_is_none(ends: tuple[float, float]) -> None:
    for make in (share, decimal, points):
        assert make(0.125, Interval(*ends)) == make(0.125)


def test_how_they_are_shown() -> None:
    assert share(0.1234, Interval(0.05, 1.0)).to_dict() == {
        **{"value": 12.3, "shown": "12.3 % (5.0 % to 100.0 %)"},
        **{"unit": "%", "low": 5.0, "high": 100.0},
    }
    assert decimal(0.5, Interval(0.0, 1.0)).to_dict() == {
        **{"value": 0.5, "shown": "0.50 (0.00 to 1.00)"},
        **{"low": 0.0, "high": 1.0},
    }
    assert points(-0.00004).shown == "0.0 points"
    assert points(0.083, Interval(-0.01, 0.131)).shown == "8.3 points (-1.0 to 13.1)"
    assert amount(1234567).to_dict() == {"value": 1234567, "shown": "1,234,567"}
    assert json.dumps(amount(np.int64(7)).to_dict())  # type: ignore[arg-type]


def test_counts_of_fewer_than_ten_people_are_hidden() -> None:
    assert [count(n).shown for n in (0, 1, 9, 10, 1000)] == ["0", "<10", "<10", "10", "1,000"]
    assert [count(n).value for n in (1, 9, None)] == [None, None, None]
    assert count(None).shown == "<10"
