"""The autoencoder, plain (AE) and fine-tuned against a discriminator (CFAD).

    g(x) = || x - D(E(x)) ||^2

AE minimises the mean of g over normal rows. CFAD starts from it and plays

    min over E, D, max over C:   L_AE + lambda * mean[ log C(E(x)) + log(1 - C(E(x_cf))) ]

where ``C`` tells the codes of factual rows from those of their counterfactuals: once it cannot, the two
worlds are encoded, and so scored, alike.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.config import DetectorConfig
from cfad_core.errors import InvalidDataError
from cfad_core.progress import Progress
from cfad_core.training import dense_network, steps_for, train

Floats = NDArray[np.float64]

_BLOCK = 1024  # rows scored at once, always exactly as many: the same arithmetic for every row
_DISCRIMINATOR_WIDTH = 64
_LARGEST_INPUT = 1e9  # standard deviations; beyond, everything is equally absurd


@dataclass(frozen=True)
class Autoencoder:
    """A trained autoencoder with the scaling of its inputs.

    Attributes
    ----------
    center, scale : (m,), inputs are ``(x - center) / scale``
    encoder, decoder : the networks
    """

    center: Floats
    scale: Floats
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
        if x.ndim != 2 or x.shape[1] != len(self.center):
            raise InvalidDataError(f"Expected rows of {len(self.center)} attributes; got an array of shape {x.shape}.")
        inputs = self.prepare(x)
        parts = np.empty(x.shape)
        with torch.no_grad():
            for start in range(0, len(x), _BLOCK):
                rows = inputs[start : start + _BLOCK]
                block = torch.zeros((_BLOCK, x.shape[1]))
                block[: len(rows)] = rows
                error = block - self.decoder(self.encoder(block))
                parts[start : start + _BLOCK] = error[: len(rows)].double().numpy() ** 2
        return parts

    def prepare(self, x: Floats) -> torch.Tensor:
        """Scaled inputs of the network, within what its arithmetic can carry."""
        scaled = np.clip((x - self.center) / self.scale, -_LARGEST_INPUT, _LARGEST_INPUT)
        return torch.from_numpy(scaled.astype(np.float32))

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that must be saved, by name."""
        arrays: dict[str, NDArray[np.generic]] = {"center": self.center, "scale": self.scale}
        for part, network in (("encoder", self.encoder), ("decoder", self.decoder)):
            for name, tensor in network.state_dict().items():
                arrays[f"{part}.{name}"] = tensor.numpy()
        return arrays

    @staticmethod
    def from_state(arrays: Mapping[str, NDArray[np.generic]]) -> Autoencoder:
        """Rebuild what ``state`` described."""
        networks = []
        for part in ("encoder", "decoder"):
            tensors = {
                name.removeprefix(f"{part}."): torch.from_numpy(array.copy())
                for name, array in arrays.items()
                if name.startswith(f"{part}.")
            }
            layers = sorted((int(name.split(".")[0]), name) for name in tensors if name.endswith("weight"))
            widths = [tensors[layers[0][1]].shape[1], *(tensors[name].shape[0] for _, name in layers)]
            with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced at once
                network = dense_network(widths, torch.nn.ReLU)
            network.load_state_dict(tensors)
            networks.append(network)
        center, scale = (arrays[name].astype(np.float64) for name in ("center", "scale"))
        return Autoencoder(center, scale, *networks)


def code_size(n_attributes: int, config: DetectorConfig) -> int:
    """As configured, or three fewer than the attributes, between 2 and 32."""
    return config.code_size if config.code_size is not None else int(np.clip(n_attributes - 3, 2, 32))


def train_autoencoder(
    x: Floats, config: DetectorConfig, *, seed: int, progress: Progress, variables: Sequence[str] | None = None
) -> Autoencoder:
    """Train on normal rows x (n, m).

    Parameters
    ----------
    variables : the variable of each column, where some have several; each variable gets the same weight
    """
    scale = _scales(x, variables)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        code = code_size(x.shape[1], config)
        model = Autoencoder(
            center=x.mean(axis=0),
            scale=np.where(scale > 0.0, scale, 1.0),
            encoder=dense_network([x.shape[1], config.width, config.width, code], torch.nn.ReLU),
            decoder=dense_network([code, config.width, config.width, x.shape[1]], torch.nn.ReLU),
        )
    inputs = model.prepare(x)
    steps = steps_for(config.epochs, len(x), config.batch_size)
    optimiser = torch.optim.Adam(_parameters(model), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)

    def step(rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        batch = inputs[rows]
        loss = ((batch - model.decoder(model.encoder(batch))) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        return {"loss": loss}

    train(
        step,
        n_rows=len(x),
        batch_size=config.batch_size,
        steps=steps,
        generator=torch.Generator().manual_seed(seed),
        stage="autoencoder",
        progress=progress,
    )
    return model


def _scales(x: Floats, variables: Sequence[str] | None) -> Floats:
    """(m,), such that every variable has variance 1, all its columns together."""
    variance = x.var(axis=0)
    if variables is not None:
        _, member = np.unique(np.asarray(variables, dtype=object).astype(str), return_inverse=True)
        variance = np.bincount(member, weights=variance)[member]
    scale: Floats = np.sqrt(variance)
    return scale


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
        loss: torch.Tensor = reconstruction - self.config.fairness_weight * self._cross_entropy(codes, is_factual)
        self.for_model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.for_model.step()
        self.schedule.step()
        return {"loss": reconstruction, "discriminator": told_apart}

    def _cross_entropy(self, codes: torch.Tensor, is_factual: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.discriminator(codes), is_factual)


def _parameters(model: Autoencoder) -> list[torch.nn.Parameter]:
    return [*model.encoder.parameters(), *model.decoder.parameters()]
