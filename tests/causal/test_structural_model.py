"""Twins by learned mechanisms, on worlds whose twins are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp, spearmanr

from cfad_core.causal.model import Graph, StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from tests.causal.worlds import MIXED_EDGES, MIXED_VARIABLES, groups, learn_given, learn_mixed, mixed_rows

NAMES = ("S", "A", "B", "C", "D", "E")
WEIGHTS = np.zeros((6, 6))
WEIGHTS[0, 1], WEIGHTS[1, 2], WEIGHTS[0, 3], WEIGHTS[2, 4], WEIGHTS[3, 4] = 0.9, -0.8, 0.7, 0.9, 0.8
WEIGHTS[5, 1] = 0.5  # E -> A: a cause that S does not reach
EDGES = tuple((NAMES[j], NAMES[i]) for j, i in np.argwhere(WEIGHTS))
UNITS = np.array([1.0, 1000.0, 0.01, 7.0, 1.0, 50.0])
OFFSETS = np.array([0.0, -3000.0, 5.0, 0.0, 0.0, 200.0])


def linear_world(n: int, seed: int) -> Floats:
    """x = W^T x + u, in units of their own."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, 6))
    noise[:, 0] = groups(n, rng)
    found: Floats = noise @ np.linalg.inv(np.eye(6) - WEIGHTS) * UNITS + OFFSETS
    return found


@pytest.fixture(scope="module")
def linear() -> StructuralModel:
    return learn_given(linear_world(20_000, seed=0), NAMES, EDGES)


@pytest.fixture(scope="module")
def large() -> StructuralModel:
    return learn_mixed(12_000)


@pytest.fixture(scope="module")
def mixed() -> StructuralModel:
    return learn_mixed()


def test_twins_are_those_of_linear_algebra(linear: StructuralModel) -> None:
    """x' = x + (s' - s) T with T = (I - W^T)^-1 e_S, the total effects of S.

    With 20,000 rows the standard error of a weight is 0.007, and of an effect, doubled by s' - s = 2, below 0.03
    standard deviations of the noise.
    """
    people = linear_world(2000, seed=1)
    effects = np.linalg.inv(np.eye(6) - WEIGHTS.T)[:, 0] * UNITS
    truth = people - 2.0 * people[:, :1] * effects
    wrong = (linear.twins(people) - truth) / UNITS
    spread = people.std(axis=0) / UNITS
    seen = linear_world(20_000, seed=0)
    inside = ((truth > seen.min(axis=0)) & (truth < seen.max(axis=0)))[:, 1:].all(axis=1)
    assert inside.mean() > 0.99  # numbers beyond what training saw are clipped
    assert (np.sqrt((wrong[inside] ** 2).mean(axis=0)) / spread).max() < 0.04
    assert (np.abs(wrong[inside].mean(axis=0)) / spread).max() < 0.02


def test_what_is_not_reached_keeps_every_bit(linear: StructuralModel, mixed: StructuralModel) -> None:
    people = linear_world(500, seed=2)
    twins = linear.twins(people)
    assert set(linear.affected_names) == {"A", "B", "C", "D"}
    assert np.array_equal(twins[:, 5], people[:, 5])
    assert np.array_equal(twins[:, 0], -people[:, 0])
    x = mixed_rows(500, seed=2)
    before = x.copy()
    twins = mixed.twins(x)
    assert np.array_equal(twins[:, MIXED_VARIABLES.index("age")], x[:, MIXED_VARIABLES.index("age")])
    assert np.array_equal(twins[:, 0], -x[:, 0])
    assert np.array_equal(x, before)


def test_twins_of_twins_are_the_people_again(linear: StructuralModel) -> None:
    people = linear_world(1000, seed=3)
    twins = linear.twins(people)
    seen = linear_world(20_000, seed=0)
    inside = ((twins > seen.min(axis=0)) & (twins < seen.max(axis=0)))[:, 1:5].all(axis=1)
    inside &= ((people > seen.min(axis=0)) & (people < seen.max(axis=0)))[:, 1:5].all(axis=1)
    assert inside.mean() > 0.98
    back = linear.twins(twins[inside])
    np.testing.assert_allclose((back - people[inside]) / people.std(axis=0), 0.0, atol=1e-9)


