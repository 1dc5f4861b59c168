from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.detectors.protocol import (
    BLOCK,
    Detector,
    ExplainedDetector,
    InputScaling,
    SavedDetector,
    alike_by_range,
    alike_by_variance,
    in_blocks,
)

Alike = Callable[[Floats, Sequence[str]], InputScaling]

VARIABLES = ["job", "age", "job", "income", "job"]  # a variable's columns need not be neighbours
SEEDS = st.integers(0, 10_000)


def table(seed: int, n: int = 50) -> Floats:
    """Columns of ``VARIABLES`` in units of their own: job one-hot, each of its levels present."""
    rng = np.random.default_rng(seed)
    job = np.eye(3)[np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])]
    age, income = rng.normal(40.0, 12.0, n), rng.lognormal(8.0, 1.0, n)
    return np.column_stack([job[:, 0], age, job[:, 1], income, job[:, 2]])


@settings(deadline=None)
@given(SEEDS)
def test_by_variance_every_variable_has_variance_one(seed: int) -> None:
    x = table(seed)
    scaled = alike_by_variance(x, VARIABLES)(x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    for name in set(VARIABLES):
        columns = [k for k, variable in enumerate(VARIABLES) if variable == name]
        np.testing.assert_allclose(scaled[:, columns].var(axis=0).sum(), 1.0)


def test_by_variance_the_columns_of_a_variable_keep_their_proportions() -> None:
    scale = alike_by_variance(table(0), VARIABLES).scale
    assert scale[0] == scale[2] == scale[4]


@settings(deadline=None)
@given(SEEDS)
def test_by_range_every_variable_spans_six(seed: int) -> None:
    x = table(seed)
    scaled = alike_by_range(x, VARIABLES)(x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.ptp(scaled[:, [1, 3]], axis=0), 6.0)
    job = scaled[:3][:, [0, 2, 4]]  # the first three people have the three jobs
    for one, other in [(0, 1), (0, 2), (1, 2)]:
        np.testing.assert_allclose(np.linalg.norm(job[one] - job[other]), 6.0)


@pytest.mark.parametrize("alike", [alike_by_variance, alike_by_range])
def test_constant_columns_keep_their_unit(alike: Alike) -> None:
    x = np.column_stack([np.arange(4.0), np.full(4, 3.0)])
    inputs = alike(x, ["a", "b"])
    assert inputs(x)[:, 1].tolist() == [0.0] * 4
    assert inputs(np.array([[0.0, 5.0]]))[0, 1] == 2.0
    assert np.ptp(inputs(x)[:, 0]) > 0.0


@pytest.mark.parametrize("alike", [alike_by_variance, alike_by_range])
def test_a_level_that_nobody_has_does_not_matter(alike: Alike) -> None:
    x = np.column_stack([np.arange(4.0) % 2, 1.0 - np.arange(4.0) % 2, np.zeros(4)])
    scaled = alike(x, ["job"] * 3)(x)
    assert np.array_equal(scaled[:, :2], alike(x[:, :2], ["job"] * 2)(x[:, :2]))
    assert not scaled[:, 2].any()


def test_what_is_absurd_is_clipped() -> None:
    inputs = InputScaling(np.array([1.0, 0.0]), np.array([2.0, 1e-3]))
    assert inputs(np.array([[5.0, 0.002], [1e300, -1e300], [np.inf, -np.inf]])).tolist() == [
        [2.0, 2.0],
        [1e9, -1e9],
        [1e9, -1e9],
    ]


@pytest.mark.parametrize("shape", [(3, 4), (3, 6), (5,), (1, 5, 1)])
def test_rows_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    message = f"Expected rows of 5 attributes; got an array of shape {shape}."
    with pytest.raises(InvalidDataError, match=f"^{re.escape(message)}$"):
        alike_by_range(table(0), VARIABLES)(np.zeros(shape))


def test_scaling_changes_no_input_and_survives_saving() -> None:
    x = table(0)
    before = x.copy()
    inputs = alike_by_variance(x, VARIABLES)
    again = InputScaling.from_state(inputs.state())
    assert np.array_equal(again(x), inputs(x))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 300])
def test_blocks_give_what_the_rows_give(n: int) -> None:
    x = np.random.default_rng(0).normal(size=(n, 3))
    assert np.array_equal(in_blocks(lambda rows: rows**2, x), x**2)
    assert np.array_equal(in_blocks(lambda rows: rows[:, 0] - rows[:, 2], x), x[:, 0] - x[:, 2])


def test_blocks_have_one_size_and_nothing_of_other_rows() -> None:
    seen: list[Floats] = []

    def remember(rows: Floats) -> Floats:
        seen.append(rows.copy())
        return rows[:, 0]

    x = np.ones((BLOCK + 2, 3))
    in_blocks(remember, x)
    assert [block.shape for block in seen] == [(BLOCK, 3)] * 2
    assert seen[1][:2].all()
    assert not seen[1][2:].any()


@settings(deadline=None)
@given(st.integers(1, 2500), st.integers(1, 40), st.integers(1, 40), SEEDS)
def test_matrix_products_in_blocks_do_not_depend_on_neighbours(n: int, columns: int, outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(n, columns)), rng.normal(size=(columns, outputs))
    together, order = in_blocks(lambda rows: rows @ weights, x), rng.permutation(n)
    assert np.array_equal(in_blocks(lambda rows: rows @ weights, x[order]), together[order])
    row = order[0]
    assert np.array_equal(in_blocks(lambda rows: rows @ weights, x[row : row + 1])[0], together[row])
    np.testing.assert_allclose(together, x @ weights, rtol=1e-9, atol=1e-9)


def test_protocols_tell_what_a_detector_can_do() -> None:
    class Scores:
        def anomaly_score(self, x: Floats) -> Floats:
            first: Floats = x[:, 0]
            return first

    class Saves(Scores):
        def state(self) -> dict[str, NDArray[np.generic]]:
            return {}

    assert isinstance(Scores(), Detector)
    assert not isinstance(Scores(), SavedDetector)
    assert isinstance(Saves(), SavedDetector)
    assert not isinstance(Saves(), ExplainedDetector)
