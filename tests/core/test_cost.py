"""What work costs by its size, and how much of it is left."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.core.cost import NOTHING, Cost, Countdown

STAGES = {"first": 4.0, "second": 10.0, "third": 1.0, "fourth": 5.0}


def shown(took: dict[str, float], steps: int = 20) -> list[tuple[float, float, float, bool]]:
    """Share, seconds left as shown, seconds truly left and whether it is late, of a run whose stages took so long."""
    countdown, elapsed, found = Countdown(STAGES), 0.0, []
    whole = sum(took.values())
    for stage, seconds in took.items():
        for step in range(1, steps + 1):
            elapsed += seconds / steps
            countdown.after(stage, step, steps, elapsed)
            found.append((countdown.share, countdown.left, whole - elapsed, countdown.is_late))
    return found


def test_a_cost_is_a_power_of_the_size() -> None:
    assert NOTHING.of(1e6, 100, 100) == 0.0
    assert Cost(3.0, fixed=1.0).of(10_000, 10, 10) == pytest.approx(4.0)
    cost = Cost(2.0, rows=0.5, columns=1.0, variables=2.0)
    assert cost.of(40_000, 20, 30) == pytest.approx(2.0 * 2.0 * 2.0 * 9.0)


def test_a_run_as_expected_counts_down_evenly() -> None:
    for _, left, truly, is_late in shown(STAGES):
        assert left == pytest.approx(truly, abs=1e-9)
        assert not is_late


def test_a_computer_that_is_slower_is_noticed() -> None:
    """What is shown stands still at first, and says so; later it is what is truly left."""
    found = shown({stage: 3.0 * seconds for stage, seconds in STAGES.items()})
    assert found[len(found) // 4][3]
    for share, left, truly, is_late in found:
        assert left <= truly + 1e-9
        if share > 0.9:
            assert left == pytest.approx(truly, rel=0.35, abs=0.1)
            assert not is_late
    assert found[-1][1] == pytest.approx(0.0, abs=1e-9)


@given(st.lists(st.floats(0.1, 10.0), min_size=4, max_size=4), st.integers(1, 30))
def test_the_time_left_never_climbs_and_the_share_never_falls(factors: list[float], steps: int) -> None:
    took = {stage: STAGES[stage] * factor for stage, factor in zip(STAGES, factors, strict=True)}
    found = shown(took, steps)
    for (share, left, *_), (next_share, next_left, *_) in pairwise(found):
        assert next_share >= share
        assert next_left <= left
    assert found[-1][0] == pytest.approx(1.0)
    assert found[-1][1] == pytest.approx(0.0, abs=1e-9)
    assert not found[-1][3]


def test_what_is_shown_is_right_within_a_factor_of_two_most_of_the_time() -> None:
    """Where each stage takes from half to twice as long as expected."""
    rng, wrong, count = np.random.default_rng(0), 0, 0
    for _ in range(200):
        took = {stage: seconds * 2.0 ** rng.uniform(-1.0, 1.0) for stage, seconds in STAGES.items()}
        for share, left, truly, is_late in shown(took):
            if share < 0.95:
                count += 1
                wrong += not (0.5 <= left / truly <= 2.0 or is_late)
    assert wrong / count < 0.1


def test_nothing_to_do_is_done() -> None:
    countdown = Countdown({})
    countdown.after("unknown", 1, 1, 3.0)
    assert (countdown.left, countdown.is_late) == (0.0, False)
