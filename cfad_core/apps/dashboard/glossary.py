"""What the words mean, for the question marks beside them: the texts of docs/GLOSSARY.md."""

from __future__ import annotations

import re

from cfad_core.core.site import SITE

_FILE = SITE / "docs" / "GLOSSARY.md"


def read_terms(text: str) -> dict[str, str]:
    """By term, its definition on one line."""
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    split = (part.partition("\n") for part in parts)
    return {term.strip(): " ".join(definition.split()) for term, _, definition in split}


HELP = read_terms(_FILE.read_text(encoding="utf-8"))
