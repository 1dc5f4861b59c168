"""A report as a document: sections of plain sentences, numbers, tables and pictures. Renderers make files of it.

The JSON is the document itself: every number is there as it is shown, to the digit, with its unit; whoever needs more
digits finds them in ``audit.json``. The digest of a report is the sha256 of that JSON.

Whatever comes from a table or a person is text. In cells of tables, what a spreadsheet would take for a formula begins
with an apostrophe; what no page can show (control characters, those that turn the direction of the text) is left out
wherever it stands: every part of a document cleans its own texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from cfad_core.core.markdown import UNFIT
from cfad_core.data.tables import harmless
from cfad_core.report.numbers import Number

FORMAT = 1
"""Version of the JSON; docs/REPORT.md describes it."""

NOT_STATED = "not stated"
_NAMES = 300  # characters of a cell


def clean(text: object) -> str:
    """Text as a page can show it, with its lines."""
    return UNFIT.sub(" ", str(text).replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: object, limit: int = _NAMES) -> str:
    """The same on one line, shortened."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


Cell: TypeAlias = str | Number


@dataclass(frozen=True)
class Text:
    """Paragraphs."""

    paragraphs: tuple[str, ...]

    def __post_init__(self) -> None:
        _set(self, paragraphs=_cleaned(self.paragraphs))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "paragraphs": list(self.paragraphs)}


@dataclass(frozen=True)
class Bullets:
    """Sentences, each of which can stand alone."""

    items: tuple[str, ...]
    title: str = ""

    def __post_init__(self) -> None:
        _set(self, items=_cleaned(self.items), title=one_line(self.title))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "list", "title": self.title, "items": list(self.items)}


@dataclass(frozen=True)
class Field:
    """A fact with its name; ``stated`` says whether it is what a person said, and None that it was measured."""

    key: str
    label: str
    value: Cell
    stated: bool | None = None

    def __post_init__(self) -> None:
        value = self.value if isinstance(self.value, Number) else clean(self.value)
        _set(self, key=one_line(self.key), label=one_line(self.label), value=value)

    def to_dict(self) -> dict[str, Any]:
        found = {"key": self.key, "label": self.label, "value": as_plain(self.value)}
        return found if self.stated is None else found | {"stated": self.stated}


@dataclass(frozen=True)
class Fields:
    """Facts below each other."""

    entries: tuple[Field, ...]
    title: str = ""

    def __post_init__(self) -> None:
        _set(self, title=one_line(self.title))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "fields", "title": self.title, "entries": [one.to_dict() for one in self.entries]}


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Attributes
    ----------
    key : its stable name in the section
    columns : by their stable names, what people call them
    rows : cells by column
    note : what to know when reading it
    longest : characters of a cell; more are cut
    """

    key: str
    title: str
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Cell], ...]
    note: str = ""
    longest: int = _NAMES

    def __post_init__(self) -> None:
        safe = tuple({name: _safe(row[name], self.longest) for name in self.columns} for row in self.rows)
        columns = {name: one_line(label) for name, label in self.columns.items()}
        _set(self, rows=safe, columns=columns, note=clean(self.note))
        _set(self, key=one_line(self.key), title=one_line(self.title))

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers alone, which stand at its right."""
        return bool(self.rows) and all(isinstance(row[column], Number) for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "table",
            "key": self.key,
            "title": self.title,
            "columns": dict(self.columns),
            "rows": [{name: as_plain(cell) for name, cell in row.items()} for row in self.rows],
            "note": self.note,
        }


@dataclass(frozen=True)
class Picture:
    """A picture, which says nothing that no table says.

    Attributes
    ----------
    reading : how to read it, in a sentence
    svg : for print, and until the interactive one is there
    figure : the same as JSON for plotly; empty if there is none
    """

    key: str
    title: str
    reading: str
    svg: str = field(repr=False)
    figure: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _set(self, key=one_line(self.key), title=one_line(self.title), reading=clean(self.reading))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "picture", "key": self.key, "title": self.title, "reading": self.reading}


