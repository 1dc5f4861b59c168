"""Discovery as in the paper: a graph autoencoder, then a second decoder that gives f.

    1.  d_hat = D(A^T E(d)),  minimise 1/(2N) ||d - d_hat||^2 + l1 ||A||_1  subject to  h(A) = 0
    2.  A pruned and made acyclic; with A and E frozen, D' minimises ||d - A^T D'(E(d)) - b||^2;  f = D' o E

``E``, ``D`` and ``D'`` work on each variable alone, with shared weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.joint import acyclicity
from cfad_core.causal.graph import (
    EdgeRules,
    break_cycles,
    descendants,
    spread,
    strength_between,
    topological_order,
)
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress
from cfad_core.core.training import Passes, dense_network, train

_CHANNELS = 8  # of the hidden representation of one variable
_RHO_MAX = 1e8
_FINE_BASIS = 200  # splines that carry the network f, to within its own precision


def learn_plain_autoencoder(
    x: Floats, columns: Columns, config: DiscoveryConfig, seed: int, progress: Progress
) -> tuple[GraphAutoencoder, AdditiveModel]:
    """The graph autoencoder alone, its pruned graph in the model with the paper's second decoder: both on one graph."""
    columns.check(x)
    rules = EdgeRules.of(columns.names, columns.sensitive, Knowledge())
    autoencoder, weights = learn_graph_autoencoder(x, rules, config, seed, progress)
    intercept, f = learn_second_decoder(x, autoencoder, weights, progress)
    return autoencoder, AdditiveModel(columns.names, columns.sensitive, weights, intercept, f)


def learn_graph_autoencoder(
    x: Floats, rules: EdgeRules, config: DiscoveryConfig, seed: int, progress: Progress
) -> tuple[GraphAutoencoder, Floats]:
    """The trained graph autoencoder, and its weights (d, d), pruned and acyclic."""
    # A mixes hidden representations here, whose scale is free: it takes a stronger l1 to make it sparse
    l1 = config.l1 if config.l1 is not None else 0.3
    share = config.prune if config.prune is not None else 0.3
    autoencoder = GraphAutoencoder(x, rules, config, l1, seed)
    weights = autoencoder.learn_graph(progress)
    strength = strength_between(weights, rules.belongs)
    # measured against the d-th strongest: single weights into nearly constant codes can be huge
    enough = share * np.sort(strength, axis=None)[-len(strength)]
    strong = ((strength >= enough) & (strength > 0.0)) | rules.required
    strength = np.where(strong, np.maximum(strength, 1e-12), 0.0)
    acyclic = break_cycles(strength, keep=rules.required) != 0.0
    return autoencoder, np.where(spread(acyclic, rules.belongs), weights, 0.0)


def learn_second_decoder(
    x: Floats, autoencoder: GraphAutoencoder, weights: Floats, progress: Progress
) -> tuple[Floats, Spline]:
    """Intercepts and f of the paper's variable-wise decoder on the graph."""
    autoencoder.learn_function(weights, progress)
    basis = SplineBasis.covering(x, _FINE_BASIS)
    points = np.linspace(basis.low, basis.high, 10 * _FINE_BASIS)
    f = Spline.interpolating(basis, points, autoencoder.function(points))
    return x.mean(axis=0) - f(x).mean(axis=0) @ weights, f


