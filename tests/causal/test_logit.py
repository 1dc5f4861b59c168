from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from cfad_core.causal.logit import fit_logit, level_log_likelihood


def draw(levels: int, n: int = 1_500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(levels)
    X = rng.normal(size=(n, 3))
    eta = X @ rng.normal(size=(3, levels)) + rng.normal(size=levels)
    return X, np.argmax(eta + rng.gumbel(size=(n, levels)), axis=1)


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_it_is_the_maximum_likelihood(levels: int) -> None:
    X, y = draw(levels)
    fit = fit_logit(X, y, levels, ridge=0.0, tolerance=1e-10)
    expected = LogisticRegression(C=1e10, tol=1e-10, max_iter=2_000).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(fit.probabilities(X), expected, atol=2e-3)
    assert fit.mean_log_likelihood == pytest.approx(np.log(expected[np.arange(len(y)), y]).mean(), abs=1e-6)
    assert fit.weights.shape == (4, levels)


@pytest.mark.parametrize("levels", [2, 4])
def test_without_columns_it_is_the_shares(levels: int) -> None:
    _, y = draw(levels)
    fit = fit_logit(np.zeros((len(y), 0)), y, levels)
    assert fit.mean_log_likelihood == pytest.approx(level_log_likelihood(y, levels), abs=1e-9)
    np.testing.assert_allclose(fit.probabilities(np.zeros((1, 0)))[0], np.bincount(y) / len(y), atol=1e-6)


@pytest.mark.parametrize("levels", [2, 4])
def test_units_and_collinear_columns_change_nothing(levels: int) -> None:
    X, y = draw(levels)
    plain = fit_logit(X, y, levels)
    odd = np.column_stack([X * [1e6, 1e-6, 1.0], X[:, 0] + X[:, 1], np.full(len(X), 7.0)])
    other = fit_logit(odd, y, levels)
    assert other.mean_log_likelihood == pytest.approx(plain.mean_log_likelihood, abs=1e-5)
    np.testing.assert_allclose(other.probabilities(odd), plain.probabilities(X), atol=5e-3)


@pytest.mark.parametrize("seen", [[1], [0, 3], [0, 2, 3]])
def test_a_level_that_nobody_has_is_improbable(seen: list[int]) -> None:
    X, y = draw(len(seen)) if len(seen) > 1 else (draw(2)[0], np.zeros(1_500, dtype=np.intp))
    fit = fit_logit(X, np.array(seen)[y], 4)
    probabilities = fit.probabilities(X)
    unseen = [level for level in range(4) if level not in seen]
    assert probabilities[:, unseen].max() < 1e-6
    small = fit_logit(X, y, len(seen)) if len(seen) > 1 else None
    if small is not None:
        assert fit.mean_log_likelihood == pytest.approx(small.mean_log_likelihood, abs=1e-9)
    else:
        assert fit.mean_log_likelihood == 0.0


@pytest.mark.parametrize("levels", [2, 3])
def test_perfect_separation_stays_finite(levels: int) -> None:
    x = np.linspace(-1.0, 1.0, 300)
    y = np.digitize(x, np.linspace(-1.0, 1.0, levels + 1)[1:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_logit(x[:, None], y, levels)
    assert np.isfinite(fit.weights).all()
    assert -0.3 < fit.mean_log_likelihood < 0.0
