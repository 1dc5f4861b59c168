"""The encoded rows of people and their twins: in memory, or read from their files when somebody asks for them.

Most of what an audit says follows from scores; rows are for the page about a person, and for those who score anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from cfad_core.audit.comparisons import View
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidArtifactError


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


@dataclass(frozen=True)
class EncodedRows:
    """Rows in memory."""

    factual: Floats
    twins: Floats
    truth: Floats | None


class SavedRows:
    """Rows in the files of an audit.

    Parameters
    ----------
    truth : the name of the file with the true twins; empty if there is none
    """

    def __init__(self, folder: Path, truth: str) -> None:
        self._folder, self._truth = folder, truth

    @cached_property
    def factual(self) -> Floats:
        return self._read("factual")

    @cached_property
    def twins(self) -> Floats:
        return self._read("counterfactual").reshape(-1, *self.factual.shape)

    @cached_property
    def truth(self) -> Floats | None:
        return self._read(self._truth) if self._truth else None

    def _read(self, name: str) -> Floats:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._folder / f"{name}.parquet"
        try:
            columns = pq.read_table(path).columns
            return np.stack([column.to_numpy() for column in columns], axis=1).astype(np.float64, copy=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidArtifactError(f"The audit's file '{path.name}' is damaged: {error}") from error


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
