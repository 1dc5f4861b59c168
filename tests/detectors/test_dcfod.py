from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.config import AuditConfig, BaselineConfig, DcfodConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors import dcfod
from cfad_core.detectors.dcfod import ClusterDistance
from cfad_core.detectors.protocol import TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    assert_what_was_learned_is_least_odd,
    fitting,
    near_the_plane,
    training_rows,
)

CONFIG = DcfodConfig(clusters=3, widths=(16, 16), code_size=2, learning_rate=1e-3, epochs=5, batch_size=64)


def two_groups(n: int = 300) -> TrainingRows:
    """The groups lie apart along the first direction of the plane."""
    sensitive = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return training_rows(near_the_plane(n) + 1.5 * np.outer(sensitive, PLANE[0]), sensitive)


def fitted(
    rows: TrainingRows | None = None, seed: int = 0, progress: Progress | None = None, **changes: Any
) -> ClusterDistance:
    config = AuditConfig(seed=seed, baselines=BaselineConfig(dcfod=CONFIG.replace(**changes)))
    return dcfod.fit(fitting(rows or two_groups(), config, progress=progress))


@pytest.fixture(scope="module", autouse=True)
def _few_steps() -> Iterator[None]:
    """No more than the epochs ask for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dcfod, "_FEWEST_STEPS", 1)
        yield


@pytest.fixture(scope="module")
def detector() -> ClusterDistance:
    return fitted()


def test_soft_clustering_by_hand() -> None:
    """People at 1, 2 and 5, centroids at 0 and 3."""
    divergence, oddity = dcfod._clustering(torch.tensor([[1.0], [2.0], [5.0]]), torch.tensor([[0.0], [3.0]]))
    q = np.array([[5 / 7, 2 / 7], [2 / 7, 5 / 7], [5 / 31, 26 / 31]])  # from 1/2 1/5, 1/5 1/2, 1/26 1/5
    p = np.array([[475, 48], [76, 300], [475, 8112]])  # q^2 over the columns' sums 36/31 and 57/31
    p = p / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(divergence, (p * np.log(p / q)).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(oddity, [1 / 1, 1 / 2, 2 / 2])  # the second and the third share a cluster


def test_the_target_of_the_clustering_stands_still() -> None:
    """With p fixed, d KL_i / d code_i = 2 sum_j (p_ij - q_ij) (code_i - centroid_j) / (1 + d_ij^2)."""
    codes, centroids = torch.tensor([[1.0], [2.0], [5.0]], requires_grad=True), torch.tensor([[0.0], [3.0]])
    dcfod._clustering(codes, centroids)[0].sum().backward()  # type: ignore[no-untyped-call]
    q = np.array([[5 / 7, 2 / 7], [2 / 7, 5 / 7], [5 / 31, 26 / 31]])
    p = np.array([[475 / 523, 48 / 523], [19 / 94, 75 / 94], [475 / 8587, 8112 / 8587]])
    away = np.array([[1.0, -2.0], [2.0, -1.0], [5.0, 2.0]])
    assert codes.grad is not None
    np.testing.assert_allclose(codes.grad[:, 0], (2.0 * (p - q) * away / (1.0 + away**2)).sum(axis=1), rtol=1e-4)


def test_codes_on_a_centroid_give_finite_numbers() -> None:
    codes = torch.zeros(3, 2, requires_grad=True)
    divergence, oddity = dcfod._clustering(codes, torch.zeros(1, 2))
    (divergence + oddity).sum().backward()  # type: ignore[no-untyped-call]
    assert codes.grad is not None
    assert torch.isfinite(codes.grad).all()
    assert divergence.tolist() == [0.0] * 3
    assert oddity.tolist() == [1.0] * 3


def fresh_training() -> dcfod._Training:
    rows = two_groups()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return dcfod._Training(rows.inputs(rows.x), rows.sensitive, CONFIG, seed=0)


def gradients(network: torch.nn.Sequential) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])


def test_the_encoder_gets_the_gradient_of_the_discriminator_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcfod, "_DROPOUT", 0.0)

    def stepped(weight: float) -> dcfod._Training:
        monkeypatch.setattr(dcfod, "_ADVERSARY", weight)
        training = fresh_training()
        with torch.random.fork_rng(devices=[]):
            training.step(torch.arange(300))
        return training

    without, with_it, plain = stepped(0.0), stepped(100.0), fresh_training()
    distinguished = plain.discriminator(plain.encoder(plain.rows))
    torch.nn.functional.cross_entropy(distinguished, plain.group).backward()  # type: ignore[no-untyped-call]
    felt = gradients(with_it.encoder) - gradients(without.encoder)
    assert felt.abs().max() > 0.1
    torch.testing.assert_close(felt, -100.0 * gradients(plain.encoder), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(gradients(with_it.discriminator), 100.0 * gradients(plain.discriminator))
    torch.testing.assert_close(gradients(with_it.decoder), gradients(without.decoder))


@pytest.mark.slow
def test_groups_become_harder_to_distinguish(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = two_groups()

    def gap(seed: int) -> float:
        detector = fitted(rows, seed=seed, epochs=40)
        with torch.no_grad():
            codes = detector.encoder(torch.from_numpy(rows.inputs(rows.x).astype(np.float32))).numpy()
        between = codes[rows.sensitive > 0.0].mean(axis=0) - codes[rows.sensitive < 0.0].mean(axis=0)
        return float(np.linalg.norm(between) / codes.std())

    fair = np.mean([gap(seed) for seed in range(3)])
    monkeypatch.setattr(dcfod, "_ADVERSARY", 0.0)
    assert fair < 0.7 * np.mean([gap(seed) for seed in range(3)])


def test_the_score_is_the_distance_in_radii(detector: ClusterDistance) -> None:
    x = near_the_plane(7, seed=1)
    with torch.no_grad():
        codes = detector.encoder(torch.from_numpy(detector.inputs(x).astype(np.float32))).double().numpy()
    expected = []
    for code in codes:
        distance = [float(np.linalg.norm(code - centroid)) for centroid in detector.centroids]
        nearest = int(np.argmin(distance))
        expected.append(distance[nearest] / detector.radius[nearest])
    np.testing.assert_allclose(detector.anomaly_score(x), expected, rtol=1e-5)


def test_radii_are_those_of_the_training_rows(detector: ClusterDistance) -> None:
    """The furthest training row of every cluster scores 1, whoever is scored with it."""
    scores = detector.anomaly_score(two_groups().x)
    assert scores.max() == 1.0
    assert 1 <= (scores == 1.0).sum() <= CONFIG.clusters
    few = two_groups().x[np.argsort(scores)[:10]]  # none of them the furthest
    assert np.array_equal(detector.anomaly_score(few), np.sort(scores)[:10])
    assert np.median(detector.anomaly_score(100.0 * two_groups().x)) > 5.0


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 2100), st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(detector: ClusterDistance, n: int, seed: int) -> None:
    assert_rows_are_scored_alone(detector, near_the_plane(n, seed=seed), seed)


def test_one_cluster_is_enough() -> None:
    detector = fitted(clusters=1)
    assert detector.centroids.shape == (1, 2)
    assert detector.anomaly_score(two_groups().x).max() == 1.0


def test_there_are_no_more_clusters_than_rows() -> None:
    rows = training_rows(near_the_plane(5))
    detector = fitted(rows, clusters=10)
    assert len(detector.centroids) == 5
    assert_what_was_learned_is_least_odd(detector, rows.x, rows.x + 100.0)


def test_there_are_no_more_clusters_than_different_rows() -> None:
    rows = training_rows(np.repeat(near_the_plane(5), 20, axis=0))
    assert len(fitted(rows, clusters=10).centroids) == 5


def test_rows_that_are_all_alike_make_one_cluster() -> None:
    rows = training_rows(np.full((20, 3), 2.0))
    detector = fitted(rows)
    assert len(detector.centroids) == 1
    assert_what_was_learned_is_least_odd(detector, rows.x, np.eye(3))


def test_of_three_groups_the_discriminator_knows_each() -> None:
    """Whatever their codes are: some states may be nobody's."""
    rows = training_rows(near_the_plane(90), np.array([0.0, 2.0, 5.0])[np.arange(90) % 3])
    with torch.random.fork_rng(devices=[]):
        session = dcfod._Training(rows.inputs(rows.x), rows.sensitive, CONFIG, 0)
    assert session.group.tolist() == (np.arange(90) % 3).tolist()
    last = [layer for layer in session.discriminator if isinstance(layer, torch.nn.Linear)][-1]
    assert last.out_features == 3
    assert np.isfinite(fitted(rows).anomaly_score(rows.x)).all()


