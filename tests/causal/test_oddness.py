"""What is a person's own: the noise of numbers and the probability of levels, by hand and on random worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.density import fit_density
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.learning import Learner
from cfad_core.causal.mechanisms import Category, Number
from cfad_core.causal.mechanisms.basis import Lazy
from cfad_core.causal.mechanisms.shared import Additive
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from tests.causal.worlds import (
    ABSENT,
    MIXED_EDGES,
    MIXED_NAMES,
    given,
    groups,
    learn,
    learn_given,
    learn_mixed,
    mixed_columns,
    mixed_rows,
    prepare,
)

N = 3000


def column(name: str) -> int:
    """Where the table without the sensitive attribute has it."""
    return MIXED_NAMES.index(name) - 1


def functions_of(model: StructuralModel, x: Floats) -> dict[int, Lazy]:
    cells = model.layout.cells(x)
    return {j: basis.functions(cells[:, j]) for j, basis in model.bases.items()}


@pytest.fixture(scope="module")
def mixed() -> StructuralModel:
    return learn_mixed()


def test_the_noise_of_a_linear_number_is_what_its_cause_leaves() -> None:
    rng = np.random.default_rng(0)
    s = groups(N, rng)
    noise = 0.7 * rng.normal(size=N)
    x = np.column_stack([s, 10.0 + 2.0 * s + noise])
    model = learn_given(x, ("S", "A"), (("S", "A"),))
    means = {sign: x[s == sign, 1].mean() for sign in (-1.0, 1.0)}
    left = x[:, 1] - np.where(s > 0.0, means[1.0], means[-1.0])
    found, levels = model.oddness(x)
    assert np.array_equal(levels, np.zeros((N, 1)))
    np.testing.assert_allclose(found[:, 0], left / left.std(), atol=0.02)
    assert np.corrcoef(found[:, 0], noise)[0, 1] > 0.999


def test_minus_twice_the_log_probability_of_a_level(mixed: StructuralModel) -> None:
    x = mixed_rows(300, seed=1)
    cells, group = mixed.layout.cells(x), (x[:, 0] > 0.0).astype(np.intp)
    noise, levels = mixed.oddness(x)
    for name, first in (("job", column("job = x")), ("owner", column("owner"))):
        i = mixed.variables.index(name)
        mechanism = mixed.mechanisms[i]
        assert isinstance(mechanism, Category)
        assert mechanism.draws
        found = mechanism.oddness(cells[:, i], functions_of(mixed, x), group)
        shares = mechanism.probabilities(functions_of(mixed, x), 300)
        by_hand = [-2.0 * np.log(shares[k, int(cells[k, i])]) for k in range(300)]
        np.testing.assert_allclose(found.levels, by_hand, rtol=1e-12)
        assert np.array_equal(found.levels, -2.0 * mechanism.log_likelihood(cells[:, i], functions_of(mixed, x)))
        assert np.isnan(found.noise).all()
        assert np.array_equal(levels[:, first], found.levels)
        assert np.isnan(noise[:, first]).all()


def test_only_the_first_column_of_a_category_counts(mixed: StructuralModel) -> None:
    x = mixed_rows(200, seed=2)
    noise, levels = mixed.oddness(x)
    assert noise.shape == levels.shape == (200, x.shape[1] - 1)
    for name in ("job = y", "job = z", "score?"):
        assert np.isnan(noise[:, column(name)]).all()
        assert not levels[:, column(name)].any()
    for name in ("pay", "share", "age"):
        assert not np.isnan(noise[:, column(name)]).any()


def test_an_atom_and_missing_cells_have_no_noise_but_a_probability(mixed: StructuralModel) -> None:
    x = mixed_rows(600, seed=3)
    cells, functions = mixed.layout.cells(x), functions_of(mixed, x)
    noise, levels = mixed.oddness(x)
    for name, absent in (("gain", x[:, MIXED_NAMES.index("gain")] == 0.0), ("score", x[:, 10] == ABSENT)):
        mechanism = mixed.mechanisms[mixed.variables.index(name)]
        assert isinstance(mechanism, Number)
        assert mechanism.draws
        part = mechanism.at_atom if name == "gain" else mechanism.missing
        assert part is not None
        assert 0 < absent.sum() < 600
        assert np.array_equal(np.isnan(noise[:, column(name)]), absent)
        expected = -2.0 * part.log_likelihood(absent.astype(np.float64), functions)
        np.testing.assert_allclose(levels[:, column(name)], expected, rtol=1e-12)
    assert np.isnan(cells[:, mixed.variables.index("score")]).any()


def test_numbers_that_repeat_have_the_noise_in_the_middle_of_their_gap(mixed: StructuralModel) -> None:
    x = mixed_rows(200, seed=4)
    mechanism = mixed.mechanisms[mixed.variables.index("visits")]
    assert isinstance(mechanism, Number)
    assert mechanism.latent.marginal.tied
    assert mechanism.draws
    visits = x[:, MIXED_NAMES.index("visits")]
    expected = mechanism.latent.noise(
        visits, mechanism.latent.equation.expected(functions_of(mixed, x), 200), np.full(200, 0.5)
    )
    assert np.array_equal(mixed.oddness(x)[0][:, column("visits")], expected)


def test_additive_noise_on_a_shared_scale_by_hand() -> None:
    """x / 10 = 0.5 + 2 f(S) + u."""
    mechanism = Additive((((0, 0),),), np.array([0.5, 2.0]), 10.0, fit_density(np.linspace(-1.0, 1.0, 50)))
    cells, heard = np.array([35.0, -20.0]), {0: [np.array([1.0, -1.0])]}
    found = mechanism.oddness(cells, heard, np.array([1, 0]))
    np.testing.assert_allclose(found.noise, [3.5 - 2.5, -2.0 + 1.5], rtol=1e-12)
    assert np.array_equal(found.levels, np.zeros(2))
    assert not mechanism.draws


def test_the_papers_model_by_hand(linear_scm: AdditiveModel) -> None:
    """A = 2 S + 0.5 + u,  B = 3 A - S + u,  C = 1 + u."""
    x = np.array([[1.0, 3.0, 7.0, 0.0], [-1.0, -1.5, 0.5, 2.5]])
    noise, levels = linear_scm.oddness(x)
    np.testing.assert_allclose(noise, [[0.5, -1.0, -1.0], [0.0, 4.0, 1.5]], atol=1e-9)
    assert np.array_equal(levels, np.zeros((2, 3)))
    np.testing.assert_allclose(linear_scm.oddness(linear_scm.twins(x))[0], noise, atol=1e-9)
    assert not linear_scm.draws
    with pytest.raises(InvalidDataError, match="Expected rows of 4 variables"):
        linear_scm.oddness(x[:, :3])


def test_rows_chosen_by_their_label_have_it_too() -> None:
    rng = np.random.default_rng(5)
    s = groups(1500, rng)
    a = s + rng.normal(size=1500)
    x = np.column_stack([s, a, 0.8 * a + rng.normal(size=1500)])
    model = learn(x, Columns(("S", "A", "B"), "S", rows_were_selected=True))
    assert all(isinstance(one, Additive) for one in model.mechanisms.values())
    assert not model.draws
    np.testing.assert_allclose(model.oddness(model.twins(x))[0], model.oddness(x)[0], atol=1e-9)


def test_a_model_for_twins_alone_says_so() -> None:
    learner = prepare(mixed_rows(800), mixed_columns(), given(MIXED_EDGES))
    whole, half = (learner.learn(rows, 0, Progress())[0] for rows in (None, np.arange(400)))
    assert whole.oddness(mixed_rows(50))[0].shape == (50, len(MIXED_NAMES) - 1)
    assert set(half.mechanisms) == set(half.affected) < set(whole.mechanisms)
    with pytest.raises(
        InvalidDataError, match=r"^This causal model has mechanisms only for what the sensitive attribute reaches\.$"
    ):
        half.oddness(mixed_rows(50))
    with pytest.raises(InvalidDataError, match="Expected rows of 12 columns"):
        whole.oddness(mixed_rows(50)[:, :5])


def test_a_rows_oddness_is_its_own_to_the_last_bit(mixed: StructuralModel) -> None:
    x = mixed_rows(120, seed=6)
    before = x.copy()
    noise, levels = mixed.oddness(x)
    order = np.random.default_rng(0).permutation(120)
    for together, shuffled in zip((noise, levels), mixed.oddness(x[order]), strict=True):
        assert np.array_equal(shuffled, together[order], equal_nan=True)
    for k in (0, 50, 119):
        assert np.array_equal(mixed.oddness(x[k : k + 1])[0][0], noise[k], equal_nan=True)
    assert np.array_equal(x, before)
    assert mixed.oddness(x[:0])[0].shape == (0, x.shape[1] - 1)


@pytest.mark.parametrize("reached", [True, False])
def test_a_category_is_drawn_for_twins_only_if_the_group_reaches_it(reached: bool) -> None:
    rng = np.random.default_rng(7)
    s = groups(1000, rng)
    owner = np.where(rng.random(1000) < 0.5 + (0.3 * s if reached else 0.0), 3.0, -3.0)
    x = np.column_stack([s, s + rng.normal(size=1000), owner])
    kinds = {"S": "category", "A": "number", "B": "category"}
    columns = Columns(("S", "A", "B"), "S", ("S", "A", "B"), kinds, comparable_units=False)  # type: ignore[arg-type]
    edges = (("S", "A"), ("S", "B")) if reached else (("S", "A"),)
    model = learn(x, columns, given(edges))
    assert ("B" in model.affected_names) == reached
    assert model.draws == reached


@settings(max_examples=12)
@examples(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["normal", "skewed", "by_group"]))
def test_noise_is_what_a_twin_keeps(seed: int, others: int, shape: str) -> None:
    """In any world of numbers that do not repeat, but for twins that would leave what was seen."""
    rng = np.random.default_rng(seed)
    n = 400
    s = groups(n, rng)
    x, names = [s], ["S", *"ABCD"[:others]]
    edges = []
    for k in range(1, others + 1):
        own = rng.standard_exponential(n) - 1.0 if shape != "normal" else rng.normal(size=n)
        own = np.where(s > 0.0, own, -own) if shape == "by_group" else own
        for j in range(k):
            if j == k - 1 or rng.random() < 0.4:
                edges.append((names[j], names[k]))
                own = own + rng.uniform(-1.0, 1.0) * x[j]
        x.append(own)
    people = np.column_stack(x)
    model = learn_given(people, tuple(names), tuple(edges))
    assert not model.draws
    twins = model.twins(people)
    low, high = people.min(axis=0), people.max(axis=0)
    kept = ((twins > low) & (twins < high) & (people > low) & (people < high))[:, 1:].all(axis=1)
    assert kept.mean() > 0.7
    (here, levels), (there, other) = model.oddness(people), model.oddness(twins)
    assert not levels.any()
    assert not other.any()
    np.testing.assert_allclose(there[kept], here[kept], atol=1e-6)


def test_a_number_that_its_causes_determine_has_no_noise_of_its_own() -> None:
    """A copy of a column: what a fit leaves of it is rounding, by which people must not differ."""
    rng = np.random.default_rng(3)
    group, number = rng.choice([-1.0, 1.0], 600), rng.normal(size=600)
    x = np.column_stack([group, number + group, 3.0 * (number + group) + 1.0])
    columns = Columns(("s", "a", "copy"), "s")
    learner = Learner.prepare(x, columns, DiscoveryConfig(), Knowledge(), Progress())
    model, _ = learner.learn(None, 0, Progress())
    noise, levels = model.oddness(x)
    known = ~np.isnan(noise)
    assert int(known.any(axis=0).sum()) == 1  # one of the two is the other's copy
    assert known.all(axis=0).any()
    assert not levels.any()
