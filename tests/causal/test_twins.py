from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import pytest
from hypothesis import given, settings

from cfad_core.causal import mechanisms
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import learn_model
from cfad_core.causal.mechanisms import MECHANISMS
from cfad_core.causal.mechanisms.category import Category
from cfad_core.causal.mechanisms.number import Number
from cfad_core.causal.mechanisms.protocol import Mechanism, Messages
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.twins import TwinDraws
from cfad_core.core.arrays import Floats
from tests.causal.test_scm import models_and_people
from tests.conftest import identity_spline

PAIR = np.array([[-3.0], [3.0]])
THREE = np.where(np.eye(3) > 0.0, 3.0, -3.0)


def pair_model(weight: float = 1.0, effect: float = 0.5) -> StructuralModel:
    """S -> C -> B, S -> A: C is a category of two levels, A and B are numbers."""
    weights = np.zeros((4, 4))
    weights[0, 1], weights[0, 2], weights[1, 3] = weight, 2.0, effect
    slope = np.array([1.0, 0.25, 0.0, 0.0])
    return StructuralModel(("S", "C", "A", "B"), "S", weights, np.zeros(4), identity_spline(), slope)


def three_model() -> StructuralModel:
    """S -> C, a category of three levels, -> B."""
    weights = np.zeros((5, 5))
    weights[0, 1:4], weights[1:4, 4] = 1.0, (1.0, 2.0, 4.0)
    slope = np.array([1.0, 0.5, 0.5, 0.5, 0.0])
    names, variables = ("S", "C = x", "C = y", "C = z", "B"), ("S", "C", "C", "C", "B")
    return StructuralModel(names, "S", weights, np.zeros(5), identity_spline(), slope, variables)


def by_hand(columns: tuple[int, ...], codes: np.ndarray, low: list[float], high: list[float]) -> Category:
    """Levels with probabilities ``low`` where S is -1 and ``high`` where it is +1."""
    here, there = np.log(low), np.log(high)
    return Category(columns, codes, (0,), ((there - here) / 2.0)[None, :], (there + here) / 2.0)


def with_numbers(scm: StructuralModel, **categories: Category) -> TwinDraws:
    """Categories set by hand; whatever else is reached is a number."""
    numbers: dict[str, tuple[Mechanism, ...]] = {
        variable: tuple(Number(scm, i) for i in scm.affected if scm.column_variables[i] == variable)
        for variable in scm.affected_names
    }
    return TwinDraws(scm, numbers | {variable: (category,) for variable, category in categories.items()})


def category_of(draws: TwinDraws, variable: str) -> Category:
    """The first mechanism of a variable, which must be a category."""
    found = draws.mechanisms[variable][0]
    assert isinstance(found, Category)
    return found


def kinds(draws: TwinDraws) -> dict[str, list[type]]:
    return {variable: [type(mechanism) for mechanism in found] for variable, found in draws.mechanisms.items()}


