"""Text from tables and people in Markdown: it is shown as it is, never as markup."""

from __future__ import annotations

import re

_JOINER = "\u2060"  # takes no room; without it addresses would become links
_ADDRESS = re.compile(r"(:(?=//)|@|www(?=\.))", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~&=^])")


def as_text(text: object, limit: int = 200) -> str:
    """Text on one line, shortened, for places that would read it as Markdown."""
    clean = " ".join(str(text).split())
    shown = clean if len(clean) <= limit else clean[: limit - 1] + "…"
    return _MARKUP.sub(r"\\\1", _ADDRESS.sub(rf"\1{_JOINER}", shown))
