from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.core.training import dense_network
from cfad_core.detectors import autoencoder, cfad
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.cfad import fine_tune
from cfad_core.detectors.protocol import TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    restored,
    training_rows,
)
from tests.detectors.promises import near_the_plane as rows

CONFIG = DetectorConfig(width=16, epochs=60, fair_epochs=3, batch_size=64, code_size=2)


def other_world(x: Floats) -> Floats:
    moved: Floats = x + 2.0 * PLANE[0]
    return moved


@pytest.fixture(scope="module")
def model() -> Autoencoder:
    return autoencoder.fit(fitting(training_rows(rows()), AuditConfig(detector=CONFIG)))


def test_fine_tuning_leaves_the_plain_model_alone(model: Autoencoder) -> None:
    before = model.anomaly_score(rows())
    fair = fine_tune(model, rows(), other_world(rows())[None], CONFIG, seed=0, progress=Progress())
    assert np.array_equal(model.anomaly_score(rows()), before)
    assert not np.array_equal(fair.anomaly_score(rows()), before)


def game(model: Autoencoder, **changes: Any) -> cfad._Game:
    x, config = rows(), CONFIG.replace(**changes)
    torch_model = restored(cfad, model.state())
    assert isinstance(torch_model, Autoencoder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        discriminator = dense_network([2, 8, 8, 1], torch.nn.ReLU)
    worlds = torch_model.prepare(x), torch_model.prepare(other_world(x))[None]
    return cfad._Game(torch_model, discriminator, worlds, config, seed=0)


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
    """With the encoder free to move, the codes of people and of their twins get harder to distinguish."""
    config = CONFIG.replace(fair_epochs=60, fair_learning_rate=3e-3, fairness_weight=5.0)
    x, other = rows(), other_world(rows())
    fair = fine_tune(model, x, other[None], config, seed=0, progress=Progress())

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


def test_the_module_tunes_the_plain_autoencoder_with_the_rows_and_their_twins(model: Autoencoder) -> None:
    people = training_rows(rows())
    given = TrainingRows(people.x, other_world(people.x), people.sensitive, people.inputs)
    config = AuditConfig(seed=4, detector=CONFIG)
    fair = cfad.fit(fitting(given, config, fitted={"ae": model}))
    expected = fine_tune(model, given.x, given.counterfactual[None], CONFIG, seed=4, progress=Progress())
    assert np.array_equal(fair.anomaly_score(rows()), expected.anomaly_score(rows()))
    assert_rows_are_scored_alone(fair, rows(1500, seed=1), seed=0)
    assert_saving_keeps_every_bit(fair, cfad, rows())


def test_fine_tuning_can_be_cancelled(model: Autoencoder) -> None:
    recorder = Recorder(stop_in="fair fine-tuning")
    with pytest.raises(AuditCancelled, match="fair fine-tuning"):
        fine_tune(model, rows(), rows()[None], CONFIG, seed=0, progress=recorder)
    assert len(recorder.heard) == 1
