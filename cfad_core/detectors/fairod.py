"""FairOD: an autoencoder whose scores do not follow the group, but keep each group's ranking (Shekhar et al. 2021).

    L = alpha L_base + (1 - alpha) L_SP + gamma L_GF

``L_base`` is the mean squared error, ``L_SP = |corr(score, S)|``, and ``L_GF`` sums over the groups ``1 - DCG / IDCG``:
gains ``2^b - 1`` with b the min-maxed scores of the base model (alpha = 1, gamma = 0), soft ranks
``1 + sum_k sigmoid(c (s_k - s_i))`` inside the group. The fair model starts from the base model's weights; alpha and
gamma are chosen without labels, by how close the flag-rate ratio and the fidelity to the base ranking come to 1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import FairodConfig
from cfad_core.core.progress import Progress
from cfad_core.core.training import Passes, dense_network, network_from_state, network_state, train
from cfad_core.detectors.autoencoder import squared_errors
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings

STAGE = "fairod"
_STEEPNESS = 100.0  # c: how close a soft rank is to a rank
_FLAGGED = 0.05  # share of the rows that counts as flagged when candidates are compared


@dataclass(frozen=True)
class Reconstruction:
    """``g(x) = || z - D(z) ||^2 / m`` of one network D on min-maxed inputs."""

    inputs: InputScaling
    network: torch.nn.Sequential

    def anomaly_score(self, x: Floats) -> Floats:
        total: Floats = self.contributions(x).sum(axis=1)
        return total

    def contributions(self, x: Floats) -> Floats:
        """The part of each attribute in the score, (n, m)."""
        parts: Floats = squared_errors(self.network, self.inputs(x)) / x.shape[1]
        return parts

    def state(self) -> dict[str, NDArray[np.generic]]:
        return self.inputs.state() | network_state(self.network, "network")


def fit(task: Fitting) -> Reconstruction:
    """Train the base model, then a fair one for each (alpha, gamma), and keep the one closest to both goals."""
    rows, config, seed = task.rows, task.config.baselines.fairod, task.config.seed
    low, high = rows.x.min(axis=0), rows.x.max(axis=0)
    inputs = InputScaling(low, np.where(high > low, high - low, 1.0))
    training = _Training(inputs(rows.x), rows.groups, config, seed, task.progress)
    base = training.run(_first_network(rows.x.shape[1], config, seed), alpha=1.0, gamma=0.0)
    if not config.candidates:
        return Reconstruction(inputs, base)
    base_score = training.score(base)
    best, best_distance = base, np.inf
    for alpha, gamma in config.candidates:
        fair = training.run(copy.deepcopy(base), alpha, gamma, base_score)
        distance = training.distance(training.score(fair), base_score)
        if distance < best_distance:
            best, best_distance = fair, distance
    return Reconstruction(inputs, best)


def restore(arrays: State, _: Surroundings) -> Reconstruction:
    return Reconstruction(InputScaling.from_state(arrays), network_from_state(arrays, "network"))


def _first_network(columns: int, config: FairodConfig, seed: int) -> torch.nn.Sequential:
    hidden = config.hidden if config.hidden is not None else (2 if columns <= 100 else 8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return dense_network([columns, hidden, hidden, columns], torch.nn.ReLU)


class _Training:
    """The rows, and how models on them are trained and compared."""

    def __init__(self, z: Floats, groups: Sequence[Bools], config: FairodConfig, seed: int, progress: Progress) -> None:
        self.z, self.groups = z, groups
        self.rows = torch.from_numpy(z.astype(np.float32))
        self.members = torch.from_numpy(np.stack(groups))  # (groups, n)
        self.config, self.seed, self.progress = config, seed, progress
        self.steps = config.steps
        self.runs = 0

    def run(
        self, network: torch.nn.Sequential, alpha: float, gamma: float, base_score: Floats | None = None
    ) -> torch.nn.Sequential:
        """Train the network in place."""
        gains = None if base_score is None else torch.from_numpy(_gains(base_score).astype(np.float32))
        optimiser = torch.optim.Adam(network.parameters(), lr=self.config.learning_rate)

        def step(batch: torch.Tensor) -> Mapping[str, torch.Tensor]:
            rows = self.rows[batch]
            score = ((rows - network(rows)) ** 2).mean(dim=1)
            loss = alpha * score.mean()
            if gains is not None:
                loss = loss + (1.0 - alpha) * self.parity(score, batch)
                for members in self.members[:, batch]:
                    if int(members.sum()) >= 2:
                        loss = loss + gamma * infidelity(score[members], gains[batch][members])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            return {"loss": loss}

        train(
            step,
            Passes(
                n_rows=len(self.z),
                batch_size=self.config.batch_size,
                steps=self.steps,
                generator=torch.Generator().manual_seed(self.seed),
                stage=STAGE,
                done=self.runs * self.steps,
                total=(1 + len(self.config.candidates)) * self.steps,
            ),
            self.progress,
        )
        self.runs += 1
        return network

    def parity(self, score: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """``L_SP``: how far the scores follow the group; of more than two groups the mean over them."""
        signs = torch.where(self.members[:, batch], 1.0, -1.0)
        if len(signs) <= 2:
            return correlation(score, signs[-1]).abs()
        return torch.stack([correlation(score, own).abs() for own in signs]).mean()

    def score(self, network: torch.nn.Sequential) -> Floats:
        mean: Floats = squared_errors(network, self.z).mean(axis=1)
        return mean

    def distance(self, score: Floats, base_score: Floats) -> float:
        """From (flag-rate ratio, group fidelity) to (1, 1); labels have no part in it."""
        flagged = score > np.quantile(score, 1.0 - _FLAGGED)
        rates = [float(flagged[members].mean()) for members in self.groups]
        ratio = min(rates) / max(rates) if max(rates) > 0.0 else 0.0
        gains = _gains(base_score)
        fidelity = min(_ranking_quality(score[members], gains[members]) for members in self.groups)
        return float(np.hypot(1.0 - ratio, 1.0 - fidelity))


def correlation(score: torch.Tensor, sensitive: torch.Tensor) -> torch.Tensor:
    """Pearson's; 0 where one of the two does not vary."""
    a, b = score - score.mean(), sensitive - sensitive.mean()
    size = (a**2).sum().sqrt() * (b**2).sum().sqrt()
    return (a * b).sum() / size if size > 1e-12 else (a * 0.0).sum()


def infidelity(score: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    """``1 - DCG / IDCG`` of the soft ranks of the scores (g,) of one group."""
    before = torch.sigmoid(_STEEPNESS * (score[None, :] - score[:, None])).sum(dim=1) - 0.5  # without oneself
    dcg = (gains / torch.log2(2.0 + before)).sum()
    ideal = (gains.sort(descending=True).values / torch.log2(2.0 + torch.arange(len(gains)))).sum()
    return 1.0 - dcg / ideal if ideal > 0.0 else (score * 0.0).sum()


def _gains(base_score: Floats) -> Floats:
    spread = float(np.ptp(base_score)) or 1.0
    gains: Floats = 2.0 ** ((base_score - base_score.min()) / spread) - 1.0
    return gains


def _ranking_quality(score: Floats, gains: Floats) -> float:
    """``DCG / IDCG`` with true ranks."""
    if len(score) < 2 or not gains.any():
        return 1.0
    discount = np.log2(2.0 + np.arange(len(score)))
    return float(np.sum(gains[np.argsort(-score, kind="stable")] / discount) / np.sum(np.sort(gains)[::-1] / discount))