def people_at(s: float, levels: np.ndarray, codes: np.ndarray, numbers: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    n = len(levels)
    return np.column_stack([np.full(n, s), codes[levels], rng.normal(size=(n, numbers))])


@settings(max_examples=60, deadline=None)
@given(models_and_people())
def test_without_categories_twins_are_the_counterfactuals(case: tuple[StructuralModel, np.ndarray]) -> None:
    scm, x = case
    scm = dataclasses.replace(scm, slope=np.zeros(x.shape[1]))  # no column has two values, however few rows there are
    draws = TwinDraws.fit(scm, x, np.random.default_rng(0))
    assert kinds(draws) == {name: [Number] for name in scm.affected_names}
    before = x.copy()
    twins = draws.draw(x, np.random.default_rng(0))
    expected = scm.counterfactual(x)
    np.testing.assert_allclose(twins, expected, rtol=1e-12, atol=1e-12)
    untouched = [k for k in range(1, x.shape[1]) if k not in scm.affected]
    assert np.array_equal(twins[:, untouched], x[:, untouched])
    assert np.array_equal(x, before)


def test_a_category_that_is_not_reached_is_left_alone() -> None:
    weights = np.zeros((3, 3))
    weights[0, 2], weights[1, 2] = 2.0, 1.0
    scm = StructuralModel(("S", "C", "A"), "S", weights, np.zeros(3), identity_spline(), np.array([1.0, 0.5, 0.0]))
    x = people_at(1.0, np.array([0, 1, 1, 0]), PAIR, 1)
    draws = TwinDraws.fit(scm, x, np.random.default_rng(0))
    assert kinds(draws) == {"A": [Number]}
    twins = draws.draw(x, np.random.default_rng(0))
    assert np.array_equal(twins[:, 1], x[:, 1])
    np.testing.assert_allclose(twins[:, 2], x[:, 2] - 4.0, atol=1e-12)


@pytest.mark.parametrize(("s", "losing"), [(-1.0, 0), (1.0, 1)])
def test_of_two_levels_as_many_move_as_must(s: float, losing: int) -> None:
    """20 % of one group and 70 % of the other have the second level: half of either group moves, in one direction."""
    n = 20_000
    share = 0.2 if s < 0 else 0.7
    x = people_at(s, (np.arange(n) < share * n).astype(int), PAIR, 2)
    category = by_hand((1,), PAIR, [0.8, 0.2], [0.3, 0.7])
    messages = {0: np.array([-1.0, 1.0])}
    np.testing.assert_allclose(category.probabilities(messages), [[0.8, 0.2], [0.3, 0.7]], atol=1e-5)
    twins = with_numbers(pair_model(), C=category).draw(x, np.random.default_rng(2))
    moved = twins[:, 1] != x[:, 1]
    standard_error = np.sqrt(0.25 / n)  # of any share
    assert moved.mean() == pytest.approx(0.5, abs=4.0 * standard_error)
    assert (x[moved, 1] == PAIR[losing, 0]).all()
    assert (twins[:, 1] == 3.0).mean() == pytest.approx(0.9 - share, abs=4.0 * standard_error)
    assert set(np.unique(twins[:, 1])) == {-3.0, 3.0}
    np.testing.assert_allclose(twins[:, 2] - x[:, 2], -2.0 * s * 2.0, atol=1e-12)  # a number beside it


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.3, 0.2], [0.2, 0.5, 0.3]),
        ([0.1, 0.1, 0.8], [0.6, 0.3, 0.1]),
        ([0.4, 0.4, 0.2], [0.2, 0.2, 0.6]),
        ([0.4, 0.4, 0.2], [0.4, 0.4, 0.2]),
    ],
)
def test_of_three_levels_no_fewer_could_move(p: list[float], q: list[float]) -> None:
    n = 40_000
    levels = np.repeat([0, 1, 2], np.round(np.array(p) * n).astype(int))
    x = people_at(-1.0, levels, THREE, 1)
    draws = with_numbers(three_model(), C=by_hand((1, 2, 3), THREE, p, q))
    twins = draws.draw(x, np.random.default_rng(2))
    now = twins[:, 1:4].argmax(axis=1)
    assert np.array_equal(twins[:, 1:4], THREE[now])  # every one of them is a level
    standard_error = np.sqrt(0.25 / n)
    np.testing.assert_allclose(np.bincount(now, minlength=3) / n, q, atol=4.0 * standard_error)
    total_variation = 0.5 * np.abs(np.array(p) - q).sum()
    assert (now != levels).mean() == pytest.approx(total_variation, abs=4.0 * standard_error)
    loses = np.array(q) < p
    assert loses[levels[now != levels]].all()  # who moves leaves a level that loses
    assert not loses[now[now != levels]].any()  # for one that gains


