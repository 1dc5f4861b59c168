"""The autoencoder, plain (AE) and fine-tuned against a discriminator (CFAD).

    g(x) = || x - D(E(x)) ||^2

AE minimises the mean of g over normal rows. CFAD starts from it and plays

    min over E, D, max over C:   L_AE + lambda * mean[ log C(E(x)) + log(1 - C(E(x_cf))) ]

where ``C`` tells the codes of factual rows from those of their counterfactuals: once it cannot, the two
worlds are encoded, and so scored, alike.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DetectorConfig
from cfad_core.core.progress import Progress
from cfad_core.core.training import dense_network, network_from_state, network_state, scoring_network, steps_for, train
from cfad_core.detectors.protocol import Inputs, State, TrainingRows, in_blocks

_CODED = 0.96  # share of the variance that the code has room for
_LARGEST_CODE = 32
_DISCRIMINATOR_WIDTH = 64


@dataclass(frozen=True)
class Autoencoder:
    """A trained autoencoder with the scaling of its inputs."""

    inputs: Inputs
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

    @staticmethod
    def from_state(arrays: State) -> Autoencoder:
        """Rebuild what ``state`` described."""
        encoder, decoder = (network_from_state(arrays, part) for part in ("encoder", "decoder"))
        return Autoencoder(Inputs.from_state(arrays), encoder, decoder)


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


def train_autoencoder(rows: TrainingRows, config: DetectorConfig, *, seed: int, progress: Progress) -> Autoencoder:
    """Train on the factual rows."""
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
    optimiser = torch.optim.Adam(_parameters(model), lr=config.learning_rate)
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
        n_rows=len(inputs),
        batch_size=config.batch_size,
        steps=steps,
        generator=torch.Generator().manual_seed(seed),
        stage="autoencoder",
        progress=progress,
    )
    return model


def fine_tune(
    model: Autoencoder, x: Floats, x_counterfactual: Floats, config: DetectorConfig, *, seed: int, progress: Progress
) -> Autoencoder:
    """Fine-tune a copy of the model so that a discriminator cannot tell the two worlds' codes apart.

    Parameters
    ----------
    x, x_counterfactual : normal rows (n, m), and the same people in the other world
    """
    model = copy.deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        width = _DISCRIMINATOR_WIDTH
        discriminator = dense_network([model.code_size, width, width, 1], torch.nn.ReLU)
    game = _Game(model, discriminator, model.prepare(x), model.prepare(x_counterfactual), config)
    train(
        game.step,
        n_rows=len(x),
        batch_size=config.batch_size,
        steps=game.steps,
        generator=torch.Generator().manual_seed(seed),
        stage="fair fine-tuning",
        progress=progress,
    )
    return model


class _Game:
    """The minimax game, one alternate step at a time."""

    def __init__(
        self,
        model: Autoencoder,
        discriminator: torch.nn.Sequential,
        factual: torch.Tensor,
        counterfactual: torch.Tensor,
        config: DetectorConfig,
    ) -> None:
        self.model, self.discriminator = model, discriminator
        self.factual, self.counterfactual = factual, counterfactual
        self.config = config
        self.weight = 1.0 if config.fairness_weight is None else config.fairness_weight
        self.steps = steps_for(config.fair_epochs, len(factual), config.batch_size)
        self.for_model = torch.optim.Adam(_parameters(model), lr=config.fair_learning_rate)
        self.for_discriminator = torch.optim.Adam(discriminator.parameters(), lr=config.discriminator_learning_rate)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.for_model, max(1, self.steps))

    def step(self, rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        both = torch.cat([self.factual[rows], self.counterfactual[rows]])  # (2b, m)
        is_factual = torch.cat([torch.ones(len(rows), 1), torch.zeros(len(rows), 1)])
        codes = self.model.encoder(both)

        told_apart = self._cross_entropy(codes.detach(), is_factual)  # max over C: minimise its cross-entropy
        self.for_discriminator.zero_grad()
        told_apart.backward()  # type: ignore[no-untyped-call]
        self.for_discriminator.step()

        error = ((both - self.model.decoder(codes)) ** 2).mean(dim=1)
        if not self.config.reconstruct_counterfactuals:
            error = error[: len(rows)]
        reconstruction = error.mean()
        loss: torch.Tensor = reconstruction - self.weight * self._cross_entropy(codes, is_factual)
        self.for_model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.for_model.step()
        self.schedule.step()
        return {"loss": reconstruction, "discriminator": told_apart}

    def _cross_entropy(self, codes: torch.Tensor, is_factual: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.discriminator(codes), is_factual)


def _parameters(model: Autoencoder) -> list[torch.nn.Parameter]:
    return [*model.encoder.parameters(), *model.decoder.parameters()]
