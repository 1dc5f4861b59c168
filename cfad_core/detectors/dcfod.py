"""DCFOD: deep clustering that hides the group (Song, Li and Liu, KDD 2021).

Rows are encoded, decoded, and clustered softly around K learnable centroids; a discriminator behind gradient reversal
keeps the group out of the codes. With distances ``d_ij`` of code i to centroid j,

    q_ij ~ 1 / (1 + d_ij^2),   p_ij ~ q_ij^2 / sum_i q_ij,   KL_i = sum_j p_ij log(p_ij / q_ij)
    o_i  = min_j d_ij / (the largest such distance in that cluster),   w = softmax(-o)
    loss = sum_i w_i (8 R_i + KL_i) + 100 CE(discriminator, group)

``R_i`` being the squared reconstruction error. The score is ``o_i`` with the largest distances of the *training* rows,
so that it is a matter of the row alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import DcfodConfig
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

STAGE = "dcfod"
_RECONSTRUCTION, _ADVERSARY = 8.0, 100.0  # weights in the loss
_DROPOUT = 0.1
_KMEANS_ROWS = 20_000
_FEWEST_STEPS = 300  # however few the rows


@dataclass(frozen=True)
class ClusterDistance:
    """``g(x) = d(E(z), nearest centroid) / radius of its cluster``.

    Attributes
    ----------
    centroids : (K, code)
    radius : (K,), the largest distance of a training row that is nearest to each
    """

    inputs: InputScaling
    encoder: torch.nn.Sequential
    centroids: Floats
    radius: Floats

    def anomaly_score(self, x: Floats) -> Floats:
        def score(block: Floats) -> Floats:
            distance = _distances(self.encoder, self.centroids, block)
            nearest = distance.argmin(axis=1)
            found: Floats = distance[np.arange(len(block)), nearest] / self.radius[nearest]
            return found

        return in_blocks(score, self.inputs(x))

    def state(self) -> dict[str, NDArray[np.generic]]:
        arrays = {"centroids": self.centroids, "radius": self.radius}
        return {**self.inputs.state(), **network_state(self.encoder, "encoder"), **arrays}


def fit(task: Fitting) -> ClusterDistance:
    """Train on normal rows; the groups are used here, and only here."""
    config, seed, inputs = task.config.baselines.dcfod, task.config.seed, task.rows.inputs
    z = inputs(task.rows.x)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        training = _Training(z, task.rows.sensitive, config, seed)
        train(
            training.step,
            Passes(
                n_rows=len(z),
                batch_size=config.batch_size,
                steps=max(_FEWEST_STEPS, steps_for(config.epochs, len(z), config.batch_size)),
                generator=torch.Generator().manual_seed(seed),
                stage=STAGE,
            ),
            task.progress,
        )
    centroids: Floats = training.centroids.detach().double().numpy()
    distance = in_blocks(lambda block: _distances(training.encoder, centroids, block), z)
    nearest, radius = distance.argmin(axis=1), np.zeros(len(centroids))
    np.maximum.at(radius, nearest, distance.min(axis=1))
    # a cluster that lost all its rows is as wide as the widest: nobody is an outlier for having come to it
    widest = float(radius.max()) or 1.0
    return ClusterDistance(inputs, training.encoder, centroids, np.where(radius > 0.0, radius, widest))


def restore(arrays: State, _: Surroundings) -> ClusterDistance:
    encoder = network_from_state(arrays, "encoder")
    centroids, radius = (arrays[name].astype(np.float64) for name in ("centroids", "radius"))
    return ClusterDistance(InputScaling.from_state(arrays), encoder, centroids, radius)


class _Training:
    """The networks, the centroids, and one step of training them all."""

    def __init__(self, z: Floats, sensitive: Floats, config: DcfodConfig, seed: int) -> None:
        widths = [z.shape[1], *config.widths, config.code_size]
        self.rows = torch.from_numpy(z.astype(np.float32))
        groups, group = np.unique(sensitive, return_inverse=True)
        self.group = torch.from_numpy(group.astype(np.int64))
        self.encoder = dense_network(widths, torch.nn.ReLU)
        self.decoder = dense_network(widths[::-1], torch.nn.ReLU)
        self.discriminator = dense_network([config.code_size, *config.widths, max(2, len(groups))], torch.nn.ReLU)
        self.centroids = torch.nn.Parameter(self._first_centroids(config.clusters, seed))
        networks = (self.encoder, self.decoder, self.discriminator)
        self.optimiser = torch.optim.Adam(
            [
                {"params": [p for network in networks for p in network.parameters()], "lr": config.learning_rate},
                {"params": [self.centroids], "lr": config.centroid_learning_rate},
            ],
            fused=True,  # four million weights: a tenth of the time
        )

    def _first_centroids(self, clusters: int, seed: int) -> torch.Tensor:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        some = np.random.default_rng(seed).permutation(len(self.rows))[:_KMEANS_ROWS]
        chosen = self.rows if len(some) == len(self.rows) else self.rows[torch.from_numpy(some)]
        with torch.no_grad():
            codes = self.encoder(chosen).numpy()
        clusters = min(clusters, len(np.unique(codes, axis=0)))
        with warnings.catch_warnings():  # codes that differ by a rounding error make centroids that coincide: no harm
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = KMeans(clusters, n_init=3, random_state=seed).fit(codes)
        return torch.from_numpy(found.cluster_centers_.astype(np.float32))

    def step(self, batch: torch.Tensor) -> Mapping[str, torch.Tensor]:
        rows = self.rows[batch]
        codes = self.encoder(torch.nn.functional.dropout(rows, _DROPOUT))
        reconstruction = ((rows - self.decoder(codes)) ** 2).sum(dim=1)
        divergence, oddity = _clustering(codes, self.centroids)
        weight = torch.softmax(-oddity.detach(), dim=0)
        reversed_codes = 2.0 * codes.detach() - codes  # the same values, and the gradient turned round
        revealed = torch.nn.functional.cross_entropy(self.discriminator(reversed_codes), self.group[batch])
        loss = (weight * (_RECONSTRUCTION * reconstruction + divergence)).sum() + _ADVERSARY * revealed
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return {"loss": reconstruction.mean(), "discriminator": revealed}


def _clustering(codes: torch.Tensor, centroids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``KL_i`` and ``o_i`` of a batch, (b,) each."""
    squares = ((codes[:, None, :] - centroids) ** 2).sum(dim=2)  # (b, K)
    q = 1.0 / (1.0 + squares)
    q = q / q.sum(dim=1, keepdim=True)
    p = (q**2 / q.sum(dim=0)).detach()
    p = p / p.sum(dim=1, keepdim=True)
    divergence = (p * (p.log() - q.log())).sum(dim=1)
    closest, nearest = squares.min(dim=1)
    distance = closest.clamp_min(1e-12).sqrt()
    radius = torch.zeros(len(centroids)).scatter_reduce(0, nearest, distance.detach(), "amax", include_self=True)
    return divergence, distance / radius[nearest]


def _distances(encoder: torch.nn.Sequential, centroids: Floats, block: Floats) -> Floats:
    """Of the code of each scaled row to each centroid, (n, K)."""
    with torch.no_grad():
        codes: Floats = scoring_network(encoder)(torch.from_numpy(block.astype(np.float32))).double().numpy()
    found: Floats = np.sqrt(((codes[:, None, :] - centroids) ** 2).sum(axis=2))
    return found
