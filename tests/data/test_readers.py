from __future__ import annotations

import contextlib
import csv
import dataclasses
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.columns import as_texts
from cfad_core.data.encoding import fit_encoding
from cfad_core.data.excel import excel_sheets
from cfad_core.data.kinds import kind_of
from cfad_core.data.readers import Limits, distinct_names, first_lines, read_table
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.suggestions import suggest_roles
from cfad_core.data.validation import validate


def test_a_plain_table(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\n1,x,1.5\n2,y,\n")
    table = read_table(path)
    assert table["a"].tolist() == [1, 2]
    assert table["b"].tolist() == ["x", "y"]
    assert np.isnan(table["c"][1])
    assert read_table(path.read_bytes(), name="people.csv").equals(table)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a;b\n1,5;x\n2,25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),  # semicolon, decimal comma
        (b"a;b\n1.5;x\n2.25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
        (b"a\tb\n1\tx\n2\ty\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"a|b\n1|x\n2|y\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"\xef\xbb\xbfa,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),  # byte order mark
        ("a,b\n1,é\n2,ü\n".encode("cp1252"), {"a": [1, 2], "b": ["é", "ü"]}),
        ("a,b\n1,é\n2,ü\n".encode(), {"a": [1, 2], "b": ["é", "ü"]}),
        ("a,b\n1,é\n2,ü\n".encode("utf-16"), {"a": [1, 2], "b": ["é", "ü"]}),
        (b'a,b\n1,"two\nlines"\n2,"a, b"\n', {"a": [1, 2], "b": ["two\nlines", "a, b"]}),  # quoted newline
        (b"a,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"a, b\n1, x\n2, ?\n", {"a": [1, 2], "b": ["x", np.nan]}),  # ' ?' is missing
        (b"a\n1\n2\n", {"a": [1, 2]}),
        (b"a;b\n5.149;49,5\n900;1,5\n", {"a": [5149, 900], "b": [49.5, 1.5]}),  # thousands beside a decimal comma
    ],
)
def test_dialects_are_recognised(content: bytes, expected: dict[str, list[object]]) -> None:
    pd.testing.assert_frame_equal(read_table(content, name="t.csv"), pd.DataFrame(expected), check_dtype=False)


def test_an_encoding_that_shows_late() -> None:
    late = b"a,b\n" + b"1,x\n" * 80_000 + "2,Müller\n".encode("cp1252")
    assert read_table(late, name="t.csv")["b"].iloc[-1] == "Müller"


def test_gzip_tsv_and_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    packed = gzip.compress(frame.to_csv(index=False).encode())
    assert read_table(packed, name="t.csv.gz").equals(frame)
    assert read_table(frame.to_csv(index=False, sep="\t").encode(), name="T.TSV").equals(frame)
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").equals(frame)


def test_excel_sheets(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    write_excel(path, {"first": [["a", "b"], [1, "x"], [2, "y"]], "second": [["c"], [3]], "nothing": []})
    assert excel_sheets(path) == ["first", "second", "nothing"]
    assert read_table(path)["a"].tolist() == [1, 2]  # the largest sheet
    assert read_table(path.read_bytes(), name="t.xlsx", sheet="second")["c"].tolist() == [3]
    with pytest.raises(InvalidDataError, match="has no sheet 'third'; it has: first, second, nothing"):
        read_table(path, sheet="third")
    with pytest.raises(InvalidDataError, match="Sheet 'nothing' of .* is empty"):
        read_table(path, sheet="nothing")


def test_the_largest_sheet_is_read(tmp_path: Path) -> None:
    people: list[list[object]] = [["a", "b", "c"], *([k, "x", 0.5] for k in range(9))]
    write_excel(tmp_path / "t.xlsx", {"about": [["made in 2021"]], "people": people, "notes": [["a"], ["b"]]})
    assert read_table(tmp_path / "t.xlsx").shape == (9, 3)
    assert first_lines(tmp_path / "t.xlsx").doubt == ""


def test_a_table_without_names(tmp_path: Path) -> None:
    content = b"39, Private, Male, 0\n50, State, Female, 7\n38, Private, Male, 0\n" * 20
    table = read_table(content, name="t.csv", header=False)
    assert list(table.columns) == ["column 1", "column 2", "column 3", "column 4"]
    assert len(table) == 60
    assert table["column 1"].tolist()[:3] == [39, 50, 38]
    assert "look like those below them, such as '39', 'Private', 'Male'" in first_lines(content, name="t.csv").doubt
    write_excel(tmp_path / "t.xlsx", {"people": [[k % 9, "x" if k % 2 else "y"] for k in range(60)]})
    assert len(read_table(tmp_path / "t.xlsx", header=False)) == 60
    assert first_lines(tmp_path / "t.xlsx").doubt


@pytest.mark.parametrize("blank", ["", "\n"])
def test_title_lines_are_left_out(tmp_path: Path, blank: str) -> None:
    rows = "".join(f"{k},{k % 3},x\n" for k in range(30))
    content = f'"Wages, 2021",,\n{blank}Source: a survey,,\nwage,kids,job\n{rows}'.encode()
    table = read_table(content, name="t.csv")
    assert table.columns.tolist() == ["wage", "kids", "job"]
    assert table["wage"].tolist() == list(range(30))
    assert first_lines(content, name="t.csv").titles == ("Wages, 2021", "Source: a survey")
    write_excel(tmp_path / "t.xlsx", {"s": [["Wages"], ["wage", "kids", "job"], *([k, 1, "x"] for k in range(9))]})
    assert read_table(tmp_path / "t.xlsx")["wage"].tolist() == list(range(9))


def test_lines_that_end_in_a_delimiter() -> None:
    table = read_table(b"a,b\n1,x,\n2,y,\n3,z,\n", name="t.csv")
    assert table["a"].tolist() == [1, 2, 3]
    assert table["column 3"].isna().all()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (['"1,234"', '"12,345,678.5"', "7"], [1234.0, 12345678.5, 7.0]),
        (['"1,234"', '"1,2"', "7"], ["1,234", "1,2", "7"]),  # a list of codes is no number
    ],
)
def test_thousands_with_commas(cells: list[str], expected: list[object]) -> None:
    content = "a,b\n" + "".join(f"x,{cell}\n" for cell in cells)
    assert read_table(content.encode(), name="t.csv")["b"].tolist() == expected