def test_the_probabilities_are_those_of_the_rows() -> None:
    """Of two groups, a logistic regression has the groups' own shares as its answer."""
    n = 4000
    low, high = people_at(-1.0, np.zeros(n, int), PAIR, 2), people_at(1.0, np.zeros(n, int), PAIR, 2)
    low[: n // 5, 1], high[: n * 7 // 10, 1] = 3.0, 3.0
    x = np.concatenate([low, high])
    draws = TwinDraws.fit(pair_model(), x, np.random.default_rng(0))
    category = category_of(draws, "C")
    assert category.codes.tolist() == [[-3.0], [3.0]]
    assert category.causes == (0,)
    found = category.probabilities({0: np.array([-1.0, 1.0])})
    # it looks at 3,000 of the 8,000 rows: the standard error of a share is sqrt(0.21 / 1500) = 0.012
    np.testing.assert_allclose(found, [[0.8, 0.2], [0.3, 0.7]], atol=0.04)
    few = category_of(TwinDraws.fit(pair_model(), x[::4], np.random.default_rng(0)), "C")  # these are all looked at
    np.testing.assert_allclose(few.probabilities({0: np.array([-1.0, 1.0])}), [[0.8, 0.2], [0.3, 0.7]], atol=0.003)


def test_the_probabilities_of_three_levels_are_those_of_the_rows() -> None:
    shares = {-1.0: [0.5, 0.3, 0.2], 1.0: [0.2, 0.2, 0.6]}
    x = np.concatenate(
        [
            people_at(s, np.repeat([0, 1, 2], np.round(np.array(p) * 1000).astype(int)), THREE, 1)
            for s, p in shares.items()
        ]
    )
    category = category_of(TwinDraws.fit(three_model(), x, np.random.default_rng(0)), "C")
    assert np.array_equal(category.codes, THREE)
    np.testing.assert_allclose(
        category.probabilities({0: np.array([-1.0, 1.0])}), [shares[-1.0], shares[1.0]], atol=0.005
    )


def test_causes_that_determine_the_level_still_have_finite_weights() -> None:
    x = np.concatenate([people_at(-1.0, np.zeros(300, int), PAIR, 2), people_at(1.0, np.ones(300, int), PAIR, 2)])
    twins = TwinDraws.fit(pair_model(), x, np.random.default_rng(0)).draw(x, np.random.default_rng(0))
    assert (twins[:, 1] == -x[:, 1]).mean() > 0.97


def test_children_hear_the_level_that_was_drawn() -> None:
    """B = 0.5 * (0.25 C) + u: it moves by 0.5 * 0.25 * 6 with C, and not at all without it."""
    x = people_at(-1.0, np.arange(500) % 2, PAIR, 2)
    draws = with_numbers(pair_model(effect=0.5), C=by_hand((1,), PAIR, [0.5, 0.5], [0.2, 0.8]))
    twins = draws.draw(x, np.random.default_rng(0))
    moved = twins[:, 1] != x[:, 1]
    assert 0.2 < moved.mean() < 0.4
    np.testing.assert_allclose(twins[moved, 3] - x[moved, 3], 0.75, atol=1e-12)
    np.testing.assert_allclose(twins[~moved, 3], x[~moved, 3], atol=1e-12)
    # of three levels, B hears both that one is left and that another is entered: 0.5 * 6 * (w_new - w_old)
    x = people_at(-1.0, np.arange(600) % 3, THREE, 1)
    thirds = [1 / 3, 1 / 3, 1 / 3]
    twins = with_numbers(three_model(), C=by_hand((1, 2, 3), THREE, thirds, [0.1, 0.3, 0.6])).draw(
        x, np.random.default_rng(0)
    )
    before, after = x[:, 1:4].argmax(axis=1), twins[:, 1:4].argmax(axis=1)
    assert (before != after).any()
    effect = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(twins[:, 4] - x[:, 4], 3.0 * (effect[after] - effect[before]), atol=1e-12)


def test_a_category_hears_the_causes_of_the_twin() -> None:
    """S -> A -> C with A a number: C is drawn by what A has become."""
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 2.0, 1.0
    scm = StructuralModel(("S", "A", "C"), "S", weights, np.zeros(3), identity_spline(), np.array([1.0, 0.0, 0.5]))
    weight = np.log(0.8 / 0.2) / 2.0  # A = -2 gives 0.2, A = +2 gives 0.8
    category = Category((2,), PAIR, (1,), np.array([[0.0, weight]]), np.zeros(2))
    x = np.column_stack([np.full(10_000, -1.0), np.full(10_000, -2.0), np.where(np.arange(10_000) < 2000, 3.0, -3.0)])
    twins = with_numbers(scm, C=category).draw(x, np.random.default_rng(0))
    np.testing.assert_allclose(twins[:, 1], 2.0, atol=1e-12)
    assert (twins[:, 2] > 0.0).mean() == pytest.approx(0.8, abs=0.02)
    kept = with_numbers(scm, C=category).draw(x, np.random.default_rng(0), cut=("A", "C"))
    assert np.array_equal(kept[:, 2], x[:, 2])


@pytest.mark.parametrize(
    ("cut", "moves"),  # of A = 2 S + u, B = 3 A - S + u
    [
        (None, (4.0, 10.0)),
        (("S", "A"), (0.0, -2.0)),
        (("A", "B"), (4.0, -2.0)),
        (("S", "B"), (4.0, 12.0)),
        (("B", "A"), (4.0, 10.0)),
        (("S", "C"), (4.0, 10.0)),
    ],
)
def test_an_edge_that_carries_nothing(
    linear_scm: StructuralModel, cut: tuple[str, str] | None, moves: tuple[float, float]
) -> None:
    x = np.array([[-1.0, 3.0, 1.0, 7.0], [-1.0, 0.0, 0.0, 0.0]])
    twins = with_numbers(linear_scm).draw(x, np.random.default_rng(0), cut)
    np.testing.assert_allclose(twins - x, [[2.0, *moves, 0.0]] * 2, atol=1e-12)


def test_in_a_chain_what_comes_after_the_cut_stays() -> None:
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 2.0, 3.0
    scm = StructuralModel(("S", "A", "B"), "S", weights, np.zeros(3), identity_spline())
    x = np.array([[1.0, 0.3, -0.7]])
    draws = with_numbers(scm)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(draws.draw(x, rng, ("S", "A")), [[-1.0, 0.3, -0.7]], atol=1e-12)
    np.testing.assert_allclose(draws.draw(x, rng, ("A", "B")), [[-1.0, -3.7, -0.7]], atol=1e-12)


def test_a_cut_changes_what_hears_it_and_no_chance() -> None:
    x = people_at(-1.0, np.arange(400) % 2, PAIR, 2)
    draws = with_numbers(pair_model(), C=by_hand((1,), PAIR, [0.5, 0.5], [0.2, 0.8]))

    def twins(cut: tuple[str, str] | None) -> np.ndarray:
        return draws.draw(x, np.random.default_rng(7), cut)

    whole = twins(None)
    assert np.array_equal(twins(None), whole)
    assert np.array_equal(twins(("A", "B")), whole)  # there is no such edge
    assert np.array_equal(twins(("S", "A"))[:, [0, 1, 3]], whole[:, [0, 1, 3]])
    np.testing.assert_allclose(twins(("S", "A"))[:, 2], x[:, 2], atol=1e-12)
    assert np.array_equal(twins(("C", "B"))[:, :3], whole[:, :3])  # the same people change their level
    np.testing.assert_allclose(twins(("C", "B"))[:, 3], x[:, 3], atol=1e-12)
    np.testing.assert_allclose(twins(("S", "C"))[:, [1, 3]], x[:, [1, 3]], atol=1e-12)
    assert not np.array_equal(draws.draw(x, np.random.default_rng(8)), whole)


def test_a_cut_from_a_category_is_one_of_all_its_columns() -> None:
    x = people_at(-1.0, np.arange(300) % 3, THREE, 1)
    draws = with_numbers(three_model(), C=by_hand((1, 2, 3), THREE, [0.4, 0.3, 0.3], [0.1, 0.1, 0.8]))
    twins = draws.draw(x, np.random.default_rng(0), ("C", "B"))
    assert (twins[:, 1:4] != x[:, 1:4]).any()
    np.testing.assert_allclose(twins[:, 4], x[:, 4], atol=1e-12)


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_nobody_gets_a_level_that_the_rows_do_not_have(absent: int) -> None:
    """Fitted to rows without one of three levels: nobody enters it, and who has it keeps it."""
    present = [k for k in range(3) if k != absent]
    x = np.concatenate(
        [
            people_at(-1.0, np.repeat(present, [800, 200]), THREE, 1),
            people_at(1.0, np.repeat(present, [300, 700]), THREE, 1),
        ]
    )
    draws = TwinDraws.fit(three_model(), x, np.random.default_rng(0))
    twins = draws.draw(x, np.random.default_rng(1))
    now = twins[:, 1:4].argmax(axis=1)
    assert np.array_equal(twins[:, 1:4], THREE[now])
    assert set(now) == set(present)
    first, second = now[:1000], now[1000:]  # -1 and +1 before: each has the other's shares now
    assert (first == present[1]).mean() == pytest.approx(0.7, abs=0.06)
    assert (second == present[1]).mean() == pytest.approx(0.2, abs=0.06)
    strangers = people_at(-1.0, np.full(50, absent), THREE, 1)
    np.testing.assert_allclose(draws.draw(strangers, np.random.default_rng(0))[:, 1:], strangers[:, 1:], atol=1e-12)


def test_where_the_rows_have_one_level_nobody_moves() -> None:
    x = np.concatenate([people_at(s, np.zeros(50, int), PAIR, 2) for s in (-1.0, 1.0)])
    draws = TwinDraws.fit(pair_model(), x, np.random.default_rng(0))
    others = people_at(1.0, np.ones(20, int), PAIR, 2)
    for people in (x, others):
        twins = draws.draw(people, np.random.default_rng(0))
        np.testing.assert_allclose(twins[:, [1, 3]], people[:, [1, 3]], atol=1e-12)


def test_the_same_generator_fits_the_same_probabilities() -> None:
    rng = np.random.default_rng(0)
    x = people_at(1.0, rng.integers(0, 2, 5000), PAIR, 2)
    x[:, 0] = rng.choice([-1.0, 1.0], 5000)
    one, same, other = (
        category_of(TwinDraws.fit(pair_model(), x, np.random.default_rng(seed)), "C") for seed in (1, 1, 2)
    )
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)  # another 3,000 of the rows


