"""What every detector is: something that scores rows, each by itself, higher = more anomalous."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError

State = Mapping[str, NDArray[np.generic]]

BLOCK = 1024  # rows scored at once, always exactly as many: the same arithmetic for every row
_SPAN = 6.0
_LARGEST_INPUT = 1e9  # beyond, everything is equally absurd


@runtime_checkable
class Detector(Protocol):
    """A trained detector. It never sees the sensitive attribute when it scores."""

    def anomaly_score(self, x: Floats) -> Floats:
        """Score of each row of x (n, m), (n,): higher = more anomalous, and a matter of that row alone."""


@runtime_checkable
class SavedDetector(Detector, Protocol):
    """A detector that can be written down as arrays; its class reads them back with ``from_state``."""

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that must be saved, by name."""


@runtime_checkable
class ExplainedDetector(Detector, Protocol):
    """A detector whose score is a sum over the columns."""

    def contributions(self, x: Floats) -> Floats:
        """The part of each column in the score, (n, m); a row sums to its score."""


@dataclass(frozen=True)
class TrainingRows:
    """What detectors may learn from: normal people only.

    Attributes
    ----------
    x : (n, m), their attributes, never the sensitive one
    counterfactual : (n, m), the same people in the other world
    sensitive : (n,), -1 or +1; for those that make up for it in training
    inputs : the scaling in which all variables count alike
    """

    x: Floats
    counterfactual: Floats
    sensitive: Floats
    inputs: Inputs


@dataclass(frozen=True)
class Inputs:
    """``(x - center) / scale``, within what a network's arithmetic can carry. Both of shape (m,)."""

    center: Floats
    scale: Floats

    def __call__(self, x: Floats) -> Floats:
        if x.ndim != 2 or x.shape[1] != len(self.center):
            raise InvalidDataError(f"Expected rows of {len(self.center)} attributes; got an array of shape {x.shape}.")
        scaled: Floats = np.clip((x - self.center) / self.scale, -_LARGEST_INPUT, _LARGEST_INPUT)
        return scaled

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"center": self.center, "scale": self.scale}

    @staticmethod
    def from_state(arrays: State) -> Inputs:
        return Inputs(*(arrays[name].astype(np.float64) for name in ("center", "scale")))


def alike_by_variance(x: Floats, variables: Sequence[str]) -> Inputs:
    """Inputs in which every variable has variance 1, all its columns together."""
    _, member = np.unique(np.asarray(variables, dtype=object).astype(str), return_inverse=True)
    variance = np.bincount(member, weights=np.where(np.ptp(x, axis=0) > 0.0, x.var(axis=0), 0.0))[member]
    return Inputs(x.mean(axis=0), np.sqrt(np.where(variance > 0.0, variance, 1.0)))


def alike_by_range(x: Floats, variables: Sequence[str]) -> Inputs:
    """Inputs in which every variable spans 6, as far apart as two levels of a category may be."""
    _, member, columns = np.unique(
        np.asarray(variables, dtype=object).astype(str), return_inverse=True, return_counts=True
    )
    span = np.ptp(x, axis=0) * np.where(columns[member] > 1, np.sqrt(2.0), 1.0)  # levels differ in two columns
    return Inputs(x.mean(axis=0), np.where(span > 0.0, span, _SPAN) / _SPAN)


def in_blocks(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """``function`` of the rows of x (n, m), block by block of one size, so that a row's result depends on it alone."""
    parts = []
    for start in range(0, max(1, len(x)), BLOCK):
        rows = x[start : start + BLOCK]
        block = np.zeros((BLOCK, x.shape[1]))
        block[: len(rows)] = rows
        parts.append(function(block)[: len(rows)])
    return np.concatenate(parts)
