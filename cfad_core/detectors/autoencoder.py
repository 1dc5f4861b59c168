"""AE, the plain autoencoder: what it cannot reconstruct of a row is its score, ``g(x) = || x - D(E(x)) ||^2``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DetectorConfig
from cfad_core.core.training import (
    Passes,
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


@dataclass(frozen=True)
class Autoencoder:
    """A trained autoencoder with the scaling of its inputs."""

    inputs: InputScaling
    encoder: torch.nn.Sequential
    decoder: torch.nn.Sequential

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
        with torch.no_grad():
            found: Floats = (rows - reconstruct(rows)).double().numpy() ** 2
        return found

    return in_blocks(errors, inputs)


def code_size(inputs: Floats, config: DetectorConfig) -> int:
    """As configured, or as many as principal components hold ``_CODED`` of the variance of the scaled rows (n, m).

    Never more than all but one of the columns, unless there is only one: a code of full size learns nothing.
    """
    if config.code_size is not None:
        return config.code_size
    sizes = np.linalg.svd(inputs - inputs.mean(axis=0), compute_uv=False) ** 2
    share = np.cumsum(sizes) / max(float(sizes.sum()), 1e-300)
    return int(np.clip(np.searchsorted(share, _CODED) + 1, 1, min(_LARGEST_CODE, max(1, inputs.shape[1] - 1))))


def fit(task: Fitting) -> Autoencoder:
    """Minimise the mean of g over normal people."""
    rows, config, seed = task.rows, task.config.detector, task.config.seed
    columns = rows.x.shape[1]
    code = code_size(rows.inputs(rows.x), config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Autoencoder(
            inputs=rows.inputs,
            encoder=dense_network([columns, config.width, config.width, code], torch.nn.ReLU),
            decoder=dense_network([code, config.width, config.width, columns], torch.nn.ReLU),
        )
    inputs = model.prepare(rows.x)
    steps = steps_for(config.epochs, len(inputs), config.batch_size)
    optimiser = torch.optim.Adam(parameters(model), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)

    def step(batch_rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        batch = inputs[batch_rows]
        loss = ((batch - model.decoder(model.encoder(batch))) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        return {"loss": loss}

    train(
        step,
        Passes(
            n_rows=len(inputs),
            batch_size=config.batch_size,
            steps=steps,
            generator=torch.Generator().manual_seed(seed),
            stage="autoencoder",
        ),
        task.progress,
    )
    return model


def restore(arrays: State, _: Surroundings) -> Autoencoder:
    """Rebuild what ``state`` described."""
    encoder, decoder = (network_from_state(arrays, part) for part in ("encoder", "decoder"))
    return Autoencoder(InputScaling.from_state(arrays), encoder, decoder)


def parameters(model: Autoencoder) -> list[torch.nn.Parameter]:
    """Everything that training moves."""
    return [*model.encoder.parameters(), *model.decoder.parameters()]