def test_twins_of_twins_return_where_numbers_are_scored_or_of_another_shape_in_each_group() -> None:
    """Log-normal numbers, noise whose shape depends on the group: still exact, up to clipping."""
    rng = np.random.default_rng(4)
    s = groups(4000, rng)
    shape = np.where(s > 0.0, rng.standard_exponential(4000) - 1.0, rng.normal(size=4000))
    x = np.column_stack([s, np.exp(0.5 * s + 0.6 * shape), np.zeros(4000)])
    x[:, 2] = np.log(x[:, 1]) * 2.0 + s * np.abs(x[:, 1]) + rng.normal(size=4000)
    model = learn_given(x, ("S", "A", "B"), (("S", "A"), ("S", "B"), ("A", "B")))
    twins = model.twins(x)
    inside = ((twins > x.min(axis=0)) & (twins < x.max(axis=0)))[:, 1:].all(axis=1)
    assert inside.mean() > 0.95
    np.testing.assert_allclose((model.twins(twins[inside]) - x[inside]) / x.std(axis=0), 0.0, atol=1e-9)


def test_twins_of_twins_return_in_distribution(large: StructuralModel) -> None:
    """Counts and levels are drawn: not everybody returns, but the group does."""
    x = mixed_rows(24_000, seed=5)  # of 6,000, chance alone moves shares by as much as the bound
    back = large.twins(large.twins(x), draw=1)
    for sign in (-1.0, 1.0):
        rows = x[:, 0] == sign
        for column in (4, 5, 6, 7, 10):
            counts = [[(some[rows, column] > 0.0).sum(), (some[rows, column] <= 0.0).sum()] for some in (x, back)]
            assert chi2_contingency(counts).pvalue > 1e-3, column
        shares = [np.bincount(some[rows, 2].astype(int), minlength=30) / rows.sum() for some in (x, back)]
        assert 0.5 * np.abs(shares[0] - shares[1]).sum() < 0.04  # counts: inside a count, places are not quite uniform
    assert (back[:, 4:7] == x[:, 4:7]).all(axis=1).mean() > 0.5  # most do


@pytest.mark.parametrize("draw", [0, 3])
def test_a_rows_twin_depends_on_that_row_and_the_seed_alone(mixed: StructuralModel, draw: int) -> None:
    x = mixed_rows(300, seed=6)
    twins = mixed.twins(x, draw)
    order = np.random.default_rng(0).permutation(300)
    assert np.array_equal(mixed.twins(x[order], draw), twins[order])
    assert np.array_equal(mixed.twins(np.concatenate([x, x[:50]]), draw)[300:], twins[:50])
    assert np.array_equal(np.concatenate([mixed.twins(x[:101], draw), mixed.twins(x[101:], draw)]), twins)
    assert np.array_equal(mixed.twins(np.asfortranarray(x)[::3], draw), twins[::3])
    for k in range(0, 300, 30):
        assert np.array_equal(mixed.twins(x[k : k + 1], draw)[0], twins[k])
    assert mixed.twins(x[:0], draw).shape == (0, x.shape[1])


def test_another_draw_or_seed_is_another_chance(mixed: StructuralModel) -> None:
    x = mixed_rows(400, seed=6)
    first, again, second = mixed.twins(x), mixed.twins(x), mixed.twins(x, 1)
    reseeded = dataclasses.replace(mixed, seed=mixed.seed + 1).twins(x)
    assert np.array_equal(first, again)
    for other in (second, reseeded):
        for column in (2, 3, 4, 7, 10):  # counted, mostly 0, levels, two levels, missing
            assert (other[:, column] != first[:, column]).any()
        assert np.array_equal(other[:, 1], first[:, 1])  # nothing is drawn for a continuous number


def test_twins_of_one_group_are_the_other_group(large: StructuralModel) -> None:
    """Each column of the twins against real people of the group: two-sample tests that do not know the model."""
    x = mixed_rows(12_000)
    twins = large.twins(x)
    p_values = []
    for sign in (-1.0, 1.0):
        real, made = x[x[:, 0] == sign], twins[twins[:, 0] == sign]
        p_values += [ks_2samp(real[:, column], made[:, column]).pvalue for column in (1, 2, 3, 8, 9)]
        for column in (4, 5, 6, 7, 10):
            counts = [[(some[:, column] > 0.0).sum(), (some[:, column] <= 0.0).sum()] for some in (real, made)]
            p_values.append(chi2_contingency(counts).pvalue)
    assert min(p_values) > 0.001


