"""Words and numbers as people read them; what comes from a table is shown as text, never as Markdown."""

from __future__ import annotations

import re

_JOINER = "\u2060"  # takes no room; without it addresses would become links
_ADDRESS = re.compile(r"(:(?=//)|@|www(?=\.))", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$:~&=^])")


def plain(text: object, limit: int = 200) -> str:
    """Text from a table or a file for places where Streamlit would read it as Markdown."""
    clean = " ".join(str(text).split())
    shown = clean if len(clean) <= limit else clean[: limit - 1] + "…"
    return _MARKUP.sub(r"\\\1", _ADDRESS.sub(rf"\1{_JOINER}", shown))


def percent(value: float | None, digits: int = 1) -> str:
    return "n/a" if value is None or value != value else f"{100.0 * value:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """With so many digits behind the point, or as many significant ones if it is small."""
    if value is None or value != value:
        return "n/a"
    return f"{value:.{digits}f}" if abs(value) >= 0.1 or value == 0.0 else f"{value:.{digits}g}"


def duration(seconds: float | None) -> str:
    """About how long: '40 s', '3 min', '1 h 20 min'."""
    if seconds is None:
        return "unknown"
    if seconds < 100.0:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
