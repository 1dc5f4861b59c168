"""Which edges are real when the rows were chosen by their outcome.

Choosing rows by a label (normal people only) ties the causes of that label together, and least squares then
sees edges that are not there. Inside the chosen region, though, the density is the population's up to a
constant: its score ``d/dx log p`` is untouched. For ``u_i ~ N(0, sigma^2)`` the score of variable k is

    s_k(x) = ( -u_k + f'(x_k) sum_i A[k, i] u_i ) / sigma^2

and score matching minimises ``E sum_k [ s_k^2 / 2 + d s_k / d x_k ]`` (Hyvarinen 2005). ``S`` is discrete and
is conditioned on. The estimate of a weight is noisier than least squares', but a selection effect fades from
it while a real edge does not: it decides *which* edges, least squares then fits them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from cfad_core.causal.discovery.joint import SMOOTHING
from cfad_core.causal.discovery.moments import Moments
from cfad_core.causal.spline import roughness_penalty
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.progress import Progress

STAGE = "edge selection"
_MAX_BYTES = 400_000_000  # of the three dense basis matrices


@dataclass(frozen=True)
class Effort:
    """How much work goes into one graph.

    Attributes
    ----------
    max_rows : of those that are looked at; by default enough to distinguish an edge from none
    iterations : of the optimiser
    """

    max_rows: int = 20_000
    iterations: int = 60


ONE_GRAPH = Effort()
ONE_OF_MANY = Effort(max_rows=3_000, iterations=30)


@dataclass(frozen=True)
class LeastSquaresFit:
    """What least squares found, where score matching starts.

    Attributes
    ----------
    candidates : (d, d), edges to weigh; acyclic
    weights, c : (d, d) and (K,), of these edges and of f
    """

    moments: Moments
    candidates: Bools
    weights: Floats
    c: Floats


def score_matching_weights(
    x: Floats,
    fit: LeastSquaresFit,
    sensitive: int,
    rng: np.random.Generator,
    progress: Progress,
    effort: Effort = ONE_GRAPH,
) -> Floats:
    """Weights (d, d) on the candidate edges that match the score of the data.

    Parameters
    ----------
    x : array of shape (n, d), continuous but for the sensitive column
    sensitive : position of that column
    """
    moments, candidates, c, iterations = fit.moments, fit.candidates, fit.c, effort.iterations
    rows = min(len(x), effort.max_rows, max(500, _MAX_BYTES // (3 * 8 * x.shape[1] * moments.basis.size)))
    sample = x if rows == len(x) else x[np.sort(rng.choice(len(x), rows, replace=False))]
    objective = _Objective(sample, moments, candidates, sensitive)

    start = torch.from_numpy(c).norm()
    a = torch.from_numpy(fit.weights * candidates).requires_grad_()
    coefficients = torch.from_numpy(c.copy()).requires_grad_()
    intercept = objective.mean_residual(a, coefficients).requires_grad_()
    log_sigma = torch.zeros((), dtype=torch.float64, requires_grad=True)
    parameters = [a, coefficients, intercept, log_sigma]
    optimiser = torch.optim.LBFGS(parameters, max_iter=iterations, history_size=30, line_search_fn="strong_wolfe")
    evaluations = 0

    def closure() -> torch.Tensor:
        nonlocal evaluations
        optimiser.zero_grad()
        # (|c| - start)^2 pins the scale that A and f share
        loss: torch.Tensor = objective(a, coefficients, intercept, log_sigma) + (coefficients.norm() - start) ** 2
        loss.backward()  # type: ignore[no-untyped-call]
        evaluations += 1
        progress.tick(STAGE, min(evaluations, iterations), iterations, loss=loss.item())
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    found: Floats = a.detach().numpy() * candidates
    return found


class _Objective:
    """``E sum_k [ s_k^2 / 2 + d s_k / d x_k ]`` over the continuous variables, plus f's roughness."""

    def __init__(self, x: Floats, moments: Moments, candidates: Bools, sensitive: int) -> None:
        n, d = x.shape
        basis = moments.basis
        self.x = torch.from_numpy(x)
        self.mask = torch.from_numpy(candidates.astype(np.float64))
        self.f0, self.f1, self.f2 = (
            torch.from_numpy(basis.matrix(x, derivative).reshape(n * d, basis.size)) for derivative in (0, 1, 2)
        )
        self.linear = torch.from_numpy(x * moments.slope)  # messages of the columns that do not act through f
        self.curved = torch.from_numpy((moments.slope == 0.0).astype(np.float64))
        self.continuous = torch.ones(d, dtype=torch.float64)
        self.continuous[sensitive] = 0.0
        self.penalty = torch.from_numpy(SMOOTHING * roughness_penalty(basis.size))

    def mean_residual(self, a: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return (self.x - self._messages(c) @ (a * self.mask)).mean(dim=0)

    def _messages(self, c: torch.Tensor) -> torch.Tensor:
        return self.linear + (self.f0 @ c).view_as(self.x) * self.curved

    def __call__(
        self, a: torch.Tensor, c: torch.Tensor, intercept: torch.Tensor, log_sigma: torch.Tensor
    ) -> torch.Tensor:
        a = a * self.mask
        precision = torch.exp(-2.0 * log_sigma)
        slope, bend = ((basis @ c).view_as(self.x) for basis in (self.f1, self.f2))  # (n, d) each
        noise = (self.x - self._messages(c) @ a - intercept) * self.continuous * precision
        from_effects = noise @ a.T  # (n, d): sum_i A[k, i] u_i / sigma^2
        score = (slope * from_effects - noise) * self.continuous
        curvature = (bend * from_effects - precision * (1.0 + slope**2 * (a**2).sum(dim=1))) * self.continuous
        return (0.5 * score**2 + curvature).sum(dim=1).mean() + c @ self.penalty @ c
