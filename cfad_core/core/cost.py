"""How long work takes by the size of what it is done with, and how much of it is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfad_core.core.progress import DoneShare

_ROWS, _COLUMNS = 10_000.0, 10.0  # of the table that ``seconds`` is about
_TRUST = 0.2  # share of the whole that what was expected counts for, beside what was observed
_LATE = 1.3  # times what is shown: from there on it is said that it takes longer


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time, ``fixed + seconds * (rows / 10,000)^rows * (columns / 10)^columns * ...``.

    Attributes
    ----------
    seconds : for 10,000 rows of 10 columns that belong to 10 variables, beside what is fixed
    rows, columns, variables : powers
    fixed : whatever the table
    """

    seconds: float
    rows: float = 1.0
    columns: float = 1.0
    variables: float = 0.0
    fixed: float = 0.0

    def of(self, rows: float, columns: float, variables: float) -> float:
        """For so many rows, encoded columns and variables."""
        size = (rows / _ROWS) ** self.rows * (columns / _COLUMNS) ** self.columns
        return self.fixed + self.seconds * float(size * (variables / _COLUMNS) ** self.variables)


NOTHING = Cost(0.0)


class Countdown:
    """How much of a piece of work is left, by what its stages are expected to take and by the pace so far.

    What is shown never climbs: where the work falls behind, it stands still, and ``is_late`` says so.

    Parameters
    ----------
    expected : seconds, by stage in their order

    Attributes
    ----------
    share : that is done, 0 to 1; it never falls
    left : seconds
    is_late : whether it will take clearly longer than ``left`` says
    """

    def __init__(self, expected: Mapping[str, float]) -> None:
        self._whole, self._done = sum(expected.values()), DoneShare(expected)
        self.share, self.left, self.is_late = 0.0, self._whole, False

    def after(self, stage: str, step: int, total: int, elapsed: float) -> None:
        """Hear that ``step`` of ``total`` of a stage are done, so many seconds after the work began."""
        self.share = self._done.after(stage, step, total)
        pace = (elapsed + _TRUST * self._whole) / ((self.share + _TRUST) * self._whole) if self._whole else 1.0
        found = (1.0 - self.share) * self._whole * pace
        self.left = min(self.left, found)
        self.is_late = found > _LATE * self.left