def test_relations_between_columns_are_the_other_groups(large: StructuralModel) -> None:
    x = mixed_rows(12_000)
    twins = large.twins(x)
    columns = [1, 2, 8, 11]
    for sign in (-1.0, 1.0):
        real, made = (spearmanr(some[some[:, 0] == sign][:, columns]).statistic for some in (x, twins))
        np.testing.assert_allclose(real, made, atol=0.04)  # about 6,000 people: standard error 0.013


@pytest.mark.parametrize(
    ("cut", "stay", "moves"),
    [
        (("S", "A"), ["A", "B"], ["C", "D"]),
        (("A", "B"), ["B"], ["A", "C", "D"]),
        (("S", "C"), ["C"], ["A", "B", "D"]),
        (("B", "D"), [], ["A", "B", "C", "D"]),
        (("E", "A"), [], ["A", "B", "C", "D"]),
    ],
)
def test_a_cut_edge_carries_nothing(
    linear: StructuralModel, cut: tuple[str, str], stay: list[str], moves: list[str]
) -> None:
    people = linear_world(300, seed=7)
    twins, whole = linear.twins(people, cut=cut), linear.twins(people)
    for name in stay:
        column = NAMES.index(name)
        assert np.array_equal(twins[:, column], people[:, column])
    for name in moves:
        assert (twins[:, NAMES.index(name)] != people[:, NAMES.index(name)]).all()
    effects = WEIGHTS.copy()
    effects[NAMES.index(cut[0]), NAMES.index(cut[1])] = 0.0
    expected = -2.0 * people[:, :1] * np.linalg.inv(np.eye(6) - effects.T)[:, 0] * UNITS
    np.testing.assert_allclose(((twins - people) - expected).mean(axis=0) / UNITS, 0.0, atol=0.08)
    if cut == ("E", "A"):  # E does not change: its edge carried nothing
        assert np.array_equal(twins, whole)


def test_a_cut_in_a_mixed_table_changes_what_hears_it_and_no_chance(mixed: StructuralModel) -> None:
    x = mixed_rows(400, seed=8)
    whole = mixed.twins(x)

    def columns_of(*names: str) -> list[int]:
        return [k for k, name in enumerate(MIXED_VARIABLES) if name in names]

    for effect, after in (("job", ("visits",)), ("pay", ("gain", "score")), ("owner", ()), ("share", ())):
        twins = mixed.twins(x, cut=("S", effect))
        assert np.array_equal(twins[:, columns_of(effect)], x[:, columns_of(effect)])
        untouched = [k for k, name in enumerate(MIXED_VARIABLES) if name not in (effect, *after)]
        assert np.array_equal(twins[:, untouched], whole[:, untouched])
    heard = mixed.twins(x, cut=("job", "visits"))
    assert np.array_equal(heard[:, columns_of("job")], whole[:, columns_of("job")])
    assert (heard[:, columns_of("visits")] != whole[:, columns_of("visits")]).any()


def test_couplings_can_be_chosen(mixed: StructuralModel) -> None:
    x = mixed_rows(3000, seed=9)
    jobs = {way: mixed.twins(x, coupling=way)[:, 4:7] for way in ("fewest", "nominal", "ordered")}
    moved = {way: (found != x[:, 4:7]).any(axis=1).mean() for way, found in jobs.items()}
    assert moved["fewest"] <= moved["nominal"] <= 1.0
    assert moved["fewest"] <= moved["ordered"] + 0.01
    assert len({found.tobytes() for found in jobs.values()}) == 3
    numbers = {way: mixed.twins(x, coupling=way)[:, [1, 7, 10]].tobytes() for way in ("fewest", "nominal", "ordered")}
    assert len(set(numbers.values())) == 1  # of numbers, two levels and missing cells there is one coupling


