from __future__ import annotations

from collections.abc import Callable

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
