"""What drawing adds to the error: against closed forms and against drawing again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.evaluation.draws import draws_needed, monte_carlo_error


def test_a_known_error() -> None:
    """Three people over two draws: one always changes, one never, one once (variance 1/2)."""
    changes = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert monte_carlo_error(changes) == pytest.approx(math.sqrt(0.5 / 2.0) / 3.0)


def test_what_is_certain_has_no_error() -> None:
    assert monte_carlo_error(np.tile([1.0, 0.0, 0.0, 1.0], (8, 1))) == 0.0


@pytest.mark.parametrize(("draws", "people"), [(4, 300), (16, 40)])
def test_the_error_is_how_much_the_ratio_varies_if_all_is_drawn_again(draws: int, people: int) -> None:
    rng = np.random.default_rng(0)
    chance = rng.beta(0.3, 1.0, people)
    changes = (rng.random((3000, draws, people)) < chance).astype(np.float64)
    found = [monte_carlo_error(one) ** 2 for one in changes]
    spread = float(changes.mean(axis=(1, 2)).var())
    assert np.mean(found) == pytest.approx(spread, rel=0.1)
    assert np.mean(found) == pytest.approx(float((chance * (1.0 - chance)).sum()) / draws / people**2, rel=0.02)


@pytest.mark.parametrize(
    ("error", "people", "ratio", "expected"),
    [
        (0.01, 100, 0.5, 25),
        (0.005, 100, 0.5, 100),
        (0.01, 10_000, 0.5, 1),
        (0.001, 10_000, 0.5, 25),
        (0.001, 10_000, 0.05, 5),  # 4.75
        (0.001, 10_000, 0.0, 1),
        (1.0, 1, 0.5, 1),
    ],
)
def test_known_numbers_of_draws(error: float, people: int, ratio: float, expected: int) -> None:
    assert draws_needed(error, people, ratio) == expected


@given(st.floats(1e-4, 0.1), st.integers(1, 10_000), st.floats(0.01, 0.99))
def test_so_many_draws_are_enough_and_one_less_is_not(error: float, people: int, ratio: float) -> None:
    """Where everybody's outcome changes with the same probability."""
    draws = draws_needed(error, people, ratio)
    assert math.sqrt(ratio * (1.0 - ratio) / (draws * people)) <= error * (1.0 + 1e-9)
    assert draws == 1 or math.sqrt(ratio * (1.0 - ratio) / ((draws - 1) * people)) > error
    assert draws <= draws_needed(error, people)


@pytest.mark.parametrize("shape", [(1, 5), (3, 0), (4,)])
def test_one_draw_says_nothing_about_its_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least two draws"):
        monte_carlo_error(np.zeros(shape))


@pytest.mark.parametrize("case", [(0.0, 5, 0.5), (0.1, 0, 0.5), (0.1, 5, 1.5), (math.nan, 5, 0.5)])
def test_what_cannot_be_reached_is_refused(case: tuple[float, int, float]) -> None:
    with pytest.raises(ValueError, match="error above 0"):
        draws_needed(*case)
