"""Which variables another model predicts better: by simulation, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.fit_test import LARGEST, clearly_better, compare_fit


def densities(n: int, effect: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Of ``y = effect * x + noise`` by a model that ignores x, and by the true one; both know their variance."""
    x = rng.normal(size=n)
    y = effect * x + rng.normal(size=n)
    return norm.logpdf(y, scale=np.sqrt(1.0 + effect**2)), norm.logpdf(y - effect * x)


def test_a_comparison_is_a_paired_t_test() -> None:
    own, saturated = densities(200, 0.3, np.random.default_rng(0))
    found = compare_fit(own, saturated)
    assert found.gain == pytest.approx((saturated - own).mean())
    assert found.error == pytest.approx((saturated - own).std(ddof=1) / np.sqrt(200))
    assert found.people == 200
    assert found.p_value == pytest.approx(ttest_rel(saturated, own, alternative="greater").pvalue)


def test_the_gain_is_what_the_cause_says() -> None:
    """A cause that is left out costs log(1 + effect^2) / 2 nats a person."""
    own, saturated = densities(20_000, 0.5, np.random.default_rng(1))
    found = compare_fit(own, saturated)
    assert found.gain == pytest.approx(0.5 * np.log(1.25), abs=4.0 * found.error)


def test_only_a_variable_whose_cause_was_left_out_is_named() -> None:
    rng = np.random.default_rng(2)
    cases = {"income": 0.8, "debt": 0.4, "age": 0.0, "job": 0.05}  # 0.05: a gain of 0.001 nats
    fits = {name: densities(5000, effect, rng) for name, effect in cases.items()}
    own, saturated = ({name: fit[k] for name, fit in fits.items()} for k in (0, 1))
    assert clearly_better(own, saturated) == ("income", "debt")
    assert clearly_better(saturated, own) == ()
    assert clearly_better(own, own) == ()


def test_a_small_gain_is_not_named_however_certain() -> None:
    own, saturated = densities(50_000, 0.1, np.random.default_rng(3))  # 0.005 nats
    assert compare_fit(own, saturated).p_value < 1e-9
    assert clearly_better({"x": own}, {"x": saturated}) == ()
    assert clearly_better({"x": own}, {"x": saturated}, least_gain=0.002) == ("x",)


def test_a_large_gain_of_few_people_is_not_named() -> None:
    rng = np.random.default_rng(4)
    own = rng.normal(size=10)
    saturated = own + 0.1 + rng.normal(size=10)
    assert clearly_better({"x": own}, {"x": saturated}) == ()


def test_chance_names_a_variable_as_rarely_as_it_says() -> None:
    """20 variables that two models predict equally well: at level 0.1, at most about one table in ten has a name."""
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(400):
        noise = rng.normal(size=(20, 100))
        own = {str(k): np.zeros(100) for k in range(20)}
        named += bool(clearly_better(own, dict(zip(own, noise, strict=True)), level=0.1, least_gain=0.0))
    assert 0.05 < named / 400 < 0.145  # 0.095 is expected, with a standard error of 0.015


def test_more_variables_need_more_proof() -> None:
    difference = np.tile([1.0, -1.0], 50) + 0.28  # t = 2.8, p = 0.003
    own, saturated = np.zeros(100), difference
    assert clearly_better({"x": own}, {"x": saturated}) == ("x",)
    others = {str(k): np.zeros(100) for k in range(9)}
    assert clearly_better({"x": own, **others}, {"x": saturated, **others}) == ()


def test_what_is_found_first_leaves_more_room_for_the_rest() -> None:
    """Holm: 0.003 is above 0.005 / 2, but the other one is settled."""
    clear, less = np.tile([1.0, -1.0], 50) + 1.0, np.tile([1.0, -1.0], 50) + 0.28
    zeros = {"clear": np.zeros(100), "less": np.zeros(100)}
    assert clearly_better(zeros, {"clear": clear, "less": less}, level=0.005) == ("clear", "less")
    assert clearly_better(zeros, {"clear": np.zeros(100), "less": less}, level=0.005) == ()


def test_nobody_counts_for_more_than_the_limit() -> None:
    own, saturated = np.array([-np.inf, -2.0, -np.inf, -1.0]), np.array([-1.0, -np.inf, -np.inf, -0.5])
    assert compare_fit(own, saturated).gain == pytest.approx((LARGEST - LARGEST + 0.0 + 0.5) / 4.0)


def test_the_same_gain_for_everybody_is_certain() -> None:
    assert compare_fit(np.zeros(5), np.full(5, 0.25)).p_value == 0.0
    assert compare_fit(np.zeros(5), np.zeros(5)).p_value == 1.0
    assert compare_fit(np.zeros(1), np.ones(1)).p_value == 1.0  # of one person nothing can be said


def test_inputs_stay_as_they_are() -> None:
    own, saturated = densities(50, 0.5, np.random.default_rng(6))
    before = own.copy(), saturated.copy()
    compare_fit(own, saturated)
    np.testing.assert_array_equal(own, before[0])
    np.testing.assert_array_equal(saturated, before[1])


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="the same people by both models"):
        compare_fit(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="the same people by both models"):
        compare_fit(np.zeros(0), np.zeros(0))
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="undefined"):
            compare_fit(np.array([0.0, wrong]), np.zeros(2))
    with pytest.raises(ValueError, match="only one of them has age, job"):
        clearly_better({"age": np.zeros(2), "x": np.zeros(2)}, {"job": np.zeros(2), "x": np.zeros(2)})
