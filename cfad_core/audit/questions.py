"""The rows that a detector outside this program is asked to score.

While an audit runs, a ``Recorder`` stands for such a detector: it notes every row that would be scored, and answers
with the row's number. The numbers walk through the audit as scores do. Once the detector has answered, its scores take
their place (``answering``), and nothing is learned or drawn a second time.

Whoever scores the rows gets one shuffled table of different rows under meaningless ids, in the columns and units of the
audited table, without its label. People and twins are not distinguished. Some rows are there twice, so that a detector
shows whether it answers the same row in the same way.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import AskedDetector
from cfad_core.data.cells import as_held_by
from cfad_core.data.encoding import Encoding
from cfad_core.data.group_values import moved_cells, stand_ins
from cfad_core.data.groups import Groups
from cfad_core.data.roles import ColumnRoles
from cfad_core.evaluation.couplings import CouplingScores
from cfad_core.evaluation.edge_cuts import CutScores

Source = Literal["train", "test", "truth"]
Numbers = NDArray[np.int64]

_LEAST_REPEATED = 2_000  # rows that are asked twice, or all if there are fewer
_REPEATED = 0.05  # of the rows
_ID = "row_id"


@dataclass(frozen=True)
class SourceRows:
    """The rows of a table that versions are made of.

    Attributes
    ----------
    table : their cells
    encoded : (n, d), the same rows
    """

    table: pd.DataFrame
    encoded: Floats


class Recorder:
    """Notes the rows that a detector would score. A row of the same person that is asked about again keeps its number.

    Parameters
    ----------
    name : of the detector
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._numbers: dict[bytes, int] = {}
        self._noted: dict[Source, list[tuple[Numbers, Rows, Floats]]] = {source: [] for source in get_args(Source)}

    def __call__(self, rows: Floats, whose: Rows) -> dict[str, Floats]:
        """As every ``Score`` does, of versions of the judged people."""
        return {self.name: self.numbers(rows, whose).astype(np.float64)}

    def numbers(self, rows: Floats, whose: Rows, source: Source = "test") -> Numbers:
        """The numbers (n,) of rows (n, d), each a version of the row at this position (n,) of its source."""
        place = np.full(len(rows), get_args(Source).index(source), dtype=np.float64)
        content = np.ascontiguousarray(np.column_stack([place, whose.astype(np.float64), rows]))
        keys = content.view(np.dtype((np.void, content.dtype.itemsize * content.shape[1]))).ravel()
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found, new = np.empty(len(first), dtype=np.int64), []
        for k, position in enumerate(first):
            key = keys[position].tobytes()
            if key not in self._numbers:
                self._numbers[key] = len(self._numbers)
                new.append(position)
            found[k] = self._numbers[key]
        if new:
            numbers = found[inverse[new]]
            self._noted[source].append((numbers, whose[new].astype(np.intp), rows[new]))
        return np.asarray(found[inverse], dtype=np.int64)

    def decoded(
        self, sources: Mapping[Source, SourceRows], encoding: Encoding, table: pd.DataFrame, columns: list[str]
    ) -> pd.DataFrame:
        """All rows in the order of their numbers, as a table with people of all groups holds its own."""
        frames, numbers = [], []
        for source, noted in self._noted.items():
            if noted:
                given = sources[source]
                of, whose, rows = (np.concatenate(parts) for parts in zip(*noted, strict=True))
                cells = given.table.iloc[whose].reset_index(drop=True)
                # true twins are rows of their own
                made = cells if source == "truth" else _made(encoding, rows, given.encoded[whose], cells, table)
                frames.append(pd.DataFrame({name: as_held_by(made[name], table[name]) for name in columns}))
                numbers.append(of)
        order = np.argsort(np.concatenate(numbers))
        return pd.concat(frames, ignore_index=True).iloc[order].reset_index(drop=True)


