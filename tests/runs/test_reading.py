"""Uploaded files are read in a process of their own; whatever they do ends in a sentence."""

from __future__ import annotations

import gzip
import os
import signal
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfad_core.core.errors import AuditCancelled, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.data.readers import read_table
from cfad_core.data.tables import MappedTable, Tables, write_mapped
from cfad_core.runs import reading
from cfad_core.runs.child import Child
from cfad_core.runs.reading import Bounds, FileRead, Reader
from cfad_core.runs.scratch import Scratch
from tests.conftest import child_processes

LITTLE = Bounds(seconds=60.0, megabytes=400)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    made = Reader(tmp_path / "uploads", ahead=False)
    yield made
    made.close()
    assert not child_processes(), "a child was left behind"


def read(reader: Reader, folder: Path, name: str, content: bytes, bounds: Bounds | None = None) -> FileRead:
    path = folder / "upload"
    path.write_bytes(content)
    found = reader.read(path, name, bounds=bounds)
    assert sorted(item.name for item in folder.iterdir()) == ["upload", "uploads"], "a file was left behind"
    return found


def workbook(path: Path, **sheets: pd.DataFrame) -> Path:
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        for name, sheet in sheets.items():
            sheet.to_excel(book, sheet_name=name, index=False)
    return path


def test_a_table_is_as_if_it_was_read_here(reader: Reader, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"sex": ["f", "m", None] * 50, "pay": [1.5, None, 3.0] * 50, "owner": [True, False, True] * 50}
    )
    found = read(reader, tmp_path, "people.csv", table.to_csv(index=False).encode())
    assert (found.problem, found.sheets) == ("", ())
    assert found.table is not None
    here = Tables.of(read_table(tmp_path / "upload", name="people.csv"))
    pd.testing.assert_frame_equal(found.table.table, here.table)
    assert (found.table.digest, found.table.digests) == (here.digest, here.digests)
    assert found.table.rows == 150
    pd.testing.assert_series_equal(found.table.column("pay"), here.table["pay"])
    here.save("table", tmp_path / "here.parquet")
    found.table.save("table", tmp_path / "mapped.parquet")
    found.table.save("table", tmp_path / "again.parquet")
    assert pq.read_table(tmp_path / "mapped.parquet").equals(pq.read_table(tmp_path / "here.parquet"))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_mapped_table_takes_hardly_any_memory(tmp_path: Path, threads: int) -> None:
    rows = 200_000
    write_mapped(pd.DataFrame({"x": np.arange(rows), "y": np.random.default_rng(0).random(rows)}), tmp_path / "t.arrow")
    before = pa.total_allocated_bytes()
    mapped = MappedTable(tmp_path / "t.arrow")
    (tmp_path / "t.arrow").unlink()
    frames = [mapped.table for _ in range(threads)]
    assert pa.total_allocated_bytes() - before < 100_000
    assert all(np.shares_memory(frames[0]["y"].to_numpy(), frame["y"].to_numpy()) for frame in frames)
    assert frames[0]["x"].sum() == rows * (rows - 1) // 2
    assert list(mapped.first.columns) == ["x", "y"]
    assert len(mapped.first) == 50


def packed_bomb() -> bytes:
    """Few bytes that unpack to more than 2 GB of cells."""
    block = gzip.compress(b"1,2\n" * 5_000_000, compresslevel=1)
    return gzip.compress(b"a,b\n") + block * 120


def sheet_bomb(tmp_path: Path) -> bytes:
    """A workbook whose shared texts unpack to 1 GB."""
    path = workbook(tmp_path / "t.xlsx", one=pd.DataFrame({"x": ["a", "b"]}))
    huge = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(huge, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for item in old.namelist():
            if "sharedStrings" not in item:
                new.writestr(item, old.read(item))
        with new.open("xl/sharedStrings.xml", "w", force_zip64=True) as stream:
            stream.write(b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>')
            for _ in range(800):
                stream.write(b"x" * 2**20)
            stream.write(b"</t></si></sst>")
    content = huge.read_bytes()
    path.unlink()
    huge.unlink()
    return content


def nested() -> bytes:
    kind = pa.int64()
    for _ in range(60):
        kind = pa.list_(kind)
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": pa.nulls(3, kind)}), stream)
    return bytes(stream.getvalue())


def lying_footer() -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [1, 2, 3]}), stream)
    content = bytes(stream.getvalue())
    return content[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.csv.gz", "t.xlsx", "t.parquet"])
def test_a_bomb_ends_its_own_process_only(reader: Reader, tmp_path: Path, name: str) -> None:
    if name == "t.parquet":
        stream = pa.BufferOutputStream()
        pq.write_table(pa.table({f"c{k}": pa.array(np.zeros(4_000_000)) for k in range(40)}), stream)
        content = bytes(stream.getvalue())
    else:
        content = packed_bomb() if name == "t.csv.gz" else sheet_bomb(tmp_path)
    assert len(content) < 2**24
    found = read(reader, tmp_path, name, content, LITTLE)
    assert found.table is None
    assert "400 MB" in found.problem
    assert found.problem.startswith(f"'{name}' ")


@pytest.mark.parametrize("content", [nested(), lying_footer()], ids=["nested", "lying footer"])
def test_odd_parquet_files_are_read_or_refused(reader: Reader, tmp_path: Path, content: bytes) -> None:
    found = read(reader, tmp_path, "t.parquet", content)
    assert found.table is not None or found.problem.startswith("Cannot read 't.parquet' as a Parquet file")


def test_too_little_memory(reader: Reader, tmp_path: Path) -> None:
    found = read(reader, tmp_path, "t.csv", b"a,b\n" + b"1.5,2.5\n" * 200, Bounds(60.0, 60))
    assert found.problem == (
        "'t.csv' needs more memory than the 60 MB that reading it may take here. Use a sample of it, or leave out "
        "columns that are not needed."
    )


class Killing(Progress):
    """Sends a signal to the children of this process."""

    def __init__(self, how: int) -> None:
        self._how = how

    def stop_requested(self) -> bool:
        for child in child_processes():
            os.kill(child.pid, self._how)
        return False


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            signal.SIGKILL,
            "The process that read 't.csv' was killed, most likely because the machine ran out of memory.",
        ),
        (signal.SIGSEGV, "'t.csv' made the program that reads such files crash (SIGSEGV), perhaps for want of memory"),
        (signal.SIGXCPU, "'t.csv' was not read within 120 seconds. Use a sample of it"),
    ],
)
def test_a_process_that_dies(reader: Reader, tmp_path: Path, how: int, message: str) -> None:
    path = tmp_path / "upload"
    path.write_bytes(b"a,b\n" + b"1.5,2.5\n" * 2_000_000)
    found = reader.read(path, "t.csv", bounds=Bounds(120.0, 4096), progress=Killing(how))
    assert found.table is None
    assert found.problem.startswith(message)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["upload", "uploads"]


