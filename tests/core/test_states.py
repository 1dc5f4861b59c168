"""States: one number for the groups of all sensitive attributes."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.core.states import TWO_GROUPS, States


def test_two_groups_are_minus_one_and_plus_one() -> None:
    assert TWO_GROUPS.codes.tolist() == [-1.0, 1.0]
    assert TWO_GROUPS.of_codes(np.array([-1.0, 1.0, 1.0])).tolist() == [0, 1, 1]
    assert TWO_GROUPS.other(np.array([0, 1]), 0).tolist() == [1, 0]


def test_the_last_attribute_changes_fastest() -> None:
    states = States((2, 3))
    assert states.levels.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert states.codes.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert states.of_levels([np.array([1, 0]), np.array([2, 1])]).tolist() == [5, 1]


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 3), (3, 2, 2)])
def test_everybody_has_each_other_state_once(sizes: tuple[int, ...]) -> None:
    states = States(sizes)
    own = np.arange(states.count)
    reached = np.stack([states.other(own, number) for number in range(states.others)])
    for state in own:
        assert sorted(reached[:, state]) == [other for other in own if other != state]


def test_a_move_changes_the_groups_that_are_named_and_no_others() -> None:
    states = States((2, 3))
    state = np.arange(6)
    assert states.moved(state, {1: 0}).tolist() == [0, 0, 0, 3, 3, 3]
    assert states.moved(state, {0: 1 - states.levels[:, 0]}).tolist() == [3, 4, 5, 0, 1, 2]
    assert states.moved(state, {}).tolist() == state.tolist()