class GraphAutoencoder:
    """``A`` and ``E`` of the paper, learned together with the decoder ``D``."""

    def __init__(self, x: Floats, rules: EdgeRules, config: DiscoveryConfig, l1: float, seed: int) -> None:
        self.x = torch.from_numpy(x.astype(np.float32))
        self.allowed = torch.from_numpy(rules.allowed.astype(np.float32))
        self.belongs = torch.from_numpy(rules.belongs.astype(np.float32))
        self.config, self.l1 = config, l1
        self.generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            hidden = config.hidden
            self.encoder = dense_network([1, hidden, hidden, _CHANNELS], torch.nn.SiLU)
            self.decoder = dense_network([_CHANNELS, hidden, hidden, 1], torch.nn.SiLU)
            self.second_decoder = dense_network([_CHANNELS, hidden, hidden, 1], torch.nn.SiLU)
            self.weights = torch.nn.Parameter(torch.empty(rules.allowed.shape).uniform_(-0.1, 0.1))

    def learn_graph(self, progress: Progress) -> Floats:
        """Weights (d, d), all but acyclic."""
        parameters = [self.weights, *self.encoder.parameters(), *self.decoder.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=self.config.learning_rate)
        rho, alpha, h_before = 1.0, 0.0, np.inf

        def step(rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
            loss, h = self._loss_and_acyclicity(self.x[rows])
            optimiser.zero_grad()
            (loss + alpha * h + 0.5 * rho * h * h).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            return {"loss": loss}

        rounds, steps = self.config.rounds, self.config.steps_per_round
        belongs = self.belongs.numpy().astype(np.float64)
        h = np.inf
        for k in range(rounds):
            learned = self.graph()
            h, _ = acyclicity(learned, belongs)
            train(
                step,
                Passes(
                    n_rows=len(self.x),
                    batch_size=self.config.batch_size,
                    steps=steps,
                    generator=self.generator,
                    stage="discovery",
                    done=k * steps,
                    total=rounds * steps,
                ),
                progress,
                extra={"h": h, "edges": float(np.count_nonzero(np.abs(learned) > 0.1 * np.abs(learned).max()))},
            )
            h, _ = acyclicity(self.graph(), belongs)
            alpha += rho * h
            if h > 0.25 * h_before:
                rho = min(rho * 10.0, _RHO_MAX)
            h_before = h
        return self.graph()

    def _loss_and_acyclicity(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """``1/2 ||d - d_hat||^2 + l1 ||A||_1`` over a batch (b, d), on average, and ``h(A)``."""
        a = self.weights * self.allowed
        codes = self.encoder(batch.unsqueeze(-1))  # (b, d, channels)
        mixed = torch.einsum("ji,bjc->bic", a, codes)  # A^T E(d)
        error = 0.5 * ((batch - self.decoder(mixed).squeeze(-1)) ** 2).sum(dim=1).mean()
        loss = error + self.l1 * a.abs().sum()
        between = self.belongs.T @ (a * a) @ self.belongs
        return loss, torch.trace(torch.linalg.matrix_exp(between)) - len(between)

    def learn_function(self, weights: Floats, progress: Progress) -> None:
        """Train D' for the final, acyclic weights; A and E stay as they are."""
        a = torch.from_numpy(weights.astype(np.float32))
        intercept = torch.nn.Parameter(self.x.mean(dim=0))
        optimiser = torch.optim.Adam([intercept, *self.second_decoder.parameters()], lr=self.config.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.config.decoder_steps)

        def step(rows: torch.Tensor) -> Mapping[str, torch.Tensor]:
            batch = self.x[rows]
            with torch.no_grad():
                codes = self.encoder(batch.unsqueeze(-1))
            expected = self.second_decoder(codes).squeeze(-1) @ a + intercept  # (b, d) @ (d, d)
            loss = 0.5 * ((batch - expected) ** 2).sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            return {"loss": loss}

        train(
            step,
            Passes(
                n_rows=len(self.x),
                batch_size=self.config.batch_size,
                steps=self.config.decoder_steps,
                generator=self.generator,
                stage="refit",
            ),
            progress,
        )

    def reconstruct(self, x: Floats, weights: Floats) -> Floats:
        """``D(A^T E(x))``, (n, d): what the plain graph autoencoder expects of each variable."""
        with torch.no_grad():
            rows = torch.from_numpy(x.astype(np.float32))
            mixed = torch.einsum(
                "ji,bjc->bic", torch.from_numpy(weights.astype(np.float32)), self.encoder(rows.unsqueeze(-1))
            )
            expected: Floats = self.decoder(mixed).squeeze(-1).numpy().astype(np.float64)
        return expected

    def counterfactual(self, x: Floats, weights: Floats, sensitive: int) -> Floats:
        """Abduction, action, prediction with the plain autoencoder's equations ``x = D(A^T E(x)) + u``."""
        noise = x - self.reconstruct(x, weights)
        result = x.copy()
        result[:, sensitive] = -x[:, sensitive]
        reached = descendants(weights != 0.0, sensitive)
        for i in (i for i in topological_order(weights != 0.0) if i in reached):
            result[:, i] = noise[:, i] + self.reconstruct(result, weights)[:, i]
        return result

    def function(self, points: Floats) -> Floats:
        """``f = D' o E`` at each point."""
        with torch.no_grad():
            inputs = torch.from_numpy(points.astype(np.float32)).reshape(-1, 1)
            values: Floats = self.second_decoder(self.encoder(inputs)).squeeze(-1).numpy().astype(np.float64)
        return values

    def graph(self) -> Floats:
        """Weights (d, d) as they are now."""
        learned: Floats = (self.weights * self.allowed).detach().numpy().astype(np.float64)
        return learned
