"""What causes do not explain: the same before and after, or not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.shift_test import FEWEST, LEAST, shift_test


def residuals(n: int, seed: int, **shifts: float) -> dict[str, dict[str, Floats]]:
    rng = np.random.default_rng(seed)
    return {
        name: {"average": rng.normal(size=n) + shifts.get(name, 0.0), "rare": (rng.random(n) < 0.02).astype(np.float64)}
        for name in ("income", "debt", "hours")
    }


def groups(n: int, m: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.arange(n) % 2, np.arange(m) % 2


@pytest.mark.slow
def test_nothing_is_named_where_nothing_changed() -> None:
    """At most once in a hundred: of 300 tables, more than 9 would happen once in 900 times."""
    named = 0
    for seed in range(300):
        found = shift_test(residuals(200, 2 * seed), residuals(200, 2 * seed + 1), groups(200, 200), seed)
        assert found is not None
        named += any(one.p_value <= 0.01 for one in found.values())
    assert named <= 9


def test_what_changed_is_named_with_its_size_and_group() -> None:
    before, after = residuals(600, 0), residuals(400, 1, debt=-0.8)
    after["debt"]["average"][1::2] += 0.8  # in the first group alone
    found = shift_test(before, after, groups(600, 400), 0)
    assert found is not None
    assert [name for name, one in found.items() if one.matters] == ["debt"]
    assert (found["debt"].what, found["debt"].group) == ("average", 0)
    assert found["debt"].size == pytest.approx(-0.8, abs=0.2)
    assert found["debt"].p_value == 0.001


def test_what_is_certain_but_small_does_not_matter() -> None:
    found = shift_test(residuals(8_000, 0), residuals(8_000, 1, debt=0.12), groups(8_000, 8_000), 0)
    assert found is not None
    assert found["debt"].p_value == 0.001
    assert abs(found["debt"].size) < LEAST
    assert not found["debt"].matters


def test_few_people_are_not_tested() -> None:
    few = 2 * FEWEST - 2
    assert shift_test(residuals(400, 0), residuals(few, 1), groups(400, few), 0) is None
    assert shift_test(residuals(few, 0), residuals(400, 1), groups(few, 400), 0) is None
    assert shift_test({}, {}, groups(400, 400), 0) is None
    one_group = np.zeros(400, dtype=np.intp), np.repeat([0, 1], [60, 40])
    found = shift_test(residuals(400, 0), residuals(100, 1), one_group, 0)
    assert found is not None
    assert {one.group for one in found.values()} == {0}


def test_what_never_varied_before_is_noticed() -> None:
    before, after = residuals(300, 0), residuals(300, 1)
    before["hours"]["missing"], after["hours"]["missing"] = np.zeros(300), (np.arange(300) % 3 == 0).astype(np.float64)
    found = shift_test(before, after, groups(300, 300), 0)
    assert found is not None
    assert (found["hours"].what, found["hours"].matters) == ("missing", True)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (shift_test(residuals(9_000, 0), residuals(300, 1), groups(9_000, 300), 5) for _ in range(2))
    assert first == second
