"""Rows become cells and back."""

from __future__ import annotations

import numpy as np

from cfad_core.causal.layout import Amount, Levels, fit_layout
from tests.causal.worlds import MIXED_KINDS, MIXED_VARIABLES, mixed_rows

X = np.array(
    [
        [-1.0, 0.5, -3.0, 3.0, 2.0, -1.0, 7.0],
        [1.0, 1.5, 3.0, -3.0, 9.0, 1.0, 7.0],
        [1.0, 2.5, -3.0, 3.0, 4.0, -1.0, 8.0],
        [-1.0, 3.5, 3.0, -3.0, 5.0, -1.0, 7.0],
    ]
)
VARIABLES = ("S", "a", "c", "c", "m", "m", "two")
LAYOUT = fit_layout(
    X, VARIABLES, {"S": "category", "a": "number", "c": "category", "m": "number", "two": "number"}, {"m": (9.0, 1.0)}
)


def test_what_the_columns_mean() -> None:
    assert LAYOUT.names == ("S", "a", "c", "m", "two")
    assert LAYOUT.kinds == ("category", "number", "category", "number", "category")  # between two values is nothing
    assert LAYOUT.shapes[1] == Amount(1)
    assert LAYOUT.shapes[3] == Amount(4, 5, fill=9.0, absent=1.0, present=-1.0)
    two = LAYOUT.shapes[4]
    assert isinstance(two, Levels)
    assert two.patterns.tolist() == [[7.0], [8.0]]


def test_cells_by_hand() -> None:
    expected = [[0, 0.5, 1, 2, 0], [1, 1.5, 0, np.nan, 0], [1, 2.5, 1, 4, 1], [0, 3.5, 0, 5, 0]]
    np.testing.assert_array_equal(LAYOUT.cells(X), np.array(expected, dtype=float))


def test_the_same_cells_give_the_same_rows() -> None:
    cells = LAYOUT.cells(X)
    assert np.array_equal(LAYOUT.rows(X, {i: cells[:, i] for i in range(5)}), X)
    x = mixed_rows(300)
    layout = fit_layout(x, MIXED_VARIABLES, MIXED_KINDS, {"score": (0.25, 3.0)})
    cells = layout.cells(x)
    assert np.array_equal(layout.rows(x, {i: cells[:, i] for i in range(len(layout.names))}), x)


def test_what_moves_is_written_and_nothing_else() -> None:
    before = X.copy()
    found = LAYOUT.rows(X, {2: np.array([0.0, 0.0, 1.0, 1.0]), 3: np.array([np.nan, 2.5, 4.0, 5.0])})
    assert np.array_equal(X, before)
    assert found[:, 2:6].tolist() == [
        [3.0, -3.0, 9.0, 1.0],
        [3.0, -3.0, 2.5, -1.0],
        [-3.0, 3.0, 4.0, -1.0],
        [-3.0, 3.0, 5.0, -1.0],
    ]
    assert np.array_equal(found[:, [0, 1, 6]], X[:, [0, 1, 6]])


def test_cells_that_are_a_little_off_keep_every_bit_where_nothing_moves() -> None:
    """A level between levels is the nearest one; as long as it stays that, its columns stay, too."""
    odd = X.copy()
    odd[0, 2:4] = [-2.5, 2.75]
    cells = LAYOUT.cells(odd)
    assert cells[0, 2] == 1.0
    assert np.array_equal(LAYOUT.rows(odd, {2: cells[:, 2]}), odd)


def test_two_values_and_missing_cells_are_three_levels() -> None:
    x = np.column_stack([[-1.0, 1.0] * 3, [5.0, 6.0, 0.0, 5.0, 6.0, 0.0], [0.0, 0.0, 1.0] * 2])
    layout = fit_layout(x, ("S", "m", "m"), {"S": "category", "m": "number"}, {"m": (0.0, 1.0)})
    shape = layout.shapes[1]
    assert isinstance(shape, Levels)
    assert shape.patterns.tolist() == [[5.0, 0.0], [6.0, 0.0], [0.0, 1.0]]
    assert layout.cells(x)[:, 1].tolist() == [0.0, 1.0, 2.0] * 2
