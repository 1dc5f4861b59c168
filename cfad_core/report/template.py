"""A team's template: its name and logo, and the sections it leaves out, in a small TOML file.

name = "Fairness office of Exampleton"
logo = "logo.svg"          # beside this file; PNG, JPEG or SVG
title = "Audit of claims"  # instead of the audit's name

[sections]
system = false
"""

from __future__ import annotations

import base64
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.files import read_bytes
from cfad_core.report.sections import ALWAYS, SECTIONS

FILE = "report.toml"
"""Its name in the home folder of the store, where the dashboard and the command look for one."""

_MOST_BYTES = 1_000_000
_LONGEST = 200  # characters of a name
_KINDS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True)
class Template:
    """How a team's reports look.

    Attributes
    ----------
    name : of the team
    title : of the report; empty: the audit's name
    logo : as a data address; empty without one
    left_out : sections, by their names
    """

    name: str = ""
    title: str = ""
    logo: str = field(default="", repr=False)
    left_out: tuple[str, ...] = ()


def read_template(path: Path) -> Template:
    """The template of a file.

    Raises
    ------
    CfadError
        If the file, or its logo, cannot be read.
    InvalidConfigError
        If it says something that a template cannot say.
    """
    try:
        values = tomllib.loads(read_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidConfigError(f"'{path.name}' cannot be read as TOML: {error}") from error
    unknown = sorted(set(values) - {"name", "title", "logo", "sections"})
    if unknown:
        raise InvalidConfigError(f"Unknown in '{path.name}': {', '.join(unknown)}. Known: name, title, logo, sections.")
    name, title, logo = (_text(values.get(key, ""), key, path.name) for key in ("name", "title", "logo"))
    shown = _logo(path.parent / logo) if logo else ""
    return Template(name, title, shown, _left_out(values.get("sections", {}), path.name))


def _text(value: Any, key: str, file: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise InvalidConfigError(
            f"'{key}' in '{file}' must be a text of at most {_LONGEST} characters; got {value!r:.60}."
        )
    return value.strip()


def _left_out(values: Any, file: str) -> tuple[str, ...]:
    if not isinstance(values, dict) or not all(isinstance(value, bool) for value in values.values()):
        raise InvalidConfigError(f"'sections' in '{file}' must say true or false for each section that it names.")
    unknown = sorted(set(values) - set(SECTIONS))
    if unknown:
        raise InvalidConfigError(f"A report has no section '{unknown[0]:.60}'; it has: {', '.join(SECTIONS)}.")
    fixed = [name for name, wanted in values.items() if not wanted and name in ALWAYS]
    if fixed:
        raise InvalidConfigError(
            f"The section '{fixed[0]}' cannot be left out: without it, a report could look better than its audit is. "
            f"These always stay: {', '.join(ALWAYS)}."
        )
    return tuple(name for name in SECTIONS if values.get(name) is False)


def _logo(path: Path) -> str:
    content = read_bytes(path, _MOST_BYTES)
    kind = next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)
    if kind is None and b"<svg" in content[:2_000]:
        kind = "image/svg+xml"  # as an image, its scripts do not run and its addresses are not loaded
    if kind is None:
        raise InvalidConfigError(f"The logo '{path.name}' must be a PNG, a JPEG or an SVG; it is none of these.")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
