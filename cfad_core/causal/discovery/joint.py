"""Joint discovery: A and f together, directly in data space.

    minimise  1/2 E ||x - A^T f(x) - b||^2 + l1 ||A||_1     subject to  h(A) = tr(exp(A * A)) - d = 0

by the augmented Lagrangian ``... + alpha h + rho/2 h^2``. The expectation is exact (``moments``), so the
inner problems are smooth and deterministic, and L-BFGS-B solves them: A = P - N with P, N >= 0 turns the l1
norm into a linear term.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.optimize import Bounds, OptimizeResult, minimize

from cfad_core.causal.discovery.moments import Moments
from cfad_core.causal.spline import roughness_penalty
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.progress import Progress

STAGE = "discovery"
SMOOTHING = 1e-3  # weight of f's roughness: enough to decide where there are no data
_H_TOLERANCE, _F_TOLERANCE = 1e-8, 1e-7
_H_WARM, _F_WARM = 1e-2, 3e-5  # from a warm start; only the order that the weights imply is used afterwards
_RHO_MAX = 1e12
_STARTS = 4
_HUGE = 1e30  # its square, times the largest rho, is still a number


def acyclicity(weights: Floats, belongs: Floats | None = None) -> tuple[float, Floats]:
    """``h(A) = tr(exp(A * A)) - d``, zero exactly for a DAG, and its gradient ``2 exp(A * A)^T * A``.

    If columns belong to variables (``belongs``, shape (columns, variables)), ``A * A`` is summed over each pair of
    variables first: it is the variables that must not form a cycle.

    A line search may try weights whose exponential overflows; these get a huge finite value, downhill to smaller
    weights, so that it turns back.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = weights * weights
        exponential = expm(squares if belongs is None else belongs.T @ squares @ belongs)
    if not exponential.max() < _HUGE:  # also true of nan
        return _HUGE, _HUGE * weights / np.abs(weights).max()
    slope = exponential.T if belongs is None else belongs @ exponential.T @ belongs.T
    return float(np.trace(exponential)) - len(exponential), 2.0 * slope * weights


