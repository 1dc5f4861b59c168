"""A table of any size through an audit: chunk by chunk, in memory that does not grow.

A row's scores and twins are a matter of that row alone, so chunks are as good as the whole. What is about all rows is
counted on the way; of a large table, a batch is measured on people who are drawn by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.batches import Counted, rows_with_any
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import outside_groups
from cfad_core.core.arrays import Floats
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.data.readable import Unreadable, refuse_unreadable
from cfad_core.data.tables import ChunkDigest

STAGE = "rows"
MOST_MEASURED = 100_000  # people: a rate of 2.5 % is then known to 0.1 points, and judges see no more than 10,000


class Stream:
    """The chunks of a table as encoded people, and what was counted once all were seen.

    Parameters
    ----------
    rows : of the whole table
    is_batch : whether it will be measured as a batch: then people to measure are drawn, and the table's digest is made
    """

    def __init__(
        self,
        result: AuditResult,
        chunks: Iterable[pd.DataFrame],
        rows: int,
        progress: Progress | None = None,
        *,
        is_batch: bool = False,
        most: int = MOST_MEASURED,
    ) -> None:
        self._encoding, self._chunks, self._progress = result.encoding, chunks, progress or Progress()
        self._dates = _FirstDates(result.encoding)
        self._digest, self._is_batch, self._total = ChunkDigest(), is_batch, rows
        self._drawn = _Drawn(most, np.random.default_rng([result.config.seed, 13]))
        self._states: NDArray[np.int64] = np.zeros(result.encoding.states.count, dtype=np.int64)
        self.rows, self.unknown_rows = 0, 0
        self.unknown: dict[str, int] = {}

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, Floats]]:
        """Every chunk, and its people (n, d).

        Raises
        ------
        InvalidDataError
            If a column is missing, or cells or rows of any chunk cannot be used: all of them are counted first.
        """
        chunks = iter(self._chunks)
        for chunk in chunks:
            wrong = self._dates.problems(chunk)
            if wrong:
                for later in chunks:
                    wrong = wrong + self._dates.problems(later)
                    self._progress.check(STAGE)
                wrong.refuse(self._encoding, self._total)
            people = self._dates.encode(chunk)
            self._count(chunk, people)
            yield chunk, people
            self._progress.tick(STAGE, self.rows, self._total)

    def _count(self, chunk: pd.DataFrame, people: Floats) -> None:
        states = self._encoding.states
        unknown = self._encoding.unknown_cells(chunk)
        self.rows += len(chunk)
        self._states += np.bincount(states.of_codes(people[:, 0]), minlength=states.count)
        self.unknown_rows += rows_with_any(unknown, len(chunk))
        for name, cells in unknown.items():
            self.unknown[name] = self.unknown.get(name, 0) + int(cells.sum())
        if self._is_batch:
            self._digest.add(chunk)
            self._drawn.add(chunk)

    @property
    def measured(self) -> pd.DataFrame:
        """The rows to measure: all, or those that were drawn, in their order."""
        return self._drawn.table

    @property
    def counted(self) -> Counted:
        """What was counted of all rows."""
        order = [variable.name for variable in self._encoding.variables]
        unknown = {name: self.unknown[name] for name in order if name in self.unknown}
        return Counted(self._digest.hexdigest(), self.rows, self._states, unknown, self.unknown_rows)


@dataclass(frozen=True)
class _Problems:
    """What is wrong with some rows."""

    outside: int = 0
    cells: dict[str, Unreadable] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.outside or self.cells)

    def __add__(self, later: _Problems) -> _Problems:
        cells = dict(self.cells)
        for name, one in later.cells.items():
            cells[name] = cells[name] + one if name in cells else one
        return _Problems(self.outside + later.outside, cells)

    def refuse(self, encoding: Encoding, rows: int) -> None:
        if self.outside:
            raise outside_groups(encoding, self.outside, rows)
        order = [variable.name for variable in encoding.variables]
        refuse_unreadable([self.cells[name] for name in order if name in self.cells])


class _FirstDates:
    """Encodes chunks as if they stood in the whole table.

    How dates are written that are not ISO is recognised by the first of them. So the rows in which a column of dates
    begins are put before every later chunk, and taken away again.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._missing = [variable.name for variable in encoding.variables if variable.kind == "date"]
        self._first: list[pd.DataFrame] = []  # a row each

    def problems(self, chunk: pd.DataFrame) -> _Problems:
        """What is wrong with a chunk."""
        outside = int((~self._encoding.in_groups(chunk)).sum())
        self._remember(chunk)
        cells = self._encoding.unreadable(self._behind_first(chunk), skip=len(self._first))
        return _Problems(outside, {one.name: one for one in cells})

    def encode(self, chunk: pd.DataFrame) -> Floats:
        """Its people (n, d)."""
        return self._encoding.encode(self._behind_first(chunk))[len(self._first) :]

    def _behind_first(self, chunk: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([*self._first, chunk]) if self._first else chunk

    def _remember(self, chunk: pd.DataFrame) -> None:
        for name in list(self._missing):
            known = chunk[name].notna().to_numpy(dtype=np.bool_)
            if known.any():
                self._missing.remove(name)
                if not pd.api.types.is_datetime64_any_dtype(chunk[name]):
                    self._first.append(chunk.iloc[[int(known.argmax())]])


class _Drawn:
    """Rows drawn by chance, each as likely as any other, whatever the chunks: the smallest of their random numbers."""

    def __init__(self, most: int, chance: np.random.Generator) -> None:
        self._most, self._chance = most, chance
        self._keys: Floats = np.zeros(0)
        self._parts: list[pd.DataFrame] = []

    def add(self, chunk: pd.DataFrame) -> None:
        """The next rows."""
        keys = self._chance.random(len(chunk))
        limit = self._keys.max() if len(self._keys) >= self._most else np.inf
        chosen = keys < limit
        if not chosen.any():
            return
        self._keys = np.concatenate([self._keys, keys[chosen]])
        self._parts.append(chunk[chosen])
        if len(self._keys) > self._most:
            kept = np.sort(np.argpartition(self._keys, self._most)[: self._most])
            self._keys = self._keys[kept]
            self._parts = [pd.concat(self._parts).iloc[kept]]

    @property
    def table(self) -> pd.DataFrame:
        """They, in their order."""
        return pd.concat(self._parts).reset_index(drop=True)
