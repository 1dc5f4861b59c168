"""Every question mark on a page has a text in docs/GLOSSARY.md."""

from __future__ import annotations

import re

import pytest

from cfad_core.apps.dashboard.glossary import HELP, read_terms
from cfad_core.evaluation.metrics import HEADLINE
from tests.apps.pages import ROOT

SOURCES = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "cfad_core" / "apps").rglob("*.py")]
TERMS = sorted({term for path in SOURCES for term in re.findall(r'HELP\["([^"]+)"\]', path.read_text("utf-8"))})


def test_terms_are_found_in_the_code() -> None:
    assert {"interval", "probability of change", "plausible twin"} <= set(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_the_glossary_has_what_the_code_asks_for(term: str) -> None:
    assert term in HELP


@pytest.mark.parametrize("name", HEADLINE)
def test_the_glossary_has_every_headline_metric(name: str) -> None:
    assert HEADLINE[name].term in HELP


def test_no_definition_is_empty_and_no_term_is_there_twice() -> None:
    text = (ROOT / "docs" / "GLOSSARY.md").read_text("utf-8")
    terms = read_terms(text)
    assert terms == HELP
    assert [term for term, definition in terms.items() if not definition] == []
    assert [heading.strip() for heading in re.findall(r"^## (.*)$", text, flags=re.MULTILINE)] == list(terms)
