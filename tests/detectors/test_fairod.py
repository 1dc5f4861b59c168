from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import ndcg_score

from cfad_core.core.config import AuditConfig, BaselineConfig, FairodConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors import fairod
from cfad_core.detectors.fairod import Reconstruction, correlation, infidelity
from cfad_core.detectors.protocol import ExplainedDetector, InputScaling, TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    OFF_THE_PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    assert_what_was_learned_is_least_odd,
    fitting,
    near_the_plane,
    training_rows,
)

CONFIG = FairodConfig(hidden=4, candidates=((0.01, 0.01),), steps=20, batch_size=64, learning_rate=1e-2)
SCORES = hnp.arrays(np.float64, st.integers(2, 30), elements=st.floats(0.0, 10.0))


def noisier_group(n: int = 400) -> TrainingRows:
    """The second group lies further off the plane, and so reconstructs worse."""
    rng = np.random.default_rng(0)
    sensitive = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    noise = 0.8 * rng.normal(size=(n, 5)) * (sensitive > 0.0)[:, None]
    return training_rows(near_the_plane(n) + noise, sensitive)


def fitted(
    rows: TrainingRows | None = None, seed: int = 0, progress: Progress | None = None, **changes: Any
) -> Reconstruction:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(fairod=CONFIG.replace(**changes)))
    return fairod.fit(fitting(rows or noisier_group(), config, progress=progress))


def training(rows: TrainingRows, progress: Progress | None = None) -> fairod._Training:
    z = fitted(rows, candidates=(), steps=1).inputs(rows.x)
    return fairod._Training(z, rows.groups, CONFIG, 0, progress or Progress())


@pytest.fixture(scope="module")
def detector() -> Reconstruction:
    return fitted()


def some_groups(n: int, seed: int) -> np.ndarray:
    """-1 and +1, both of them present."""
    return np.concatenate([[-1.0, 1.0], np.random.default_rng(seed).choice([-1.0, 1.0], n - 2)])


@settings(deadline=None)
@given(st.integers(3, 50), st.integers(0, 1000))
def test_the_correlation_is_that_of_numpy(n: int, seed: int) -> None:
    score, sensitive = np.random.default_rng(seed).normal(size=n), some_groups(n, seed)
    found = correlation(torch.from_numpy(score), torch.from_numpy(sensitive))
    np.testing.assert_allclose(found, np.corrcoef(score, sensitive)[0, 1], atol=1e-9)


def test_infidelity_by_hand() -> None:
    gains = torch.tensor([3.0, 1.0, 0.0])
    assert abs(float(infidelity(torch.tensor([9.0, 5.0, 1.0]), gains))) < 1e-6
    reversed_dcg = 3.0 / np.log2(4.0) + 1.0 / np.log2(3.0)
    expected = 1.0 - reversed_dcg / (3.0 / np.log2(2.0) + 1.0 / np.log2(3.0))
    np.testing.assert_allclose(infidelity(torch.tensor([1.0, 5.0, 9.0]), gains), expected, rtol=1e-5)


def test_infidelity_of_ties_by_hand() -> None:
    """Two that tie are half a rank before each other: both at 1.5."""
    found = infidelity(torch.tensor([2.0, 2.0]), torch.tensor([1.0, 0.0]))
    np.testing.assert_allclose(found, 1.0 - 1.0 / np.log2(2.5), rtol=1e-5)


@settings(deadline=None)
@given(SCORES, st.integers(0, 1000))
def test_infidelity_of_separate_scores_is_one_minus_ndcg(base_score: np.ndarray, seed: int) -> None:
    gains = fairod._gains(base_score)
    score = np.random.default_rng(seed).permutation(len(gains)).astype(np.float64)  # soft ranks are ranks
    expected = ndcg_score(gains[None], score[None]) if gains.any() else 1.0
    np.testing.assert_allclose(infidelity(torch.from_numpy(score), torch.from_numpy(gains)), 1.0 - expected, atol=1e-5)
    np.testing.assert_allclose(fairod._ranking_quality(score, gains), expected, rtol=1e-9)


@settings(deadline=None)
@given(SCORES, st.integers(0, 1000))
def test_no_ranking_is_better_than_that_of_the_gains(score: np.ndarray, seed: int) -> None:
    gains = fairod._gains(np.random.default_rng(seed).random(len(score)))
    assert -1e-6 < float(infidelity(torch.from_numpy(score), torch.from_numpy(gains))) < 1.0


def test_gains_by_hand() -> None:
    np.testing.assert_allclose(fairod._gains(np.array([3.0, 5.0, 7.0])), [0.0, np.sqrt(2.0) - 1.0, 1.0])
    assert fairod._gains(np.full(3, 0.1)).tolist() == [0.0] * 3


