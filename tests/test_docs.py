"""What the documents show works, and what they point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cfad_core

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def anchors(document: Path) -> set[str]:
    """What its headings can be reached by: the words in small letters, joined by hyphens."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if "://" not in target:
            there = document.parent / target if target else document
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_site_shows_every_document_and_explains_every_public_name() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f" {path.name}\n" not in site] == []
    library = (ROOT / "docs" / "LIBRARY.md").read_text(encoding="utf-8")
    explained = re.findall(r"^::: cfad_core\.(\w+)$", library, flags=re.MULTILINE)
    assert sorted(explained) == sorted(cfad_core.__all__)


@pytest.mark.slow
def test_the_example_of_an_own_detector_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "DETECTORS.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(code, {})
    assert 0.0 <= float(capsys.readouterr().out) <= 1.0


@pytest.mark.slow
def test_the_example_of_the_library_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)  # it writes a folder
    parts = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(parts) == 2  # two groups, and more
    exec("\n".join(parts), {})
    printed = capsys.readouterr().out
    assert "would have a different outcome with the tuned detector (CFAD)" in printed
    assert "['gender', 'region', 'gender and region']" in printed
    assert "had they belonged to another group of region" in printed
    assert "surprise_reasons" in printed
    assert (tmp_path / "audit" / "audit.json").is_file()
