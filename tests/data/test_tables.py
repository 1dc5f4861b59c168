"""Tables are converted once, hashed once, and come back from their files as they were."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.data.readers import read_table
from cfad_core.data.tables import Tables, digest, load_parquet, write_table
from tests.data.worlds import table


def test_digests_are_what_they_always_were() -> None:
    """They are in the records of stored audits, and the names of stored tables."""
    table = pd.DataFrame({"sex": ["f", "m", None], "age": [30, 41, 22], "pay": [1.5, None, -2.0]})
    other = pd.DataFrame({"x": [True, False]})
    first = "88783608e0689a0a6daea27a9702878943867739aa89a7053300af7a321f94a4"
    second = "d69d8be2632e21cc7b0b0a22e480c838a9fddd7dfb34da18a3a0aed1a0837fc9"
    both = "76dc9dcaeb73877b56a191b36d7863b1ba98a3390f0deaeb667a4b2bf1211476"
    assert (digest(table), digest(other), digest(table, other)) == (first, second, both)
    tables = Tables.of(table, other)
    assert tables.digests == {"table": first, "test": second}
    assert tables.digest == both
    assert Tables.of(table).digest == first


def test_what_is_known_of_stored_tables_is_not_computed() -> None:
    table = pd.DataFrame({"x": [1, 2]})
    tables = Tables.stored({"table": table}, ({"table": "known"}, "known too"))
    assert (tables.digests, tables.digest) == ({"table": "known"}, "known too")
    assert Tables.stored({"table": table}).digest == digest(table)
    assert tables.test is None
    assert list(tables.frames) == ["table"]


def test_mixed_cells_last() -> None:
    frame = pd.DataFrame({"mixed": [1, "two", None, 3.5], "plain": [1, 2, 3, 4], 5: ["a", "b", "c", None]})
    before = frame.copy()
    stored = Tables.of(frame).table
    assert stored["mixed"].tolist()[:2] == ["1", "two"]
    assert stored["mixed"].isna().tolist() == [False, False, True, False]
    assert stored["plain"].tolist() == [1, 2, 3, 4]
    assert list(stored.columns) == ["mixed", "plain", "5"]
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(Tables.of(stored).table, stored)
    assert Tables.of(stored).digest == digest(stored)


@pytest.mark.parametrize(
    "cells",
    [
        [10**24 + k for k in range(3)],
        pd.Categorical([1, 2, 1]),
        pd.Categorical(["a", None, "b"]),
        pd.cut([1.0, 2.0, 3.0], 2),
        [(1, 2), (3,), None],
        [[1], [2], [3]],
        pd.array([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype=object),
        pd.Series([True, None, False], dtype=object),
        [None, None, None],
        [dt.date(2020, 1, 1), None, dt.date(2021, 2, 3)],
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]).tz_localize("Europe/Paris"),
        [Decimal("1.10"), None, Decimal(2)],
    ],
)
def test_odd_cells_last(cells: Any, tmp_path: Path) -> None:
    tables = Tables.of(pd.DataFrame({"odd": cells}))
    tables.save("table", tmp_path / "t.parquet")
    again = load_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(again, tables.table)
    assert digest(again) == tables.digest
    Tables.stored({"table": again}).save("table", tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(load_parquet(tmp_path / "again.parquet"), again)


def test_columns_need_names_of_their_own() -> None:
    with pytest.raises(InvalidDataError, match=r"Several columns have the same name: a\. Rename them\."):
        Tables.of(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("x")
    for name in ("t.parquet", "nothing.parquet"):
        with pytest.raises(InvalidArtifactError, match=f"The stored table '{name}' is missing or damaged"):
            load_parquet(tmp_path / name)


def test_digests_distinguish_tables() -> None:
    base = digest(table())
    assert base == digest(table())
    assert base != digest(table().assign(age=[20, 30, 40, 61]))
    assert base != digest(table().rename(columns={"age": "years"}))
    assert base != digest(table().iloc[::-1])


def test_reading_and_writing_files(tmp_path: Path) -> None:
    path = tmp_path / "new" / "table.csv"
    write_table(table(), path)
    assert read_table(path).equals(table())
    assert [p.name for p in path.parent.iterdir()] == ["table.csv"]
