"""What every detector is: something that scores rows, each by itself, higher = more anomalous."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.core.states import States

State: TypeAlias = Mapping[str, NDArray[np.generic]]

BLOCK = 1024  # rows scored at once, always exactly as many: the same arithmetic for every row
_SPAN = 6.0
_LARGEST_INPUT = 1e9  # beyond, everything is equally absurd


@runtime_checkable
class Detector(Protocol):
    """A trained detector. It never sees the sensitive attribute when it scores."""

    def anomaly_score(self, x: Floats) -> Floats:
        """Score of each row of x (n, m), (n,): higher = more anomalous, and a matter of that row alone."""


@runtime_checkable
class SavedDetector(Protocol):
    """A detector that can be written down as arrays; its module's ``restore`` reads them back."""

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Everything that must be saved, by name."""


@runtime_checkable
class ExplainedDetector(Detector, Protocol):
    """A detector whose score is a sum over the columns."""

    def contributions(self, x: Floats) -> Floats:
        """The part of each column in the score, (n, m); a row sums to its score."""


@runtime_checkable
class PeopleDetector(Protocol):
    """A detector that scores whole people (n, d), their groups in the first column, as a state's code."""

    @property
    def base(self) -> AnyDetector | None:
        """The detector whose scores it is made of, if it is."""

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:
        """Score of each person, (n,); ``base_score`` is the people's by the base, if it is known already."""

    def explain_people(self, people: Floats) -> Floats | None:
        """The part of each attribute in the score, (n, m); None if the score is no sum over attributes."""


@runtime_checkable
class SharedExplanation(Protocol):
    """A detector that orders alike people as another one does: what raises that one's score is what raises its own."""

    @property
    def explained_by(self) -> AnyDetector:
        """The other detector."""


AnyDetector: TypeAlias = Detector | PeopleDetector


class TwinMap(Protocol):
    """People to their twins: the same people, had they belonged to another group."""

    def __call__(self, people: Floats, draw: int = 0, /) -> Floats:
        """One of the possible twins of each of the people (n, d), (n, d); the same draw always gives the same.

        Where there are k other groups, k draws in turn are one twin in each.
        """


class Causes(Protocol):
    """What detectors may know of a causal model: what it makes of people, never its graph."""

    @property
    def draws(self) -> bool:
        """Whether a person has several possible twins in one group."""

    @property
    def states(self) -> States:
        """Which groups people may belong to."""

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        """One of the possible twins of each of the people x (n, d): see ``TwinMap``."""

    @property
    def drawn_columns(self) -> Bools:
        """(d - 1,), where chance has a part in what twins have: only there a twin's oddness is not the person's."""

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        """By column, (n, d - 1) each: the noise of people x (n, d), nan where there is none; ``-2 log p`` of levels.

        Of all columns, or of the ``drawn`` ones alone.
        """


def seen_by(detector: AnyDetector, people: Floats) -> Floats:
    """What a detector looks at of people (n, d): all, or (n, d - 1) without the sensitive attributes."""
    return people if isinstance(detector, PeopleDetector) else people[:, 1:]


def score_people(detector: AnyDetector, people: Floats) -> Floats:
    """Scores (n,) of people (n, d); most detectors never see the sensitive attribute."""
    if isinstance(detector, PeopleDetector):
        return detector.score_people(people)
    return detector.anomaly_score(people[:, 1:])


def explain_people(detector: AnyDetector | None, people: Floats) -> Floats | None:
    """The part of each attribute in the score of people (n, d), (n, m); None if there is no such thing."""
    if isinstance(detector, PeopleDetector):
        return detector.explain_people(people)
    return detector.contributions(people[:, 1:]) if isinstance(detector, ExplainedDetector) else None


@dataclass(frozen=True)
class TrainingRows:
    """What detectors may learn from: normal people only.

    Attributes
    ----------
    x : (n, m), their attributes, never the sensitive ones
    twins : (n, d), their twins, the first draw, with their groups in the first column
    sensitive : (n,), the code of their state: which groups they belong to; for those that make up for it in training
    inputs : the scaling in which all variables count alike
    """

    x: Floats
    twins: Floats
    sensitive: Floats
    inputs: InputScaling

    @property
    def people(self) -> Floats:
        """(n, d), with their groups in the first column."""
        return np.column_stack([self.sensitive, self.x])

    @property
    def groups(self) -> list[Bools]:
        """Who (n,) is in each state that somebody is in."""
        return [self.sensitive == code for code in np.unique(self.sensitive)]


def twins_wanted(causes: Causes, draws: int) -> int:
    """How many twins of each person count if so many are asked for: as many in every other group, at least one."""
    others = causes.states.others
    return others * (max(1, -(-draws // others)) if causes.draws else 1)


@dataclass(frozen=True)
class Surroundings:
    """What a detector may stand on besides its own state.

    Attributes
    ----------
    config : the settings, with what was left to the data filled in
    fitted : the detectors that were fitted before it
    causes : the audit's own causal model
    """

    config: AuditConfig
    fitted: Mapping[str, AnyDetector]
    causes: Causes

    def after(self, fitted: Mapping[str, AnyDetector]) -> Self:
        """The same once these detectors were fitted."""
        return replace(self, fitted=dict(fitted))


@dataclass(frozen=True)
class Fitting(Surroundings):
    """Everything that a detector is fitted with.

    Attributes
    ----------
    other_twins : the map to twins by a causal model of half of the rows, to choose settings by; None if there is none
    """

    rows: TrainingRows
    progress: Progress
    other_twins: TwinMap | None = None


@dataclass(frozen=True)
class InputScaling:
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
    def from_state(arrays: State) -> InputScaling:
        return InputScaling(*(arrays[name].astype(np.float64) for name in ("center", "scale")))


def alike_by_variance(x: Floats, variables: Sequence[str]) -> InputScaling:
    """Inputs in which every variable has variance 1, all its columns together."""
    _, member = np.unique(np.asarray(variables, dtype=object).astype(str), return_inverse=True)
    variance = np.bincount(member, weights=np.where(np.ptp(x, axis=0) > 0.0, x.var(axis=0), 0.0))[member]
    return InputScaling(x.mean(axis=0), np.sqrt(np.where(variance > 0.0, variance, 1.0)))


def alike_by_range(x: Floats, variables: Sequence[str]) -> InputScaling:
    """Inputs in which every variable spans 6, as far apart as two levels of a category may be."""
    _, member, columns = np.unique(
        np.asarray(variables, dtype=object).astype(str), return_inverse=True, return_counts=True
    )
    span = np.ptp(x, axis=0) * np.where(columns[member] > 1, np.sqrt(2.0), 1.0)  # levels differ in two columns
    return InputScaling(x.mean(axis=0), np.where(span > 0.0, span, _SPAN) / _SPAN)


def in_blocks(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """``function`` of the rows of x (n, m), block by block of one size, so that a row's result depends on it alone."""
    parts = []
    for start in range(0, max(1, len(x)), BLOCK):
        rows = x[start : start + BLOCK]
        block = np.zeros((BLOCK, x.shape[1]))
        block[: len(rows)] = rows
        parts.append(function(block)[: len(rows)])
    return np.concatenate(parts)
