from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2, kstest
from sklearn.metrics import roc_auc_score

from cfad_core.core.config import AuditConfig, BaselineConfig, FairadConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors import fairad
from cfad_core.detectors.fairad import Projection, divergence, target_rows
from cfad_core.detectors.protocol import ExplainedDetector, InputScaling, TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    FAR_OUTSIDE,
    OFF_THE_PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    near_the_plane,
    training_rows,
)

CONFIG = FairadConfig(width=16, steps=20, batch_size=64)
TRAINED: dict[str, Any] = {"width": 64, "steps": 300, "batch_size": 128, "learning_rate": 5e-3}


def shifted_group(n: int = 600) -> TrainingRows:
    """A fifth is of the second group, which lies to the side."""
    rng = np.random.default_rng(0)
    is_second = np.arange(n) % 5 == 0
    x = rng.normal(size=(n, 4))
    x[:, 0] += 4.0 * is_second
    return training_rows(x, np.where(is_second, 1.0, -1.0))


def fitted(
    rows: TrainingRows | None = None, seed: int = 0, progress: Progress | None = None, **changes: Any
) -> Projection:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(fairad=CONFIG.replace(**changes)))
    return fairad.fit(fitting(rows or shifted_group(), config, progress=progress))


@pytest.fixture(scope="module")
def detector() -> Projection:
    return fitted()


def normal_rows(n: int, size: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, size)))


def test_the_divergence_of_two_points_by_hand() -> None:
    """A single plan is possible: the cost is the squared distance per entry."""
    found = divergence(torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 6.0]]))
    np.testing.assert_allclose(found, (9.0 + 16.0) / 2.0, rtol=1e-5)


def test_the_divergence_of_a_point_from_two_by_hand() -> None:
    """Of 0 from -3 and 3: every plan costs 9, and -3 and 3 are log 2 of the blur nearer to themselves."""
    found = divergence(torch.zeros(1, 1), torch.tensor([[-3.0], [3.0]]))
    np.testing.assert_allclose(found, 9.0 - fairad._BLUR * np.log(2.0) / 2.0, rtol=1e-4)


def test_the_divergence_of_distant_clouds_is_the_cost_of_the_best_pairs() -> None:
    first, second = 100.0 * normal_rows(6, 2), 100.0 * normal_rows(6, 2, seed=1)
    cost = ((first[:, None] - second) ** 2).sum(dim=2).numpy() / 2.0
    # the blur is nothing next to such costs
    np.testing.assert_allclose(divergence(first, second), cost[linear_sum_assignment(cost)].mean(), rtol=0.1)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 6), st.integers(0, 1000))
def test_the_divergence_is_a_distance(a: int, b: int, size: int, seed: int) -> None:
    first, second = normal_rows(a, size, seed), 0.5 + normal_rows(b, size, seed + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fairad, "_ROUNDS", 300)  # to the end, however few and far apart they are
        there, back = float(divergence(first, second)), float(divergence(second, first))
        assert there > -1e-3
        assert abs(there - back) < 0.01 * max(1.0, there)
        assert abs(float(divergence(first, first.flip(0)))) < 1e-3  # the order of the rows is no matter
        np.testing.assert_allclose(divergence(first + 7.0, second + 7.0), there, atol=1e-6)