@pytest.mark.parametrize("term", ["parity", "fidelity"])
def test_both_fairness_terms_have_a_gradient(term: str) -> None:
    rows = noisier_group()
    session = training(rows)
    network = fairod._first_network(5, CONFIG.replace(hidden=8), 0)
    score = ((session.rows - network(session.rows)) ** 2).mean(dim=1)
    if term == "parity":
        loss = session.parity(score, torch.arange(400))
    else:
        loss = infidelity(score, torch.from_numpy(fairod._gains(np.arange(400.0))).float())
    loss.backward()  # type: ignore[no-untyped-call]
    for parameters in network.parameters():
        assert parameters.grad is not None
        assert parameters.grad.abs().max() > 1e-4


@pytest.mark.parametrize("score", [torch.full((6,), 0.1), torch.zeros(6), torch.full((6,), 1e6)])
@pytest.mark.parametrize("sensitive", [torch.tensor([-1.0, 1.0] * 3), torch.ones(6)])
@pytest.mark.parametrize("gains", [torch.zeros(6), torch.arange(6.0)])
def test_scores_that_do_not_vary_give_finite_losses(
    score: torch.Tensor, sensitive: torch.Tensor, gains: torch.Tensor
) -> None:
    score = score.clone().requires_grad_()
    loss = correlation(score, sensitive).abs() + infidelity(score, gains)
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert score.grad is not None
    assert torch.isfinite(score.grad).all()


@pytest.mark.parametrize("second", [0, 1, 400])  # people of the second group
def test_batches_of_one_group_give_finite_losses(second: int) -> None:
    recorder = Recorder()
    session = training(training_rows(near_the_plane(400), np.where(np.arange(400) < second, 1.0, -1.0)), recorder)
    network = session.run(fairod._first_network(5, CONFIG, 0), 0.5, 1.0, np.arange(400.0))
    assert all(np.isfinite(values["loss"]) for *_, values in recorder.heard)
    assert all(torch.isfinite(parameters).all() for parameters in network.parameters())


@functools.cache
def trained_scores(*candidates: tuple[float, float]) -> np.ndarray:
    """Of the noisier group's rows, after enough steps to matter."""
    return fitted(steps=150, candidates=candidates).anomaly_score(noisier_group().x)


@pytest.mark.slow
def test_scores_follow_the_group_less() -> None:
    def followed(*candidates: tuple[float, float]) -> float:
        return abs(float(np.corrcoef(trained_scores(*candidates), noisier_group().sensitive)[0, 1]))

    base, trained_longer = followed(), followed((1.0, 0.0))
    assert min(base, trained_longer) > 0.2
    assert followed((0.01, 0.01)) < 0.5 * base
    assert followed((0.01, 0.0)) < 0.3 * min(base, trained_longer)  # parity alone


def three_groups(n: int = 300) -> TrainingRows:
    return training_rows(near_the_plane(n), np.arange(n, dtype=np.float64) % 3)


def test_of_three_groups_parity_is_the_mean_over_them() -> None:
    rows = three_groups()
    session, score = training(rows), torch.from_numpy(np.random.default_rng(0).normal(size=300))
    assert len(session.groups) == 3
    batch = torch.arange(0, 300, 2)
    expected = [abs(np.corrcoef(score[batch], rows.sensitive[batch] == k)[0, 1]) for k in range(3)]
    np.testing.assert_allclose(session.parity(score[batch], batch), np.mean(expected), rtol=1e-5)
    order = np.arange(300.0)
    assert session.distance(order, order) == pytest.approx(np.hypot(1.0 - 5 / 5, 0.0))  # of 15 flagged, five of each
    apart = order + 1000.0 * (rows.sensitive == 1.0)
    assert session.distance(apart, apart) == pytest.approx(1.0)  # all of one group
    assert np.isfinite(fitted(rows).anomaly_score(rows.x)).all()


def test_scores_keep_the_ranking_more() -> None:
    gains = fairod._gains(trained_scores())
    groups = (noisier_group().sensitive < 0.0, noisier_group().sensitive > 0.0)

    def kept(gamma: float) -> float:
        score = trained_scores((0.01, gamma))
        return min(fairod._ranking_quality(score[members], gains[members]) for members in groups)

    assert kept(3.0) > kept(0.0) + 0.03


def test_without_candidates_the_base_model_is_kept() -> None:
    rows = noisier_group()
    recorder = Recorder()
    session = training(rows)
    base = session.run(fairod._first_network(5, CONFIG, 0), alpha=1.0, gamma=0.0)
    kept = fitted(rows, progress=recorder, candidates=())
    np.testing.assert_allclose(kept.anomaly_score(rows.x), session.score(base), rtol=1e-12)
    assert recorder.heard[-1][:3] == ("fairod", 20, 20)


