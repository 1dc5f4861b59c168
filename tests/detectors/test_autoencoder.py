from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.config import DetectorConfig
from cfad_core.core.errors import AuditCancelled, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.detectors import autoencoder
from cfad_core.detectors.autoencoder import Autoencoder, code_size, fine_tune, train_autoencoder
from tests.conftest import Recorder
from tests.detectors.promises import (
    OFF_THE_PLANE,
    PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    training_rows,
)
from tests.detectors.promises import near_the_plane as rows

CONFIG = DetectorConfig(width=16, epochs=60, fair_epochs=3, batch_size=64, code_size=2)


def other_world(x: np.ndarray) -> np.ndarray:
    return x + 2.0 * PLANE[0]


@pytest.fixture(scope="module")
def model() -> Autoencoder:
    return train_autoencoder(training_rows(rows()), CONFIG, seed=0, progress=Progress())


def test_training_lowers_the_error_and_outliers_score_higher() -> None:
    recorder = Recorder()
    trained = train_autoencoder(training_rows(rows()), CONFIG, seed=0, progress=recorder)
    losses = [values["loss"] for *_, values in recorder.heard]
    assert losses[-1] < 0.5 * losses[0]
    assert np.median(trained.anomaly_score(rows() + OFF_THE_PLANE)) > 5 * np.median(trained.anomaly_score(rows()))


def test_the_score_is_the_squared_reconstruction_error(model: Autoencoder) -> None:
    x = rows(7)
    with torch.no_grad():
        inputs = model.prepare(x)
        expected = ((inputs - model.decoder(model.encoder(inputs))) ** 2).sum(dim=1).numpy()
    np.testing.assert_allclose(model.anomaly_score(x), expected, rtol=1e-5)
    np.testing.assert_allclose(model.contributions(x).sum(axis=1), model.anomaly_score(x))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 1000))
def test_a_score_never_depends_on_the_rows_scored_with_it(model: Autoencoder, n: int, seed: int) -> None:
    assert_rows_are_scored_alone(model, rows(n, seed=seed), seed)


def test_the_same_seed_gives_the_same_scores(model: Autoencoder) -> None:
    again = train_autoencoder(training_rows(rows()), CONFIG, seed=0, progress=Progress())
    assert np.array_equal(again.anomaly_score(rows()), model.anomaly_score(rows()))
    other = train_autoencoder(training_rows(rows()), CONFIG, seed=1, progress=Progress())
    assert not np.array_equal(other.anomaly_score(rows()), model.anomaly_score(rows()))


def test_state_round_trip_keeps_every_bit(model: Autoencoder) -> None:
    assert_saving_keeps_every_bit(model, Autoencoder.from_state, rows())


def test_fine_tuning_leaves_the_plain_model_alone(model: Autoencoder) -> None:
    before = model.anomaly_score(rows())
    fair = fine_tune(model, rows(), other_world(rows()), CONFIG, seed=0, progress=Progress())
    assert np.array_equal(model.anomaly_score(rows()), before)
    assert not np.array_equal(fair.anomaly_score(rows()), before)


def game(model: Autoencoder, **changes) -> autoencoder._Game:
    x, config = rows(), dataclasses.replace(CONFIG, **changes)
    torch_model = Autoencoder.from_state(model.state())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        discriminator = autoencoder.dense_network([2, 8, 8, 1], torch.nn.ReLU)
    return autoencoder._Game(
        torch_model, discriminator, torch_model.prepare(x), torch_model.prepare(other_world(x)), config
    )


def test_the_discriminator_is_trained(model: Autoencoder) -> None:
    played = game(
        model, fair_learning_rate=0.0, discriminator_learning_rate=1e-2
    )  # the autoencoder stands still: only C can learn
    losses = [played.step(torch.arange(300))["discriminator"].item() for _ in range(200)]
    assert losses[-1] < 0.8 * losses[0]