class Leaving(Progress):
    def stop_requested(self) -> bool:
        raise RuntimeError("left")


class Cancelling(Progress):
    def stop_requested(self) -> bool:
        return True


@pytest.mark.parametrize(("progress", "error"), [(Leaving(), RuntimeError), (Cancelling(), AuditCancelled)])
def test_whoever_leaves_leaves_nothing(
    reader: Reader, tmp_path: Path, progress: Progress, error: type[Exception]
) -> None:
    path = tmp_path / "upload"
    path.write_bytes(b"a,b\n" + b"1.5,2.5\n" * 5_000_000)
    with pytest.raises(error):
        reader.read(path, "t.csv", progress=progress)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["upload", "uploads"]


def test_too_slow(reader: Reader, tmp_path: Path) -> None:
    found = read(reader, tmp_path, "t.csv", b"a,b\n" + b"1.5,2.5\n" * 5_000_000, Bounds(-1.0, 4096))
    assert "was not read within -1 seconds" in found.problem


def test_sheets_come_with_a_problem_of_one(reader: Reader, tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", empty=pd.DataFrame(), people=pd.DataFrame({"x": [1, 2]}))
    first = reader.read(path, "t.xlsx", "empty")
    assert (first.table, first.sheets, first.sheet) == (None, ("empty", "people"), "empty")
    assert first.problem == "Sheet 'empty' of 't.xlsx' is empty."
    second = reader.read(path, "t.xlsx")
    assert second.table is not None
    assert second.sheet == "people"  # the largest one
    assert second.table.table["x"].tolist() == [1, 2]


def test_the_next_process_waits_already(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n1\n")
    reader = Reader(tmp_path, ahead=True)
    try:
        reader.get_ready()
        first = reader._spare
        reader.get_ready()
        assert reader._spare is first
        assert reader.read(tmp_path / "t.csv", "t.csv").problem == ""
        assert isinstance(reader._spare, Child)
        assert reader._spare is not first
    finally:
        reader.close()
    reader.get_ready()
    assert reader._spare is None


def test_an_answer_that_makes_no_sense() -> None:
    answers: list[Any] = [None, [], {"sheets": []}, {"sheets": [], "digests": [], "digest": ""}]
    for answer in answers:
        with pytest.raises(WorkerDied, match="gave no table"):
            reading._understand(answer, Path("nothing"))


def test_bounds_follow_the_file_and_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "_free", lambda: 100 * 2**30)
    assert Bounds.of(0) == Bounds(120.0, 4096)
    assert Bounds.of(2**30).megabytes == 4096 + 8 * 1024
    monkeypatch.setattr(reading, "_free", lambda: 4 * 2**30)
    assert Bounds.of(2**30).megabytes == 3072
    monkeypatch.setattr(reading, "_free", lambda: 0)
    assert Bounds.of(2**30).megabytes == 1024


def test_what_a_container_has_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "_CGROUP", tmp_path)
    whole = reading._free()
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert abs(reading._free() - whole) < 2**31
    (tmp_path / "memory.max").write_text("5000\n")
    assert reading._free() == 4000


def test_a_scratch_folder_goes_with_its_owner(tmp_path: Path) -> None:
    first, second = Scratch(tmp_path), Scratch(tmp_path)
    (first.path / "file").write_text("x")
    assert first.path.stat().st_mode & 0o077 == 0
    first.close()
    assert not first.path.exists()
    assert second.path.is_dir()
    place = second.path
    del second
    assert not place.exists()


def test_what_a_killed_program_left_is_removed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from cfad_core.runs.scratch import Scratch\n"
        "made = Scratch(Path(sys.argv[1])); (made.path / 'upload').write_text('x'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, cwd=Path(__file__).parents[2])
    left = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert len(left) == 1
    other = Scratch(tmp_path)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [other.path]
    other.close()