@pytest.mark.parametrize("size", [1, 4, 20])
def test_a_few_rounds_are_enough_for_batches_near_the_target(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = torch.from_numpy(target_rows(128, size, 0))
    codes = 0.5 + 0.7 * normal_rows(128, size)
    few = float(divergence(codes, target))
    monkeypatch.setattr(fairad, "_ROUNDS", 1000)
    assert few == pytest.approx(float(divergence(codes, target)), rel=0.05)


def test_groups_side_by_side_are_compared_each_by_itself() -> None:
    first, second = normal_rows(24, 3).reshape(2, 12, 3), 1.0 + normal_rows(30, 3, seed=1).reshape(2, 15, 3)
    together = divergence(first, second)
    np.testing.assert_allclose(together, [divergence(first[k], second[k]) for k in range(2)], rtol=1e-9)
    known = torch.stack([fairad._transport(rows, rows) for rows in second])
    np.testing.assert_allclose(divergence(first, second, known), together, rtol=1e-9)


def test_a_shift_costs_its_square() -> None:
    rows = normal_rows(300, 3)
    for shift in (0.5, 2.0):
        np.testing.assert_allclose(divergence(rows + shift, rows), shift**2, rtol=0.02)


def test_the_gradient_is_that_of_the_divergence() -> None:
    rows, target = normal_rows(12, 2).requires_grad_(), 0.3 + normal_rows(15, 2, seed=1)
    divergence(rows, target).backward()  # type: ignore[no-untyped-call]
    assert rows.grad is not None
    step = 1e-4
    for place in ((0, 0), (5, 1)):
        there, back = (rows.detach().clone() for _ in range(2))
        there[place] += step
        back[place] -= step
        slope = (divergence(there, target) - divergence(back, target)) / (2.0 * step)
        np.testing.assert_allclose(rows.grad[place], slope, rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("rows", [torch.zeros(5, 2), torch.full((5, 2), 1e6), torch.zeros(1, 2)])
def test_codes_that_do_not_vary_give_finite_losses(rows: torch.Tensor) -> None:
    rows = rows.clone().requires_grad_()
    loss = divergence(rows, torch.from_numpy(target_rows(7, 2, 0)).float())
    loss.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(loss)
    assert rows.grad is not None
    assert torch.isfinite(rows.grad).all()


@pytest.mark.parametrize("size", [1, 2, 20])
def test_the_target_is_a_normal_cut_off(size: int) -> None:
    rows = target_rows(4000, size, 0)
    squares = (rows**2).sum(axis=1)
    assert squares.max() <= chi2.ppf(0.9, size)
    assert kstest(chi2.cdf(squares, size) / 0.9, "uniform").pvalue > 0.01
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=0.1)
    assert np.array_equal(rows, target_rows(4000, size, 0))


@functools.cache
def trained(seen: str) -> Projection:
    """With the true groups, or with groups drawn by lot: the same method, blind."""
    rows = shifted_group()
    drawn = np.random.default_rng(1).permutation(rows.sensitive)
    return fitted(training_rows(rows.x, rows.sensitive if seen == "groups" else drawn), **TRAINED)


@pytest.mark.slow
def test_codes_and_scores_reveal_less_of_the_group() -> None:
    rows = shifted_group(3000)
    is_second = rows.sensitive > 0.0

    def apart(seen: str) -> float:
        codes = torch.from_numpy(trained(seen).codes(rows.x))
        return float(divergence(codes[is_second], codes[~is_second][: is_second.sum()]))

    def followed(seen: str) -> float:
        return abs(float(roc_auc_score(is_second, trained(seen).anomaly_score(rows.x))) - 0.5)

    assert followed("lots") > 0.15
    assert followed("groups") < 0.5 * followed("lots")
    assert apart("groups") < 0.3 * apart("lots")


@pytest.mark.slow
def test_each_group_comes_near_the_target() -> None:
    rows, target = shifted_group(3000), torch.from_numpy(target_rows(600, 4, 1))

    def far(seen: str) -> float:
        codes = torch.from_numpy(trained(seen).codes(rows.x))
        return max(float(divergence(codes[rows.sensitive == sign][:600], target)) for sign in (-1.0, 1.0))

    assert far("groups") < 0.2
    assert far("groups") < 0.5 * far("lots")


@pytest.mark.slow
def test_outliers_score_higher() -> None:
    x = np.random.default_rng(0).normal(size=(900, 5))
    detector = fitted(training_rows(x[:600]), **TRAINED)
    ordinary, odd = (detector.anomaly_score(x[600:] + shift) for shift in (0.0, OFF_THE_PLANE))
    assert roc_auc_score(np.repeat([0, 1], 300), np.concatenate([ordinary, odd])) > 0.9


def test_the_score_is_the_squared_distance_from_the_centre(detector: Projection) -> None:
    x = shifted_group().x
    z = torch.from_numpy(detector.inputs(x).astype(np.float32))
    with torch.no_grad():
        expected = (detector.encoder(z) ** 2).sum(dim=1)
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(detector.anomaly_score(x), (detector.codes(x) ** 2).sum(axis=1))
    assert not isinstance(detector, ExplainedDetector)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 2100), st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(detector: Projection, n: int, seed: int) -> None:
    assert_rows_are_scored_alone(detector, np.random.default_rng(seed).normal(size=(n, 4)), seed)


