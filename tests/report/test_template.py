"""A team's template: what it may say, what it may not, and what becomes of it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.report.sections import ALWAYS, SECTIONS
from cfad_core.report.template import Template, read_template
from tests.report.kinds import Read, document, document_of, subject_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
SVG = b'<?xml version="1.0"?>\n<!-- ours -->\n<svg xmlns="http://www.w3.org/2000/svg"/>'


def template(folder: Path, text: str, **files: bytes) -> Template:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    path = folder / "report.toml"
    path.write_text(text, "utf-8")
    return read_template(path)


def test_a_template_with_everything(tmp_path: Path) -> None:
    text = '\ufeffname = " Office "\ntitle = "Claims"\nlogo = "logo"\n[sections]\nsystem = false\ndata = true\n'
    found = template(tmp_path, text, logo=PNG)
    assert (found.name, found.title, found.left_out) == ("Office", "Claims", ("system",))
    assert found.logo == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert template(tmp_path, "") == Template()


@pytest.mark.parametrize(("content", "kind"), [(PNG, "png"), (JPEG, "jpeg"), (SVG, "svg+xml")])
def test_kinds_of_logos(tmp_path: Path, content: bytes, kind: str) -> None:
    assert template(tmp_path, 'logo = "l"', l=content).logo.startswith(f"data:image/{kind};base64,")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "'report.toml' cannot be read as TOML: "),
        ("colour = 'red'\nx = 1", "Unknown in 'report.toml': colour, x. Known: name, title, logo, sections."),
        ("name = 3", "'name' in 'report.toml' must be a text of at most 200 characters; got 3."),
        (f"title = '{'x' * 201}'", "'title' in 'report.toml' must be a text of at most 200 characters; got 'xxx"),
        ("logo = true", "'logo' in 'report.toml' must be a text of at most 200 characters; got True."),
        ("sections = 1", "'sections' in 'report.toml' must say true or false for each section that it names."),
        ("[sections]\ndata = 'no'", "'sections' in 'report.toml' must say true or false for each section"),
        ("[sections]\nprices = false", "A report has no section 'prices'; it has: summary, system, auditor, data"),
        ("x = " + "[" * 3000, "'report.toml' cannot be read as TOML: "),
    ],
)
def test_what_a_template_cannot_say(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidConfigError) as error:
        template(tmp_path, text)
    assert str(error.value).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("name = 'Büro'".encode("latin-1"))
    with pytest.raises(InvalidConfigError, match="'latin.toml' cannot be read as TOML"):
        read_template(tmp_path / "latin.toml")
    with pytest.raises(CfadError, match="nothing.toml"):
        read_template(tmp_path / "nothing.toml")
    with pytest.raises(CfadError, match="nowhere.png"):
        template(tmp_path, "logo = 'nowhere.png'")
    with pytest.raises(
        InvalidConfigError, match="The logo 'words' must be a PNG, a JPEG or an SVG; it is none of these."
    ):
        template(tmp_path, "logo = 'words'", words=b"hello")
    with pytest.raises(CfadError):
        template(tmp_path, "logo = 'large'", large=PNG + bytes(1_000_001))


@pytest.mark.parametrize("name", ALWAYS)
def test_sections_that_always_stay(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        InvalidConfigError, match=f"The section '{name}' cannot be left out: .*These always stay: summary"
    ):
        template(tmp_path, f"[sections]\n{name} = false")
    assert template(tmp_path, f"[sections]\n{name} = true").left_out == ()


def test_sections_that_are_off_are_named_and_absent() -> None:
    off = tuple(name for name in SECTIONS if name not in ALWAYS)
    titles = {section.key: section.title for section in document_of("known").sections}
    made = document(subject_of("known"), template=Template("Office\n of us", "Our claims", "data:x", off))
    read = Read.of(made)
    assert [section["key"] for section in read.whole["sections"]] == [name for name in SECTIONS if name in ALWAYS]
    assert read.whole["left_out"] == [titles[name] for name in off]
    assert read.whole["title"] == "Audit report: Our claims"
    assert read.whole["organisation"] == "Office of us"
    assert made.logo == "data:x"
