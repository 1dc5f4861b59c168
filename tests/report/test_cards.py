"""Model card and data sheet: Markdown in which names are text, whatever they are."""

from __future__ import annotations

import dataclasses
import re

import pytest

from cfad_core.audit.statements import Statements
from cfad_core.core.errors import InvalidConfigError
from cfad_core.report.cards import DATA_SHEET, MODEL_CARD, data_sheet, model_card
from cfad_core.report.document import Code, Document, Section, SignedBy, Text
from cfad_core.report.making import FILES, write
from cfad_core.report.template import Template
from tests.report.kinds import HOSTILE, Read, document, document_of, subject_of

pytestmark = pytest.mark.slow  # small audits of every kind are made

KINDS = ["hostile", "crossed", "tiny", "known"]
EVIL = "| <img src=x onerror=alert(1)> [x](javascript:1) ![y](http://evil) **b** `c`\n# head\n- www.evil.example a@b.c"
STATED = Statements(system=EVIL, purpose=EVIL, owner=EVIL, data_source=EVIL, misuse=EVIL, auditor=EVIL)


def outside_code(card: str) -> str:
    """Without fenced blocks, in which everything is text."""
    return re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", card)


def cards(made: Document) -> tuple[str, str]:
    return model_card(made), data_sheet(made)


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_statements_are_text(kind: str) -> None:
    audit = dataclasses.replace(subject_of(kind), name=EVIL)
    for card in cards(document(audit, STATED, Template(name=EVIL, title=EVIL))):
        text = outside_code(card)
        assert not re.search(r"(?<!\\)[<>`\[\]!]", text.replace(f"`{_digest(card)}`", ""))
        assert not re.search(r"(?<!\\)\*(?!\*)(?<!\*\*)", re.sub(r"^- \*\*|\*\*: ", "", text, flags=re.MULTILINE))
        assert not re.search(r"https?://|www\.|@\w", text)
        assert [line for line in text.splitlines() if line.startswith("#") and "head" in line] == [card.splitlines()[0]]


def _digest(card: str) -> str:
    (found,) = re.findall(r"digest `([0-9a-f]{64})` \(sha256 of its report\.json\)\.", card)
    return str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_as_many_cells_as_the_header(kind: str) -> None:
    rows = 0
    for card in cards(document_of(kind)):
        header = 0
        for line in outside_code(card).splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line))
            header = (header or cells) if line.startswith("|") else 0
            assert cells == header, line
            rows += cells > 0
    assert rows > 20


@pytest.mark.parametrize("kind", KINDS)
def test_they_hold_the_parts_that_were_promised(kind: str) -> None:
    made = document_of(kind)
    titles = {section.key: section.title for section in made.sections}
    for card, name, wanted in zip(cards(made), ("Model card", "Data sheet"), (MODEL_CARD, DATA_SHEET), strict=True):
        assert card.startswith(f"# {name}: Audit {kind}\n")
        assert re.findall(r"(?m)^## (.*)$", card) == [titles[key] for key in wanted]
        assert "not signed" in card
        assert _digest(card) == made.digest
    verdict = next(section for section in made.sections if section.key == "summary").plain[0]
    plain = re.sub(r"\\(.)", r"\1", model_card(made)).replace("\u2060", "")
    assert " ".join(verdict.split()) in plain


def test_small_groups_are_hidden_there_too() -> None:
    for card in cards(document_of("tiny")):
        for line in card.splitlines():
            if line.startswith("| tiny"):
                assert set(re.findall(r"\d+", line)) == {"10"}


def test_sections_that_are_off_are_not_there() -> None:
    made = document(subject_of("known"), template=Template(left_out=("system", "data")))
    assert "## The system" not in model_card(made)
    assert "## The data" not in data_sheet(made)


def test_a_signed_card_says_by_whom() -> None:
    signed = dataclasses.replace(
        document_of("known"), signed=SignedBy("A. | Uditor", "head", 3, "2026-03-01 12:05 UTC")
    )
    assert r"signed by A\. \| Uditor, head, 2026\-03\-01 12\:05 UTC, version 3" in model_card(signed)


def test_code_cannot_leave_its_fence() -> None:
    for text in ("```\n# out", "a\n````\n<b>", "```"):
        section = Section("repeat", "Repeat", ("Plain.",), (Code(text), Text(("After.",))))
        card = data_sheet(Document("Audit report: x", "a", "now", (section,)))
        assert "<b>" not in outside_code(card)
        assert "# out" not in outside_code(card)
        assert "After" in outside_code(card)


def test_hostile_names_in_the_json_are_cleaned_and_harmless() -> None:
    read = Read.of(document_of("hostile"))
    rows = {row["group"] for row in read.table("rates", f"rates_{HOSTILE['group']}")}
    assert rows == {f"'{HOSTILE['a']}", f"'{HOSTILE['b']}"}
    edges = read.table("graph", "edges")
    assert {row["effect"] for row in edges} <= {"[s](http://e)", "`i` # x", "*d*", f"'{HOSTILE['group']}"}


def test_files_by_format() -> None:
    made = document_of("known")
    files = write(made, ("json", "model-card", "json", "data-sheet"), b"{}")
    assert list(files) == [FILES["json"], FILES["model-card"], FILES["data-sheet"]]
    assert files["report.json"] == made.json
    assert files["model_card.md"].decode() == model_card(made)
    assert files["data_sheet.md"].decode() == data_sheet(made)
    with pytest.raises(InvalidConfigError, match="There is no format 'docx'; choose some of: html, pdf, json"):
        write(made, ("docx",), b"{}")  # type: ignore[arg-type]