def learn_jointly(
    problem: JointFit, rounds: int, rng: np.random.Generator, progress: Progress, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Weights (d, d), all but acyclic between the variables that columns belong to, and the coefficients (K,) of f.

    The scale of f is fixed (unit variance over its columns, on average), so weights compare.

    Parameters
    ----------
    start : ``starting_point`` of similar rows on the same basis: this is then several times faster, and less precise
    """
    cold = start is None
    solver = _Solver(problem, rounds, progress, precision=_F_TOLERANCE if cold else _F_WARM)
    z = _best_of(solver, rng) if start is None else solver.solve(start, 1.0, 0.0).x
    rho, alpha, h_before = 1.0, 0.0, np.inf
    for round_ in range(rounds):
        solver.round = round_
        while True:
            weights, c = problem.unpack(z)
            h, _ = acyclicity(weights, problem.belongs)
            if h <= 0.25 * h_before or rho >= _RHO_MAX:
                break
            rho *= 10.0
            z = solver.solve(z, rho, alpha).x
        alpha += rho * h
        h_before = h
        z = np.concatenate([z[: 2 * problem.n_edges], c])
        problem.report(progress, z, round_ + 1, rounds)
        if h < (_H_TOLERANCE if cold else _H_WARM):
            break
        z = solver.solve(z, rho, alpha).x
    return weights, c


def starting_point(problem: JointFit, rng: np.random.Generator, progress: Progress) -> Floats:
    """The solution of the first problem, where cycles cost little."""
    return _best_of(_Solver(problem, 1, progress, _F_TOLERANCE), rng)


def _best_of(solver: _Solver, rng: np.random.Generator) -> Floats:
    """The first problem solved from several starts: a poor one never recovers, and its loss betrays it at once."""
    problem = solver.problem
    guesses = _first_guesses(problem.moments, problem.allowed)
    starts = [np.concatenate([rng.uniform(0.0, 0.1, 2 * problem.n_edges), guess]) for guess in guesses]
    found: Floats = min((solver.solve(z, 1.0, 0.0) for z in starts), key=lambda result: float(result.fun)).x
    return found


class _Solver:
    """L-BFGS-B on the problem, reporting as it goes."""

    def __init__(self, problem: JointFit, rounds: int, progress: Progress, precision: float) -> None:
        self.problem, self.progress, self.precision = problem, progress, precision
        self.round, self.rounds, self._steps = 0, rounds, 0
        self._bounds = Bounds(
            np.where(np.arange(problem.size) < 2 * problem.n_edges, 0.0, -np.inf), np.inf
        )  # P, N >= 0

    def solve(self, z: Floats, rho: float, alpha: float) -> OptimizeResult:
        return minimize(
            self.problem.value_and_gradient,
            z,
            args=(rho, alpha),
            jac=True,
            method="L-BFGS-B",
            bounds=self._bounds,
            callback=self._notify,
            options={"maxiter": 300, "maxcor": 10, "ftol": self.precision},
        )

    def _notify(self, current: Floats) -> None:
        self._steps += 1
        if self._steps % 25 == 0:
            self.problem.report(self.progress, current, self.round, self.rounds)
        else:
            self.progress.check(STAGE)


class JointFit:
    """The objective over z = (P, N, c) for the edges that are allowed.

    Parameters
    ----------
    allowed, belongs : as in ``EdgeRules``
    emphasis : (d,), weight of each column's squared error; all alike by default
    """

    def __init__(
        self, moments: Moments, allowed: Bools, belongs: Floats, l1: float, emphasis: Floats | None = None
    ) -> None:
        self.moments, self.allowed, self.l1 = moments, allowed, l1
        self.emphasis = np.ones(len(allowed)) if emphasis is None else emphasis
        self.belongs = None if belongs.shape[0] == belongs.shape[1] else belongs
        self.n_edges = int(allowed.sum())
        self.size = 2 * self.n_edges + moments.basis.size
        self.spread = moments.spread
        self.penalty = SMOOTHING * roughness_penalty(moments.basis.size)

    def unpack(self, z: Floats) -> tuple[Floats, Floats]:
        weights = np.zeros(self.allowed.shape)
        weights[self.allowed] = z[: self.n_edges] - z[self.n_edges : 2 * self.n_edges]
        return weights, self.moments.normalised(z[2 * self.n_edges :])

    def value_and_gradient(self, z: Floats, rho: float, alpha: float) -> tuple[float, Floats]:
        weights, c = self.unpack(z)
        between, towards = self.moments.contract(c)
        pulled = between @ weights
        h, h_gradient = acyclicity(weights, self.belongs)
        felt = weights * self.emphasis
        total = np.diag(self.moments.covariance) @ self.emphasis
        loss = 0.5 * (total - 2.0 * np.sum(felt * towards) + np.sum(felt * pulled))
        value = loss + alpha * h + 0.5 * rho * h * h + self.l1 * z[: 2 * self.n_edges].sum() + c @ self.penalty @ c

        for_weights = ((pulled - towards) * self.emphasis + (alpha + rho * h) * h_gradient)[self.allowed]
        for_c = self.moments.gradient(c, felt @ weights.T, felt) + 2.0 * self.penalty @ c
        raw = z[2 * self.n_edges :]
        scale = np.sqrt(raw @ self.spread @ raw)  # c = raw / scale: the chain rule through the normalisation
        for_raw = (for_c - (for_c @ c) * (self.spread @ raw) / scale) / scale
        return float(value), np.concatenate([for_weights + self.l1, self.l1 - for_weights, for_raw])

    def report(self, progress: Progress, z: Floats, round_: int, rounds: int) -> None:
        weights, _ = self.unpack(z)
        loss, _ = self.value_and_gradient(z, 0.0, 0.0)
        h, _ = acyclicity(weights, self.belongs)
        strength = np.abs(weights)
        edges = int(np.count_nonzero(strength > 0.1 * strength.max(initial=0.0)))
        progress.tick(STAGE, round_, rounds, loss=loss, h=h, edges=edges)


def _first_guesses(moments: Moments, allowed: Bools) -> list[Floats]:
    """The few functions that best stand for all pairwise regressions of x_i on x_j: leading singular vectors."""
    pairs = np.moveaxis(moments.cross, 1, 2)[allowed[moments.curved]]  # (edges, K)
    if not pairs.any():  # f stands for nothing
        return [moments.normalised(np.linspace(-1.0, 1.0, moments.basis.size))]
    root = np.linalg.cholesky(moments.spread + 1e-6 * np.eye(moments.basis.size))
    directions, sizes, _ = np.linalg.svd(np.linalg.solve(root, pairs.T), full_matrices=False)
    return [
        moments.normalised(np.linalg.solve(root.T, direction))
        for direction, size in zip(directions.T[:_STARTS], sizes[:_STARTS], strict=True)
        if size > 1e-6 * sizes[0]
    ]
