"""Chunks hold what the same rows hold in the whole table: cells, types and all."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.chunks import open_chunks
from cfad_core.data.readers import read_table
from cfad_core.data.tables import ChunkDigest, digest

SIZES = (1, 2, 3, 5, 1_000)
CELLS = (
    "",
    "?",
    "NA",
    "1",
    "1.0",
    "-2",
    "2.5",
    "1e3",
    "007",
    "True",
    "FALSE",
    "x",
    "2020-01-01",
    "inf",
    " 4",
    "9" * 17,
)
NASTY = """id;count;rate;flag;maybe;word;mixed;large;since;price;level;nothing
1;1;1;True;True;a;1;18446744073709551615;2020-01-01;1,5;1;
2;2;2,5;False;;b;x;1;2020-01-02;2;1,0;
3;3;3;TRUE;False;NA;1,0;2;2020-01-03 10:00;1.000,25;2;
4;;4;true;;?;;3;;3;3;
5;5;5;True;;ä;"5;
5";4;2020-01-04;4;"4";
"""


def assert_same(path: Path, sizes: tuple[int, ...] = SIZES) -> None:
    """However large the chunks are."""
    whole = read_table(path)
    for size in sizes:
        chunks = open_chunks(path, rows=size)
        assert (chunks.rows, chunks.columns) == (len(whole), tuple(whole.columns))
        summary, seen = ChunkDigest(), 0
        for chunk in chunks:
            same = whole.iloc[seen : seen + len(chunk)]
            pd.testing.assert_frame_equal(
                chunk, same, check_exact=True, check_index_type=False, check_categorical=False
            )
            summary.add(chunk)
            seen += len(chunk)
        assert seen == len(whole)
        assert summary.hexdigest() == digest(whole)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_text_is_read_as_if_it_were_whole(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "nasty.csv"
    path.write_text(NASTY, encoding=encoding)
    kinds = read_table(path).dtypes.astype(str).to_dict()
    assert (kinds["count"], kinds["large"], kinds["price"], kinds["flag"]) == ("float64", "uint64", "float64", "bool")
    assert_same(path)
    packed = tmp_path / "nasty.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(packed)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS)), min_size=1, max_size=9))
def test_any_mixture_of_cells_is_read_as_if_it_were_whole(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    path = tmp_path / "some.csv"
    path.write_text("key,one,two\n" + "".join(f"k,{one},{two}\n" for one, two in rows))
    assert_same(path, (1, 2, 4))


def test_a_file_that_is_no_utf8_far_behind_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"name,n\n" + b"abcdefgh,1\n" * 30_000 + "müller,2\n".encode("cp1252"))
    assert list(open_chunks(path, rows=7_000))[-1]["name"].iloc[-1] == "müller"


def arrow_table() -> pa.Table:
    n = 12
    return pa.table(
        {
            "whole": pa.array([1, 2, 3, None] * 3),
            "yes": pa.array([True, False, True, None] * 3),
            "text": pa.array(["a", None, "1", "1.0"] * 3),
            "list": pa.array([[1], None, [2], [3]] * 3),
            "bytes": pa.array([b"x", None, b"z", b"w"] * 3),
            "day": pa.array([dt.date(2020, 1, 1)] * n),
            "level": pa.array(["a", "b", "a", None] * 3).dictionary_encode(),
            "small": pa.array(range(n), pa.uint8()),
            "nothing": pa.nulls(n),
            "moment": pa.array([dt.datetime(2020, 1, 1, k) for k in range(n)]),
            "span": pa.array([dt.timedelta(k) for k in range(n)]),
        }
    )


@pytest.mark.parametrize("statistics", [True, False])
def test_parquet_is_read_as_if_it_were_whole(tmp_path: Path, statistics: bool) -> None:
    path = tmp_path / "some.parquet"
    pq.write_table(arrow_table(), path, row_group_size=5, write_statistics=statistics)
    assert read_table(path)["whole"].dtype == np.float64
    assert_same(path)
    arrow_table().to_pandas().set_index("small").to_parquet(path)  # an index is no column
    assert "small" not in open_chunks(path).columns
    assert_same(path)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    pd.DataFrame({"n": [3.5, None], "s": ["c", "d"]}).to_parquet(tmp_path / "part-2.parquet")
    pd.DataFrame({"n": [1, 2], "s": ["a", "b"]}).to_parquet(tmp_path / "part-1.parquet")
    chunks = open_chunks(tmp_path, rows=1)
    assert (chunks.rows, chunks.columns) == (4, ("n", "s"))
    whole = pd.concat(list(chunks))
    assert whole["s"].tolist() == ["a", "b", "c", "d"]
    assert whole.index.tolist() == [0, 1, 2, 3]
    assert {chunk["n"].dtype for chunk in chunks} == {np.dtype(np.float64)}
    pd.DataFrame({"n": [1], "other": ["a"]}).to_parquet(tmp_path / "part-3.parquet")
    with pytest.raises(InvalidDataError, match=r"'part-3\.parquet' and 'part-1\.parquet' differ in: other, s\."):
        open_chunks(tmp_path)


def test_an_excel_file_is_one_chunk(tmp_path: Path) -> None:
    pd.DataFrame({"n": [1, 2]}).to_excel(tmp_path / "book.xlsx", index=False)
    (chunk,) = open_chunks(tmp_path / "book.xlsx", rows=1)
    assert chunk["n"].tolist() == [1, 2]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "header.csv").write_text("a,b\n")
    pq.write_table(arrow_table().slice(0, 0), tmp_path / "header.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no more")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("none.csv", "There is no file"),
        ("header.csv", "has a header but no rows"),
        ("header.parquet", "has a header but no rows"),
        ("broken.parquet", "as a Parquet file"),
        ("empty", "There is no Parquet file in the folder"),
    ):
        with pytest.raises(InvalidDataError, match=message):
            open_chunks(tmp_path / name)
