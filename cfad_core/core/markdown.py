"""Text from tables and people: what a page can show of it, and as Markdown that shows it as it is."""

from __future__ import annotations

import re

# What a page may not be given as text: control characters but for the line's end, those that turn the direction of what
# follows, and halves of characters and others that XML does not allow
UNFIT = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_JOINER = "\u2060"  # takes no room; without it addresses would become links
_ADDRESS = re.compile(r"(:(?=//)|@|www(?=\.))", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~&=^])")


def as_text(text: object, limit: int = 200) -> str:
    """Text on one line, shortened, for places that would read it as Markdown."""
    clean = " ".join(str(text).split())
    shown = clean if len(clean) <= limit else clean[: limit - 1] + "…"
    return _MARKUP.sub(r"\\\1", _ADDRESS.sub(rf"\1{_JOINER}", shown))
