"""The PDF: what a reader of the file finds in it, by the programs of poppler-utils."""

from __future__ import annotations

import base64
import builtins
import dataclasses
import re
import shutil
import socket
import subprocess
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError
from cfad_core.report.document import Document, Section, Text
from cfad_core.report.making import make_document, write
from cfad_core.report.pdf import pdf_report
from cfad_core.report.template import Template
from tests.pango import take_away
from tests.report import finished
from tests.report.finished import ENDLESS, HOSTILE

pytestmark = pytest.mark.slow


def poppler(program: str, *arguments: str | Path) -> str:
    """What a program of poppler-utils prints; without it the tests fail, they are not skipped."""
    found = shutil.which(program)
    if found is None:
        raise RuntimeError("the tests of PDFs need poppler-utils. Type: apt-get install poppler-utils")
    return subprocess.run([found, *map(str, arguments)], capture_output=True, check=True).stdout.decode()


def packed(text: str) -> str:
    """Without white space, which a line's end may add anywhere, and with ligatures taken apart."""
    return "".join(unicodedata.normalize("NFKC", text).split())


def pages(path: Path) -> list[str]:
    return poppler("pdftotext", path, "-").removesuffix("\f").split("\f")


def unpacked(content: bytes) -> bytes:
    """What a PDF says about itself, also where it is packed."""
    found = [content]
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL):
        with suppress(zlib.error):
            found.append(zlib.decompress(stream))
    return b"\n".join(found)


def without_feet(text: str, digest: str) -> str:
    """Text of pages that goes on where a page ends."""
    return re.sub(rf"sha256{digest}Page\d+of\d+", "", packed(text))


def dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary in a JSON."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from dictionaries(one)


def numbers(document: Document) -> list[dict[str, Any]]:
    return [one for one in dictionaries(document.to_dict()) if "shown" in one]


def texts(value: Any) -> Iterator[str]:
    """Every text that a reader of the JSON would read."""
    if isinstance(value, dict):
        unseen = {"key", "type", "format", "unit"}
        for name, one in value.items():
            if name not in unseen:
                yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


