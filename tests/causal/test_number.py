"""Numbers with atoms, ends, missing cells and noise of other shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.mechanisms import Number
from cfad_core.causal.mechanisms.basis import common_value
from cfad_core.causal.mechanisms.marginal import fit_marginal
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from tests.causal.worlds import given, groups, learn, learn_given

N = 8000


def number_of(model: StructuralModel, name: str) -> Number:
    found = model.mechanisms[model.variables.index(name)]
    assert isinstance(found, Number)
    return found


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_a_latent_number_that_is_cut_off_keeps_its_rank(end: float) -> None:
    """x = max(0, latent - c), or its mirror image: S shifts the latent number, twins are those of the latent one."""
    rng = np.random.default_rng(0)
    s, noise = groups(N, rng), rng.normal(size=N)

    def made(group: Floats) -> Floats:
        return end * np.maximum(0.0, 0.6 * group + noise - 0.2)

    x = np.column_stack([s, made(s), rng.normal(size=N)])  # the last so that no two people are the same
    truth = made(-s)
    model = learn_given(x, ("S", "A", "B"), (("S", "A"),))
    assert number_of(model, "A").atom == 0.0
    twins = model.twins(x)[:, 1]
    for sign in (-1.0, 1.0):
        own = s == sign
        assert (twins[own] == 0.0).mean() == pytest.approx((x[~own, 1] == 0.0).mean(), abs=0.02)
        inside = own & (x[:, 1] != 0.0) & (truth != 0.0)
        assert spearmanr(x[inside, 1], twins[inside]).statistic > 0.995  # ranks are kept
        assert np.abs(twins[inside] - truth[inside]).mean() < 0.08  # of a standard deviation of 1
        if sign == 1.0:  # whom S lowers: a value of 0 stays 0, the smallest become 0
            assert (twins[own & (x[:, 1] == 0.0)] == 0.0).all()
            became = own & (x[:, 1] != 0.0) & (twins == 0.0)
            assert np.abs(x[became, 1]).max() < np.quantile(np.abs(x[inside, 1]), 0.4)


def test_an_atom_in_the_middle_is_a_yes_or_no_and_a_number() -> None:
    rng = np.random.default_rng(1)
    s = groups(N, rng)
    at = rng.random(N) < np.where(s > 0.0, 0.5, 0.2)
    x = np.column_stack([s, np.where(at, 2.0, 2.0 + s + rng.normal(size=N)), rng.normal(size=N)])
    model = learn_given(x, ("S", "A", "B"), (("S", "A"),))
    twins = model.twins(x)[:, 1]
    for sign in (-1.0, 1.0):
        real, made = x[s == sign, 1], twins[s == -sign]
        assert (made == 2.0).mean() == pytest.approx((real == 2.0).mean(), abs=0.025)
        assert ks_2samp(real[real != 2.0], made[made != 2.0]).pvalue > 1e-3
    both = (x[:, 1] != 2.0) & (twins != 2.0)
    assert (np.abs((twins - x[:, 1])[both] * -s[both] - 2.0) < 0.1).mean() > 0.99


def test_missing_cells_are_an_effect() -> None:
    """S makes cells go missing: as many of the twins' are missing as of the other group, and fills are marked."""
    rng = np.random.default_rng(2)
    s = groups(N, rng)
    gone = rng.random(N) < np.where(s > 0.0, 0.4, 0.1)
    number = s + rng.normal(size=N)
    x = np.column_stack([s, np.where(gone, 0.5, number), np.where(gone, 1.0, 0.0), rng.normal(size=N)])
    columns = Columns(
        ("S", "A", "A?", "B"),
        "S",
        ("S", "A", "A", "B"),
        {"S": "category", "A": "number", "B": "number"},
        {"A": (0.5, 1.0)},
        comparable_units=False,
    )
    model = learn(x, columns, given((("S", "A"),)))
    twins = model.twins(x)
    for sign in (-1.0, 1.0):
        assert (twins[s == -sign, 2]).mean() == pytest.approx(x[s == sign, 2].mean(), abs=0.02)
        real = number[(s == sign) & ~gone]
        made = twins[(s == -sign) & (twins[:, 2] == 0.0), 1]
        assert ks_2samp(real, made).pvalue > 1e-3
    assert (twins[twins[:, 2] == 1.0, 1] == 0.5).all()
    stayed = ~gone & (twins[:, 2] == 0.0)
    assert (np.abs(((twins - x)[:, 1] * -s)[stayed] - 2.0) < 0.1).mean() > 0.99  # but for numbers at the ends
    assert (gone & (s < 0.0) & (twins[:, 2] == 1.0)).sum() == (gone & (s < 0.0)).sum()  # 10 % to 40 %: all of them stay


def test_missing_cells_that_nothing_explains_stay() -> None:
    rng = np.random.default_rng(3)
    s = groups(2000, rng)
    gone = rng.random(2000) < 0.2
    x = np.column_stack([s, np.where(gone, 0.0, s + rng.normal(size=2000)), np.where(gone, 1.0, 0.0)])
    columns = Columns(
        ("S", "A", "A?"),
        "S",
        ("S", "A", "A"),
        {"S": "category", "A": "number"},
        {"A": (0.0, 1.0)},
        comparable_units=False,
    )
    twins = learn(x, columns, given((("S", "A"),))).twins(x)
    assert np.array_equal(twins[:, 2], x[:, 2])
    assert (twins[~gone, 1] != x[~gone, 1]).all()


