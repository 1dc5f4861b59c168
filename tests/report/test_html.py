"""The HTML file as a parser sees it: nothing in it but what we wrote, and text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import cache
from html.parser import HTMLParser

import pytest

from cfad_core.figures.writing import plotly_code
from cfad_core.report import html
from cfad_core.report.document import Document, Section, Text
from cfad_core.report.html import html_report, print_page, signed_line
from tests.report import finished
from tests.report.finished import BRACES, ENDLESS, HOSTILE, IMAGE, SCRIPT
from tests.report.test_pdf import packed, texts

pytestmark = pytest.mark.slow  # it needs an audit
NEVER = {"iframe", "object", "embed", "link", "base", "form", "input", "audio", "video", "foreignobject", "animate"}
VOID = {"meta", "img", "br", "link", "input"}


class Parsed(HTMLParser):
    """Elements with their attributes, the text that is read, and what scripts and styles hold."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.elements.append((tag, known))
        if tag not in VOID:
            self._open.append((tag, known))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes what is open"

    def handle_data(self, data: str) -> None:
        tag, known = self._open[-1] if self._open else ("", {})
        if tag == "script":
            self.scripts.append((known, data))
        elif tag == "style":
            self.styles.append(data)
        else:
            self.text += data


@cache
def page() -> str:
    return html_report(finished.attacked_document())


@cache
def parsed() -> Parsed:
    return Parsed(page())


def test_it_is_one_small_file_that_names_no_address() -> None:
    wide = html_report(finished.wide_document())
    for text in (page(), wide):
        assert len(text.encode()) < 5_000_000
    for tag, attributes in parsed().elements:
        assert tag not in NEVER, tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                assert value.startswith(("#", "data:")), (tag, name, value[:80])
            if name == "style":
                assert "url(" not in value
    for style in parsed().styles:
        assert "url(" not in style
        assert "@import" not in style
    assert [attributes for tag, attributes in parsed().elements if tag == "a" and "href" not in attributes] == []


def test_its_scripts_are_ours_and_the_policy_names_them() -> None:
    kinds = [known.get("type", "") for known, _ in parsed().scripts]
    assert set(kinds) == {"", "application/octet-stream", "application/json"}
    assert (kinds.count(""), kinds.count("application/octet-stream")) == (1, 1)
    code = next(text for known, text in parsed().scripts if not known.get("type"))
    plotly = next(text for known, text in parsed().scripts if known.get("type") == "application/octet-stream")
    assert code == (html._TEMPLATES / "report.js").read_text("utf-8")
    unpacked = gzip.decompress(base64.b64decode(plotly)).decode()
    assert unpacked == plotly_code()
    policy = next(known["content"] for tag, known in parsed().elements if known.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in (code, unpacked)
    }
    assert set(rules["script-src"].split()) == digests
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    for known, text in parsed().scripts:
        if known.get("type") == "application/json":
            assert set(json.loads(text)) >= {"data", "layout"}
            assert not re.search("[<>&]", text)


def test_everything_that_the_json_says_is_text_in_it() -> None:
    found = packed(parsed().text)
    document = finished.attacked_document()
    missing = [text for text in texts(document.to_dict()) if packed(text) not in found]
    assert missing == []
    for text in (*HOSTILE, ENDLESS, "start gnp.exe end", "First line.", "Second line."):
        assert packed(text) in found, text[:80]
    assert packed(BRACES) in found
    assert not set("\u202e\u2066\u200f") & set(page())
    for slide in document.slides:
        assert packed(slide.title) in found
    packed_json = next(known["href"] for tag, known in parsed().elements if known.get("download") == "report.json")
    assert base64.b64decode(packed_json.partition(",")[2]) == document.json


def test_only_our_kinds_of_elements_are_in_it() -> None:
    """Nothing that a name or a statement holds became an element: the same ones are there without hostile words."""
    drawn = "svg g rect line path text title desc circle polyline polygon tspan"
    parts = "html head meta title style body header main nav section article footer div figure figcaption script"
    words = "p h1 h2 h3 bdi button a ol ul li dl dt dd table caption thead tbody tr th td strong span pre code"
    ours = set(re.findall(r"\w+", f"{drawn} {parts} {words}"))
    found = {tag for tag, _ in parsed().elements}
    assert found <= ours, found - ours
    assert "img" not in found  # there is no logo
    assert "b" not in found


def test_places_where_one_escaping_is_forgotten_easily() -> None:
    words = f"{SCRIPT}{IMAGE}\"'`{BRACES}"
    section = Section(words, words, (words,), (Text((words,)),))
    document = Document(words, words, words, (section,), organisation=words, left_out=(words,), logo=f"data:{words}")
    for made in (html_report(document, interactive=False), print_page(document)):
        found = Parsed(made)
        assert len([tag for tag, _ in found.elements if tag == "img"]) == 1  # the logo
        assert not [known for _, known in found.elements if "onerror" in known]
        assert len(found.scripts) == (1 if "Content-Security-Policy" in made else 0)
        assert found.text.count("alert(1)") >= 5
        assert "49" not in found.text.replace(document.digest, "").replace(document.json.decode(), "")


def test_without_interactive_pictures_it_is_small() -> None:
    document = finished.attacked_document()
    small = html_report(document, interactive=False)
    assert len(small) < len(document.json) * 2 + 400_000
    assert "plotly" not in Parsed(small).text
    assert [known for known, _ in Parsed(small).scripts] == [{}]
    policy = next(known["content"] for _, known in Parsed(small).elements if known.get("http-equiv"))
    assert policy.count("sha256-") == 1


def test_who_signed_it() -> None:
    document = finished.attacked_document()
    assert signed_line(document) == f"signed by Ada {IMAGE}, {SCRIPT}, 2026-03-01 14:05 UTC, version 3"
    unsigned = Document("t", "a", "m", ())
    assert signed_line(unsigned) == "not signed"
    assert "not signed" in Parsed(html_report(unsigned, interactive=False)).text


def test_ids_are_there_once_and_links_lead_somewhere() -> None:
    found = Parsed(html_report(finished.attacked_document(), interactive=False))
    ids = [known["id"] for _, known in found.elements if "id" in known]
    assert len(ids) == len(set(ids))
    for tag, known in found.elements:
        if tag == "a" and known["href"].startswith("#"):
            assert known["href"][1:] in ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(known.get(name, "").split()) <= set(ids)