@pytest.mark.parametrize("fill", [-3.0, 3.0])
def test_a_number_with_two_values_and_a_mark_for_missing_cells_is_two_columns(fill: float) -> None:
    """S -> owner: 0.2 against 0.8; a twentieth of the cells is missing, filled, and marked."""
    rng = np.random.default_rng(0)
    n = 20_000
    s = rng.choice([-1.0, 1.0], n)
    owner = np.where(rng.random(n) < np.where(s > 0.0, 0.8, 0.2), 3.0, -3.0)
    missing = rng.random(n) < 0.05
    x = np.column_stack([s, np.where(missing, fill, owner), np.where(missing, 3.0, -3.0)])
    model = learn_model(x, Columns(("S", "owner", "owner is missing"), "S", ("S", "owner", "owner")))
    draws = TwinDraws.fit(model, x, rng)
    assert category_of(draws, "owner").columns == (1,)
    twins = draws.draw(x, rng)
    assert set(np.unique(twins[:, 1:])) == {-3.0, 3.0}
    for sign in (-1.0, 1.0):
        became = (twins[s == sign, 1] > 0.0).mean()
        assert became == pytest.approx((x[s == -sign, 1] > 0.0).mean(), abs=0.02)
    assert (twins[:, 2] > 0.0).mean() == pytest.approx(0.05, abs=0.01)
    np.testing.assert_array_equal(draws.snapped(twins), twins)
    np.testing.assert_array_equal(draws.snapped(x + np.array([0.0, 1.0, -1.0])), x)


