"""A report as a document: sections of plain sentences, numbers, tables and pictures. Renderers make files of it.

The JSON is the document itself: every number is there as it is shown, to the digit, with its unit; whoever needs more
digits finds them in ``audit.json``. The digest of a report is the sha256 of that JSON.

Whatever comes from a table or a person is text. In cells of tables, what a spreadsheet would take for a formula begins
with an apostrophe; what no page can show (control characters, those that turn the direction of the text) is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, percent
from cfad_core.data.tables import harmless
from cfad_core.evaluation.intervals import Interval

FORMAT = 1
"""Version of the JSON; docs/REPORT_FORMAT.md describes it."""

NOT_STATED = "not stated"
_NAMES = 300  # characters of a cell
# Control characters but for the line's end, those that turn the direction of what follows, and what XML does not allow
_UNFIT = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def clean(text: object) -> str:
    """Text as a page can show it, with its lines."""
    return _UNFIT.sub(" ", str(text).replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: object, limit: int = _NAMES) -> str:
    """The same on one line, shortened."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@dataclass(frozen=True)
class Number:
    """A number as a reader sees it.

    Attributes
    ----------
    shown : all of it as text, with unit and interval
    value : rounded as it is shown; None where it is undefined or hidden
    unit : ``%`` or ``points``; empty for counts and plain numbers
    low, high : of its interval, rounded as they are shown
    """

    shown: str
    value: float | int | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """With only what there is."""
        found: dict[str, Any] = {"value": self.value, "shown": self.shown}
        more = {"unit": self.unit, "low": self.low, "high": self.high}
        return found | {name: value for name, value in more.items() if value not in (None, "")}


Cell: TypeAlias = str | Number


def count(n: int | None) -> Number:
    """How many people or rows; fewer than ten are ``<10``, None is hidden already."""
    if n is None or 0 < n < SMALLEST_GROUP:
        return Number(HIDDEN_SIZE)
    return amount(n)


def amount(n: int) -> Number:
    """How many of anything that is no person."""
    return Number(f"{n:,}", n)


def share(value: float | None, interval: Interval | None = None, *, undefined: str = "n/a") -> Number:
    """A share of people, as a percentage with one digit."""
    if value is None or value != value:
        return Number(undefined)
    own = round(100.0 * value, 1)
    if interval is None:
        return Number(percent(value), own, "%")
    low, high = (round(100.0 * end, 1) for end in (interval.low, interval.high))
    return Number(f"{percent(value)} ({percent(interval.low)} to {percent(interval.high)})", own, "%", low, high)


def decimal(
    value: float | None, interval: Interval | None = None, digits: int = 2, *, undefined: str = "n/a"
) -> Number:
    """A plain number."""
    if value is None or value != value:
        return Number(undefined)
    if interval is None:
        return Number(f"{value:.{digits}f}", round(value, digits))
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    low, high = round(interval.low, digits), round(interval.high, digits)
    return Number(f"{value:.{digits}f} ({ends})", round(value, digits), "", low, high)


def points(value: float | None, interval: Interval | None = None) -> Number:
    """A difference of shares, in percentage points."""
    if value is None:
        return Number("n/a")
    text = f"{100.0 * value:.1f}"
    if interval is None:
        return Number(f"{text} points", float(text), "points")
    low, high = f"{100.0 * interval.low:.1f}", f"{100.0 * interval.high:.1f}"
    return Number(f"{text} points ({low} to {high})", float(text), "points", float(low), float(high))


@dataclass(frozen=True)
class Text:
    """Paragraphs."""

    paragraphs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "paragraphs": list(self.paragraphs)}


@dataclass(frozen=True)
class Bullets:
    """Sentences, each of which can stand alone."""

    items: tuple[str, ...]
    title: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"type": "list", "title": self.title, "items": list(self.items)}


@dataclass(frozen=True)
class Field:
    """A fact with its name; ``stated`` says whether it is what a person said, and None that it was measured."""

    key: str
    label: str
    value: Cell
    stated: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        found = {"key": self.key, "label": self.label, "value": as_plain(self.value)}
        return found if self.stated is None else found | {"stated": self.stated}


@dataclass(frozen=True)
class Fields:
    """Facts below each other."""

    entries: tuple[Field, ...]
    title: str = ""

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
        object.__setattr__(self, "rows", safe)

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

    def to_dict(self) -> dict[str, Any]:
        return {"type": "picture", "key": self.key, "title": self.title, "reading": self.reading}


@dataclass(frozen=True)
class Code:
    """What a person may type, as it is."""

    text: str
    title: str = ""

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
    return (Bullets(tuple(clean(item) for item in items), title),) if items else ()


def _safe(cell: Cell, longest: int) -> Cell:
    return cell if isinstance(cell, Number) else str(harmless(one_line(cell, longest)))
