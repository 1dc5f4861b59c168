"""How much each variable would tell about another, from covariances alone: to rank causes before likelihoods decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from cfad_core.causal.discovery.bases import VariableBasis
from cfad_core.causal.discovery.blocks import Blocks, Sample
from cfad_core.causal.logit import level_log_likelihood
from cfad_core.core.arrays import Bools, Floats, Rows

Causes: TypeAlias = frozenset[tuple[int, int]]
"""Causes of a variable, each with how many of its functions are used."""

NOISE_FLOOR = 1e-3  # share of a goal's variance that is noise whatever the causes tell
_MOST_COUNTED = 5_000  # rows, so that what a model gets slightly wrong in many rows does not become edges
_JITTER = 1e-8


@dataclass(frozen=True)
class Penalty:
    """The extended BIC: what a free number and what an edge must earn, in log-likelihood summed over the rows.

    Attributes
    ----------
    n : rows that are counted
    number : of each free number, half the log of the rows
    edge : of each cause, the log of how many there are to choose from
    """

    n: float
    number: float
    edge: float

    @staticmethod
    def of(n_rows: int, n_variables: int) -> Penalty:
        n = min(n_rows, _MOST_COUNTED)
        return Penalty(float(n), 0.5 * float(np.log(max(n, 2))), float(np.log(max(n_variables, 2))))


class Candidate(NamedTuple):
    """A further cause, how many of its functions are best, and what it would add to the quick score."""

    gain: float
    cause: int
    size: int


class QuickScores:
    """Scores from covariances: normal scores with Gaussian noise, and categories by canonical correlations."""

    def __init__(self, blocks: Blocks, sample: Sample, allowed: Bools) -> None:
        self.blocks, self.sample, self.allowed = blocks, sample, allowed
        self.penalty = Penalty.of(sample.n, blocks.n_variables)
        self._lists: dict[tuple[int, Causes], list[Candidate]] = {}
        self._scores: dict[tuple[int, Causes], float] = {}
        width = blocks.padded.shape[1]
        padding = (blocks.padded == len(sample.values)).astype(np.float64)
        own = sample.covariance[blocks.padded[:, :, None], blocks.padded[:, None, :]]
        own[:, np.arange(width), np.arange(width)] += padding + _JITTER
        self._own = own  # (v, k, k), covariance of each variable's functions
        self._offered = np.zeros((blocks.n_variables, width), dtype=np.bool_)  # sizes of each variable, less 1
        for j, basis in enumerate(blocks.bases):
            if not basis.is_constant:
                self._offered[j, np.array(basis.sizes) - 1] = True
        self._entropy = [_entropy(basis, levels) for basis, levels in zip(blocks.bases, sample.levels, strict=True)]

    def columns(self, causes: Causes) -> Rows:
        """The rows of the values that causes use."""
        functions = self.blocks.functions
        parts = [functions[j][:size] for j, size in sorted(causes)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)

    def score(self, i: int, causes: Causes) -> float:
        """Quick log-likelihood over that without causes, less the penalty."""
        key = (i, causes)
        if key not in self._scores:
            goals = self.blocks.quick_goals[i]
            left = self._left(self.columns(causes), goals)
            paid = sum(size for _, size in causes)
            gain = self._information(i, left) - self._information(i, self._left(np.zeros(0, dtype=np.intp), goals))
            free = 1 if self.blocks.bases[i].is_number else len(goals)
            number = self.penalty.n * gain - self.penalty.number * paid * free
            self._scores[key] = float(number) - self.penalty.edge * len(causes)
        return self._scores[key]

    def candidates(self, i: int, causes: Causes) -> list[Candidate]:
        """Further causes of a variable that has some, the most telling first."""
        key = (i, causes)
        if key not in self._lists:
            self._lists[key] = self._ranked(i, causes)
        return self._lists[key]

    def _left(self, columns: Rows, goals: Rows) -> Floats:
        """Covariance of the goals that the columns leave."""
        from scipy.linalg import solve_triangular

        covariance = self.sample.covariance
        left: Floats = covariance[np.ix_(goals, goals)]
        if len(columns):
            root = np.linalg.cholesky(covariance[np.ix_(columns, columns)] + _JITTER * np.eye(len(columns)))
            told = solve_triangular(root, covariance[np.ix_(columns, goals)], lower=True)
            left = left - told.T @ told
        return left

    def _information(self, i: int, left: Floats) -> float:
        """Log-likelihood a row that goes with what is left of the quick goals."""
        if self.blocks.bases[i].is_number:
            return -0.5 * float(np.log(max(left[0, 0], NOISE_FLOOR)))
        return float(_level_information(_eigenvalues(left), self._entropy[i]))

    def _ranked(self, i: int, causes: Causes) -> list[Candidate]:
        used = {i, *(j for j, _ in causes)}
        free = np.array([j for j in np.flatnonzero(self.allowed[:, i]) if j not in used and self._offered[j].any()])
        goals = self.blocks.quick_goals[i]
        if not len(free) or not len(goals):
            return []
        left, told = self._told(free, self.columns(causes), goals)
        gains_of = self._number_gains if self.blocks.bases[i].is_number else self._category_gains
        gains = gains_of(i, left, told)
        gains = np.where(self._offered[free], gains, -np.inf) - self.penalty.edge
        best = np.argmax(gains, axis=1)
        found = [
            Candidate(float(gains[row, size]), int(j), int(size) + 1)
            for row, (j, size) in enumerate(zip(free, best, strict=True))
        ]
        found.sort(key=lambda one: (-one.gain, one.cause))
        return found

    def _told(self, free: Rows, columns: Rows, goals: Rows) -> tuple[Floats, Floats]:
        """What the columns leave of the goals (t, t), and what each function of the free variables tells (c, k, t)."""
        from scipy.linalg import solve_triangular

        covariance, padded = self.sample.covariance, self.blocks.padded[free]
        own = self._own[free]
        towards = covariance[padded[:, :, None], goals]
        left: Floats = covariance[np.ix_(goals, goals)]
        if len(columns):
            root = np.linalg.cholesky(covariance[np.ix_(columns, columns)] + _JITTER * np.eye(len(columns)))
            wanted = np.concatenate([padded.ravel(), goals])
            known = solve_triangular(root, covariance[np.ix_(columns, wanted)], lower=True)
            of_goals = known[:, padded.size :]
            of_free = known[:, : padded.size].reshape(len(columns), *padded.shape).transpose(1, 0, 2)
            own = own - of_free.transpose(0, 2, 1) @ of_free
            towards = towards - of_free.transpose(0, 2, 1) @ of_goals
            left = left - of_goals.T @ of_goals
        width = padded.shape[1]
        own = own.copy()
        own[:, np.arange(width), np.arange(width)] += 10.0 * _JITTER  # a function that the columns tell has no news
        return left, np.linalg.solve(np.linalg.cholesky(own), towards)

    def _number_gains(self, i: int, left: Floats, told: Floats) -> Floats:
        """(c, k): of the number itself and, where it has special cells, of those, each if it is worth its price."""
        n, price = self.penalty.n, self.penalty.number * np.arange(1, told.shape[1] + 1)
        now = np.maximum(np.diag(left), NOISE_FLOOR)
        rest = np.maximum(np.diag(left) - np.cumsum(told * told, axis=1), NOISE_FLOOR)  # (c, k, t)
        gains: Floats = 0.5 * n * np.log(now[0] / rest[:, :, 0]) - price
        if len(left) == 1:
            return gains
        entropy = self._entropy[i]
        marks = _level_terms(rest[:, :, 1:], entropy) - _level_terms(now[1:], entropy)
        special = n * marks.sum(axis=2) - price * (len(left) - 1)
        both = np.maximum(gains, 0.0) + np.maximum(special, 0.0)
        return np.asarray(np.where(both > 0.0, both, np.maximum(gains, special)))

    def _category_gains(self, i: int, left: Floats, told: Floats) -> Floats:
        """(c, k)."""
        levels, price = len(left), self.penalty.number * np.arange(1, told.shape[1] + 1)
        now = _level_information(_eigenvalues(left), self._entropy[i])
        if levels == 1:
            rest = left[0, 0] - np.cumsum(told[:, :, 0] ** 2, axis=1)
            information = _level_information(rest[:, :, None], self._entropy[i])
            return np.asarray(self.penalty.n * (information - now) - price)
        information = np.zeros(told.shape[:2])
        for size in np.flatnonzero(self._offered.any(axis=0)):
            part = told[:, : size + 1]
            rest = left - part.transpose(0, 2, 1) @ part
            information[:, size] = _level_information(_eigenvalues(rest), self._entropy[i])
        return np.asarray(self.penalty.n * (information - now) - price * levels)


def _eigenvalues(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(matrices), dtype=np.float64)


def _entropy(basis: VariableBasis, levels: Rows | None) -> float:
    """Of a variable's levels, for each of the indicators that they have."""
    if levels is None or basis.n_levels < 2:
        return 1.0
    return max(-level_log_likelihood(levels, basis.n_levels), 1e-3) / (basis.n_levels - 1)


def _level_terms(left: Floats, entropy: float) -> Floats:
    """Log-likelihood of levels by the share of each indicator's variance that is left: at most their entropy."""
    share = np.clip(left, NOISE_FLOOR, 1.0)
    terms: Floats = entropy * (1.0 - share ** (0.5 / entropy))
    return terms


def _level_information(left: Floats, entropy: float) -> Floats:
    total: Floats = _level_terms(left, entropy).sum(axis=-1)
    return total