def _made(encoding: Encoding, rows: Floats, before: Floats, cells: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Encoded rows (n, d) in the units of the cells that they were made of, with groups as a table holds them."""
    made = encoding.decode(rows, before, cells).rows
    state = encoding.states.of_codes(rows[:, 0])
    for s, groups in enumerate(encoding.attributes):
        codes = encoding.states.levels[state, s]
        made[groups.column] = moved_cells(groups, cells[groups.column], codes, table[groups.column])
    for name in made.columns.intersection(table.columns):
        if pd.api.types.is_float_dtype(table[name]) and pd.api.types.is_float_dtype(made[name]):
            made[name] = made[name].astype(table[name].dtype)  # also where that has fewer digits
    return made


@dataclass(frozen=True)
class AskedNumbers:
    """Where an audit needs scores: the numbers of the rows, in the shapes that scores have.

    Attributes
    ----------
    train, factual, twins, truth, judged : see ``MethodScores``
    returned, returned_by_same : see ``Judgement``
    couplings, cuts : by comparison; none where nothing is drawn, or uncertainty is not measured
    """

    train: NDArray[Any]
    factual: NDArray[Any]
    twins: NDArray[Any]
    truth: NDArray[Any] | None
    judged: NDArray[Any]
    returned: NDArray[Any] | None
    returned_by_same: NDArray[Any] | None
    couplings: tuple[CouplingScores | None, ...]
    cuts: tuple[CutScores, ...]


@dataclass(frozen=True)
class Questions:
    """Rows to be scored, and what becomes of their scores.

    Attributes
    ----------
    name : of the detector
    id_column : of ``batch``, that names the rows
    batch : the table to score, with the ids first
    row_of : (b,), the number of each line of it among the different rows
    rows : how many different rows there are
    numbers : where their scores belong
    known_rows, known : (m,) each, rows of people whose score the audited table has, and these scores
    remarks : what the reader must know of the rows
    """

    name: str
    id_column: str
    batch: pd.DataFrame
    row_of: Numbers
    rows: int
    numbers: AskedNumbers
    known_rows: Numbers
    known: Floats
    remarks: tuple[str, ...] = ()

    @property
    def repeated(self) -> int:
        """How many rows are there twice."""
        return len(self.batch) - self.rows


def asked_columns(table: pd.DataFrame, roles: ColumnRoles, asked: AskedDetector) -> list[str]:
    """What the detector sees of the table: everything but the label, the scores, and what is left out."""
    shown = {*roles.sensitive_columns, *roles.features(table), *asked.carried}
    return [str(name) for name in table.columns if name in shown]


def ask(
    recorder: Recorder,
    numbers: AskedNumbers,
    decoded: pd.DataFrame,
    known: tuple[Numbers, Floats],
    remarks: tuple[str, ...],
) -> Questions:
    """One table of all rows that were noted, each once, some of them twice, in no order.

    Ids, order and repeats are drawn anew each time and by nothing that can be known: a detector cannot prepare for
    them. They do not change what is asked.

    Parameters
    ----------
    decoded : (k,) rows in the order of their numbers
    known : numbers of people whose score the audited table has, and these scores
    """
    same = decoded.groupby(list(decoded.columns), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    different = decoded.loc[~pd.Series(same).duplicated().to_numpy()].reset_index(drop=True)
    rows = len(different)
    rng = np.random.default_rng(secrets.randbits(128))
    repeated = rng.choice(rows, min(rows, max(_LEAST_REPEATED, int(_REPEATED * rows))), replace=False)
    row_of = rng.permutation(np.concatenate([np.arange(rows), repeated])).astype(np.int64)
    column = _ID
    while column in decoded.columns:
        column += "_"
    batch = different.iloc[row_of].reset_index(drop=True)
    batch.insert(0, column, _opaque_ids(len(row_of), rng))
    return Questions(
        recorder.name,
        column,
        batch,
        row_of,
        rows,
        renumbered(numbers, same),
        same[known[0]].astype(np.int64),
        known[1],
        remarks,
    )


def _opaque_ids(count: int, rng: np.random.Generator) -> list[str]:
    """Different texts that nothing takes for a number."""
    found: dict[str, None] = {}
    while len(found) < count:
        found |= {f"r{value:014x}": None for value in rng.integers(0, 2**56, count - len(found)).tolist()}
    return list(found)


def renumbered(numbers: AskedNumbers, new: NDArray[Any]) -> AskedNumbers:
    """The same places with another entry (k,) for each of k numbers: another number, or a score."""

    def entries(some: NDArray[Any] | None) -> Any:
        return None if some is None else new[some.astype(np.intp)]

    def of_method(some: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        return {name: entries(array) for name, array in some.items()}

    return AskedNumbers(
        **{name: entries(getattr(numbers, name)) for name in ("train", "factual", "twins", "truth", "judged")},
        returned=entries(numbers.returned),
        returned_by_same=entries(numbers.returned_by_same),
        couplings=tuple(
            None if one is None else CouplingScores(of_method(one.here), of_method(one.there), one.compared)
            for one in numbers.couplings
        ),
        cuts=tuple(
            CutScores(one.edges, of_method(one.here), of_method(one.whole), of_method(one.without))
            for one in numbers.cuts
        ),
    )


def stand_in_remarks(attributes: tuple[Groups, ...], table: pd.DataFrame) -> tuple[str, ...]:
    """What twins have in a sensitive column whose groups hold several values."""
    found = []
    for groups in attributes:
        if groups.cuts:
            found.append(
                f"'{groups.column}' of a twin is the number that has the same rank among the other group's as the "
                "person's has among their own."
            )
            continue
        values = stand_ins(groups, table[groups.column])
        several = [group for group, held in zip(groups.names, groups.values, strict=True) if len(held) != 1]
        if named := ", ".join(f"'{values[group]}' for {group}" for group in several if group in values):
            found.append(
                f"A twin in a group of several values has the most frequent one in '{groups.column}': {named}."
            )
    return tuple(found)
