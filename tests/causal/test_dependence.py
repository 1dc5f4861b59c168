from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from scipy import stats

from cfad_core.causal.dependence import depends_on, holm

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]

INDEPENDENT: dict[str, tuple[str, Draw]] = {
    "number": ("number", lambda rng, s: rng.standard_normal(len(s))),
    "heavy": ("number", lambda rng, s: rng.standard_cauchy(len(s))),
    "count": ("number", lambda rng, s: rng.poisson(1.5, len(s)).astype(float)),
    "mostly zero": ("number", lambda rng, s: np.maximum(rng.standard_normal(len(s)) - 0.8, 0.0)),
    "missing": ("number", lambda rng, s: np.where(rng.random(len(s)) < 0.2, np.nan, rng.standard_normal(len(s)))),
    "category": ("category", lambda rng, s: rng.choice(4, len(s), p=[0.6, 0.3, 0.08, 0.02]).astype(float)),
    "many levels": ("category", lambda rng, s: np.floor(rng.exponential(4.0, len(s)))),
}
DEPENDENT: dict[str, tuple[str, Draw]] = {
    "shift": ("number", lambda rng, s: rng.standard_normal(len(s)) + 0.3 * s),
    "spread": ("number", lambda rng, s: rng.standard_normal(len(s)) * (1.0 + 0.5 * s)),
    "shape": (
        "number",
        lambda rng, s: np.where(s > 0, rng.exponential(size=len(s)) - 1.0, rng.standard_normal(len(s))),
    ),
    "missing": ("number", lambda rng, s: np.where(rng.random(len(s)) < 0.1 + 0.15 * s, np.nan, rng.random(len(s)))),
    "category": ("category", lambda rng, s: (rng.random(len(s)) < 0.3 + 0.15 * s).astype(float)),
    "a level of one group": ("category", lambda rng, s: np.where(s > 0, rng.integers(3, size=len(s)), 0).astype(float)),
}


def p_value(kind: str, draw: Draw, seed: int, n: int = 1_000) -> float:
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.3).astype(float)
    return float(depends_on(np.column_stack([s, draw(rng, s)]), ["category", kind])[1])  # type: ignore[list-item]


@pytest.mark.slow
@pytest.mark.parametrize("name", INDEPENDENT)
def test_independence_is_rejected_no_more_often_than_it_should_be(name: str) -> None:
    found = np.array([p_value(*INDEPENDENT[name], seed=seed) for seed in range(400)])
    for level in (0.05, 0.2):  # 4 standard errors
        assert (found < level).mean() < level + 4.0 * np.sqrt(level * (1.0 - level) / len(found))
    assert (found < 0.2).mean() > 0.05  # two tests in one are careful, but not blind


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependence_is_seen(name: str) -> None:
    assert p_value(*DEPENDENT[name], seed=0) < 1e-3


def test_a_category_has_the_p_value_of_scipy() -> None:
    rng = np.random.default_rng(0)
    s, level = rng.integers(2, size=500).astype(float), rng.integers(4, size=500).astype(float)
    table = np.array([[((s == a) & (level == b)).sum() for b in range(4)] for a in range(2)])
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert depends_on(np.column_stack([s, level]), ["category", "category"])[1] == pytest.approx(expected)


def test_a_shift_has_twice_the_p_value_of_mann_whitney() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=400).astype(float)
    x = np.round(rng.standard_normal(400) + 0.25 * s, 1)
    expected = stats.mannwhitneyu(x[s > 0], x[s == 0], method="asymptotic", use_continuity=False).pvalue
    assert depends_on(np.column_stack([s, x]), ["category", "number"])[1] == pytest.approx(2.0 * expected)


def test_nothing_to_test() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=50).astype(float)
    cells = np.column_stack([s, np.ones(50), np.full(50, np.nan), np.zeros(50)])
    np.testing.assert_array_equal(depends_on(cells, ["category", "number", "number", "category"]), np.ones(4))
    np.testing.assert_array_equal(depends_on(cells[s > 0], ["category", "number", "number", "category"]), np.ones(4))


def test_the_position_may_be_any() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=300).astype(float)
    x = rng.standard_normal(300) + s
    found = depends_on(np.column_stack([x, s]), ["number", "category"], position=1)
    assert found[0] < 1e-6
    assert found[1] == 1.0


