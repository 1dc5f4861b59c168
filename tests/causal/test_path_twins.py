"""Twins along some paths only: counterfactuals by hand, the definition unfolded, and what always holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from cfad_core.causal.density import fit_density
from cfad_core.causal.layout import Amount, Layout, Levels, Part, Shape
from cfad_core.causal.mechanisms import Mechanism
from cfad_core.causal.mechanisms.basis import Basis, LevelBasis, SharedBasis
from cfad_core.causal.mechanisms.category import Category
from cfad_core.causal.mechanisms.shared import Additive
from cfad_core.causal.model import Graph, PossibleTwins, StructuralModel
from cfad_core.causal.path_twins import (
    OPEN,
    ClosedPaths,
    Path,
    PathTwins,
    alone,
    direct,
    has_path,
    passed_on,
    without,
)
from cfad_core.core.arrays import Floats
from cfad_core.core.states import Codes, States
from tests.conftest import identity_spline

SEEDS = st.integers(0, 2**32 - 1)
DENSITY = fit_density(np.random.default_rng(0).normal(size=200))
Sums = Mapping[str, Mapping[tuple[str, ...], float]]
"""By variable, the weight of each product of its causes."""


def model_of(
    sums: Sums, sizes: tuple[int, ...] = (2,), levels: Mapping[str, Category] | None = None
) -> StructuralModel:
    """A model by hand: every variable is a sum of products of its causes, and noise.

    The attributes come first: S, or S and T. A group counts as -1 and +1, or as 0, 1, 2, ...
    """
    levels, attributes = levels or {}, ("S", "T")[: len(sizes)]
    names = (*attributes, *sums)
    place = {name: k for k, name in enumerate(names)}
    numbers = [np.array([[-1.0], [1.0]])] if sizes == (2,) else [np.arange(size + 0.0)[:, None] for size in sizes]
    shapes: list[Shape] = (
        [Part((0,), numbers[s], s, sizes) for s in range(len(sizes))]
        if len(sizes) > 1
        else [Levels((0,), States(sizes).codes[:, None])]
    )
    bases: dict[int, Basis] = {s: LevelBasis(numbers[s]) for s in range(len(sizes))}
    mechanisms: dict[int, Mechanism] = {}
    edges = np.zeros((len(names), len(names)), dtype=np.bool_)
    for k, (name, products) in enumerate(sums.items()):
        i, column = place[name], 1 + k
        edges[[place[cause] for product in products for cause in product], i] = True
        if name in levels:
            count = len(levels[name].places)
            shapes.append(Levels((column,), np.arange(float(count))[:, None]))
            bases[i], mechanisms[i] = LevelBasis(np.arange(float(count))[:, None]), levels[name]
            continue
        shapes.append(Amount(column))
        bases[i] = SharedBasis(identity_spline(-1e4, 1e4), 1.0)
        terms = tuple(tuple((place[cause], 0) for cause in product) for product in products)
        mechanisms[i] = Additive(terms, np.array([0.0, *products.values()]), 1.0, DENSITY)
    strength = edges.astype(np.float64)
    reached = {int(i) for i in range(len(sizes), len(names)) if edges[:, i].any()}
    return StructuralModel(
        Layout(names, tuple(shapes)),
        Graph(edges, strength, strength),
        bases,
        {i: mechanism for i, mechanism in mechanisms.items() if i in reached},
        seed=0,
    )


def rows(model: StructuralModel, n: int = 40, seed: int = 0) -> Floats:
    """Any people: whatever their cells, their noise is what is left."""
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [rng.choice(model.states.codes, n), rng.normal(size=(n, len(model.variables) - model.layout.attributes))]
    )
    for shape in model.layout.shapes[model.layout.attributes :]:
        if isinstance(shape, Levels):
            x[:, shape.columns[0]] = rng.integers(len(shape.patterns), size=n)
    return x


def other(model: StructuralModel, x: Floats) -> Codes:
    return model.states.other(model.states.of_codes(x[:, 0]), 0)


def along(model: StructuralModel, x: Floats, closed: ClosedPaths) -> Floats:
    return PathTwins(model.possible_twins(x), other(model, x))(closed)


def by_definition(people: PossibleTwins, to: Codes, closed: ClosedPaths, draw: int = 0) -> Floats:
    """The definition itself: every variable is worked out anew for each way on from it (exponentially many)."""
    model = people.model
    names, states = model.variables, model.states
    group = states.of_codes(people.x[:, 0])
    moved = [s for s in range(states.attributes) if (states.levels[to, s] != states.levels[group, s]).any()]

    def is_closed(path: Path) -> bool:
        return path in closed.ends or any(path[:k] in closed.onward for k in range(2, len(path) + 1))

    def value(i: int, way: Path) -> Floats:
        """Of a variable, as those see it who are this way on from it; the way begins at the variable."""
        if i in moved:
            levels: Floats = states.levels[group if is_closed(way) else to, i].astype(np.float64)
            return levels
        causes = [int(j) for j in np.flatnonzero(model.graph.edges[:, i])]
        if i not in model.reached_from(moved):
            return people.cells[:, i]
        heard = {j: value(j, (names[j], *way)) for j in causes}
        functions = {**people.here, **{j: model.bases[j].functions(cells) for j, cells in heard.items()}}
        return people.cells_in(i, functions, group, to, draw, None)

    reached = [i for i in model.reached_from(moved) if i not in moved]
    found = {i: value(i, (names[i],)) for i in reached}
    found |= {s: states.levels[to, s].astype(np.float64) for s in moved}
    return model.layout.rows(people.x, found, people.cells)


# By hand

CHAIN = model_of({"A": {("S",): 2.0}, "B": {("A",): 3.0}, "C": {("B",): 0.5}})
FORK = model_of({"A": {("S",): 2.0}, "B": {("S",): -1.0}, "C": {}})
DIAMOND = model_of({"A": {("S",): 2.0}, "B": {("S",): -1.0}, "C": {("A", "B"): 1.0, ("S",): 5.0}})
WITNESS = model_of({"A": {("S",): 2.0}, "B": {("A",): 3.0}, "C": {("A",): 1.0, ("B", "A"): 0.25}})


def test_a_chain_by_hand() -> None:
    """A = 2 S + u, B = 3 A + v, C = B / 2 + w: whatever is closed stays, and all that follows from it."""
    x = rows(CHAIN)
    step = -2.0 * x[:, 0]  # of S
    whole = along(CHAIN, x, OPEN)
    np.testing.assert_allclose((whole - x)[:, 1:], np.column_stack([2.0 * step, 6.0 * step, 3.0 * step]))
    kept = along(CHAIN, x, without([("S", "A")]))
    assert np.array_equal(kept[:, 1:], x[:, 1:])
    assert np.array_equal(kept[:, 0], -x[:, 0])
    second = along(CHAIN, x, without([("S", "A", "B")]))
    assert np.array_equal(second[:, 1], whole[:, 1])
    assert np.array_equal(second[:, 2:], x[:, 2:])
    end = along(CHAIN, x, ClosedPaths(ends=frozenset({("S", "A", "B")})))  # B is not seen, but it passes on
    assert np.array_equal(end[:, [1, 3]], whole[:, [1, 3]])
    assert np.array_equal(end[:, 2], x[:, 2])


def test_a_fork_by_hand() -> None:
    x = rows(FORK)
    whole, found = along(FORK, x, OPEN), along(FORK, x, without([("S", "A")]))
    assert np.array_equal(found[:, [1, 3]], x[:, [1, 3]])
    assert np.array_equal(found[:, 2], whole[:, 2])
    np.testing.assert_allclose(found[:, 2], x[:, 2] + 2.0 * x[:, 0])


@pytest.mark.parametrize(
    ("closed", "a", "b", "s"),
    [
        ([], True, True, True),
        ([("S", "C")], True, True, False),
        ([("S", "A", "C")], False, True, True),
        ([("S", "A", "C"), ("S", "C")], False, True, False),
        ([("S", "A", "C"), ("S", "B", "C"), ("S", "C")], False, False, False),
    ],
)
def test_a_diamond_with_a_direct_edge_by_hand(closed: list[Path], a: bool, b: bool, s: bool) -> None:
    """C = A B + 5 S + w: what C hears of each, while A and B themselves move."""
    x = rows(DIAMOND)
    found, step = along(DIAMOND, x, without(closed)), -2.0 * x[:, 0]
    moved_a, moved_b = x[:, 1] + 2.0 * step, x[:, 2] - step
    np.testing.assert_allclose(found[:, 1], moved_a)
    np.testing.assert_allclose(found[:, 2], moved_b)
    heard_a, heard_b = (moved_a if a else x[:, 1]), (moved_b if b else x[:, 2])
    expected = x[:, 3] + (heard_a * heard_b - x[:, 1] * x[:, 2]) + 5.0 * (step if s else 0.0)
    np.testing.assert_allclose(found[:, 3], expected)


def test_two_mediators_by_hand() -> None:
    """S -> A closed: A stays for everybody, also for C, which still hears the B that moved."""
    x = rows(DIAMOND)
    found, step = along(DIAMOND, x, without([("S", "A")])), -2.0 * x[:, 0]
    assert np.array_equal(found[:, 1], x[:, 1])
    np.testing.assert_allclose(found[:, 3], x[:, 3] + x[:, 1] * -step + 5.0 * step)
    only = along(DIAMOND, x, alone(DIAMOND, ("S", "A", "C"), ["S"]))  # nobody sees A or B move
    assert np.array_equal(only[:, 1:3], x[:, 1:3])
    np.testing.assert_allclose(only[:, 3], x[:, 3] + 2.0 * step * x[:, 2])


def test_a_recanting_witness_has_two_values_at_once() -> None:
    """S -> A -> B closed, S -> A -> C open: B hears A as it is and C hears A as it would be, in one twin.

    And C hears, through B, the A that B hears: B stays, as nothing else moves it.
    """
    x = rows(WITNESS)
    found, step = along(WITNESS, x, without([("S", "A", "B")])), -2.0 * x[:, 0]
    moved = x[:, 1] + 2.0 * step
    np.testing.assert_allclose(found[:, 1], moved)
    assert np.array_equal(found[:, 2], x[:, 2])
    np.testing.assert_allclose(found[:, 3], x[:, 3] + (moved - x[:, 1]) + 0.25 * x[:, 2] * (moved - x[:, 1]))
    third = along(WITNESS, x, without([("S", "A", "B", "C")]))  # B moves, but C hears the B that it was
    np.testing.assert_allclose(third[:, 2], x[:, 2] + 6.0 * step)
    np.testing.assert_allclose(third[:, 3], found[:, 3])


JOB = Category((((0, 0),),), np.array([[0.0, 0.3, -0.2], [0.0, 1.5, -1.0]]), np.arange(3), np.zeros(0))
OWNER = Category((((0, 0),), ((1, 0),)), np.array([[0.0, 0.1], [0.0, 0.8], [0.0, 0.5]]), np.arange(2), np.zeros(0))
LEVELS = model_of(
    {"job": {("S",): 1.0}, "owner": {("S",): 1.0, ("job",): 1.0}, "pay": {("job",): 2.0, ("owner",): 1.0, ("S",): 4.0}},
    levels={"job": JOB, "owner": OWNER},
)


def test_mediators_with_levels_keep_their_draw_in_every_world() -> None:
    """A person's twin has one job, whoever hears of it; who does not hears the person's."""
    x = rows(LEVELS, 600)
    whole, step = along(LEVELS, x, OPEN), -2.0 * x[:, 0]
    assert (whole[:, 1] != x[:, 1]).mean() > 0.2
    heard = along(LEVELS, x, without([("S", "job", "pay")]))
    assert np.array_equal(heard[:, 1:3], whole[:, 1:3])
    np.testing.assert_allclose(heard[:, 3], x[:, 3] + (whole[:, 2] - x[:, 2]) + 4.0 * step)
    kept = along(LEVELS, x, without([("S", "job")]))
    assert np.array_equal(kept[:, 1], x[:, 1])
    np.testing.assert_allclose(kept[:, 3], x[:, 3] + (kept[:, 2] - x[:, 2]) + 4.0 * step)
    # Two levels: who has one that becomes likelier keeps it, the others go with probability 1 - q / p
    p, q = (1.0 / (1.0 + np.exp(-(0.1 + 0.8 * s + 0.5 * x[:, 1]))) for s in (x[:, 0], -x[:, 0]))
    mine, theirs = (np.where(x[:, 2] == 1.0, share, 1.0 - share) for share in (p, q))
    leaves = kept[:, 2] != x[:, 2]
    assert not leaves[theirs >= mine].any()
    falls = theirs < mine
    assert leaves[falls].mean() == pytest.approx((1.0 - theirs / mine)[falls].mean(), abs=0.06)


def test_the_other_group_of_several_and_of_two_attributes() -> None:
    three = model_of({"A": {("S",): 1.0}, "B": {("A",): 1.0, ("S",): 10.0}}, sizes=(3,))
    x = rows(three)
    for group in range(3):
        to = np.full(len(x), group)
        found = PathTwins(three.possible_twins(x), to)(without([("S", "B")]))
        np.testing.assert_allclose(found[:, 1:], x[:, 1:] + (to - x[:, 0])[:, None])
        assert np.array_equal(found[:, 0], to)
    two = model_of({"A": {("S",): 1.0, ("T",): 10.0}, "B": {("A",): 1.0, ("S", "T"): 100.0}}, sizes=(2, 3))
    x = rows(two)
    own = two.states.of_codes(x[:, 0])
    (s, t), to = two.states.levels[own].T, two.states.moved(own, {0: 1, 1: 2})
    twins = PathTwins(two.possible_twins(x), to)
    np.testing.assert_allclose(twins(without([("T", "A")]))[:, 1], x[:, 1] + (1 - s))
    both = twins(without([("T", "A", "B"), ("S", "B")]))
    np.testing.assert_allclose(both[:, 1], x[:, 1] + (1 - s) + 10.0 * (2 - t))
    np.testing.assert_allclose(both[:, 2], x[:, 2] + (1 - s) + 100.0 * (s * 2 - s * t))
    one = PathTwins(two.possible_twins(x), two.states.moved(own, {0: 1}))
    assert np.array_equal(one(without([("T", "A")])), one())  # T is not moved: nothing begins there


def test_an_attribute_that_another_one_causes_is_a_step_of_its_paths() -> None:
    """S -> T -> A, where S is moved: the path through T may be closed; where T is moved, it begins at T."""
    model = model_of({"A": {("S",): 1.0, ("T",): 10.0}}, sizes=(2, 2))
    edges = model.graph.edges.copy()
    edges[0, 1] = True
    follows = Category((((0, 0),),), np.array([[2.0, -2.0], [-4.0, 4.0]]), np.arange(2), np.zeros(0))
    model = StructuralModel(
        model.layout,
        Graph(edges, edges.astype(np.float64), edges.astype(np.float64)),
        model.bases,
        {**model.mechanisms, 1: follows},
        0,
    )
    x = rows(model, 200)
    own = model.states.of_codes(x[:, 0])
    s, t = model.states.levels[own].T
    moved = PathTwins(model.possible_twins(x), model.states.moved(own, {0: 1 - s}))
    assert np.array_equal(moved(), model.twins(x, to=model.states.moved(own, {0: 1 - s})))
    there = model.states.levels[model.states.of_codes(moved()[:, 0]), 1]
    assert (there != t).mean() > 0.3
    np.testing.assert_allclose(moved()[:, 1] - x[:, 1], (1 - 2 * s) + 10.0 * (there - t))
    closed = moved(without([("S", "T", "A")]))
    assert np.array_equal(closed[:, 0], moved()[:, 0])
    np.testing.assert_allclose(closed[:, 1] - x[:, 1], 1 - 2 * s)
    kept = moved(without([("S", "T")]))
    assert np.array_equal(model.states.levels[model.states.of_codes(kept[:, 0]), 1], t)
    both = PathTwins(model.possible_twins(x), model.states.moved(own, {0: 1 - s, 1: 1 - t}))
    assert np.array_equal(both(without([("S", "T")])), both())  # the action on T is not what S does
    np.testing.assert_allclose(both(without([("T", "A")]))[:, 1] - x[:, 1], 1 - 2 * s)


# What always holds, of any graph


def any_model(rng: np.random.Generator, d: int = 6) -> StructuralModel:
    """A random graph over six variables, some of them categories, with products of causes."""
    names = [f"V{k}" for k in range(d)]
    sums: dict[str, dict[tuple[str, ...], float]] = {}
    levels: dict[str, Category] = {}
    for k, name in enumerate(names):
        causes = [cause for cause in ("S", *names[:k]) if rng.random() < 0.45]
        products: list[tuple[str, ...]] = [(cause,) for cause in causes]
        if causes and rng.random() < 0.3:
            weights = np.column_stack([np.zeros(1 + len(causes)), rng.normal(size=(1 + len(causes), 2))])
            places = {cause: index for index, cause in enumerate(("S", *names))}
            terms = tuple(((places[cause], 0),) for cause in causes)
            levels[name] = Category(terms, np.clip(weights, -1.0, 1.0), np.arange(3), np.zeros(0))
        elif len(causes) > 1:
            products.append((causes[0], causes[-1]))
        sums[name] = {product: float(rng.normal()) for product in products}
    return model_of(sums, levels=levels)


def all_paths(model: StructuralModel) -> list[Path]:
    names, edges = model.variables, model.graph.edges

    def onwards(path: tuple[int, ...]) -> list[tuple[int, ...]]:
        further = [(*path, int(i)) for i in np.flatnonzero(edges[path[-1]])]
        return further + [longer for one in further for longer in onwards(one)]

    return [tuple(names[k] for k in path) for path in onwards((0,))]


def some_of(paths: Sequence[Path], rng: np.random.Generator) -> frozenset[Path]:
    most = min(len(paths), 6)
    return frozenset(paths[k] for k in rng.permutation(len(paths))[: rng.integers(0, most + 1)])


@settings(max_examples=60, deadline=None)
@examples(seed=SEEDS)
def test_it_is_the_definition(seed: int) -> None:
    """To the bit, with levels that are drawn, with products, and with any paths closed."""
    rng = np.random.default_rng(seed)
    model = any_model(rng)
    x, paths = rows(model, 12, seed), all_paths(model)
    people, to = model.possible_twins(x), other(model, x)
    twins = PathTwins(people, to, draw=2)
    for _ in range(4):
        closed = ClosedPaths(some_of(paths, rng), some_of(paths, rng))
        assert np.array_equal(twins(closed), by_definition(people, to, closed, draw=2))


@settings(max_examples=60, deadline=None)
@examples(seed=SEEDS)
def test_all_paths_are_the_twin_and_none_is_the_person(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = any_model(rng)
    x, paths = rows(model, 12, seed), all_paths(model)
    twins, whole = PathTwins(model.possible_twins(x), other(model, x)), model.twins(x)
    assert np.array_equal(twins(), whole)
    for closed in (
        without(paths),
        without(path for path in paths if len(path) == 2),
        ClosedPaths(ends=frozenset(paths)),
    ):
        found = twins(closed)
        assert np.array_equal(found[:, 1:], x[:, 1:])
        assert np.array_equal(found[:, 0], -x[:, 0])
    some = list(some_of(paths, rng))
    found = twins(without(some))
    assert np.array_equal(found, twins(without([*some[::-1], *some])))  # neither order nor number matters
    reached = {model.layout.shapes[i].positions[0] for i in model.affected}
    kept = [column for column in range(1, x.shape[1]) if column not in reached]
    assert np.array_equal(found[:, kept], x[:, kept])
    shorter = [path for path in some if not any(path[:k] in some for k in range(2, len(path)))]
    assert np.array_equal(found, twins(without(shorter)))  # what follows from a closed path is closed already
    unknown = without([*some, ("S", "nobody"), ("V0", "V1"), ("S", "V1", "V0"), ("S",), ()])
    assert np.array_equal(found, twins(unknown))  # a path that is not there carries nothing


@settings(max_examples=40, deadline=None)
@examples(seed=SEEDS)
def test_one_path_alone_is_all_others_closed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = any_model(rng)
    x, paths = rows(model, 12, seed), all_paths(model)
    twins = PathTwins(model.possible_twins(x), other(model, x))
    for path in some_of(paths, rng):
        others = frozenset(one for one in paths if one[: len(path)] != path)
        assert np.array_equal(twins(alone(model, path, ["S"])), twins(ClosedPaths(ends=others)))
    directly = frozenset(one for one in paths if len(one) > 2)
    assert np.array_equal(twins(direct(model, ["S"])), twins(ClosedPaths(ends=directly)))
    rest = frozenset(one for one in paths if len(one) == 2)
    assert np.array_equal(twins(passed_on(model, ["S"])), twins(ClosedPaths(ends=rest)))


def test_effects_along_a_path_add_up_where_everything_is_linear() -> None:
    """Of sums without products: what is gone without each path is what it carries alone, and together that is all."""
    model = model_of(
        {"A": {("S",): 2.0}, "B": {("S",): -1.0, ("A",): 0.5}, "C": {("A",): 1.5, ("B",): -2.0, ("S",): 0.3}}
    )
    x = rows(model)
    twins = PathTwins(model.possible_twins(x), other(model, x))
    first = [("S", "A"), ("S", "B"), ("S", "C")]
    carried = [twins(alone(model, path, ["S"]))[:, 1:] - x[:, 1:] for path in first]
    np.testing.assert_allclose(sum(carried), (twins() - x)[:, 1:], atol=1e-9)
    for path, effect in zip(first, carried, strict=True):
        np.testing.assert_allclose((twins() - twins(without([path])))[:, 1:], effect, atol=1e-9)


def test_many_paths_need_few_worlds() -> None:
    """Twelve layers of two: 8,190 paths, and closing one of them adds a world for each of its variables at most."""
    layers: dict[str, dict[tuple[str, ...], float]] = {"A0": {("S",): 1.0}, "B0": {("S",): 1.0}}
    for k in range(1, 12):
        layers |= {f"{name}{k}": {(f"A{k - 1}",): 0.5, (f"B{k - 1}",): 0.5} for name in "AB"}
    model = model_of(layers)
    x = rows(model)
    twins = PathTwins(model.possible_twins(x), other(model, x))
    twins()
    plain = len(twins._cells)
    assert plain == 1 + 24
    path = ("S", *(f"A{k}" for k in range(12)))
    found = twins(without([path]))
    assert len(twins._cells) <= plain + len(path)
    moved = (twins() - found)[:, 1:]
    np.testing.assert_allclose(moved[:, -2], -2.0 * x[:, 0] * 0.5**11)  # of A11, this path's share
    assert np.array_equal(np.delete(moved, -2, axis=1), np.zeros((len(x), 23)))


def test_which_graphs_have_a_path() -> None:
    assert has_path(DIAMOND, ("S", "A", "C"))
    assert not has_path(DIAMOND, ("S", "B", "A"))
    assert not has_path(DIAMOND, ("S", "Z"))
