"""AE, the plain autoencoder: what it cannot reconstruct of a row is its score, ``g(x) = || x - D(E(x)) ||^2``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DetectorConfig
from cfad_core.core.progress import Progress
from cfad_core.core.threads import one_thread
from cfad_core.core.training import (
    Pace,
    Passes,
    adam,
    dense_network,
    network_from_state,
    network_state,
    scoring_network,
    steps_for,
    train,
)
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, in_blocks

_CODED = 0.96  # share of the variance that the code has room for
_LARGEST_CODE = 32
_COLUMN_WIDTH = 6  # of hidden layers, for each column
_NARROWEST, _WIDEST = 64, 192
_ROUND = 16  # what widths are multiples of, as scoring pads them to that
_RATE, _RATE_WIDTH = 1e-3, 256  # learning rate of the pre-training, at this width
_LARGEST_RATE = 10.0
_EPOCHS = 30  # at most
BATCH = 256
_HELD_OUT = 0.1  # share of normal people
_MOST_HELD_OUT = 4_000
_FEWEST = 10  # held out, under which they say nothing


@dataclass(frozen=True)
class Autoencoder:
    """A trained autoencoder with the scaling of its inputs.

    Attributes
    ----------
    epochs : that it learned for, begun ones included; None of one that was saved
    """

    inputs: InputScaling
    encoder: torch.nn.Sequential
    decoder: torch.nn.Sequential
    epochs: int | None = field(default=None, kw_only=True)

    @property
    def width(self) -> int:
        """Of its first hidden layer."""
        return int(next(self.encoder.parameters()).shape[0])

    @property
    def code_size(self) -> int:
        return int(list(self.encoder.parameters())[-1].shape[0])

    def anomaly_score(self, x: Floats) -> Floats:
        """``g`` of each row of x (n, m): higher = more anomalous."""
        total: Floats = self.contributions(x).sum(axis=1)
        return total

    def contributions(self, x: Floats) -> Floats:
        """The part of each attribute in the score, shape (n, m); a row sums to its score."""
        return squared_errors(torch.nn.Sequential(*self.encoder, *self.decoder), self.inputs(x))

    def prepare(self, x: Floats) -> torch.Tensor:
        """Scaled inputs of the network."""
        return torch.from_numpy(self.inputs(x).astype(np.float32))

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that must be saved, by name."""
        networks = network_state(self.encoder, "encoder") | network_state(self.decoder, "decoder")
        return self.inputs.state() | networks


def squared_errors(network: torch.nn.Sequential, inputs: Floats) -> Floats:
    """Squared reconstruction error of each scaled cell, (n, m)."""
    reconstruct = scoring_network(network)

    def errors(block: Floats) -> Floats:
        rows = torch.from_numpy(block.astype(np.float32))
        with torch.inference_mode():
            found: Floats = (rows - reconstruct(rows)).double().numpy() ** 2
        return found

    return in_blocks(errors, inputs)


def code_size(inputs: Floats, config: DetectorConfig) -> int:
    """As configured, or as many as principal components hold ``_CODED`` of the variance of the scaled rows (n, m).

    Never more than all but one of the columns, unless there is only one: a code of full size learns nothing.
    """
    if config.code_size is not None:
        return config.code_size
    centred = inputs - inputs.mean(axis=0)
    with one_thread():
        sizes = np.linalg.eigvalsh(centred.T @ centred)[::-1].clip(min=0.0)
    share = np.cumsum(sizes) / max(float(sizes.sum()), 1e-300)
    return int(np.clip(np.searchsorted(share, _CODED) + 1, 1, min(_LARGEST_CODE, max(1, inputs.shape[1] - 1))))


def settled(config: DetectorConfig, columns: int) -> DetectorConfig:
    """The settings of the training for so many columns, where they were left to the data.

    Learning rates are those of a width of 256. An output of a narrower network is a sum of fewer parts, so that it
    needs a rate that is as many times larger to move as far.
    """
    faster, width = 1.0, config.width
    if width is None:
        width = min(max(-(-_COLUMN_WIDTH * columns // _ROUND) * _ROUND, _NARROWEST), _WIDEST)
        faster = _RATE_WIDTH / width
    return config.replace(
        width=width,
        learning_rate=_RATE * faster if config.learning_rate is None else config.learning_rate,
        fair_learning_rate=min(_LARGEST_RATE, config.fair_learning_rate * faster),
        batch_size=config.batch_size or BATCH,
    )


def fit(task: Fitting) -> Autoencoder:
    """Minimise the mean of g over normal people."""
    rows, seed = task.rows, task.config.seed
    columns = rows.x.shape[1]
    config = settled(task.config.detector, columns)
    assert config.width is not None
    code = code_size(rows.inputs(rows.x), config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Autoencoder(
            inputs=rows.inputs,
            encoder=dense_network([columns, config.width, config.width, code], torch.nn.ReLU),
            decoder=dense_network([code, config.width, config.width, columns], torch.nn.ReLU),
        )
    return _train(model, model.prepare(rows.x), config, seed, task.progress)


def _train(
    model: Autoencoder, inputs: torch.Tensor, config: DetectorConfig, seed: int, progress: Progress
) -> Autoencoder:
    """Learn to reconstruct the rows (n, m): for so many epochs, or until rows held out are reconstructed no better."""
    assert config.learning_rate is not None
    assert config.batch_size is not None
    generator = torch.Generator().manual_seed(seed)
    network = torch.nn.Sequential(*model.encoder, *model.decoder)
    optimiser = adam(network.parameters(), config.learning_rate)
    held = 0 if config.epochs is not None else min(_MOST_HELD_OUT, int(_HELD_OUT * len(inputs)))
    steps = steps_for(config.epochs or _EPOCHS, len(inputs), config.batch_size)
    order = torch.randperm(len(inputs), generator=generator) if held else torch.arange(len(inputs))
    held_out, learned = inputs[order[:held]], inputs[order[held:]]

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(network(batch), batch)

    def look() -> float:
        with torch.inference_mode():
            return float(loss_of(held_out))

    pace = None if config.epochs is not None else Pace(optimiser, look if held >= _FEWEST else None, steps)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps) if pace is None else None

    def step(batch_rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        loss = loss_of(learned[batch_rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if schedule is not None:
            schedule.step()
        return {"loss": loss}

    passes = Passes(len(learned), config.batch_size, steps, generator, "autoencoder")
    train(step, passes, progress, pace=pace)
    done = steps if pace is None else pace.end
    return replace(model, epochs=-(-done // steps_for(1, len(inputs), config.batch_size)))


def restore(arrays: State, _: Surroundings) -> Autoencoder:
    """Rebuild what ``state`` described."""
    encoder, decoder = (network_from_state(arrays, part) for part in ("encoder", "decoder"))
    return Autoencoder(InputScaling.from_state(arrays), encoder, decoder)


def parameters(model: Autoencoder) -> list[torch.nn.Parameter]:
    """Everything that training moves."""
    return [*model.encoder.parameters(), *model.decoder.parameters()]
