"""The document itself: clean texts, harmless cells, a JSON that fits its schema, and a digest of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.report.document import (
    Bullets,
    Cell,
    Code,
    Document,
    Field,
    Fields,
    Picture,
    Section,
    SignedBy,
    Slide,
    Table,
    Text,
    bullets,
    clean,
    one_line,
    sentences,
    shown,
    stated,
)
from cfad_core.report.numbers import points, share
from tests.report.kinds import MAKERS, Read, document, document_of, printed, subject_of

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text("utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA)
UNFIT = "\x00\x07\x1b\x7f\x85\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\ud800\ufffe"
HOSTILE = f"=x|<b>[a](http://e){UNFIT}"
TEXTS = st.text(st.characters() | st.sampled_from(UNFIT + "=+-@\t\r\n'"), max_size=12)


def is_fit(text: str) -> bool:
    """Whether nothing in it controls a terminal, turns the direction, or cannot be encoded."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return not any(
        (unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") and letter != "\n")
        or unicodedata.bidirectional(letter) in turning
        for letter in text
    )


@settings(max_examples=150, derandomize=True)
@given(TEXTS)
def test_texts_are_cleaned_and_stay_texts(text: str) -> None:
    assert is_fit(clean(text))
    assert clean(clean(text)) == clean(text)
    assert "\n" not in one_line(text)
    assert clean("".join(letter for letter in text if letter.isalnum())) == "".join(filter(str.isalnum, text))


def test_long_names_are_cut() -> None:
    assert one_line("x" * 300) == "x" * 300
    assert one_line("x" * 301) == "x" * 299 + "…"
    assert one_line(" a \r\n b\tc ") == "a b c"
    assert clean("a\r\nb\rc") == "a\nb\nc"


def hostile_document() -> Document:
    """In every place, what no page can show."""
    cell = Field(HOSTILE, HOSTILE, HOSTILE, stated=True)
    blocks = (
        Text((HOSTILE,)),
        Bullets((HOSTILE,), HOSTILE),
        Fields((cell,), HOSTILE),
        Table(HOSTILE, HOSTILE, {"x": HOSTILE}, ({"x": HOSTILE},), HOSTILE),
        Picture(HOSTILE, HOSTILE, HOSTILE, "<svg/>"),
        Code(HOSTILE, HOSTILE),
    )
    section = Section("x", HOSTILE, (HOSTILE,), blocks)
    return Document("t", "a", "now", (section,), (Slide(HOSTILE, HOSTILE, (HOSTILE,)),))


def test_every_part_cleans_its_texts() -> None:
    made = hostile_document()
    read = Read.of(made)
    VALID.validate(read.whole)
    assert all(is_fit(text) for text in read.texts())
    (slide,) = made.slides
    assert all(is_fit(text) for text in (slide.title, slide.large, *slide.sentences))
    assert bullets([HOSTILE])[0].items == sentences(HOSTILE) == (clean(HOSTILE),)
    assert bullets([]) == ()
    assert sentences("", None, "a") == ("a",)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r@", "\n+", "\x00=", " ="])
def test_formulas_in_cells_are_harmless(start: str) -> None:
    table = Table("k", "t", {"name": "Name", "n": "N"}, ({"name": f"{start}1+1", "n": points(-0.1)},))
    (row,) = table.rows
    assert shown(row["name"]) == f"'{start.strip()[-1]}1+1"
    assert shown(row["n"]) == "-10.0 points"
    assert table.to_dict()["rows"] == [{"name": shown(row["name"]), "n": points(-0.1).to_dict()}]


@settings(max_examples=100, derandomize=True)
@given(TEXTS)
def test_no_cell_is_a_formula(text: str) -> None:
    (row,) = Table("k", "t", {"x": "X"}, ({"x": text},)).rows
    assert not shown(row["x"]).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_columns_of_numbers_are_recognised() -> None:
    rows: tuple[dict[str, Cell], ...] = ({"a": "x", "b": share(0.1)}, {"a": share(0.2), "b": share(0.3)})
    table = Table("k", "t", {"a": "A", "b": "B"}, rows)
    assert [table.is_number(name) for name in ("a", "b")] == [False, True]
    assert not Table("k", "t", {"a": "A"}, ()).is_number("a")
    assert Table("k", "t", {"a": "A"}, ({"a": "x" * 500},), longest=400).rows[0]["a"] == "x" * 399 + "…"


def test_statements_are_told_from_what_was_measured() -> None:
    assert stated("a", "A", " \n").to_dict() == {"key": "a", "label": "A", "value": "not stated", "stated": False}
    assert stated("a", "A", "x\ny").to_dict() == {"key": "a", "label": "A", "value": "x\ny", "stated": True}
    assert "stated" not in Field("a", "A", share(0.1)).to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_the_json_of_every_kind_of_audit_fits_its_schema(kind: str) -> None:
    made = document_of(kind)
    read = Read.of(made)
    VALID.validate(read.whole)
    assert made.json.endswith(b"\n")
    assert made.digest == hashlib.sha256(made.json).hexdigest()
    for number in read.numbers():
        known = [number[name] for name in ("value", "low", "high") if number.get(name) is not None]
        assert not known or known == printed(number["shown"])


def test_the_schema_refuses_what_is_no_report() -> None:
    whole = Read.of(document_of("known")).whole
    wrong: list[dict[str, Any]] = [{"version": 2}, {"sections": []}, {"more": 1}, {"signed": {"signer": "x"}}]
    for change in wrong:
        with pytest.raises(jsonschema.ValidationError):
            VALID.validate(whole | change)


def test_the_same_report_is_the_same_file() -> None:
    audit, said = subject_of("known"), Statements(system="Sonar", misuse="none")
    first, second = document(audit, said), document(dataclasses.replace(audit), said)
    assert first.json == second.json
    assert first.made == "2026-03-01 12:05 UTC"
    changed = document(audit, dataclasses.replace(said, misuse="some"))
    assert changed.digest != first.digest


def test_who_signed_is_part_of_the_digest() -> None:
    made = document_of("known")
    signed = dataclasses.replace(made, signed=SignedBy("A. Uditor", "head", 2, "2026-03-02 09:00 UTC"))
    VALID.validate(Read.of(signed).whole)
    assert Read.of(signed).whole["signed"]["version"] == 2
    assert signed.digest != made.digest


def test_whatever_a_person_states_is_text() -> None:
    every: dict[str, Any] = dict.fromkeys((field.name for field in dataclasses.fields(Statements)), HOSTILE)
    every["justified_paths"] = (JustifiedPath(("group", HOSTILE), HOSTILE),)
    audit = dataclasses.replace(subject_of("known"), name=HOSTILE, source=HOSTILE, id="a1")
    made = document(audit, Statements(**every))
    read = Read.of(made)
    VALID.validate(read.whole)
    assert all(is_fit(text) for text in read.texts())
    assert made.title == f"Audit report: {one_line(HOSTILE)}"
    (row,) = read.table("graph", "justified")
    assert row["in_graph"].startswith("no: there is no arrow group → =x")
    assert row["reason"].startswith("'=")
    assert all(is_fit(text) for slide in made.slides for text in (slide.title, slide.large, *slide.sentences))