def test_holm_is_the_textbooks() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])
    assert len(holm(np.zeros(0))) == 0


# More than two groups, and people who are compared only with those alike in something else


def test_of_several_groups_each_is_tested_against_all_others() -> None:
    rng = np.random.default_rng(0)
    s, level = rng.integers(3, size=600).astype(float), rng.integers(4, size=600).astype(float)
    tables = [[[((s == a) == is_in)[level == b].sum() for b in range(4)] for is_in in (True, False)] for a in range(3)]
    expected = 3.0 * min(stats.chi2_contingency(np.array(one), correction=False).pvalue for one in tables)
    found = depends_on(np.column_stack([s, level]), ["category", "category"])[1]
    assert found == pytest.approx(min(1.0, expected))
    for group in range(3):  # whichever group differs
        shifted = rng.standard_normal(600) + 0.6 * (s == group)
        assert depends_on(np.column_stack([s, shifted]), ["category", "number"])[1] < 1e-3


def test_strata_are_combined_by_fishers_method() -> None:
    rng = np.random.default_rng(1)
    strata = rng.integers(3, size=900)
    cells = np.column_stack([rng.integers(2, size=900), rng.standard_normal(900), rng.integers(3, size=900)]).astype(
        float
    )
    kinds: list[Literal["number", "category"]] = ["category", "number", "category"]
    found = depends_on(cells, kinds, 0, strata)
    for i in (1, 2):
        parts = [depends_on(cells[strata == k], kinds)[i] for k in range(3)]
        assert found[i] == pytest.approx(stats.combine_pvalues(parts).pvalue)
    assert found[0] == 1.0
    assert depends_on(cells, kinds, 0, np.zeros(900, dtype=np.intp)) == pytest.approx(depends_on(cells, kinds))


def test_a_stratum_that_cannot_be_tested_says_nothing() -> None:
    """Of one group, of constant cells, or of cells that are all missing."""
    rng = np.random.default_rng(2)
    strata = np.repeat([0, 1, 2, 3], 200)
    s = np.where(strata == 1, 0.0, rng.integers(2, size=800))
    x = rng.standard_normal(800)
    x[strata == 2], x[strata == 3] = 7.0, np.nan
    cells = np.column_stack([s, x])
    alone = depends_on(cells[strata == 0], ["category", "number"])
    assert depends_on(cells, ["category", "number"], 0, strata) == pytest.approx(alone)
    nothing = depends_on(cells[strata == 1], ["category", "number"], 0, np.zeros(200, dtype=np.intp))
    np.testing.assert_array_equal(nothing, [1.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "strata"), [(2, 2), (2, 6), (3, 4)])
@pytest.mark.parametrize("name", ["number", "missing", "category"])
def test_independence_within_strata_is_rejected_no_more_often(name: str, groups: int, strata: int) -> None:
    """P-values that are adjusted for several tests are 1 often: these were tested, and count."""
    kind, draw = INDEPENDENT[name]
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        stratum = rng.integers(strata, size=150 * strata)
        s = rng.integers(groups, size=len(stratum)).astype(float)
        cells = np.column_stack([s, draw(rng, s) + 5.0 * stratum if kind == "number" else draw(rng, s)])
        found.append(depends_on(cells, ["category", kind], 0, stratum)[1])  # type: ignore[list-item]
    for level in (0.05, 0.2):
        assert (np.array(found) < level).mean() < level + 4.0 * np.sqrt(level * (1.0 - level) / len(found))


def test_what_only_the_other_attribute_explains_is_no_dependence() -> None:
    """Two attributes that hang together; the second alone acts."""
    rng = np.random.default_rng(3)
    other = rng.integers(2, size=3000)
    s = (rng.random(3000) < 0.3 + 0.4 * other).astype(float)
    x = rng.standard_normal(3000) + other
    cells = np.column_stack([s, x])
    assert depends_on(cells, ["category", "number"])[1] < 1e-6
    assert depends_on(cells, ["category", "number"], 0, other)[1] > 0.05
    acts = np.column_stack([s, x + 0.3 * s])
    assert depends_on(acts, ["category", "number"], 0, other)[1] < 1e-6
