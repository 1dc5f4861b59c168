from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import AuditCancelled, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.detectors import autoencoder
from cfad_core.detectors.autoencoder import Autoencoder, code_size, settled
from cfad_core.detectors.protocol import TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    OFF_THE_PLANE,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    assert_what_was_learned_is_least_odd,
    fitting,
    restored,
    training_rows,
)
from tests.detectors.promises import near_the_plane as rows

CONFIG = DetectorConfig(width=16, epochs=60, batch_size=64, code_size=2)


def trained(
    rows_: TrainingRows | None = None, seed: int = 0, progress: Progress | None = None, **changes: Any
) -> Autoencoder:
    config = AuditConfig(seed=seed, detector=CONFIG.replace(**changes))
    return autoencoder.fit(fitting(rows_ or training_rows(rows()), config, progress=progress))


@pytest.fixture(scope="module")
def model() -> Autoencoder:
    return trained()


@pytest.mark.slow
def test_training_lowers_the_error_and_outliers_score_higher() -> None:
    recorder = Recorder()
    detector = trained(progress=recorder)
    losses = [values["loss"] for *_, values in recorder.heard]
    assert losses[-1] < 0.5 * losses[0]
    assert np.median(detector.anomaly_score(rows() + OFF_THE_PLANE)) > 5 * np.median(detector.anomaly_score(rows()))


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
    again = trained()
    assert np.array_equal(again.anomaly_score(rows()), model.anomaly_score(rows()))
    other = trained(seed=1)
    assert not np.array_equal(other.anomaly_score(rows()), model.anomaly_score(rows()))


def test_state_round_trip_keeps_every_bit(model: Autoencoder) -> None:
    assert_saving_keeps_every_bit(model, autoencoder, rows())


def test_training_can_be_cancelled() -> None:
    recorder = Recorder(stop_in="autoencoder")
    with pytest.raises(AuditCancelled, match="autoencoder"):
        trained(progress=recorder)
    assert len(recorder.heard) == 1


def with_variance_shares(*shares: float) -> Floats:
    """Rows whose columns are their principal components: each holds this share of the variance."""
    sizes = np.diag(np.sqrt(shares))
    rows: Floats = np.concatenate([sizes, -sizes]) + 7.0  # around a centre that must not count
    return rows


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
    detector = trained(code_size=None, epochs=1)
    again = restored(autoencoder, detector.state())
    assert isinstance(again, Autoencoder)
    assert detector.code_size == again.code_size == 2


@pytest.mark.parametrize(("columns", "width"), [(1, 64), (10, 64), (11, 80), (20, 128), (32, 192), (500, 192)])
def test_networks_are_as_wide_as_their_columns_need(columns: int, width: int) -> None:
    found = settled(DetectorConfig(), columns)
    assert (found.width, found.batch_size, found.epochs) == (width, 256, None)
    assert found.learning_rate == pytest.approx(0.256 / width)
    assert found.fair_learning_rate == pytest.approx(3e-4 * 256 / width)
    given = settled(DetectorConfig(width=32, batch_size=7), columns)
    assert (given.width, given.batch_size, given.learning_rate, given.fair_learning_rate) == (32, 7, 1e-3, 3e-4)
    assert settled(found, columns) == found


FREE: dict[str, Any] = {"width": None, "epochs": None, "batch_size": None, "code_size": None}


def test_a_training_ends_when_it_has_learned() -> None:
    """Rows on a plane are soon learned; the same seed ends at the same step."""
    x = rows(6_000)
    detector = trained(training_rows(x), **FREE)
    assert 1 <= (detector.epochs or 0) < 30
    assert np.median(detector.anomaly_score(x + OFF_THE_PLANE)) > 5 * np.median(detector.anomaly_score(x))
    again = trained(training_rows(x), **FREE)
    assert again.epochs == detector.epochs
    assert np.array_equal(again.anomaly_score(x), detector.anomaly_score(x))


def test_a_training_of_few_rows_takes_all_its_epochs() -> None:
    assert trained(training_rows(rows(60)), **FREE).epochs == 30
    assert trained(epochs=2).epochs == 2


def test_constant_columns_and_few_rows_train() -> None:
    x = np.column_stack([rows(10), np.full(10, 3.0)])
    assert_what_was_learned_is_least_odd(trained(training_rows(x)), x, x + 100.0)


def test_rows_of_another_width_are_refused(model: Autoencoder) -> None:
    with pytest.raises(InvalidDataError, match=r"Expected rows of 5 attributes; got an array of shape \(1, 4\)"):
        model.anomaly_score(np.zeros((1, 4)))
