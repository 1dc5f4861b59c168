"""FairAD: normal people of every group are mapped to one compact cloud of codes (Xiao, Tang and Fan, NeurIPS 2025).

    L = sum_s S(h(X_s), Z) + beta / n sum_i || z_i - d(h(z_i)) ||^2 / m,     g(x) = || h(z) ||^2

``X_s`` are the scaled rows z of group s, h and d encode and decode them, and ``Z`` is a standard normal that is cut off
outside the ball of 90 % of its mass: its density falls with the distance from the centre, so that this distance is the
score. Because every group has the same cloud, its scores are distributed alike. ``S`` is the Sinkhorn divergence

    S(P, Q) = W(P, Q) - W(P, P) / 2 - W(Q, Q) / 2

of the entropic cost of transport ``W`` with squared distances per entry of the code. docs/DETECTORS.md says what of
this is the authors', and what was chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import FairadConfig
from cfad_core.core.training import Passes, dense_network, network_from_state, network_state, scoring_network, train
from cfad_core.detectors.protocol import Fitting, InputScaling, State, Surroundings, in_blocks

STAGE = "fairad"
_KEPT = 0.9  # mass of the normal distribution inside the ball
_TARGETS = 2**14  # rows drawn from the target, once
_BLUR = 0.2  # of the transport; squared distances per entry have mean 2 in the target
_ROUNDS = 10  # of Sinkhorn's iteration
_SMALLEST = 1e-30  # nothing is divided by less
_LARGEST_CODE = 32


@dataclass(frozen=True)
class Projection:
    """``g(x) = || h(z) ||^2``, the distance of a row's code from the centre of the common cloud."""

    inputs: InputScaling
    encoder: torch.nn.Sequential

    def anomaly_score(self, x: Floats) -> Floats:
        """``g`` of each row of x (n, m), (n,): higher = more anomalous."""

        def score(block: Floats) -> Floats:
            found: Floats = (self._codes(block) ** 2).sum(axis=1)
            return found

        return in_blocks(score, self.inputs(x))

    def codes(self, x: Floats) -> Floats:
        """Where the rows of x (n, m) lie in the cloud, (n, k)."""
        return in_blocks(self._codes, self.inputs(x))

    def state(self) -> dict[str, NDArray[np.generic]]:
        return self.inputs.state() | network_state(self.encoder, "encoder")

    def _codes(self, block: Floats) -> Floats:
        with torch.no_grad():
            found: Floats = scoring_network(self.encoder)(torch.from_numpy(block.astype(np.float32))).double().numpy()
        return found


def fit(task: Fitting) -> Projection:
    """Train on normal rows; the groups are used here, and only here."""
    config, seed, inputs = task.config.baselines.fairad, task.config.seed, task.rows.inputs
    training = _Training(inputs(task.rows.x), task.rows.groups, config, seed)
    train(
        training.step,
        Passes(
            n_rows=max(len(members) for members in training.groups),
            batch_size=max(1, config.batch_size // len(training.groups)),
            steps=config.steps,
            generator=torch.Generator().manual_seed(seed),
            stage=STAGE,
        ),
        task.progress,
    )
    return Projection(inputs, training.encoder)


def restore(arrays: State, _: Surroundings) -> Projection:
    return Projection(InputScaling.from_state(arrays), network_from_state(arrays, "encoder"))


class _Training:
    """The networks, the target, and one step of training."""

    def __init__(self, z: Floats, groups: Sequence[Bools], config: FairadConfig, seed: int) -> None:
        columns = z.shape[1]
        code = config.code_size if config.code_size is not None else min(_LARGEST_CODE, columns)
        widths = [columns, config.width, config.width, code]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = dense_network(widths, torch.nn.ReLU)
            self.decoder = dense_network(widths[::-1], torch.nn.ReLU)
        self.rows = torch.from_numpy(z.astype(np.float32))
        self.groups = [torch.from_numpy(np.flatnonzero(members)) for members in groups]
        # The reconstruction error is that of all people, each counted once
        self.shares = torch.tensor([len(members) / len(z) for members in self.groups])
        self.weight = config.reconstruction_weight
        self.target = torch.from_numpy(target_rows(_TARGETS, code, seed).astype(np.float32))
        some = self.target[: config.batch_size // len(self.groups)]
        self.own = _transport(some, some)  # no weight changes it: once is enough
        self.draws = torch.Generator().manual_seed(seed)
        weights = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.optimiser = torch.optim.Adam(weights, lr=config.learning_rate)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimiser, config.steps)

    def step(self, batch: torch.Tensor) -> Mapping[str, torch.Tensor]:
        """As many people of each group, however large it is; a small one comes round more often."""
        rows = self.rows[torch.stack([members[batch % len(members)] for members in self.groups])]  # (group, b, m)
        codes = self.encoder(rows)
        chosen = torch.randint(len(self.target), codes.shape[:2], generator=self.draws)
        apart = divergence(codes, self.target[chosen], self.own).sum()
        error = self.shares @ ((rows - self.decoder(codes)) ** 2).mean(dim=(1, 2))
        loss = apart + self.weight * error
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.schedule.step()
        return {"loss": error, "divergence": apart}


def target_rows(n: int, size: int, seed: int) -> Floats:
    """Draws (n, size) of a standard normal inside the ball that holds ``_KEPT`` of its mass."""
    from scipy.stats import chi2

    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(n, size))
    radius = np.sqrt(chi2.ppf(_KEPT * rng.random(n), size))
    rows: Floats = direction * (radius / np.linalg.norm(direction, axis=1))[:, None]
    return rows


def divergence(first: torch.Tensor, second: torch.Tensor, own: torch.Tensor | None = None) -> torch.Tensor:
    """Sinkhorn divergence of rows (..., a, k) and (..., b, k), every row with the same mass: 0 for the same rows.

    ``own`` is ``W`` of the second rows and themselves, if it is known.
    """
    own = _transport(second, second) if own is None else own
    return _transport(first, second) - (_transport(first, first) + own) / 2.0


def _transport(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """``W``: the least mean cost, blurred. Its gradient is that of the costs under the plan found.

    The plan is ``exp(here_i + there_j - cost_ij / blur) / (a b)``. One round is in logarithms, so that it may begin
    anywhere; the others scale the rows and columns of what it found, at a tenth of the time.
    """
    (a, size), b = first.shape[-2:], second.shape[-2]
    squares = (first**2).sum(dim=-1, keepdim=True) + (second**2).sum(dim=-1)[..., None, :] - 2.0 * first @ second.mT
    cost = squares.clamp_min(0.0) / (-_BLUR * size)  # (..., a, b)
    with torch.no_grad():
        here = math.log(b) - torch.logsumexp(cost, dim=-1, keepdim=True)
        there = math.log(a) - torch.logsumexp(cost + here, dim=-2, keepdim=True)
        plan = torch.exp(cost + here + there)
        scale = torch.ones_like(there).mT
        for _ in range(_ROUNDS):
            rows = b / (plan @ scale).clamp_min(_SMALLEST)
            scale = a / (plan.mT @ rows).clamp_min(_SMALLEST)
        there = there + torch.log(scale).mT
    here = math.log(b) - torch.logsumexp(cost + there, dim=-1)
    return _BLUR * (here.mean(dim=-1) + there.mean(dim=(-2, -1)))
