"""Tables: digests that identify them, types that last, and files to write them to and read them from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.files import staged_file

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


PARTS = ("table", "test", "test_counterfactual", "truth")
_UNSEEN = ("truth",)  # by the audit
FIRST = 50  # rows that are shown


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of an audit, in types that last: each is converted to Arrow once and hashed once.

    ``Tables.of`` makes them of any tables, ``Tables.stored`` of those that are read back.

    Attributes
    ----------
    table : the people to learn from
    test : the people to judge, if they are not a share of the first
    test_counterfactual : their true twins, row by row, where they are known and judge the audit
    truth : the same, where they are kept aside: the audit never sees them, and is compared with them afterwards
    """

    table: pd.DataFrame
    test: pd.DataFrame | None = None
    test_counterfactual: pd.DataFrame | None = None
    truth: pd.DataFrame | None = None
    _arrow: dict[str, Any] = field(default_factory=dict, repr=False)
    _known: tuple[Mapping[str, str], str] | None = field(default=None, repr=False)

    @staticmethod
    def of(
        table: pd.DataFrame,
        test: pd.DataFrame | None = None,
        test_counterfactual: pd.DataFrame | None = None,
        *,
        truth: pd.DataFrame | None = None,
    ) -> Tables:
        """The tables as they come back from Parquet files: the same cells, in types that last.

        A column that mixes types (as spreadsheets do) becomes text.
        """
        given = zip(PARTS, (table, test, test_counterfactual, truth), strict=True)
        arrow = {part: to_arrow(frame) for part, frame in given if frame is not None}
        return Tables(**{part: converted.to_pandas() for part, converted in arrow.items()}, _arrow=arrow)

    @staticmethod
    def stored(frames: Mapping[str, pd.DataFrame], known: tuple[Mapping[str, str], str] | None = None) -> Tables:
        """Tables that were read back, by their part.

        Parameters
        ----------
        known : ``digests`` and ``digest``, if they need not be computed
        """
        test, judging, truth = (frames.get(part) for part in PARTS[1:])
        return Tables(frames["table"], test, judging, truth, _known=known)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """Those that there are, by their part."""
        every = zip(PARTS, (self.table, self.test, self.test_counterfactual, self.truth), strict=True)
        return {part: frame for part, frame in every if frame is not None}

    @property
    def rows(self) -> int:
        """Of ``table``."""
        return len(self.table)

    @property
    def first(self) -> pd.DataFrame:
        """The first rows of ``table``, to be shown; its columns."""
        return self.head(FIRST)

    def head(self, rows: int) -> pd.DataFrame:
        """So many of the first rows of ``table``."""
        return self.table.head(rows)

    def column(self, name: str) -> pd.Series[Any]:
        """One column of ``table``."""
        return self.table[name]

    def renamed(self, names: Sequence[str]) -> Tables:
        """The same rows with other names of columns, in their order."""
        return Tables.stored({part: frame.set_axis(list(names), axis=1) for part, frame in self.frames.items()})

    @property
    def digests(self) -> dict[str, str]:
        """``digest`` of each table, by its part."""
        return dict(self._digests[0])

    @property
    def digest(self) -> str:
        """``digest`` of all tables that the audit sees, together."""
        return self._digests[1]

    @cached_property
    def _digests(self) -> tuple[Mapping[str, str], str]:
        if self._known is not None:
            return self._known
        contents = {part: _content(frame) for part, frame in self.frames.items()}
        seen = [content for part, content in contents.items() if part not in _UNSEEN]
        return {part: _sha256(content) for part, content in contents.items()}, _sha256(*seen)

    def save(self, part: str, path: Path) -> None:
        """Write one of the tables to a Parquet file, whole or not at all."""
        arrow = self._arrow.pop(part, None)  # it is written once, and takes as much room as the table
        _write_arrow(to_arrow(self.frames[part]) if arrow is None else arrow, path)


class MappedTable(Tables):
    """One table in an Arrow file that is mapped into memory, as ``write_mapped`` wrote it.

    Pages of the file are read when they are needed, and are the system's to forget again: however large the table is,
    it takes hardly any memory of this process. Frames are made when they are asked for, and not kept; most of their
    columns are the mapped file itself. On Linux and macOS the file can be removed as soon as it is mapped.
    """

    def __init__(self, path: Path, known: tuple[Mapping[str, str], str] | None = None) -> None:
        import pyarrow as pa

        mapped = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        object.__setattr__(self, "_arrow", {"table": mapped})
        object.__setattr__(self, "_known", known)

    @property
    def table(self) -> pd.DataFrame:
        """The whole table, made anew each time."""
        return _to_frame(self._arrow["table"])

    @property
    def rows(self) -> int:
        return int(self._arrow["table"].num_rows)

    def head(self, rows: int) -> pd.DataFrame:
        return _to_frame(self._arrow["table"].slice(0, rows))

    def column(self, name: str) -> pd.Series[Any]:
        return _to_frame(self._arrow["table"].select([name]))[name]

    def renamed(self, names: Sequence[str]) -> MappedTable:
        """The same mapped file, with other names."""
        made = MappedTable.__new__(MappedTable)
        table = self._arrow["table"].replace_schema_metadata(None).rename_columns(list(names))
        object.__setattr__(made, "_arrow", {"table": table})
        object.__setattr__(made, "_known", None)
        return made

    def save(self, part: str, path: Path) -> None:
        _write_arrow(self._arrow[part], path)