@dataclass(frozen=True)
class Code:
    """What a person may type, as it is."""

    text: str
    title: str = ""

    def __post_init__(self) -> None:
        _set(self, text=clean(self.text), title=one_line(self.title))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "code", "title": self.title, "text": self.text}


Block: TypeAlias = Text | Bullets | Fields | Table | Picture | Code


@dataclass(frozen=True)
class Section:
    """One section: what it says in plain language, then the numbers.

    Attributes
    ----------
    key : its stable name, by which a template leaves it out
    plain : sentences that everybody understands
    """

    key: str
    title: str
    plain: tuple[str, ...]
    blocks: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        _set(self, title=one_line(self.title), plain=_cleaned(self.plain))

    def to_dict(self) -> dict[str, Any]:
        found = {"key": self.key, "title": self.title, "plain": list(self.plain)}
        return found | {"content": [block.to_dict() for block in self.blocks]}


@dataclass(frozen=True)
class Slide:
    """A page of the summary for a projector: a title, a few large words, sentences, perhaps a picture."""

    title: str
    large: str = ""
    sentences: tuple[str, ...] = ()
    svg: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _set(self, title=one_line(self.title), large=one_line(self.large), sentences=_cleaned(self.sentences))


@dataclass(frozen=True)
class SignedBy:
    """Who signed which version of a report, and when."""

    signer: str
    role: str
    version: int
    at: str

    def to_dict(self) -> dict[str, Any]:
        return {"signer": self.signer, "role": self.role, "version": self.version, "at": self.at}


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title, audit : of the report, and the audit that it is about: its name, and its id if it is a saved one
    made : when, as text
    organisation : whose template it has; empty without one
    left_out : titles of sections that the template leaves out
    signed : None while nobody signed it
    slides : the summary for a projector
    logo : the template's, as a data address; empty without one
    """

    title: str
    audit: str
    made: str
    sections: tuple[Section, ...]
    slides: tuple[Slide, ...] = ()
    organisation: str = ""
    left_out: tuple[str, ...] = ()
    signed: SignedBy | None = None
    logo: str = field(default="", repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": "cfad-report",
            "version": FORMAT,
            "title": self.title,
            "audit": self.audit,
            "organisation": self.organisation,
            "made": self.made,
            "signed": None if self.signed is None else self.signed.to_dict(),
            "left_out": list(self.left_out),
            "sections": [section.to_dict() for section in self.sections],
        }

    @cached_property
    def json(self) -> bytes:
        """The file ``report.json``."""
        return (json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()

    @cached_property
    def digest(self) -> str:
        """The sha256 of ``report.json``, as every page of the report shows it."""
        return hashlib.sha256(self.json).hexdigest()


def stated(key: str, label: str, text: str) -> Field:
    """A person's statement, or that there is none."""
    said = clean(text)
    return Field(key, label, said or NOT_STATED, stated=bool(said))


def as_plain(cell: Cell) -> Any:
    """JSON-able."""
    return cell.to_dict() if isinstance(cell, Number) else cell


def shown(cell: Cell) -> str:
    """A cell as text."""
    return cell.shown if isinstance(cell, Number) else cell


def sentences(*parts: str | None) -> tuple[str, ...]:
    """Those that there are."""
    return tuple(clean(part) for part in parts if part)


def bullets(items: Sequence[str], title: str = "") -> tuple[Bullets, ...]:
    """A list, or nothing where there is nothing to say."""
    return (Bullets(tuple(items), title),) if items else ()


def _cleaned(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean(text) for text in texts)


def _set(part: object, **values: object) -> None:
    """Set fields of a frozen part while it is made."""
    for name, value in values.items():
        object.__setattr__(part, name, value)


def _safe(cell: Cell, longest: int) -> Cell:
    return cell if isinstance(cell, Number) else str(harmless(one_line(cell, longest)))
