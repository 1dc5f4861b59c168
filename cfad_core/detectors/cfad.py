"""CFAD: the autoencoder, fine-tuned until people and their twins look alike to it.

    min over E, D, max over C:   L_AE + lambda * mean[ log C(E(x)) + log(1 - C(E(x_twin))) ] + mu * L_close

The discriminator C tries to recognise by their codes who is a person and who a twin; once it cannot, both are encoded
alike. ``L_close`` is the mean of ``(sqrt g(x) - sqrt g(x_twin))^2``: how far the two scores are apart. It is ours, and
does more for the scores than the discriminator; without it (``closeness_weights`` empty) this is the paper's CFAD.

**How mu and the epochs are chosen.** Some normal people are held out. At first mu is 0; then it grows step by step, and
after each step the network is looked at, on the people held out and on twins of them by a causal model that it does not
learn from: what share of outcomes changes, and how large the reconstruction error of the people is. Of the networks
whose error is at most 1.2 times that of the plain autoencoder, or of the first step if that is larger, the one with the
lowest changing ratio is kept, of several the first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DetectorConfig
from cfad_core.core.progress import Progress
from cfad_core.core.training import Passes, adam, dense_network, network_from_state, steps_for, train
from cfad_core.detectors.autoencoder import BATCH, Autoencoder, parameters
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, TwinMap, twins_wanted

STAGE = "fair fine-tuning"
_DISCRIMINATOR_WIDTH = 64
_HELD_OUT = 0.2  # share of the normal people
_MOST_HELD_OUT = 4_000
_FEWEST = 10  # people held out, under which nothing can be chosen
_DRAWS = 4  # twins of everybody held out
_QUANTILES = (0.9, 0.95, 0.975)  # at which outcomes are compared: more of them are less a matter of chance
_LARGEST_ERROR = 1.2  # of what is usual without closeness
_SMALLEST = 1e-12  # squared error: its root has a slope


@dataclass(frozen=True)
class Choice:
    """What was looked at on people held out.

    Attributes
    ----------
    weights : (k,), mu of each step, first 0
    errors : (1 + k,), reconstruction error of people; first the plain autoencoder's
    ratios : (1 + k,), changing ratio
    """

    weights: Floats
    errors: Floats
    ratios: Floats

    @property
    def chosen(self) -> int:
        """The step whose network was kept."""
        errors, ratios = self.errors[1:], self.ratios[1:]
        most = _LARGEST_ERROR * max(self.errors[0], errors[0])
        return int(np.where(errors <= most, ratios, np.inf).argmin())

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"choice.weights": self.weights, "choice.errors": self.errors, "choice.ratios": self.ratios}


@dataclass(frozen=True)
class FairAutoencoder(Autoencoder):
    """An autoencoder that was fine-tuned.

    Attributes
    ----------
    choice : how far; None if that was not chosen
    """

    choice: Choice | None = None

    def state(self) -> dict[str, NDArray[np.generic]]:
        return super().state() | ({} if self.choice is None else self.choice.state())


def fit(task: Fitting) -> FairAutoencoder:
    """Fine-tune the plain autoencoder on normal people and their twins."""
    plain, rows, settings = task.fitted["ae"], task.rows, task.config.detector
    assert isinstance(plain, Autoencoder)
    people = rows.people
    draws = range(twins_wanted(task.causes, settings.twins_learned))
    twins = np.stack([(rows.twins if k == 0 else task.causes.twins(people, k))[:, 1:] for k in draws])
    seed, progress = task.config.seed, task.progress
    if task.other_twins is None or not settings.closeness_weights or len(people) * _HELD_OUT < _FEWEST:
        return fine_tune(plain, rows.x, twins, settings, seed=seed, progress=progress)
    order = np.random.default_rng([seed, 8]).permutation(len(people))
    held_out, learned = np.split(order, [min(_MOST_HELD_OUT, int(len(people) * _HELD_OUT))])
    exam = Exam.of(people[held_out], task.other_twins, max(_DRAWS, task.causes.states.others))
    return fine_tune(plain, rows.x[learned], twins[:, learned], settings, seed=seed, progress=progress, exam=exam)


def restore(arrays: State, _: Surroundings) -> FairAutoencoder:
    """Rebuild what ``state`` described."""
    encoder, decoder = (network_from_state(arrays, part) for part in ("encoder", "decoder"))
    parts = [arrays[f"choice.{name}"] for name in ("weights", "errors", "ratios") if f"choice.{name}" in arrays]
    choice = Choice(*(part.astype(np.float64) for part in parts)) if parts else None
    return FairAutoencoder(InputScaling.from_state(arrays), encoder, decoder, choice)


@dataclass(frozen=True)
class Exam:
    """People (n, m) who are held out, and several twins (k, n, m) of each by another causal model."""

    people: Floats
    twins: Floats

    @staticmethod
    def of(people: Floats, twins_of: TwinMap, draws: int = _DRAWS) -> Exam:
        """Of people (n, d) with their groups."""
        return Exam(people[:, 1:], np.stack([twins_of(people, draw)[:, 1:] for draw in range(draws)]))

    def look(self, model: Autoencoder) -> tuple[float, float]:
        """Reconstruction error of people, and changing ratio."""
        here = model.anomaly_score(self.people)
        there = np.stack([model.anomaly_score(some) for some in self.twins])
        thresholds = np.quantile(np.concatenate([here, there[0]]), _QUANTILES)
        changed = [((here > one) != (there > one)).mean() for one in thresholds]
        return float(here.mean()), float(np.mean(changed))


def fine_tune(
    model: Autoencoder,
    x: Floats,
    twins: Floats,
    config: DetectorConfig,
    *,
    seed: int,
    progress: Progress,
    exam: Exam | None = None,
) -> FairAutoencoder:
    """Fine-tune a copy of the model on people and their twins.

    Parameters
    ----------
    x : (n, m), normal people
    twins : (k, n, m), k possible twins of each
    exam : to choose by; None: everything as configured, scores need not be close
    """
    model = copy.deepcopy(model)
    draws = torch.stack([model.prepare(some) for some in twins])
    game = _Game(model, _discriminator(model.code_size, seed), (model.prepare(x), draws), config, seed)
    weights: Sequence[float] = (0.0,) if exam is None else (0.0, *config.closeness_weights)
    batch = config.batch_size or BATCH
    more = steps_for(config.closeness_epochs, len(x), batch) if game.steps else 0  # no epochs: none at all
    looks, kept = ([] if exam is None else [exam.look(model)]), []
    for k, weight in enumerate(weights):
        if k > 0:
            game.begin_closeness(weight)
        passes = Passes(
            n_rows=len(x),
            batch_size=batch,
            steps=more if k > 0 else game.steps,
            generator=torch.Generator().manual_seed(seed + k),
            stage=STAGE,
            done=game.steps + (k - 1) * more if k > 0 else 0,
            total=game.steps + (len(weights) - 1) * more,
        )
        train(game.step, passes, progress)
        if exam is not None:
            looks.append(exam.look(model))
            kept.append(copy.deepcopy((model.encoder, model.decoder)))
    if exam is None:
        return FairAutoencoder(model.inputs, model.encoder, model.decoder)
    errors, ratios = np.array(looks).T
    choice = Choice(np.array(weights, dtype=np.float64), errors, ratios)
    return FairAutoencoder(model.inputs, *kept[choice.chosen], choice)


def _discriminator(code_size: int, seed: int) -> torch.nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return dense_network([code_size, _DISCRIMINATOR_WIDTH, _DISCRIMINATOR_WIDTH, 1], torch.nn.ReLU)


class _Game:
    """The minimax game, one alternate step at a time.

    Parameters
    ----------
    worlds : people (n, m), and k twins of each (k, n, m)
    """

    def __init__(
        self,
        model: Autoencoder,
        discriminator: torch.nn.Sequential,
        worlds: tuple[torch.Tensor, torch.Tensor],
        config: DetectorConfig,
        seed: int,
    ) -> None:
        self.model, self.discriminator, self.config = model, discriminator, config
        self.factual, self.twins = worlds
        self.weight = 1.0 if config.fairness_weight is None else config.fairness_weight
        self.closeness = 0.0
        self.steps = steps_for(config.fair_epochs, len(self.factual), config.batch_size or BATCH)
        self.chance = torch.Generator().manual_seed(seed)
        self.for_model = adam(parameters(model), config.fair_learning_rate)
        self.for_discriminator = adam(discriminator.parameters(), config.discriminator_learning_rate)
        self.schedule: torch.optim.lr_scheduler.LRScheduler | None = torch.optim.lr_scheduler.CosineAnnealingLR(
            self.for_model, max(1, self.steps)
        )

    def begin_closeness(self, weight: float) -> None:
        """From now on scores shall be close; each weight is worth the same pace, whatever came before."""
        self.closeness, self.schedule = weight, None
        for group in self.for_model.param_groups:
            group["lr"] = self.config.fair_learning_rate

    def step(self, rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
        both = torch.cat([self.factual[rows], self._some_twins(rows)])  # (2b, m)
        is_factual = torch.cat([torch.ones(len(rows), 1), torch.zeros(len(rows), 1)])
        codes = self.model.encoder(both)

        revealed = self._cross_entropy(codes.detach(), is_factual)  # max over C: minimise its cross-entropy
        self.for_discriminator.zero_grad()
        revealed.backward()  # type: ignore[no-untyped-call]
        self.for_discriminator.step()

        error = ((both - self.model.decoder(codes)) ** 2).mean(dim=1)
        reconstruction = (error if self.config.reconstruct_counterfactuals else error[: len(rows)]).mean()
        loss: torch.Tensor = reconstruction - self.weight * self._cross_entropy(codes, is_factual)
        if self.closeness > 0.0:
            here, there = (error + _SMALLEST).sqrt().split(len(rows))
            loss = loss + self.closeness * ((here - there) ** 2).mean()
        self.for_model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.for_model.step()
        if self.schedule is not None:
            self.schedule.step()
        return {"loss": reconstruction, "discriminator": revealed}

    def _some_twins(self, rows: torch.Tensor) -> torch.Tensor:
        """One of the twins of each of these people, (b, m)."""
        if len(self.twins) == 1:
            return self.twins[0, rows]
        return self.twins[torch.randint(len(self.twins), (len(rows),), generator=self.chance), rows]

    def _cross_entropy(self, codes: torch.Tensor, is_factual: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.discriminator(codes), is_factual)
