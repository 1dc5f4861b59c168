"""The encoded rows of people and their twins: in memory, or read from their files when somebody asks for them.

Most of what an audit says follows from scores; rows are for the page about a person, and for those who score anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cfad_core.audit.comparisons import View
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.errors import InvalidArtifactError

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 20_000  # rows of a file that are read at once, at least


class Encoded(Protocol):
    """Rows of n people."""

    @property
    def factual(self) -> Floats:
        """(n, d), as they are."""

    @property
    def twins(self) -> Floats:
        """(k, n, d), one in each of k other groups."""

    @property
    def truth(self) -> Floats | None:
        """(n, d), their true twins, where these are known."""

    def some(self, people: Rows) -> EncodedRows:
        """Of some of the people, by their positions (p,)."""


@dataclass(frozen=True)
class EncodedRows:
    """Rows in memory."""

    factual: Floats
    twins: Floats
    truth: Floats | None

    def some(self, people: Rows) -> EncodedRows:
        truth = None if self.truth is None else self.truth[people]
        return EncodedRows(self.factual[people], self.twins[:, people], truth)


class SavedRows:
    """Rows in the files of an audit.

    Parameters
    ----------
    people : how many they are
    truth : the name of the file with the true twins; empty if there is none
    """

    def __init__(self, folder: Path, people: int, truth: str) -> None:
        self._folder, self._people, self._truth = folder, people, truth

    @cached_property
    def factual(self) -> Floats:
        return self._read("factual")

    @cached_property
    def twins(self) -> Floats:
        return self._by_move(self._read("counterfactual"))

    @cached_property
    def truth(self) -> Floats | None:
        return self._read(self._truth) if self._truth else None

    def some(self, people: Rows) -> EncodedRows:
        """Reads no other rows than those that stand near to these in the files."""
        moves = self._rows("counterfactual") // max(1, self._people)
        twins = (np.arange(moves)[:, None] * self._people + people).ravel()
        truth = self._read(self._truth, people) if self._truth else None
        factual = self._read("factual", people)
        shown = self._read("counterfactual", twins).reshape(moves, *factual.shape)
        return EncodedRows(factual, shown, truth)

    def _by_move(self, rows: Floats) -> Floats:
        return rows.reshape(-1, max(1, self._people), rows.shape[1])[:, : self._people]

    def _rows(self, name: str) -> int:
        import pyarrow.parquet as pq

        return int(pq.read_metadata(self._folder / f"{name}.parquet").num_rows)

    def _read(self, name: str, some: Rows | None = None) -> Floats:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._folder / f"{name}.parquet"
        try:
            table = pq.read_table(path) if some is None else _taken(path, some)
            found = np.empty(table.shape, order="F")  # column by column, as the file is
            for k, column in enumerate(table.columns):
                found[:, k] = column.to_numpy()
            return found
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidArtifactError(f"The audit's file '{path.name}' is damaged: {error}") from error


def _taken(path: Path, some: Rows) -> pa.Table:
    """Some rows (p,) of a file, in this order; of the row groups that hold them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        sizes = np.array([file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)])
        ends = np.cumsum(sizes)
        groups, place = np.unique(np.searchsorted(ends, some, side="right"), return_inverse=True)
        table = file.read_row_groups(groups.tolist())
    first, read = (ends - sizes)[groups], np.cumsum(sizes[groups]) - sizes[groups]  # of each group: there, and here
    return table.take(pa.array(some - first[place] + read[place]))


def saved_codes(folder: Path, people: int, truth: str) -> Floats:
    """The codes (n,) of the states of so many people, the first column of their rows.

    Raises
    ------
    InvalidArtifactError
        If the files that ``SavedRows`` would read do not hold rows of so many people.
    """
    import pyarrow.parquet as pq

    for name in filter(None, ("factual", "counterfactual", truth)):
        rows = pq.read_metadata(folder / f"{name}.parquet").num_rows
        if rows % max(1, people) or (rows == 0) != (people == 0) or (name != "counterfactual" and rows != people):
            raise InvalidArtifactError(f"Expected rows of {people} people in '{name}.parquet'; got {rows} rows.")
    with pq.ParquetFile(folder / "factual.parquet") as file:
        found = file.read(columns=file.schema_arrow.names[:1]).column(0)
    return np.asarray(found.to_numpy(), dtype=np.float64)


class SeenRows:
    """Those of the people of a view, in the groups that they are compared with."""

    def __init__(self, rows: Encoded, view: View) -> None:
        self._rows, self._view = rows, view

    @cached_property
    def factual(self) -> Floats:
        return self._rows.factual[self._view.rows]

    @cached_property
    def twins(self) -> Floats:
        return np.moveaxis(self._view.take(np.moveaxis(self._rows.twins, 2, 0)), 0, 2)

    @cached_property
    def truth(self) -> Floats | None:
        return None if self._rows.truth is None else self._rows.truth[self._view.rows]

    def some(self, people: Rows) -> EncodedRows:
        found = self._rows.some(self._view.rows[people])
        moves = self._view.columns[people].T  # (w, p)
        return EncodedRows(found.factual, found.twins[moves, np.arange(len(people))], found.truth)