def test_a_sensitive_attribute_with_causes_leaves_them_alone() -> None:
    """A -> S -> B <- A: twins keep A, and B moves by what S does."""
    rng = np.random.default_rng(10)
    a = rng.normal(size=6000)
    s = np.where(rng.random(6000) < 1.0 / (1.0 + np.exp(-2.0 * a)), 1.0, -1.0)
    x = np.column_stack([s, a, 1.5 * s + 2.0 * a + rng.normal(size=6000)])
    model = learn_given(x, ("S", "A", "B"), (("A", "S"), ("S", "B"), ("A", "B")))
    assert model.affected_names == ("B",)
    twins = model.twins(x)
    assert np.array_equal(twins[:, 1], x[:, 1])
    moved = (twins[:, 2] - x[:, 2]) * -s
    assert np.median(moved) == pytest.approx(3.0, abs=0.1)  # not the 5 or so by which the groups differ
    assert (np.abs(moved - 3.0) < 0.4).mean() > 0.9


def test_edges_and_their_strengths(linear: StructuralModel) -> None:
    found = linear.edges()
    assert set(found) == set(EDGES)
    assert linear.sensitive == "S"
    names, strengths = linear.strengths()
    assert names == list(NAMES)
    assert ((strengths != 0.0) == (WEIGHTS != 0.0)).all()
    assert (np.sign(strengths) == np.sign(WEIGHTS)).all()
    # B = -0.8 A + u has one cause: its partial correlation is its correlation
    x = linear_world(20_000, seed=0)
    assert found["A", "B"] == pytest.approx(np.corrcoef(x[:, 1], x[:, 2])[0, 1], abs=0.01)
    order = [linear.variables[i] for i in linear.order]
    assert all(order.index(cause) < order.index(effect) for cause, effect in EDGES)


def test_log_likelihoods_are_those_of_the_noise(linear: StructuralModel) -> None:
    """B = -0.8 A + u with u standard normal: its mean log-density, less the log of what its unit became."""
    x = linear_world(5000, seed=11)
    found = linear.log_likelihoods(x)
    assert set(found) == {"A", "B", "C", "D"}
    noise = (x[:, 2] - OFFSETS[2]) / UNITS[2] + 0.8 * (x[:, 1] - OFFSETS[1]) / UNITS[1]
    scale = linear_world(20_000, seed=0)[:, 2].std() / UNITS[2]  # likelihoods are of standard deviations
    by_hand = -0.5 * noise**2 - 0.5 * np.log(2.0 * np.pi) + np.log(scale)
    np.testing.assert_allclose(found["B"].mean(), by_hand.mean(), atol=0.01)
    assert np.corrcoef(found["B"], by_hand)[0, 1] > 0.99


def test_a_cyclic_graph_is_refused() -> None:
    edges = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]], dtype=bool)
    with pytest.raises(InvalidDataError, match="without cycles; this one has 1 -> 2 -> 1"):
        Graph(edges, edges.astype(float), edges.astype(float))


def test_rows_of_another_width_are_refused(linear: StructuralModel) -> None:
    with pytest.raises(InvalidDataError, match=r"Expected rows of 6 columns; got an array of shape \(2, 3\)"):
        linear.twins(np.zeros((2, 3)))
    with pytest.raises(InvalidDataError, match="Expected rows of 6 columns"):
        linear.log_likelihoods(np.zeros((2, 7)))


def test_the_graph_that_was_given_is_the_graph(mixed: StructuralModel) -> None:
    assert set(mixed.edges()) == set(MIXED_EDGES)
    assert mixed.graph.direction.tolist() == mixed.graph.edges.astype(float).tolist()


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_the_sign_of_a_strength_does_not_depend_on_how_many_people_a_level_has(share: float) -> None:
    """S raises A and the chance of the second level of C, whichever group and level is the larger one."""
    rng = np.random.default_rng(12)
    s = np.where(rng.random(3000) < share, 1.0, -1.0)
    for cut in (-1.0, 1.0):
        c = (s + rng.normal(size=3000) > cut).astype(np.float64)
        x = np.column_stack([s, s + rng.normal(size=3000), c, 2.0 * c + rng.normal(size=3000)])
        found = learn_given(x, ("S", "A", "C", "B"), (("S", "A"), ("S", "C"), ("C", "B"))).edges()
        assert min(found.values()) > 0.1
        turned = np.column_stack([-s, *x[:, 1:].T])
        flipped = learn_given(turned, ("S", "A", "C", "B"), (("S", "A"), ("S", "C"), ("C", "B"))).edges()
        assert max(flipped["S", "A"], flipped["S", "C"]) < -0.1
        assert flipped["C", "B"] == pytest.approx(found["C", "B"])
