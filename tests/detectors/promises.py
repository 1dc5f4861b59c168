"""Rows to train on, and what every detector promises."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.progress import Progress
from cfad_core.core.states import TWO_GROUPS, States
from cfad_core.detectors.protocol import (
    BLOCK,
    AnyDetector,
    Causes,
    Detector,
    Fitting,
    PeopleDetector,
    SavedDetector,
    State,
    Surroundings,
    TrainingRows,
    TwinMap,
    alike_by_variance,
    score_people,
)
from cfad_core.detectors.registry import DetectorModule

PLANE = np.array([[1.0, -0.5, 0.8, 0.3, -1.0], [0.2, 1.0, -0.6, 0.9, 0.4]])
OFF_THE_PLANE = np.array([3.0, -3.0, 3.0, -3.0, 3.0])
FAR_OUTSIDE = np.array([[1e3] * 5, [-1e3] * 5, [1e12, -1e12, 0.0, 0.0, 0.0], [1e300] * 5])


@runtime_checkable
class SavedRowDetector(Detector, SavedDetector, Protocol):
    """A detector of rows that can be saved."""


@dataclass(frozen=True)
class Moved:
    """A causal model in which the group moves every attribute by as much, and all else is noise.

    Attributes
    ----------
    draws : whether further draws move people further
    states : in two of them alone people can be moved
    """

    draws: bool = False
    states: States = TWO_GROUPS

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        """In the other group; the twin of a twin is the person."""
        twins = x.copy()
        twins[:, 0] = -x[:, 0]
        twins[:, 1:] -= (2.0 + (draw if self.draws else 0)) * x[:, :1]
        return twins

    @property
    def drawn_columns(self) -> Bools:
        return np.zeros(0, dtype=np.bool_)

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        noise = x[:, 1:] - x[:, :1]
        return noise, np.zeros_like(noise)


MOVED = Moved()


def near_the_plane(n: int = 300, seed: int = 0) -> Floats:
    """Rows (n, 5) that two directions all but explain."""
    rng = np.random.default_rng(seed)
    rows: Floats = rng.normal(size=(n, 2)) @ PLANE + 0.05 * rng.normal(size=(n, 5))
    return rows


def training_rows(x: Floats, sensitive: Floats | None = None) -> TrainingRows:
    """Every column a variable of its own; the groups take turns."""
    if sensitive is None:
        sensitive = np.where(np.arange(len(x)) % 2 == 0, -1.0, 1.0)
    names = [str(column) for column in range(x.shape[1])]
    return TrainingRows(x, np.column_stack([-sensitive, x + 2.0]), sensitive, alike_by_variance(x, names))


def fitting(
    rows: TrainingRows,
    config: AuditConfig,
    *,
    fitted: Mapping[str, AnyDetector] | None = None,
    progress: Progress | None = None,
    causes: Causes = MOVED,
    other_twins: TwinMap | None = None,
) -> Fitting:
    """What a detector is fitted with."""
    return Fitting(config, fitted or {}, causes, rows, progress or Progress(), other_twins)


def restored(module: DetectorModule, state: State) -> SavedRowDetector:
    """What stands on its own state alone."""
    found = module.restore(state, Surroundings(AuditConfig(), {}, MOVED))
    assert isinstance(found, SavedRowDetector)
    return found


def assert_rows_are_scored_alone(detector: Detector, x: Floats, seed: int) -> None:
    """To the last bit: neither the order of the rows, nor their company, nor the place of a row matters."""
    together = detector.anomaly_score(x)
    assert together.shape == (len(x),)
    order = np.random.default_rng(seed).permutation(len(x))
    assert np.array_equal(detector.anomaly_score(x[order]), together[order])
    for row in order[:3]:
        assert detector.anomaly_score(x[row : row + 1])[0] == together[row]
        assert (detector.anomaly_score(np.tile(x[row], (BLOCK, 1))) == together[row]).all()


def assert_people_are_scored_alone(detector: PeopleDetector, people: Floats, seed: int) -> None:
    """As ``assert_rows_are_scored_alone``, of whole people."""
    together = score_people(detector, people)
    assert together.shape == (len(people),)
    order = np.random.default_rng(seed).permutation(len(people))
    assert np.array_equal(score_people(detector, people[order]), together[order])
    for row in order[:3]:
        assert score_people(detector, people[row : row + 1])[0] == together[row]
        assert (score_people(detector, np.tile(people[row], (BLOCK, 1))) == together[row]).all()


def assert_saving_keeps_every_bit(detector: SavedRowDetector, module: DetectorModule, x: Floats) -> None:
    """Through a file of numbers, without pickled code."""
    again = restored(module, saved_and_read(detector))
    assert type(again) is type(detector)
    assert np.array_equal(again.anomaly_score(x), detector.anomaly_score(x))
    for name, array in again.state().items():
        assert np.array_equal(array, detector.state()[name])


def saved_and_read(detector: SavedDetector) -> State:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **detector.state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def assert_what_was_learned_is_least_odd(detector: Detector, learned: Floats, others: Floats) -> None:
    """However little there was to learn from: finite, and nothing else scores lower."""
    score, other = detector.anomaly_score(learned), detector.anomaly_score(others)
    assert np.isfinite(score).all()
    assert np.isfinite(other).all()
    assert np.median(score) <= other.min()


@contextmanager
def unseen_draws() -> Iterator[None]:
    """For a reference of scikit-learn's that draws from the global generator, whatever it is told."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002
