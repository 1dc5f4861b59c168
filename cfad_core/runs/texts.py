"""Text as every database keeps it: PostgreSQL refuses what SQLite takes, and neither takes half a character."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def keepable(text: str) -> str:
    """The text with a mark in the place of what a database cannot keep."""
    return _NO_TEXT.sub("\ufffd", text)


def on_one_line(text: str, most: int) -> str:
    """The printable characters of a text, at most so many, with a space where there were others."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]


class Text(sa.types.TypeDecorator[str]):
    """A column of texts; also what is compared with it may be any text."""

    impl: type[sa.String] = sa.Text
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        return str

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's words
        return keepable(value) if isinstance(value, str) else value


class Short(Text):
    """The same, of at most so many characters: ``Short(32)``."""

    impl = sa.String
    cache_ok = True