def test_noise_of_another_shape_keeps_its_rank() -> None:
    """One group's noise is exponential, the other's normal: twins of one are the other."""
    rng = np.random.default_rng(4)
    s = groups(N, rng)
    noise = np.where(s > 0.0, rng.standard_exponential(N) - 1.0, rng.normal(size=N))
    x = np.column_stack([s, s + noise])
    model = learn_given(x, ("S", "A"), (("S", "A"),))
    assert number_of(model, "A").latent.equation.by_group.size
    twins = model.twins(x)[:, 1]
    for sign in (-1.0, 1.0):
        assert ks_2samp(x[s == sign, 1], twins[s == -sign]).pvalue > 1e-3
        assert spearmanr(x[s == sign, 1], twins[s == sign]).statistic > 0.999


def test_spread_that_depends_on_the_group() -> None:
    rng = np.random.default_rng(5)
    s = groups(N, rng)
    x = np.column_stack([s, 3.0 + np.exp(0.5 * s) * rng.normal(size=N)])
    twins = learn_given(x, ("S", "A"), (("S", "A"),)).twins(x)[:, 1]
    ratio = (twins - 3.0) / (x[:, 1] - 3.0)
    assert np.median(ratio[s < 0.0]) == pytest.approx(np.exp(1.0), rel=0.1)
    assert np.median(ratio[s > 0.0]) == pytest.approx(np.exp(-1.0), rel=0.1)


def test_an_interaction_with_the_group() -> None:
    """A = B where S is -1, and 3 B where it is +1."""
    rng = np.random.default_rng(6)
    s, b = groups(N, rng), rng.normal(size=N)
    noise = 0.3 * rng.normal(size=N)
    x = np.column_stack([s, b, (2.0 + s) * b + noise])
    twins = learn_given(x, ("S", "B", "A"), (("S", "A"), ("B", "A"))).twins(x)[:, 2]
    truth = (2.0 - s) * b + noise
    seen = np.abs(truth) < np.abs(x[:, 2]).max()
    assert np.sqrt(np.mean((twins - truth)[seen] ** 2)) < 0.15


def test_who_has_a_common_value() -> None:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=100)
    assert common_value(np.concatenate([np.zeros(40), numbers])) == 0.0
    assert np.isnan(common_value(np.concatenate([np.zeros(5), numbers])))  # too few
    assert np.isnan(common_value(np.repeat(np.arange(4.0), 25)))  # no number stands out
    assert np.isnan(common_value(np.concatenate([np.zeros(40), np.ones(60)])))  # too few values


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(0).normal(size=500),
        np.exp(np.random.default_rng(1).normal(size=3000)),
        np.random.default_rng(2).uniform(size=60),
    ],
)
def test_normal_scores_are_normal_and_invertible(x: Floats) -> None:
    marginal = fit_marginal(x)
    z = marginal.score(x)
    np.testing.assert_allclose(marginal.unscore(z), x, rtol=1e-9, atol=1e-9)
    assert (np.diff(z[np.argsort(x)]) >= 0.0).all()
    assert z.mean() == pytest.approx(0.0, abs=0.02)
    assert z.std() == pytest.approx(1.0, abs=0.03)
    assert np.array_equal(marginal.legal(x), x)
    assert not marginal.tied


@pytest.mark.parametrize("values", [np.arange(12.0), np.array([-3.0, 0.0, 0.5, 100.0]), 1e6 + np.arange(30.0) * 25.0])
def test_numbers_that_repeat_are_spread_out_and_come_back(values: Floats) -> None:
    rng = np.random.default_rng(3)
    x = rng.choice(values, 2000)
    marginal = fit_marginal(x)
    assert marginal.tied
    for chance in (np.full(2000, 1e-9), rng.random(2000), np.full(2000, 1.0 - 1e-9)):
        moved = marginal.spread_out(x, chance)
        assert np.array_equal(marginal.legal(moved), x)
        assert np.array_equal(marginal.legal(marginal.unscore(marginal.score(moved))), x)
    assert len(np.unique(marginal.spread_out(x, rng.random(2000)))) == 2000
    anything = rng.normal(values.mean(), 3.0 * np.ptp(values), 500)
    assert set(marginal.legal(anything)) <= set(values)


def test_many_values_on_a_grid_stay_on_it() -> None:
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(0.0, 3.0, 20_000), 2)
    marginal = fit_marginal(x)
    assert (marginal.tied, marginal.decimals, len(marginal.values)) == (True, 2, 0)
    found = marginal.legal(rng.normal(0.0, 30.0, 1000))
    assert np.array_equal(np.round(found, 2), found)
    assert found.min() == x.min()
    assert found.max() == x.max()
    assert np.array_equal(marginal.legal(marginal.spread_out(x, rng.uniform(0.01, 0.99, 20_000))), x)