def write_excel(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_hostile_names_stay_distinct_and_short() -> None:
    names = ["a", "a", "", "  ", "![x](http://evil)", "<script>", "=1+1", "x" * 10_000, "x" * 10_000, "new\nline", None]
    clean = distinct_names(names)
    assert len(set(clean)) == len(names)
    assert all(0 < len(name) <= 100 for name in clean)
    assert clean[:4] == ["a", "a (2)", "column 3", "column 4"]
    assert clean[4:7] == ["![x](http://evil)", "<script>", "=1+1"]
    assert clean[9] == "new line"


def test_duplicated_headers_keep_their_columns() -> None:
    table = read_table(b"a,a,,b\n1,2,3,4\n5,6,7,8\n", name="t.csv")
    assert list(table.columns) == ["a", "a (2)", "column 3", "b"]
    assert table["a (2)"].tolist() == [2, 6]


@given(st.lists(st.text(max_size=150) | st.none() | st.floats(), max_size=12))
def test_any_names_become_usable(names: list[object]) -> None:
    clean = distinct_names(names)
    assert len(set(clean)) == len(names)
    assert all(name.strip() and len(name) <= 100 for name in clean)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.xlsx", "t.doc"]))
def test_garbage_is_a_clear_error_or_a_table(content: bytes, name: str) -> None:
    with contextlib.suppress(InvalidDataError):
        assert len(read_table(content, name=name)) > 0


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "t.csv", "'t.csv' is empty"),
        (b"a,b\n", "t.csv", "has a header but no rows"),
        (b"a,b\n1,2\n1,2,3,4\n", "t.csv", "line 3 .*4 fields.* header has 2"),
        (b"x", "t.doc", "has no known format; known are: .csv, .tsv"),
        (b"not gzip", "t.csv.gz", "Cannot read 't.csv.gz' as a CSV table"),
        (b"not parquet", "t.parquet", "Cannot read 't.parquet' as a Parquet file"),
        (b"not excel", "t.xlsx", "Cannot read 't.xlsx' as an Excel file"),
        (b"a,b\n1,\x00\n", "t.csv", "is not a text file"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, name: str, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        read_table(content, name=name)


def test_limits_are_kept(tmp_path: Path) -> None:
    content = b"a,b\n" + b"1,2\n" * 100
    with pytest.raises(InvalidDataError, match="has 404 bytes; at most 100 are read"):
        read_table(content, name="t.csv", limits=Limits(bytes=100))
    with pytest.raises(InvalidDataError, match="rows; at most 50 are read"):
        read_table(content, name="t.csv", limits=Limits(rows=50))
    with pytest.raises(InvalidDataError, match="has 2 columns; at most 1 are read"):
        read_table(content, name="t.csv", limits=Limits(columns=1))
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 300_000)
    with pytest.raises(InvalidDataError, match="unpacks to more than 100,000 bytes"):
        read_table(bomb, name="t.csv.gz", limits=Limits(bytes=100_000))
    pd.DataFrame({"a": range(100)}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidDataError, match="has 100 rows; at most 50 are read"):
        read_table(tmp_path / "t.parquet", limits=Limits(rows=50))