def test_a_batch_of_one_group_trains() -> None:
    detector = fitted(training_rows(near_the_plane(50), np.ones(50)))
    assert detector.anomaly_score(near_the_plane(50)).max() == 1.0
    assert_what_was_learned_is_least_odd(detector, near_the_plane(50), near_the_plane(50) + 100.0)


def test_the_same_seed_gives_the_same_scores(detector: ClusterDistance) -> None:
    x = near_the_plane()
    assert np.array_equal(fitted().anomaly_score(x), detector.anomaly_score(x))
    assert not np.array_equal(fitted(seed=1).anomaly_score(x), detector.anomaly_score(x))


def test_state_round_trip_keeps_every_bit(detector: ClusterDistance) -> None:
    assert_saving_keeps_every_bit(detector, dcfod, near_the_plane())


@pytest.mark.parametrize(("fewest", "steps"), [(7, 20), (33, 33)])  # five passes over four batches
def test_few_rows_are_passed_more_often(monkeypatch: pytest.MonkeyPatch, fewest: int, steps: int) -> None:
    monkeypatch.setattr(dcfod, "_FEWEST_STEPS", fewest)
    recorder = Recorder()
    fitted(progress=recorder)
    assert recorder.heard[-1][:3] == ("dcfod", steps, steps)


def test_training_can_be_cancelled() -> None:
    recorder = Recorder(stop_in="dcfod")
    with pytest.raises(AuditCancelled, match="dcfod"):
        fitted(progress=recorder)
    assert len(recorder.heard) == 1