def test_every_column_that_is_reached_has_exactly_one_mechanism() -> None:
    """Of the registered kinds, and none for what is not reached."""
    rng = np.random.default_rng(0)
    x = np.concatenate([people_at(s, rng.integers(0, 3, 200), THREE, 1) for s in (-1.0, 1.0)])
    scm = three_model()
    draws = TwinDraws.fit(scm, x, rng)
    assert kinds(draws) == {"C": [Category], "B": [Number]}
    answered = [i for found in draws.mechanisms.values() for mechanism in found for i in mechanism.columns]
    assert sorted(answered) == sorted(scm.affected)
    assert {kind for found in kinds(draws).values() for kind in found} == set(MECHANISMS)


@dataclasses.dataclass(frozen=True)
class Constant:
    """A kind of variable that is always 7."""

    columns: tuple[int, ...]

    @staticmethod
    def claims(scm: StructuralModel, x: Floats, left: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(i,) for i in left if np.ptp(x[:, i]) == 0.0]

    @classmethod
    def fit(cls, scm: StructuralModel, columns: tuple[int, ...], everybody: Floats, sample: Floats) -> Self:
        return cls(columns)

    def twins(self, x: Floats, before: Messages, after: Messages, rng: np.random.Generator) -> Floats:
        return np.full((len(x), len(self.columns)), 7.0)

    def snapped(self, x: Floats) -> Floats:
        return np.full((len(x), len(self.columns)), 7.0)


def test_a_new_kind_of_variable_is_a_class_and_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    x = people_at(1.0, np.arange(100) % 2, PAIR, 2)
    x[::3, 0], x[:, 2] = -1.0, 7.0
    monkeypatch.setattr(mechanisms, "MECHANISMS", (Constant, *MECHANISMS))
    draws = TwinDraws.fit(pair_model(), x, np.random.default_rng(0))
    assert kinds(draws) == {"C": [Category], "A": [Constant], "B": [Number]}
    assert (draws.draw(x, np.random.default_rng(0))[:, 2] == 7.0).all()
    assert (draws.snapped(x + 0.1)[:, 2] == 7.0).all()
