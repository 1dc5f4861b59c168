"""Who is compared with whom, against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.audit.comparisons import Plan, View, compared_groups, plan_comparisons, view_of
from cfad_core.core.arrays import Bools
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.states import Codes

RACES = ("a", "b", "c", "d")


def one(reference: str | None = None, compare: tuple[str, ...] = ()) -> Plan:
    return plan_comparisons(("race",), (RACES,), [compared_groups(RACES, reference, compare)])


def crossed() -> Plan:
    return plan_comparisons(("sex", "race"), (("f", "m"), ("x", "y", "z")))


def people(plan: Plan, n: int = 40, seed: int = 0) -> Codes:
    return np.random.default_rng(seed).integers(plan.states.count, size=n)


def pairs(compared: Bools) -> set[str]:
    return {RACES[u] + RACES[v] for u, v in np.argwhere(compared)}


# Which groups


def test_which_groups_are_compared() -> None:
    every = {f"{u}{v}" for u, v in itertools.permutations(RACES, 2)}
    assert pairs(compared_groups(RACES, None, ())) == every
    assert pairs(compared_groups(RACES, "b", ())) == {pair for pair in every if "b" in pair}
    assert pairs(compared_groups(RACES, None, ("a", "c"))) == {pair for pair in every if pair[1] in "ac"}
    assert pairs(compared_groups(RACES, "b", ("a", "b"))) == {"ba", "ab", "cb", "db"}
    assert one().comparisons[0].is_complete
    assert not one("b").comparisons[0].is_complete


def test_every_attribute_and_each_two_are_compared() -> None:
    plan = crossed()
    assert [found.name for found in plan.comparisons] == ["sex", "race", "sex and race"]
    assert [found.moves for found in plan.comparisons] == [(0,), (1, 2), (3,)]
    assert [found.attributes for found in plan.comparisons] == [(0,), (1,), (0, 1)]
    assert [found.is_joint for found in plan.comparisons] == [False, False, True]
    assert len(plan.moves) == 4
    both = plan.comparisons[2]
    assert both.groups == ("f, x", "f, y", "f, z", "m, x", "m, y", "m, z")
    for u, v in itertools.product(range(6), repeat=2):
        assert both.compared[u, v] == (u // 3 != v // 3 and u % 3 != v % 3)
    three = plan_comparisons(("s", "t", "u"), (("0", "1"), ("0", "1", "2"), ("0", "1")))
    assert [found.name for found in three.comparisons] == ["s", "t", "u", "s and t", "s and u", "t and u"]
    assert [found.moves for found in three.comparisons] == [(0,), (1, 2), (3,), (4,), (5,), (6,)]


def test_comparisons_are_found_by_name() -> None:
    plan = crossed()
    assert plan.comparison() is plan.comparisons[0]
    assert plan.comparison("sex and race") is plan.comparisons[2]
    message = "The audit does not compare 'age'; it compares: 'sex', 'race', 'sex and race'."
    with pytest.raises(InvalidConfigError, match=message):
        plan.comparison("age")


@pytest.mark.parametrize("pair", [("x", "x"), ("x", "w"), ("f", "m")])
def test_pairs_that_are_none_are_refused(pair: tuple[str, str]) -> None:
    race = crossed().comparison("race")
    assert race.check_pair(("z", "x")) == (2, 0)
    message = f"Expected two different groups of 'race' out of: x, y, z; got {pair[0]} and {pair[1]}."
    with pytest.raises(InvalidConfigError, match=message):
        race.check_pair(pair)
    with pytest.raises(InvalidConfigError, match="Expected two different groups of 'sex and race'"):
        crossed().comparison("sex and race").check_pair(("f, x", "m, y"))


# Moves


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(0, 10**6), st.integers(0, 50))
def test_moves_change_what_they_should_and_reach_every_group_once(sizes: list[int], seed: int, turn: int) -> None:
    plan = plan_comparisons([f"s{k}" for k in range(len(sizes))], [[str(g) for g in range(size)] for size in sizes])
    state, levels = people(plan, 30, seed), plan.states.levels
    for comparison in plan.comparisons:
        kept = [s for s in range(len(sizes)) if s not in comparison.attributes]
        seen: list[set[int]] = [set() for _ in state]
        for move in comparison.moves:
            to = plan.targets(state, move, turn)
            assert np.array_equal(levels[to][:, kept], levels[state][:, kept])
            for s in comparison.attributes:
                assert (levels[to, s] != levels[state, s]).all()
            for person, target in enumerate(to.tolist()):
                seen[person].add(target)
        assert {len(some) for some in seen} == {len(comparison.moves)}
        in_turn = plan.in_turn(state, comparison, turn)
        assert (levels[in_turn][:, list(comparison.attributes)] != levels[state][:, list(comparison.attributes)]).all()
        assert np.array_equal(levels[in_turn][:, kept], levels[state][:, kept])


def test_combinations_take_turns() -> None:
    """Six of three and four groups: over six turns, or over six people in a row, everybody is moved to each once."""
    plan = plan_comparisons(("s", "t"), ((RACES[:3]), RACES))
    state, both = people(plan, 36), plan.comparison("s and t")
    (move,) = both.moves
    by_turn = np.stack([plan.targets(state, move, turn) for turn in range(6)])
    assert all(len(set(one)) == 6 for one in by_turn.T.tolist())
    assert np.array_equal(plan.targets(state, move, 7), plan.targets(state, move, 1))
    same = np.zeros(36, dtype=np.intp)
    assert all(len(set(plan.targets(same, move)[k : k + 6].tolist())) == 6 for k in range(30))
    numbers = plan.numbers_in_turn(36, both, 4)
    levels, there = plan.states.levels[state], plan.states.levels[plan.targets(state, move, 4)]
    for s, number in enumerate(numbers):
        assert np.array_equal(there[:, s], number + (number >= levels[:, s]))


def test_in_turn_people_are_moved_to_groups_that_theirs_is_compared_with() -> None:
    for plan in (one("b"), one(compare=("a", "c")), one()):
        (comparison,) = plan.comparisons
        state = people(plan, 80)
        asked = comparison.compared[state].any(axis=1)
        reached = np.zeros((4, 4), dtype=bool)
        for turn in range(4):
            to = plan.in_turn(state, comparison, turn)
            assert comparison.compared[state[asked], to[asked]].all()
            reached[state[asked], to[asked]] = True
        assert np.array_equal(reached, comparison.compared)
    with_nobody = one(compare=("a",))
    state = np.zeros(5, dtype=np.intp)  # only compared with
    assert (with_nobody.in_turn(state, with_nobody.comparisons[0]) != state).all()


def test_which_moves_are_compared() -> None:
    plan = one("b")
    state = people(plan)
    for move in range(3):
        to = plan.targets(state, move)
        assert np.array_equal(plan.is_compared(state, move), (state == 1) | (to == 1))
    assert crossed().is_compared(people(crossed()), 3).all()


# Views


def brute(view: View, plan: Plan, state: Codes, numbers: np.ndarray) -> list[set[float]]:
    """For each person seen, the numbers (moves, n) of the groups that they are compared with."""
    comparison, found = view.comparison, []
    for person in view.rows.tolist():
        own = plan.groups_of(state, comparison)[person]
        if comparison.is_joint:
            found.append({float(numbers[comparison.moves[0], person])})
            continue
        wanted = [v for v in range(len(comparison.groups)) if comparison.compared[own, v]]
        if view.pair is not None:
            wanted = [k for k in comparison.check_pair(view.pair) if k != own]
        found.append({float(numbers[comparison.moves[v - (v > own)], person]) for v in wanted})
    return found


VIEWS: list[tuple[Plan, str | None, tuple[str, str] | None]] = [
    (one(), None, None),
    (one("c"), None, None),
    (one(compare=("a",)), None, None),
    (one(compare=("a", "d")), None, None),
    (one("a", compare=("b", "c")), None, None),
    (one(), None, ("d", "b")),
    (one("c"), None, ("a", "b")),
    (crossed(), "sex", None),
    (crossed(), "race", None),
    (crossed(), "race", ("z", "x")),
    (crossed(), "sex and race", None),
]


@pytest.mark.parametrize(("plan", "name", "pair"), VIEWS)
@pytest.mark.parametrize("n", [0, 1, 60])
def test_a_view_takes_what_is_compared_against_a_loop(
    plan: Plan, name: str | None, pair: tuple[str, str] | None, n: int
) -> None:
    state, comparison = people(plan, n, seed=n), plan.comparison(name)
    view = view_of(plan, state, comparison, pair)
    numbers = np.random.default_rng(1).normal(size=(len(plan.moves), n))
    taken = view.take(numbers)
    assert taken.shape == (view.others, len(view.rows))
    assert [set(column) for column in taken.T.tolist()] == brute(view, plan, state, numbers)
    stacked = np.stack([numbers, -numbers])
    assert np.array_equal(view.take(stacked), np.stack([taken, -taken]))
    own = plan.groups_of(state, comparison)
    moved = np.asarray(comparison.compared.any(axis=1))
    expected = [comparison.groups[k] for k in range(len(comparison.groups)) if moved[k] or comparison.is_joint]
    assert view.names == (tuple(expected) if pair is None else pair)
    assert [view.names[k] for k in view.group] == [comparison.groups[own[person]] for person in view.rows]
    assert set(view.groups) == set(view.names)
    assert sum(int(rows.sum()) for rows in view.groups.values()) == len(view.rows)
    assert view.is_everything(n) == (np.array_equal(taken, numbers) and n > 0)


@pytest.mark.parametrize(("plan", "name", "pair"), VIEWS)
def test_a_view_of_some_people_is_that_of_all(plan: Plan, name: str | None, pair: tuple[str, str] | None) -> None:
    """Those who were judged: their numbers are by their own positions."""
    state = people(plan, 60)
    view = view_of(plan, state, plan.comparison(name), pair)
    numbers = np.random.default_rng(1).normal(size=(len(plan.moves), 60))
    for judged in (np.arange(0, 60, 3), np.arange(60), np.array([59]), np.zeros(0, dtype=np.int64)):
        place, among = view.among(judged)
        assert np.array_equal(judged[place], view.rows[among])
        assert set(judged) - set(judged[place]) == set(judged) - set(view.rows)
        assert np.array_equal(view.take(numbers[:, judged], judged), view.take(numbers)[:, among])


def test_nothing_is_copied_where_nobody_is_left_out() -> None:
    plan = one()
    numbers = np.zeros((3, 60))
    whole = view_of(plan, people(plan, 60), plan.comparisons[0])
    assert np.shares_memory(whole.take(numbers), numbers)
    assert whole.is_everything(60)
    for other in (one("a"), one(compare=("a",))):
        some = view_of(other, people(other, 60), other.comparisons[0])
        assert not some.is_everything(60)
    both = crossed()
    sex = view_of(both, people(both, 60), both.comparison("race"))
    four = np.zeros((4, 60))
    assert np.shares_memory(sex.take(four), four)
    assert not sex.is_everything(60)


def test_what_people_and_twins_differ_in() -> None:
    plan = crossed()

    def said(plan: Plan, name: str | None = None, pair: tuple[str, str] | None = None) -> str:
        return view_of(plan, people(plan), plan.comparison(name), pair).otherwise

    assert said(plan, "sex") == "had they belonged to another group of sex"
    assert said(plan, "race") == "had they belonged to another group of race"
    assert said(plan, "race", ("x", "y")) == "had they belonged to the other of the groups x and y"
    assert said(plan, "sex and race") == "had both sex and race been different"
    assert said(plan_comparisons(("sex",), (("f", "m"),))) == "had they belonged to the other group"
    assert said(one()) == "had they belonged to another group of race"
