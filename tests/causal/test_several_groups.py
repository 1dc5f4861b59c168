"""Twins in each of several groups, and of several sensitive attributes: by hand, and what always holds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.files import load_model, save_model
from cfad_core.causal.layout import Part
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.states import Codes, States
from tests.causal.worlds import given, learn, prepare

SEEDS = st.integers(0, 2**32 - 1)

# One attribute with three groups: A = a[S] + 0.5 C + u, B = b[S] - 0.8 A + v; C and D are nobody's effects

TO_A, TO_B = np.array([0.0, 1.0, -0.5]), np.array([0.3, 0.3, 1.2])
THREE = Columns(("S", "A", "B", "C", "D"), "S", comparable_units=False, attributes={"S": 3})
THREE_EDGES = (("S", "A"), ("C", "A"), ("S", "B"), ("A", "B"))


def three_groups(n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    s, (c, d, u, v) = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.normal(size=(4, n))
    a = TO_A[s] + 0.5 * c + u
    return np.column_stack([s, a, TO_B[s] - 0.8 * a + v, c, d])


def by_hand(people: Floats, to: Codes) -> Floats:
    """Everybody keeps u and v."""
    s, twins = people[:, 0].astype(np.intp), people.copy()
    twins[:, 0] = to
    twins[:, 1] += TO_A[to] - TO_A[s]
    twins[:, 2] += TO_B[to] - TO_B[s] - 0.8 * (twins[:, 1] - people[:, 1])
    return twins


@pytest.fixture(scope="module")
def three() -> StructuralModel:
    return learn(three_groups(20_000, seed=0), THREE, given(THREE_EDGES))


# Two attributes: T acts on A, S and T on B, and C only knows whether S is 1 and T is 2

SIZES = (2, 3)
TWO_EDGES = (("T", "A"), ("S", "B"), ("T", "B"), ("A", "B"), ("S", "C"), ("T", "C"))
TWO = Columns(("S and T", "A", "B", "C", "D"), "S and T", comparable_units=False, attributes={"S": 2, "T": 3})
T_TO_A, S_TO_B, T_TO_B = np.array([0.0, 0.7, -0.7]), np.array([-0.6, 0.6]), np.array([0.0, 0.0, 0.9])


def two_attributes(n: int, seed: int) -> Floats:
    """The two hang together, but neither causes the other."""
    rng = np.random.default_rng(seed)
    s = rng.integers(2, size=n)
    t = np.where(rng.random(n) < 0.3, 2 * s, rng.integers(3, size=n))
    u, v, w, d = rng.normal(size=(4, n))
    a = T_TO_A[t] + u
    b = S_TO_B[s] + T_TO_B[t] + 0.5 * a + v
    return np.column_stack([3 * s + t, a, b, 1.5 * ((s == 1) & (t == 2)) + w, d])


def two_by_hand(people: Floats, to: Codes) -> Floats:
    (s, t), (other_s, other_t) = (np.divmod(some.astype(np.intp), 3) for some in (people[:, 0], to))
    twins = people.copy()
    twins[:, 0] = to
    twins[:, 1] += T_TO_A[other_t] - T_TO_A[t]
    twins[:, 2] += S_TO_B[other_s] - S_TO_B[s] + T_TO_B[other_t] - T_TO_B[t] + 0.5 * (twins[:, 1] - people[:, 1])
    both = [((x == 1) & (y == 2)).astype(np.float64) for x, y in ((other_s, other_t), (s, t))]
    twins[:, 3] += 1.5 * (both[0] - both[1])
    return twins


@pytest.fixture(scope="module")
def two() -> StructuralModel:
    return learn(two_attributes(20_000, seed=0), TWO, given(TWO_EDGES))


# Known answers


@pytest.mark.parametrize("group", [0, 1, 2])
def test_twins_in_every_group_by_hand(three: StructuralModel, group: int) -> None:
    """With 4,000 people in the smallest group, an effect is off by 0.03 or less."""
    people = three_groups(2000, seed=1)
    to = np.full(2000, group)
    twins, truth = three.twins(people, to=to), by_hand(people, to)
    moved = people[:, 0] != group
    inside = (np.abs(truth[:, 1:3] - people[:, 1:3].mean(axis=0)) < 2.5 * people[:, 1:3].std(axis=0)).all(axis=1)
    np.testing.assert_allclose(twins[moved & inside, 1:3], truth[moved & inside, 1:3], atol=0.12)
    assert np.abs((twins - truth)[moved & inside, 1:3]).mean() < 0.04
    assert np.array_equal(twins[~moved], people[~moved])  # who belongs to it stays, to the bit
    assert np.array_equal(twins[:, 3:], people[:, 3:])


def test_without_a_target_draws_take_turns_among_the_other_groups(three: StructuralModel) -> None:
    people = three_groups(300, seed=2)
    own = people[:, 0].astype(np.intp)
    for draw in range(5):
        repeat, number = divmod(draw, 2)
        to = three.states.other(own, number)
        assert np.array_equal(three.twins(people, draw), three.twins(people, repeat, to=to))
        assert (three.twins(people, draw)[:, 0] != own).all()


@pytest.mark.parametrize("state", range(6))
def test_twins_of_two_attributes_by_hand(two: StructuralModel, state: int) -> None:
    people = two_attributes(3000, seed=1)
    to = np.full(3000, state)
    twins, truth = two.twins(people, to=to), two_by_hand(people, to)
    assert np.array_equal(twins[:, 0], truth[:, 0])
    inside = (np.abs(truth[:, 1:4] - people[:, 1:4].mean(axis=0)) < 2.5 * people[:, 1:4].std(axis=0)).all(axis=1)
    assert np.abs((twins - truth)[inside, 1:4]).mean() < 0.05
    np.testing.assert_allclose(twins[inside, 1:4], truth[inside, 1:4], atol=0.2)
    assert np.array_equal(twins[:, 4], people[:, 4])


def test_what_two_attributes_do_only_together_is_learned(two: StructuralModel) -> None:
    """From (0, 0), neither move alone changes C, but both at once do."""
    people = two_attributes(4000, seed=3)
    people = people[people[:, 0] == 0.0]
    alone, other, both = (
        np.abs(two.twins(people, to=np.full(len(people), state))[:, 3] - people[:, 3]).mean() for state in (3, 2, 5)
    )
    assert max(alone, other) < 0.08
    assert both == pytest.approx(1.5, abs=0.08)


def test_twins_of_any_group_are_that_group(three: StructuralModel, two: StructuralModel) -> None:
    """As a population, in every column that is reached."""
    for model, rows in ((three, three_groups), (two, two_attributes)):
        people = rows(9000, 5)
        for here, there in itertools.permutations(range(model.states.count), 2):
            mine, real = people[people[:, 0] == here], people[people[:, 0] == there]
            twins = model.twins(mine, to=np.full(len(mine), there))
            assert min(ks_2samp(twins[:, i], real[:, i]).pvalue for i in (1, 2, 3)) > 1e-4


# What always holds


@settings(max_examples=30, deadline=None)
@examples(seed=SEEDS)
def test_there_and_back_by_any_way_is_the_person(three: StructuralModel, two: StructuralModel, seed: int) -> None:
    """Of numbers nothing is drawn, so only rounding is left; also by way of a third group."""
    rng = np.random.default_rng(seed)
    for model, rows in ((three, three_groups), (two, two_attributes)):
        people = rows(60, seed)
        own = people[:, 0].astype(np.intp)
        first, second = rng.integers(model.states.count, size=(2, 60))
        there = model.twins(people, to=first)
        unclipped = _inside(people, there, rows)
        np.testing.assert_allclose(model.twins(there, to=own)[unclipped], people[unclipped], rtol=1e-9, atol=1e-9)
        further = model.twins(there, to=second)
        unclipped &= _inside(people, further, rows)
        np.testing.assert_allclose(further[unclipped], model.twins(people, to=second)[unclipped], rtol=1e-9, atol=1e-9)
        assert np.array_equal(there[:, 0], first)


def _inside(people: Floats, twins: Floats, rows: object) -> np.ndarray:
    """Whose numbers, here and there, lie inside what was seen: beyond it they would be cut off."""
    seen = rows(20_000, 0)  # type: ignore[operator]
    low, high = seen.min(axis=0), seen.max(axis=0)
    found: np.ndarray = ((people >= low) & (people <= high) & (twins > low) & (twins < high)).all(
        axis=1, where=_NUMBERS
    )
    return found


_NUMBERS = np.array([False, True, True, True, True])


@settings(max_examples=30, deadline=None)
@examples(seed=SEEDS, draw=st.integers(0, 3))
def test_who_is_moved_where_they_are_keeps_every_bit(mixed: StructuralModel, seed: int, draw: int) -> None:
    people = levels_and_numbers(50, seed)
    own = mixed.states.of_codes(people[:, 0])
    assert np.array_equal(mixed.twins(people, draw, to=own), people)
    some = np.random.default_rng(seed).random(50) < 0.5
    to = np.where(some, mixed.states.other(own, 0), own)
    twins = mixed.twins(people, draw, to=to)
    assert np.array_equal(twins[~some], people[~some])
    assert np.array_equal(twins[some], mixed.twins(people[some], draw, to=to[some]))  # each row by itself


@settings(max_examples=30, deadline=None)
@examples(seed=SEEDS)
def test_moving_one_attribute_never_moves_the_other_nor_what_it_does_not_reach(two: StructuralModel, seed: int) -> None:
    people, rng = two_attributes(60, seed), np.random.default_rng(seed)
    own = people[:, 0].astype(np.intp)
    for attribute, size in enumerate(SIZES):
        to = two.states.moved(own, {attribute: rng.integers(size, size=60)})
        twins = two.twins(people, to=to)
        assert np.array_equal(twins[:, 0], to)
        other = 1 - attribute
        assert np.array_equal(two.states.levels[to, other], two.states.levels[own, other])
        reached = {two.variables.index(name) - 1 for name in two.affected_by([two.attributes[attribute]])}
        kept = [column for column in range(1, 5) if column not in reached]
        assert np.array_equal(twins[:, kept], people[:, kept])
    assert two.affected_by(["S"]) == ("B", "C")
    assert two.affected_by(["T"]) == ("A", "B", "C")
    assert two.affected_names == ("A", "B", "C")


# Levels are drawn: three groups, a category of three levels, a count, and a number with missing cells

NAMES = ("S", "job = x", "job = y", "job = z", "visits", "score", "score?", "age")
VARIABLES = ("S", "job", "job", "job", "visits", "score", "score", "age")
MIXED = Columns(
    NAMES,
    "S",
    VARIABLES,
    {"S": "category", "job": "category", "visits": "number", "score": "number", "age": "number"},
    {"score": (0.25, 3.0)},
    comparable_units=False,
    attributes={"S": 3},
)
MIXED_EDGES = (("S", "job"), ("S", "visits"), ("job", "visits"), ("S", "score"), ("age", "score"))


def levels_and_numbers(n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    s, age = rng.integers(3, size=n), np.round(rng.uniform(18.0, 80.0, n))
    level = (rng.normal(0.8 * s, 1.0)[:, None] > [0.2, 1.4]).sum(axis=1)
    visits = rng.poisson(np.exp(0.3 + 0.3 * (s == 1) + 0.2 * level)).astype(np.float64)
    gone = rng.random(n) < np.array([0.05, 0.2, 0.4])[s]
    score = np.where(gone, 0.25, np.round(0.02 * age + 0.5 * s + rng.normal(size=n), 3))
    return np.column_stack(
        [s, np.where(np.eye(3)[level] > 0.0, 3.0, -3.0), visits, score, np.where(gone, 3.0, -3.0), age]
    )


@pytest.fixture(scope="module")
def mixed() -> StructuralModel:
    return learn(levels_and_numbers(3000, seed=0), MIXED, given(MIXED_EDGES))


def test_drawn_twins_in_every_group_are_legal_and_those_of_the_seed(mixed: StructuralModel) -> None:
    people = levels_and_numbers(500, seed=1)
    again = learn(levels_and_numbers(3000, seed=0), MIXED, given(MIXED_EDGES))
    other = learn(levels_and_numbers(3000, seed=0), MIXED, given(MIXED_EDGES), seed=1)
    seen = levels_and_numbers(3000, seed=0)
    for group in range(3):
        to = np.full(500, group)
        twins = mixed.twins(people, to=to)
        assert np.array_equal(twins, again.twins(people, to=to))
        assert not np.array_equal(twins, other.twins(people, to=to))
        assert not np.array_equal(twins, mixed.twins(people, 1, to=to))
        assert {tuple(row) for row in twins[:, 1:4]} <= {tuple(row) for row in seen[:, 1:4]}
        assert set(twins[:, 4]) <= set(seen[:, 4])
        assert set(np.unique(twins[:, 6])) == {-3.0, 3.0}
        assert (twins[twins[:, 6] == 3.0, 5] == 0.25).all()
        assert np.array_equal(twins[:, 7], people[:, 7])
        order = np.random.default_rng(group).permutation(500)
        assert np.array_equal(mixed.twins(people[order], to=to[order]), twins[order])


def test_the_share_of_missing_cells_is_that_of_the_group(mixed: StructuralModel) -> None:
    people = levels_and_numbers(6000, seed=4)
    for group, share in enumerate((0.05, 0.2, 0.4)):
        twins = mixed.twins(people, to=np.full(6000, group))
        assert (twins[people[:, 0] != group, 6] == 3.0).mean() == pytest.approx(share, abs=0.04)


def test_models_of_several_groups_are_saved_to_the_bit(
    three: StructuralModel, two: StructuralModel, mixed: StructuralModel, tmp_path: Path
) -> None:
    for k, (model, rows) in enumerate(((three, three_groups), (two, two_attributes), (mixed, levels_and_numbers))):
        save_model(model, tmp_path / str(k))
        again, people = load_model(tmp_path / str(k)), rows(200, 9)
        assert isinstance(again, StructuralModel)
        assert (again.states, again.attributes, again.edges()) == (model.states, model.attributes, model.edges())
        for state in range(model.states.count):
            to = np.full(200, state)
            assert np.array_equal(again.twins(people, to=to), model.twins(people, to=to))


# One attribute may cause another, if that is known


def test_an_attribute_that_another_one_causes_follows_it() -> None:
    """T = S or not, and A hears T alone: who is moved in S only may be moved in T by that, and A with it."""
    rng = np.random.default_rng(0)
    n = 6000
    s = rng.integers(2, size=n)
    t = np.where(rng.random(n) < 0.8, s, 1 - s)
    people = np.column_stack([2 * s + t, 3.0 * t + rng.normal(size=n), rng.normal(size=n)])
    columns = Columns(("S and T", "A", "C"), "S and T", comparable_units=False, attributes={"S": 2, "T": 2})
    knowledge = Knowledge(required=(("S", "T"), ("T", "A")), complete=True)
    model = learn(people, columns, knowledge)
    states = model.states
    own = states.of_codes(people[:, 0])
    follow = model.twins(people, to=states.moved(own, {0: 1 - s}))
    moved_t = states.levels[states.of_codes(follow[:, 0]), 1]
    assert np.array_equal(states.levels[states.of_codes(follow[:, 0]), 0], 1 - s)
    assert (moved_t != t).mean() == pytest.approx(0.6, abs=0.05)  # P(T = 1) rises from 0.2 to 0.8
    assert np.array_equal(follow[moved_t == t, 1], people[moved_t == t, 1])
    np.testing.assert_allclose(follow[:, 1] - people[:, 1], 3.0 * (moved_t - t), atol=0.6)
    asked = model.twins(people, to=states.moved(own, {0: 1 - s, 1: 1 - t}))
    assert np.array_equal(states.of_codes(asked[:, 0]), states.of_levels([1 - s, 1 - t]))  # as it was asked for
    alone = model.twins(people, to=states.moved(own, {1: 1 - t}))
    assert np.array_equal(states.levels[states.of_codes(alone[:, 0]), 0], s)  # an effect moves no cause


def test_no_attribute_is_found_to_cause_another() -> None:
    """However strongly they hang together."""
    model = learn(two_attributes(3000, seed=7), TWO)
    assert not [edge for edge in model.edges() if set(edge) <= {"S", "T"}]
    assert not [edge for edge in model.edges() if edge[1] in ("S", "T")]
    assert {("T", "A"), ("S", "B")} <= set(model.edges())
    assert "D" not in model.affected_names


def test_the_layout_of_several_attributes() -> None:
    rows = two_attributes(300, seed=0)
    layout = prepare(rows, TWO).layout
    assert layout.names == ("S", "T", "A", "B", "C", "D")
    assert layout.states == States(SIZES)
    assert all(isinstance(shape, Part) for shape in layout.shapes[:2])
    cells = layout.cells(rows)
    assert np.array_equal(3 * cells[:, 0] + cells[:, 1], rows[:, 0])
    moved = layout.rows(rows, {0: 1.0 - cells[:, 0], 1: np.full(300, 2.0)})
    assert np.array_equal(moved[:, 0], 3 * (1.0 - cells[:, 0]) + 2.0)
    assert np.array_equal(moved[:, 1:], rows[:, 1:])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda codes: codes + 1.0, "must hold whole numbers from 0 to 5"),
        (lambda codes: codes + 0.5, "must hold whole numbers from 0 to 5"),
        (lambda codes: codes % 3.0, "The sensitive attribute 'S' must have people in all of its 2 groups"),
        (lambda codes: 3.0 * (codes // 3.0), "The sensitive attribute 'T' must have people in all of its 3 groups"),
    ],
)
def test_rows_without_a_group_are_refused(spoil: object, message: str) -> None:
    rows = two_attributes(300, seed=0)
    rows[:, 0] = spoil(rows[:, 0])  # type: ignore[operator]
    with pytest.raises(InvalidDataError, match=message):
        prepare(rows, TWO)


def test_knowledge_about_several_attributes() -> None:
    rows = two_attributes(300, seed=0)
    with pytest.raises(InvalidConfigError, match="S is a sensitive column and cannot cause itself"):
        prepare(rows, TWO, Knowledge(from_sensitive=("S",)))
    allowed = prepare(rows, TWO, Knowledge(from_sensitive=("A",))).allowed
    assert allowed[:, 2].tolist() == [True, True, False, False, False, False]
    assert not allowed[:2, :2].any()
    known = prepare(rows, TWO, Knowledge(required=(("T", "S"),))).allowed
    assert known[:2, :2].tolist() == [[False, False], [True, False]]