@settings(max_examples=10, deadline=None)
@given(columns=st.integers(1, 130), seed=st.integers(0, 1000))
def test_odd_widths_score_rows_alone_too(columns: int, seed: int) -> None:
    rows = training_rows(np.random.default_rng(seed).normal(size=(20, columns)))
    encoder = fitted(rows, steps=1, width=7).encoder
    detector = Projection(InputScaling(np.zeros(columns), np.ones(columns)), encoder)
    assert_rows_are_scored_alone(detector, np.random.default_rng(seed).random((1100, columns)), seed)


def test_the_same_seed_gives_the_same_scores(detector: Projection) -> None:
    x = shifted_group().x
    assert np.array_equal(fitted().anomaly_score(x), detector.anomaly_score(x))
    assert not np.array_equal(fitted(seed=1).anomaly_score(x), detector.anomaly_score(x))


def test_training_does_not_change_its_rows() -> None:
    rows = shifted_group()
    fitted(rows)
    assert np.array_equal(rows.x, shifted_group().x)


def test_state_round_trip_keeps_every_bit(detector: Projection) -> None:
    assert_saving_keeps_every_bit(detector, fairad, shifted_group().x)


def test_progress_reports_both_losses_to_the_end() -> None:
    recorder = Recorder()
    fitted(progress=recorder)
    assert recorder.heard[-1][:3] == ("fairad", 20, 20)
    assert set(recorder.heard[-1][3]) == {"loss", "divergence"}


def test_training_can_be_cancelled() -> None:
    recorder = Recorder(stop_in="fairad")
    with pytest.raises(AuditCancelled, match="fairad"):
        fitted(progress=recorder)
    assert len(recorder.heard) == 1


@pytest.mark.parametrize("second", [0, 1, 2, 400])  # people of the second group
def test_small_and_missing_groups_train(second: int) -> None:
    recorder = Recorder()
    x = near_the_plane(400)
    detector = fitted(training_rows(x, np.where(np.arange(400) < second, 1.0, -1.0)), progress=recorder)
    assert all(np.isfinite(value) for *_, values in recorder.heard for value in values.values())
    assert np.isfinite(detector.anomaly_score(x)).all()


def test_a_small_group_counts_as_much_as_a_large_one() -> None:
    """Half of every batch is of each group; the reconstruction error is that of all people."""
    x = np.zeros((40, 1))
    is_second = np.arange(40) < 4
    training = fairad._Training(x, [~is_second, is_second], CONFIG.replace(code_size=1), 0)
    assert [len(members) for members in training.groups] == [36, 4]
    training.rows[:4] = 5.0
    with torch.no_grad():
        for weights in (*training.encoder.parameters(), *training.decoder.parameters()):
            weights.zero_()  # everybody is reconstructed as 0
    found = training.step(torch.arange(32))
    np.testing.assert_allclose(found["loss"].detach(), 25.0 * 4 / 40, rtol=1e-6)


def test_of_three_groups_each_is_a_third_of_every_batch() -> None:
    x = near_the_plane(300)
    rows = training_rows(x, np.where(np.arange(300) < 30, 0.0, np.where(np.arange(300) < 90, 1.0, 4.0)))
    training = fairad._Training(rows.inputs(x), rows.groups, CONFIG, 0)
    assert [len(members) for members in training.groups] == [30, 60, 210]
    np.testing.assert_allclose(training.shares, [0.1, 0.2, 0.7], rtol=1e-6)
    assert np.isfinite(fitted(rows).anomaly_score(x)).all()


@pytest.mark.slow
def test_constant_columns_few_rows_and_absurd_values() -> None:
    x = np.column_stack([near_the_plane(6), np.full(6, 3.0)])
    assert np.isfinite(fitted(training_rows(x)).anomaly_score(x + 100.0)).all()
    same = np.full((6, 3), 2.0)
    assert np.isfinite(fitted(training_rows(same)).anomaly_score(same + 5.0 * np.eye(6, 3))).all()
    far = fitted(training_rows(near_the_plane()), **TRAINED)
    assert (far.anomaly_score(FAR_OUTSIDE) > far.anomaly_score(near_the_plane()).max()).all()


@pytest.mark.parametrize(("columns", "given_size", "expected"), [(1, None, 1), (5, None, 5), (40, None, 32), (5, 2, 2)])
def test_the_size_of_the_code(columns: int, given_size: int | None, expected: int) -> None:
    x = np.random.default_rng(0).normal(size=(20, columns))
    detector = fitted(training_rows(x), steps=1, code_size=given_size)
    assert detector.codes(x).shape == (20, expected)
