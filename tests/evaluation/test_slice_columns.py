"""Columns cut into cells: everybody is where the label says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.evaluation.slice_columns import SliceColumn, level_column, number_column


def by_label(label: str, numbers: np.ndarray) -> np.ndarray:
    """Who a label means, read as a person reads it; "25 to 39" is of whole numbers."""
    if label == "missing":
        return np.asarray(~np.isfinite(numbers))
    if label == "known":
        return np.asarray(np.isfinite(numbers))
    ends = [float(text.replace(",", "")) for text in re.findall(r"-?[\d,]+(?:\.\d+)?", label)]
    words = re.sub(r"-?[\d,]+(?:\.\d+)?", "#", label)
    readings = {
        "#": lambda x: x == ends[0],
        "under #": lambda x: x < ends[0],
        "over #": lambda x: x > ends[0],
        "# or more": lambda x: x >= ends[0],
        "# to #": lambda x: (x >= ends[0]) & (x <= ends[1]),
        "# to under #": lambda x: (x >= ends[0]) & (x < ends[1]),
        "over # to under #": lambda x: (x > ends[0]) & (x < ends[1]),
    }
    return np.asarray(readings[words](numbers))


def check_labels(column: SliceColumn, numbers: np.ndarray) -> None:
    assert len(set(column.labels)) == len(column.labels)
    for k, label in enumerate(column.labels):
        np.testing.assert_array_equal(column.cells == k, by_label(label, numbers), err_msg=label)
        assert (column.cells == k).sum() >= 50


def draw_numbers(kind: str, n: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(4)
    if kind == "hours":
        return np.where(rng.random(n) < 0.45, 40, rng.integers(1, 99, n)).astype(np.float64)
    if kind == "gain":
        return np.where(rng.random(n) < 0.6, 0.0, np.round(rng.lognormal(8.0, 1.0, n), 2))
    if kind == "income":
        return np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(8.0, 1.0, n))
    if kind == "year":
        return rng.integers(1950, 2020, n).astype(np.float64)
    if kind == "rating":
        return rng.integers(1, 11, n).astype(np.float64)
    if kind == "heavy":
        return np.asarray(rng.standard_cauchy(n) ** 3)
    return np.asarray(rng.normal(size=n))


@pytest.mark.parametrize("kind", ["hours", "gain", "income", "year", "rating", "heavy", "normal"])
def test_everybody_is_where_the_label_says(kind: str) -> None:
    numbers = draw_numbers(kind)
    column = number_column(kind, numbers)
    check_labels(column, numbers)
    assert 3 <= len(column.labels) <= 7
    assert (column.cells >= 0).all()


@pytest.mark.parametrize("kind", ["income", "year", "heavy", "normal"])
def test_bands_hold_about_as_many_people_each(kind: str) -> None:
    column = number_column(kind, draw_numbers(kind))
    bands = [k for k, label in enumerate(column.labels) if label != "missing"]
    shares = np.array([(column.cells == k).mean() for k in bands])
    assert len(bands) == 5
    np.testing.assert_allclose(shares / shares.sum(), 0.2, atol=0.05)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 400),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-6, 0.3, 1.0, 37.0, 1e6]),
    decimals=st.integers(-1, 4),
    missing=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_labels_of_any_numbers(n: int, seed: int, scale: float, decimals: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    numbers = np.round(np.round(rng.normal(0.0, 2.0, n), decimals) * scale, 8)
    numbers[rng.random(n) < missing] = np.nan
    check_labels(number_column("x", numbers), numbers)


def test_labels_by_hand() -> None:
    ages = np.repeat(np.arange(20.0, 70.0), 20)
    assert number_column("age", ages).texts == (
        "age: under 30",
        "age: 30 to 39",
        "age: 40 to 49",
        "age: 50 to 59",
        "age: 60 or more",
    )
    income = np.concatenate([np.zeros(600), np.linspace(10.5, 20_000.0, 400)])
    assert number_column("income", income).labels == ("0", "over 0 to under 10,000", "10,000 or more")
    hours = np.concatenate([np.full(500, 40.0), np.tile(np.arange(20.0, 40.0), 13), np.tile(np.arange(41.0, 65.0), 10)])
    assert number_column("hours", hours).labels == ("under 40", "40", "over 40")
    years = np.repeat(np.arange(1990.0, 2010.0), 50)
    assert number_column("year", years).labels[0] == "under 1994"  # no comma in a year


def test_few_values_are_cells_of_their_own() -> None:
    numbers = np.repeat([0.1, 0.25, 3.0, np.nan], [60, 80, 49, 50])
    column = number_column("dose", numbers)
    assert column.labels == ("0.1", "0.25", "missing")  # 49 people are too few
    np.testing.assert_array_equal(column.cells, np.repeat([0, 1, -1, 2], [60, 80, 49, 50]))


def test_scaling_forth_and_back_changes_nothing() -> None:
    """It may end at the next number that a computer has."""
    years = draw_numbers("year")
    back = np.nextafter(years, np.where(np.arange(len(years)) % 2, np.inf, -np.inf))
    assert (back != years).all()
    assert number_column("year", back).labels == number_column("year", years).labels
    np.testing.assert_array_equal(number_column("year", back).cells, number_column("year", years).cells)


def test_numbers_that_are_mostly_missing_or_infinite() -> None:
    numbers = np.concatenate([np.linspace(0.0, 1.0, 60), np.full(40, np.nan), np.full(10, np.inf)])
    column = number_column("x", numbers)
    assert column.labels == ("known", "missing")
    np.testing.assert_array_equal(np.bincount(column.cells), [60, 50])


def test_nothing_to_cut() -> None:
    assert number_column("x", np.array([])).labels == ()
    assert number_column("x", np.full(100, np.nan)).labels == ("missing",)
    assert number_column("x", np.zeros(100)).labels == ("0",)
    assert number_column("x", np.arange(49.0)).labels == ()
    assert level_column("x", np.array([], dtype=np.intp), []).labels == ()


def test_levels_with_too_few_people_are_no_cells() -> None:
    levels = np.repeat([0, 1, 2, -1], [50, 49, 70, 60])
    column = level_column("region", levels, ["north", "south", "west"])
    assert column.texts == ("region: north", "region: west")
    np.testing.assert_array_equal(column.cells, np.repeat([0, -1, 1, -1], [50, 49, 70, 60]))


@pytest.mark.parametrize("levels", [[0, 2], [-2, 0]])
def test_levels_need_labels(levels: list[int]) -> None:
    with pytest.raises(ValueError, match="Expected levels of 'region' from -1 to 1; got .* Give every level a label."):
        level_column("region", np.array(levels), ["north", "south"])


def test_inputs_stay_as_they_are() -> None:
    numbers = draw_numbers("income")
    before = numbers.copy()
    number_column("income", numbers)
    np.testing.assert_array_equal(numbers, before)
