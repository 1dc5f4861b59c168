from __future__ import annotations

from pathlib import Path

from cfad_core.data.readers import read_table
from cfad_core.data.tables import digest, write_table
from tests.data.worlds import table


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