def test_the_candidate_closest_to_both_goals_is_kept() -> None:
    rows, pairs = noisier_group(), ((0.9, 0.01), (0.01, 0.01), (0.5, 1.0))
    base_score = fitted(rows, candidates=()).anomaly_score(rows.x)
    scores = [fitted(rows, candidates=(pair,)).anomaly_score(rows.x) for pair in pairs]
    distances = [training(rows).distance(score, base_score) for score in scores]
    assert len(set(distances)) == 3
    kept = fitted(rows, candidates=pairs).anomaly_score(rows.x)
    assert np.array_equal(kept, scores[int(np.argmin(distances))])


def test_the_distance_to_the_goals_by_hand() -> None:
    rows = noisier_group(200)
    session, order = training(rows), np.arange(200.0)
    assert session.distance(order, order) == pytest.approx(0.0)  # the ten highest: five of each group
    apart = order + 1000.0 * (rows.sensitive > 0.0)
    assert session.distance(apart, apart) == pytest.approx(1.0)  # the ten highest: none of the first group
    gains = fairod._gains(order)
    quality = min(
        ndcg_score(gains[None, members], -order[None, members]) for members in (order % 2 == 0, order % 2 == 1)
    )
    assert session.distance(-order, order) == pytest.approx(1.0 - quality)


def test_progress_counts_all_trainings() -> None:
    recorder = Recorder()
    fitted(progress=recorder, candidates=((0.5, 0.1), (0.9, 0.1)))
    steps = [step for _, step, *_ in recorder.heard]
    assert steps == sorted(steps)
    assert recorder.heard[-1][:3] == ("fairod", 60, 60)


def test_the_score_is_the_mean_squared_error_of_min_maxed_rows(detector: Reconstruction) -> None:
    x = noisier_group().x
    low, high = x.min(axis=0), x.max(axis=0)
    z = torch.from_numpy(((x - low) / (high - low)).astype(np.float32))
    with torch.no_grad():
        expected = ((z - detector.network(z)) ** 2).mean(dim=1)
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=1e-4)
    assert isinstance(detector, ExplainedDetector)
    np.testing.assert_allclose(detector.contributions(x).sum(axis=1), detector.anomaly_score(x), rtol=1e-12)


def test_outliers_score_higher() -> None:
    base = fitted(training_rows(near_the_plane()), candidates=(), steps=300)
    ordinary, odd = (base.anomaly_score(near_the_plane() + shift) for shift in (0.0, OFF_THE_PLANE))
    assert np.median(odd) > np.quantile(ordinary, 0.95)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 2100), st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(detector: Reconstruction, n: int, seed: int) -> None:
    assert_rows_are_scored_alone(detector, near_the_plane(n, seed=seed), seed)


@settings(max_examples=10, deadline=None)
@given(columns=st.integers(1, 130), seed=st.integers(0, 1000))
def test_narrow_networks_score_rows_alone_too(columns: int, seed: int) -> None:
    network = fairod._first_network(columns, FairodConfig(), seed)
    detector = Reconstruction(InputScaling(np.zeros(columns), np.ones(columns)), network)
    assert_rows_are_scored_alone(detector, np.random.default_rng(seed).random((1100, columns)), seed)


def test_the_same_seed_gives_the_same_scores(detector: Reconstruction) -> None:
    x = near_the_plane()
    assert np.array_equal(fitted().anomaly_score(x), detector.anomaly_score(x))
    assert not np.array_equal(fitted(seed=1).anomaly_score(x), detector.anomaly_score(x))


def test_state_round_trip_keeps_every_bit(detector: Reconstruction) -> None:
    assert_saving_keeps_every_bit(detector, fairod, near_the_plane())


@pytest.mark.parametrize("candidates", [(), ((0.5, 0.1),)])
def test_training_can_be_cancelled(candidates: tuple[tuple[float, float], ...]) -> None:
    recorder = Recorder(stop_in="fairod")
    with pytest.raises(AuditCancelled, match="fairod"):
        fitted(progress=recorder, candidates=candidates)
    assert len(recorder.heard) == 1


def test_constant_columns_and_few_rows_train() -> None:
    x = np.column_stack([near_the_plane(6), np.full(6, 3.0)])
    assert_what_was_learned_is_least_odd(fitted(training_rows(x)), x, x + 100.0)
    same = np.full((6, 3), 2.0)
    assert_what_was_learned_is_least_odd(fitted(training_rows(same)), same, same + 5.0 * np.eye(6, 3))


@pytest.mark.parametrize(("columns", "hidden"), [(5, 2), (100, 2), (101, 8)])
def test_the_width_follows_the_columns(columns: int, hidden: int) -> None:
    network = fairod._first_network(columns, FairodConfig(), 0)
    assert [tuple(p.shape) for p in network.parameters() if p.ndim == 2] == [
        (hidden, columns),
        (hidden, hidden),
        (columns, hidden),
    ]