def test_the_encoder_feels_the_discriminator(model: Autoencoder) -> None:
    """The gradient of the encoder has the part -lambda * d CE / d theta; without C it would not."""

    def encoder_gradient(weight: float | None) -> torch.Tensor:
        played = game(model, fairness_weight=weight, discriminator_learning_rate=0.0)
        played.step(torch.arange(300))
        return torch.cat([p.grad.flatten() for p in played.model.encoder.parameters() if p.grad is not None])

    none, once, twice = (encoder_gradient(weight) for weight in (0.0, 1.0, 2.0))
    assert (once - none).abs().max() > 1e-4
    torch.testing.assert_close(twice - none, 2.0 * (once - none), rtol=1e-3, atol=1e-6)
    assert torch.equal(encoder_gradient(None), once)


def test_the_encoder_fools_the_discriminator(model: Autoencoder) -> None:
    """With the encoder free to move, the codes of the two worlds get harder to tell apart."""
    config = dataclasses.replace(CONFIG, fair_epochs=60, fair_learning_rate=3e-3, fairness_weight=5.0)
    x, other = rows(), other_world(rows())
    fair = fine_tune(model, x, other, config, seed=0, progress=Progress())

    def gap(detector: Autoencoder) -> float:
        with torch.no_grad():
            here, there = detector.encoder(detector.prepare(x)), detector.encoder(detector.prepare(other))
        return float((here.mean(dim=0) - there.mean(dim=0)).norm() / here.std())

    assert gap(fair) < 0.5 * gap(model)


def test_what_is_reconstructed_is_a_choice(model: Autoencoder) -> None:
    both, factual = (
        game(model, reconstruct_counterfactuals=choice).step(torch.arange(300))["loss"].item()
        for choice in (True, False)
    )
    assert both > factual  # shifted rows are harder to reconstruct


@pytest.mark.parametrize("stage", ["autoencoder", "fair fine-tuning"])
def test_training_can_be_cancelled(model: Autoencoder, stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=stage):
        if stage == "autoencoder":
            train_autoencoder(training_rows(rows()), CONFIG, seed=0, progress=recorder)
        else:
            fine_tune(model, rows(), rows(), CONFIG, seed=0, progress=recorder)
    assert len(recorder.heard) == 1


def with_variance_shares(*shares: float) -> np.ndarray:
    """Rows whose columns are their principal components: each holds this share of the variance."""
    sizes = np.diag(np.sqrt(shares))
    return np.concatenate([sizes, -sizes]) + 7.0  # around a centre that must not count


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((0.97, 0.01, 0.01, 0.01), 1),
        ((0.50, 0.47, 0.02, 0.01), 2),
        ((0.01, 0.47, 0.02, 0.50), 2),  # the order of the columns does not matter
        ((0.50, 0.45, 0.03, 0.02), 3),
        ((0.25, 0.25, 0.25, 0.25), 3),  # all four would be needed, but then nothing is left to learn
        ((0.50, 0.50), 1),
        ((1.00,), 1),
        ((0.01,) * 100, 32),  # and never more
        ((0.40, 0.30, 0.30, *(0.0,) * 40), 3),
    ],
)
def test_the_code_holds_96_percent_of_the_variance(shares: tuple[float, ...], expected: int) -> None:
    inputs = with_variance_shares(*shares)
    assert code_size(inputs, DetectorConfig()) == expected
    assert code_size(inputs, DetectorConfig(code_size=5)) == 5


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(7, 12), st.integers(0, 100))
def test_the_code_is_never_larger_than_the_rank(rank: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(40, rank)) @ rng.normal(size=(rank, columns))
    assert 1 <= code_size(inputs, DetectorConfig()) <= rank


def test_the_trained_code_has_the_size_of_the_plane() -> None:
    config = dataclasses.replace(CONFIG, code_size=None, epochs=1)
    trained = train_autoencoder(training_rows(rows()), config, seed=0, progress=Progress())
    assert trained.code_size == Autoencoder.from_state(trained.state()).code_size == 2


def test_constant_columns_and_few_rows_train() -> None:
    x = np.column_stack([rows(10), np.full(10, 3.0)])
    scores = train_autoencoder(training_rows(x), CONFIG, seed=0, progress=Progress()).anomaly_score(x)
    assert np.isfinite(scores).all()


def test_rows_of_another_width_are_refused(model: Autoencoder) -> None:
    with pytest.raises(InvalidDataError, match=r"Expected rows of 5 attributes; got an array of shape \(1, 4\)"):
        model.anomaly_score(np.zeros((1, 4)))
