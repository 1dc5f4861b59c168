"""CFAD: the autoencoder, fine-tuned until a discriminator cannot distinguish people from their twins by their codes.

    min over E, D, max over C:   L_AE + lambda * mean[ log C(E(x)) + log(1 - C(E(x_twin))) ]

Once ``C`` cannot, a person and their twin are encoded, and so scored, alike.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DetectorConfig
from cfad_core.core.progress import Progress
from cfad_core.core.training import Passes, dense_network, steps_for, train
from cfad_core.detectors.autoencoder import Autoencoder, parameters, restore
from cfad_core.detectors.protocol import Fitting

__all__ = ["fine_tune", "fit", "restore"]

_DISCRIMINATOR_WIDTH = 64


def fit(task: Fitting) -> Autoencoder:
    """Fine-tune the plain autoencoder on normal people and their twins."""
    plain, rows, config = task.fitted["ae"], task.rows, task.config
    assert isinstance(plain, Autoencoder)
    return fine_tune(plain, rows.x, rows.counterfactual, config.detector, seed=config.seed, progress=task.progress)


def fine_tune(
    model: Autoencoder, x: Floats, x_counterfactual: Floats, config: DetectorConfig, *, seed: int, progress: Progress
) -> Autoencoder:
    """Fine-tune a copy of the model so that a discriminator cannot distinguish people's codes from their twins'.

    Parameters
    ----------
    x, x_counterfactual : normal rows (n, m), and those of their twins
    """
    model = copy.deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        width = _DISCRIMINATOR_WIDTH
        discriminator = dense_network([model.code_size, width, width, 1], torch.nn.ReLU)
    game = _Game(model, discriminator, model.prepare(x), model.prepare(x_counterfactual), config)
    train(
        game.step,
        Passes(
            n_rows=len(x),
            batch_size=config.batch_size,
            steps=game.steps,
            generator=torch.Generator().manual_seed(seed),
            stage="fair fine-tuning",
        ),
        progress,
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
        self.for_model = torch.optim.Adam(parameters(model), lr=config.fair_learning_rate)
        self.for_discriminator = torch.optim.Adam(discriminator.parameters(), lr=config.discriminator_learning_rate)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.for_model, max(1, self.steps))

    def step(self, rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        both = torch.cat([self.factual[rows], self.counterfactual[rows]])  # (2b, m)
        is_factual = torch.cat([torch.ones(len(rows), 1), torch.zeros(len(rows), 1)])
        codes = self.model.encoder(both)

        revealed = self._cross_entropy(codes.detach(), is_factual)  # max over C: minimise its cross-entropy
        self.for_discriminator.zero_grad()
        revealed.backward()  # type: ignore[no-untyped-call]
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
        return {"loss": reconstruction, "discriminator": revealed}

    def _cross_entropy(self, codes: torch.Tensor, is_factual: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.discriminator(codes), is_factual)
