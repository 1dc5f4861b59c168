"""Worlds of three groups or more, and of two sensitive attributes: their twins are what they claim to be."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchmarks.forms import Number
from benchmarks.structural import Attribute, Effect, Sensitive
from benchmarks.worlds import FAMILIES, GROUP_NAMES, LABEL, SECOND, SENSITIVE, World, draw_world
from tests.audit.test_worlds import is_like

NUMBER = 5
PEOPLE = 3_000
GROUPS = [(3,), (2, 2), (2, 3)]
IDENTIFIED = [name for name, family in FAMILIES.items() if family.identified]


@cache
def world(family: str, groups: tuple[int, ...]) -> World:
    return draw_world(NUMBER, family, groups)


@cache
def people(family: str, groups: tuple[int, ...]) -> tuple[pd.DataFrame, dict[tuple[int, ...], pd.DataFrame]]:
    return world(family, groups).people_in_all_states(PEOPLE, seed=1)


def is_in(table: pd.DataFrame, state: tuple[int, ...]) -> pd.Series[bool]:
    """Which rows belong to a state, by the names of its groups."""
    found = pd.Series(data=True, index=table.index)
    for (column, names), group in zip(GROUP_NAMES.items(), state, strict=False):
        found &= table[column] == names[group]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("family", FAMILIES)
def test_people_are_their_own_twins_in_their_own_state(family: str, groups: tuple[int, ...]) -> None:
    table, everywhere = people(family, groups)
    assert list(everywhere) == list(product(*map(range, groups)))
    assert list(table) == [*list(GROUP_NAMES)[: len(groups)], *world(family, groups).columns, LABEL]
    seen = 0
    for state, twins in everywhere.items():
        here = is_in(table, state)
        assert is_in(twins, state).all()
        pd.testing.assert_frame_equal(table[here], twins[here], check_exact=True)
        seen += int(here.sum())
        assert here.any()
    assert seen == PEOPLE


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("family", FAMILIES)
def test_twins_differ_in_what_the_changed_attribute_reaches(family: str, groups: tuple[int, ...]) -> None:
    one, (table, everywhere) = world(family, groups), people(family, groups)
    for k, sensitive in enumerate(one.sensitive):
        changed: set[str] = set()
        for state, other in product(everywhere, everywhere):
            if [j for j in range(len(groups)) if state[j] != other[j]] == [k]:
                here, there = everywhere[state], everywhere[other]
                changed |= {str(name) for name in table if not here[name].equals(there[name])}
        assert changed == {sensitive.name, *one.reached_by(sensitive.name)}
    assert one.reached == set().union(*(one.reached_by(root.name) for root in one.sensitive))


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("family", IDENTIFIED)
def test_twins_in_a_state_are_like_its_people(family: str, groups: tuple[int, ...]) -> None:
    table, everywhere = people(family, groups)
    for state, twins in everywhere.items():
        real, made = table[is_in(table, state)], twins[~is_in(table, state)]
        for name in world(family, groups).columns:
            assert is_like(made[name], real[name]), (state, name)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [(3,), (6,), (2, 2), (2, 3), (3, 4)])
@pytest.mark.parametrize("family", ["mixed", "small-group", "hidden-cause"])
def test_shares_of_groups(family: str, groups: tuple[int, ...]) -> None:
    for number in range(3):
        table, _ = draw_world(number, family, groups).people_in_all_states(4_000, seed=0)
        for (column, names), size in zip(GROUP_NAMES.items(), groups, strict=False):
            shares = table[column].value_counts(normalize=True)
            assert set(shares.index) == set(names[:size])
            assert shares.min() > 0.1 - 0.02
            assert size == 2 or shares.max() < 0.5 + 0.03
            if family == "small-group" and column == SENSITIVE:
                assert shares["a"] == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("groups", [(2, 2), (3, 4)])
def test_two_sensitive_attributes_depend_on_each_other_moderately(groups: tuple[int, ...]) -> None:
    for number in range(5):
        one = draw_world(number, "mixed", groups)
        below = 1.0 / (1.0 + np.exp(-np.array([-np.inf, *one.group_cuts, np.inf])))
        joint = np.diff(below).reshape(groups)
        ratios = [
            joint[i, j] * joint[k, m] / (joint[i, m] * joint[k, j])
            for i, k in product(range(groups[0]), repeat=2)
            for j, m in product(range(groups[1]), repeat=2)
        ]
        assert 1.5 <= max(ratios) <= 2.5
        assert not one.graph.loc[[SENSITIVE, SECOND], [SENSITIVE, SECOND]].to_numpy().any()


def test_what_sensitive_attributes_act_on() -> None:
    for number in range(2 * len(FAMILIES)):
        one = draw_world(number, groups=(2, 3))
        first, second = (
            {x.name for x in one.attributes if root in x.causes and not x.hidden} for root in (SENSITIVE, SECOND)
        )
        assert {len(first), len(second)} <= {2, 3}
        assert first & second
        together = {
            (effect.cause, effect.by)
            for x in one.attributes
            for effect in x.effects
            if x.name in first & second and effect.by is not None
        }
        assert together == ({(SENSITIVE, SECOND)} if one.family == "interactions" else set())


def test_groups_differ_in_one_level_as_they_do_not_in_another() -> None:
    drawn = [draw_world(number, "categories", groups=(3,)) for number in range(6)]
    nominal = [x for one in drawn for x in one.attributes if x.form.kind == "nominal" and SENSITIVE in x.causes]
    assert nominal
    for attribute in nominal:
        parts = [effect for effect in attribute.effects if effect.cause == SENSITIVE]
        assert len({part.knots for part in parts}) == attribute.form.noises
        assert np.count_nonzero([part.weights for part in parts], axis=0).tolist() == [1] * len(parts)


def test_twins_of_three_groups_by_hand() -> None:
    values, heights = (0.5, -1.0, 1.5), {-1.0: 3.0, 0.5: -2.0, 1.5: 0.25}
    effect = Effect(SENSITIVE, (0.5,), "spline", tuple(heights.values()), tuple(heights))
    by_both = Effect(SECOND, (1.0,), by=SENSITIVE, change=0.5)
    one = World(
        number=0,
        family="numbers",
        rows=200,
        attributes=(Attribute("x01", Number(), (effect,)), Attribute("x02", Number(), (by_both, effect))),
        group_cuts=(-1.5, -0.5, 0.0, 0.5, 1.0),
        sensitive=(Sensitive(SENSITIVE, ("a", "b", "c"), values), Sensitive(SECOND, ("coast", "town"))),
    )
    table, everywhere = one.people_in_all_states(100, seed=0)
    base = everywhere[0, 0]
    for (first, second), twins in everywhere.items():
        moved = 0.5 * (heights[values[first]] - heights[values[0]])
        np.testing.assert_allclose(twins["x01"] - base["x01"], moved, atol=1e-12)
        strength = [1.0 + 0.5 * np.tanh(values[k]) for k in (first, 0)]
        moved += (-1.0, 1.0)[second] * strength[0] + strength[1]
        np.testing.assert_allclose(twins["x02"] - base["x02"], moved, atol=1e-12)
        assert set(twins[SECOND]) == {("coast", "town")[second]}
    assert one.reached_by(SENSITIVE) == {"x01", "x02"}
    assert one.reached_by(SECOND) == {"x02"}
    assert len(table.groupby([SENSITIVE, SECOND])) == 6


def test_worlds_of_two_groups_are_the_same_with_all_states() -> None:
    one = draw_world(4, "messy")
    table, twins = one.people(500, seed=2)
    again, everywhere = one.people_in_all_states(500, seed=2)
    assert again.equals(table)
    first = table[SENSITIVE] == "a"
    assert everywhere[1,][first].equals(twins[first])
    assert everywhere[0,][~first].equals(twins[~first])


def test_more_than_one_twin_is_refused_where_one_is_asked_for() -> None:
    with pytest.raises(ValueError, match="People of this world have 3 twins each, in 4 states: take those of"):
        draw_world(0, "mixed", (2, 2)).people(10, seed=0)
    for groups in ((), (2, 2, 2), (1,), (7,)):
        with pytest.raises(ValueError, match="one or two sensitive attributes with 2 to 6 groups each; got"):
            draw_world(0, "mixed", groups)