@pytest.fixture(scope="module", params=["attacked", "wide"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, bytes, Path]:
    """A report, the audit's own JSON, and the PDF as a file."""
    path = tmp_path_factory.mktemp(request.param) / "report.pdf"
    document: Document = getattr(finished, f"{request.param}_document")()
    path.write_bytes(getattr(finished, f"{request.param}_pdf")())
    return document, getattr(finished, request.param)().content, path


def test_every_number_and_text_of_the_json_is_in_it(made: tuple[Document, bytes, Path]) -> None:
    document, _, path = made
    found = without_feet("".join(pages(path)), document.digest)
    assert len(numbers(document)) > 120
    for number in numbers(document):
        shown = number["shown"]
        assert packed(shown) in found, shown
        plain = [float(part.replace(",", "")) for part in re.findall(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", shown)]
        for name in ("value", "low", "high"):  # what is shown is what the JSON says
            if number.get(name) is not None:
                assert float(number[name]) in plain, number
    said = document.to_dict() | {"signed": None}
    missing = [text for text in texts(said) if packed(text) not in found]
    assert missing == []


def test_every_page_has_its_number_and_the_digest(made: tuple[Document, bytes, Path]) -> None:
    document, _, path = made
    found = pages(path)
    assert len(found) > 9
    for k, page in enumerate(found, 1):
        assert f"Page {k} of {len(found)}" in page
        assert f"sha256 {document.digest}" in page


def test_the_whole_summary_is_on_the_first_page(made: tuple[Document, bytes, Path]) -> None:
    document, _, path = made
    first, second, *_ = pages(path)
    missing = [text for text in texts(document.sections[0].to_dict()) if packed(text) not in packed(first)]
    assert missing == []
    assert packed(document.title) in packed(first)
    assert second.strip().startswith("Contents")
    for section in document.sections:
        assert packed(section.title) in packed(second)


def test_it_can_be_read_aloud(made: tuple[Document, bytes, Path]) -> None:
    document, _, path = made
    about = dict(line.split(":", 1) for line in poppler("pdfinfo", path).splitlines() if ":" in line)
    assert about["Tagged"].strip() == "yes"
    assert about["JavaScript"].strip() == "no"
    assert about["Title"].strip() == document.title
    assert re.search('pdfuaid:part>1<|pdfuaid:part="1"', poppler("pdfinfo", "-meta", path))
    assert re.search(rb"/Lang ?\(en\)", unpacked(path.read_bytes()))
    structure = poppler("pdfinfo", "-struct", path)
    for kind in ("H1", "H2", "Table", "TH", "TD", "L", "LI", "Figure"):
        assert re.search(rf"^ *{kind}\b", structure, re.MULTILINE), kind


def test_no_font_is_missing(made: tuple[Document, bytes, Path]) -> None:
    _, _, path = made
    fonts = poppler("pdffonts", path).splitlines()[2:]
    assert fonts
    assert [line for line in fonts if "yes yes yes" not in re.sub(r" +", " ", line)] == []  # embedded, subset, unicode
    assert "\ufffd" not in "".join(pages(path))
    assert "\u25a1" not in "".join(pages(path))


def test_the_numbers_are_attached_byte_for_byte(made: tuple[Document, bytes, Path], tmp_path: Path) -> None:
    document, audit_json, path = made
    assert "2 embedded files" in poppler("pdfdetach", "-list", path)
    poppler("pdfdetach", "-saveall", "-o", tmp_path, path)
    assert {file.name for file in tmp_path.iterdir()} == {"audit.json", "report.json"}
    assert (tmp_path / "audit.json").read_bytes() == audit_json
    assert (tmp_path / "report.json").read_bytes() == document.json


def test_hostile_names_and_statements_are_text(tmp_path: Path) -> None:
    document = finished.attacked_document()
    path = tmp_path / "report.pdf"
    path.write_bytes(finished.attacked_pdf())
    assert not re.search(rb"/URI\b|/JavaScript\b|/Launch\b|/GoToR\b", unpacked(path.read_bytes()))
    found = without_feet("".join(pages(path)), document.digest)
    for text in (*HOSTILE, ENDLESS, "start gnp.exe end"):
        assert packed(text) in found, text[:80]
    assert not set("\u202e\u2066\u200f") & set(found)
    assert packed("First line. Second line.") in found


WAYS = {
    "images": '<image href="{far}" width="9" height="9"/><image xlink:href="{near}" width="9" height="9"/>'
    '<use href="{near}#a"/><use href="{far}#a"/><rect width="90" height="40" style="fill: url({far})"/>',
    "style": '<style>@import url({far}); @import url({near});</style><rect width="90" height="40"/>',
    "entity": "&near;&far;",
}
"""How an SVG may ask for other files."""
LOGO = (
    '<!DOCTYPE svg [<!ENTITY near SYSTEM "{near}"><!ENTITY far SYSTEM "{far}">]><svg '
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="40">'
    '<text y="20">logo</text>{way}</svg>'
)


@pytest.mark.parametrize("way", WAYS)
def test_it_asks_nobody_for_anything(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>LEAKED</text></svg>')
    places = {"near": secret.as_uri(), "far": "http://127.0.0.1:9/a.png"}
    opened: list[str] = []

    def spied(file: Any, *arguments: Any, **named: Any) -> Any:
        opened.append(str(file))
        return real(file, *arguments, **named)

    def refused(*_: object, **__: object) -> None:
        opened.append("a connection")
        raise OSError("no connections here")

    real = builtins.open
    monkeypatch.setattr(builtins, "open", spied)
    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    picture = LOGO.format(way=WAYS[way].format(**places), **places)
    logo = f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"
    words = '<img src="{near}"> <style>@import "{far}"; body {{ background: url({near}) }}</style>'.format(**places)
    section = Section("summary", words, (words,), (Text((words,)),))
    content = pdf_report(Document(words, words, words, (section,), organisation=words, logo=logo), b"{}")
    assert "a connection" not in opened
    assert [file for file in opened if "secret" in file] == []
    monkeypatch.undo()
    (tmp_path / "report.pdf").write_bytes(content)
    text = packed("".join(pages(tmp_path / "report.pdf")))
    assert "LEAKED" not in text
    assert packed(words) in text


@pytest.mark.parametrize("logo", [b"<svg", b"\x89PNG\r\n\x1a\nbroken", b"\xff\xd8\xffbroken"])
def test_a_broken_logo_spoils_nothing(logo: bytes) -> None:
    kind = "svg+xml" if logo == b"<svg" else "png"
    address = f"data:image/{kind};base64,{base64.b64encode(logo).decode()}"
    section = Section("summary", "Summary", ("Words.",))
    assert pdf_report(Document("Title", "a", "b", (section,), logo=address), b"{}").startswith(b"%PDF-")


def test_every_rule_of_its_style_is_understood(caplog: pytest.LogCaptureFixture) -> None:
    section = Section("summary", "Summary", ("Words.",))
    pdf_report(Document("Title", "a", "b", (section,)), b"{}")
    assert [text for text in caplog.messages if "media type" not in text] == []  # it lays out one size of page


def test_short_reports_keep_their_size() -> None:
    """Type is made smaller only where it must be."""
    from cfad_core.report import pdf

    tried: list[float] = []

    class Page:
        def __init__(self, fit: float) -> None:
            self.fit = fit

        def render(self) -> Page:
            return self

        @property
        def pages(self) -> list[int]:
            return [1, 2] if self.fit <= 0.9 else [1, 2, 3]

    def page(_: Document, fit: float) -> Page:
        tried.append(fit)
        return Page(fit)

    document = dataclasses.replace(finished.attacked_document(), sections=())
    assert pdf._fit(document, page) == 0.86
    assert tried == [1.0, 0.93, 0.86]


def test_without_pango_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch)
    document = make_document(finished.attacked(), Statements(), Template())
    with pytest.raises(CfadError, match="Pango, which is not installed here. Install it .*apt-get install libpango"):
        write(document, ["pdf"], b"{}")
    assert list(write(document, ["html", "json"], b"{}")) == ["report.html", "report.json"]
