from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from cfad_core.causal.density import fit_density

LAWS = {
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "exponential": stats.expon(),
    "t3": stats.t(3),
    "mixture": stats.norm(),
}


def draw(law: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if law == "mixture":
        return rng.normal(size=n) + np.where(rng.random(n) < 0.5, -2.5, 2.5)
    return np.asarray(LAWS[law].rvs(n, random_state=rng))


def test_it_integrates_to_one_and_its_distribution_function_is_that_integral() -> None:
    density = fit_density(draw("mixture", 3_000))

    def height(value: float) -> float:
        return float(np.exp(density.logpdf(np.array([value])))[0])

    for point in (-2.0, 0.0, 3.0):
        below = integrate.quad(height, -np.inf, point, limit=400)[0]
        assert density.cdf(np.array([point]))[0] == pytest.approx(below, abs=2e-3)
    assert integrate.quad(height, -np.inf, np.inf, limit=400)[0] == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("law", "loss"), [("normal", 0.005), ("laplace", 0.01), ("t3", 0.01), ("exponential", 0.05)])
def test_it_comes_near_the_true_likelihood(law: str, loss: float) -> None:
    u = draw(law, 20_000)
    assert fit_density(u).mean_log_likelihood == pytest.approx(float(LAWS[law].logpdf(u).mean()), abs=loss)


def test_the_mean_log_likelihood_is_that_of_its_own_rows() -> None:
    u = draw("laplace", 5_000)
    density = fit_density(u)
    assert density.logpdf(u).mean() == pytest.approx(density.mean_log_likelihood, abs=1e-3)


def test_a_gaussian_gains_nothing_and_other_shapes_do() -> None:
    assert abs(fit_density(draw("normal", 20_000)).gain) < 0.005
    assert fit_density(draw("laplace", 20_000)).gain > 0.05
    assert fit_density(draw("mixture", 20_000)).gain > 0.1


@pytest.mark.parametrize(("factor", "shift"), [(1e9, 0.0), (1e-9, 0.0), (3.0, -1e4)])
def test_units_only_add_a_constant(factor: float, shift: float) -> None:
    u = draw("exponential", 2_000)
    plain, moved = fit_density(u), fit_density(factor * u + shift)
    assert moved.gain == pytest.approx(plain.gain, abs=1e-6)
    assert moved.mean_log_likelihood == pytest.approx(plain.mean_log_likelihood - np.log(factor), abs=1e-6)
    np.testing.assert_allclose(moved.cdf(factor * u + shift), plain.cdf(u), atol=1e-6)


def test_numbers_that_are_all_the_same_do_no_harm() -> None:
    for value in (0.0, 5.0, 1e12):
        density = fit_density(np.full(50, value))
        assert np.isfinite([density.gain, density.mean_log_likelihood]).all()
        assert np.isfinite(density.logpdf(np.array([value, value + 1.0]))).all()


def test_mostly_one_value_does_no_harm() -> None:
    density = fit_density(np.r_[np.zeros(900), np.arange(100.0)])
    assert np.isfinite([density.gain, density.mean_log_likelihood]).all()