def test_a_missing_file_and_nameless_bytes(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="There is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InvalidDataError, match="Bytes need the name of the file"):
        read_table(b"a\n1\n")


def test_parquet_cells_of_any_type_can_be_audited(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "lists": pa.array([[1, 2], [3]]),
        "structs": pa.array([{"a": 1}, {"a": 2}]),
        "bytes": pa.array([b"x", b"y"]),
        "spans": pa.array([86_400, 60], pa.duration("s")),
        "days": pa.array([0, 1], pa.date32()),
        "money": pa.array([1, 2], pa.decimal128(5, 2)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table["lists"].tolist() == ["[1, 2]", "[3]"]
    assert table["spans"].tolist() == [86_400.0, 60.0]
    assert [kind_of(table[name]) for name in table] == ["category", "category", "category", "number", "date", "number"]
    assert table.duplicated().sum() == 0


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_csv_table_is_read_validated_encoded_and_given_back(data: st.DataObject) -> None:
    """Read, roles, validate, encode, inverse: an answer or a clear refusal, and what was not moved comes back."""
    columns = data.draw(st.lists(st.text(max_size=6), min_size=1, max_size=4))
    cell = st.one_of(
        st.sampled_from(["", "a", "b", "NA", "2020-01-31", "1e400", "yes"]),
        st.integers(-50, 50).map(str),
        st.floats(allow_nan=False, allow_infinity=False, width=32).map(str),
        st.text(max_size=4),
    )
    kinds = [data.draw(st.sampled_from(["any", "number", "level"])) for _ in columns]
    drawn = {"any": cell, "number": st.integers(-9, 9).map(str), "level": st.sampled_from(["x", "y", "z"])}
    n = 100
    few = [data.draw(st.lists(drawn[kind], min_size=1, max_size=12)) for kind in kinds]
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([*columns, "S"])
    writer.writerows([[*(cells[k % len(cells)] for cells in few), k % 2] for k in range(n)])
    try:
        table = read_table(stream.getvalue().encode(), name="t.csv")
    except InvalidDataError:
        return
    sensitive = str(table.columns[-1])
    suggestion = suggest_roles(table, sensitive=sensitive)
    roles = dataclasses.replace(suggestion.roles or ColumnRoles(sensitive), label=None, anomaly=None)
    validation = validate(table, roles)
    if not validation.is_usable:
        return
    roles = validation.usable_roles()
    encoding = fit_encoding(table, roles, "auto")
    inside = table[encoding.in_groups(table)].reset_index(drop=True)
    x = encoding.encode(inside)
    assert np.isfinite(x).all()
    pd.testing.assert_frame_equal(encoding.decode(x, x, inside).rows, inside)
    moved = encoding.decode(x + 0.5, np.where(np.arange(x.shape[1]) == 0, x, np.nan), inside).rows
    for variable in encoding.variables:
        if variable.kind == "category":
            assert set(as_texts(moved[variable.name])) <= {*as_texts(inside[variable.name])}