def write_mapped(table: pd.DataFrame, path: Path) -> None:
    """Write a table for ``MappedTable``, in types that last."""
    import pyarrow as pa

    arrow = to_arrow(table).combine_chunks()  # a column in one piece needs no copy
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, arrow.schema) as writer:
        writer.write_table(arrow)


def _to_frame(table: Any) -> pd.DataFrame:
    """An Arrow table in pandas' types, without a copy where that can be."""
    frame: pd.DataFrame = table.to_pandas(split_blocks=True)
    return frame


def save_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write any table to a Parquet file, in types that last, whole or not at all."""
    _write_arrow(to_arrow(table), path)


def _write_arrow(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    with staged_file(path) as stage:
        pq.write_table(table, stage)


def digest(*tables: pd.DataFrame) -> str:
    """sha256 of the tables' contents: column names, types and every cell, in order."""
    return _sha256(*(_content(table) for table in tables))


class ChunkDigest:
    """``digest`` of one table that is seen chunk by chunk."""

    def __init__(self) -> None:
        self._summary, self._is_new = hashlib.sha256(), True

    def add(self, chunk: pd.DataFrame) -> None:
        """Its next rows."""
        for piece in _content(chunk)[0 if self._is_new else 1 :]:
            self._summary.update(piece)
        self._is_new = False

    def hexdigest(self) -> str:
        """Of all rows so far."""
        return self._summary.hexdigest()


def _content(table: pd.DataFrame) -> tuple[bytes, bytes]:
    """What identifies a table: its header, and a hash of each row."""
    header = repr([(str(name), str(kind)) for name, kind in table.dtypes.items()]).encode()
    return header, pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()


def _sha256(*contents: Iterable[bytes]) -> str:
    summary = hashlib.sha256()
    for content in contents:
        for piece in content:
            summary.update(piece)
    return summary.hexdigest()


def to_arrow(table: pd.DataFrame) -> Any:
    """The table in Arrow's types; only a table that does not fit into them is looked at column by column."""
    import pyarrow as pa

    table = table.reset_index(drop=True)
    table.columns = pd.Index([str(name) for name in table.columns])
    if not table.columns.is_unique:
        twice = sorted(set(table.columns[table.columns.duplicated()]))
        raise InvalidDataError(f"Several columns have the same name: {', '.join(twice[:10])}. Rename them.")
    for name in table.columns:
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            table[name] = table[name].astype(object).infer_objects()
    try:
        converted = pa.Table.from_pandas(table, preserve_index=False)
        if not any(pa.types.is_nested(kind) for kind in converted.schema.types):
            return converted
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    table = table.assign(**{str(name): _lasting(cells) for name, cells in table.items()})
    return pa.Table.from_pandas(table, preserve_index=False)


def _lasting(cells: pd.Series[Any]) -> pd.Series[Any]:
    """The cells, as text if Arrow has no plain type for them."""
    import pyarrow as pa

    try:
        lasts = not pa.types.is_nested(pa.array(cells, from_pandas=True).type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        lasts = False
    return cells if lasts else cells.astype(str).where(cells.notna())


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file, whole or not at all."""
    with staged_file(path) as stage:
        table.to_csv(stage, index=False)


def safe_for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before texts (and names) that a spreadsheet would take for a formula."""
    safe = table.copy()
    for position in range(table.shape[1]):
        cells = table.iloc[:, position]
        if not (pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_datetime64_any_dtype(cells)):
            safe.isetitem(position, cells.map(harmless, na_action="ignore").array)
    safe.columns = pd.Index([harmless(name) for name in table.columns])
    return safe


def harmless(cell: object) -> object:
    """A cell with an apostrophe before it, if a spreadsheet would take it for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def load_parquet(path: Path) -> pd.DataFrame:
    """Read what ``Tables.save`` wrote.

    Raises
    ------
    InvalidArtifactError
        If the file is missing or damaged.
    """
    try:
        return pd.read_parquet(path)
    except Exception as error:  # whatever is wrong with the file, it is one thing to the reader
        raise InvalidArtifactError(f"The stored table '{path.name}' is missing or damaged.") from error
