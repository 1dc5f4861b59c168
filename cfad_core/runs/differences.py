"""How the roles and settings of one audit differ from those of another, in short words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cfad_core.core.config import AuditConfig
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles

MOST = 8  # that are named
_LONGEST = 60  # characters of one value
_NAMES = {"bootstrap": "subsamples", "asked": "detector of your own"}  # where files use another name
_ATTRIBUTE_WORDS = {
    "groups": "groups",
    "merged": "merged values",
    "others": "group of all others",
    "cuts": "cut points",
    "bands": "bands",
    "reference": "reference group",
    "compare": "groups compared",
}


def differences(this: tuple[ColumnRoles, AuditConfig], other: tuple[ColumnRoles, AuditConfig]) -> tuple[str, ...]:
    """What the other audit has instead of this one's: roles first; of many, the first and how many more."""
    found = [*_role_differences(this[0], other[0]), *_setting_differences(this[1].to_dict(), other[1].to_dict())]
    rest = len(found) - MOST
    return tuple(found) if rest <= 0 else (*found[:MOST], f"and {rest} more")


def _role_differences(this: ColumnRoles, other: ColumnRoles) -> Iterator[str]:
    if set(this.sensitive_columns) != set(other.sensitive_columns):
        yield _instead("sensitive:", other.sensitive_name, this.sensitive_name)
    known = {one.column: one for one in this.attributes}
    for attribute in other.attributes:
        if attribute.column in known:
            yield from _attribute_differences(known[attribute.column], attribute)
    for name in ("label", "anomaly", "score"):
        before, after = getattr(this, name), getattr(other, name)
        if before != after:
            yield _instead(f"{name}:", after, before)
    if set(this.ignore) != set(other.ignore):
        yield f"ignored columns: {_more_and_less(this.ignore, other.ignore)}"


def _attribute_differences(this: Attribute, other: Attribute) -> Iterator[str]:
    before, after = dataclasses.asdict(this), dataclasses.asdict(other)
    for name, words in _ATTRIBUTE_WORDS.items():
        if before[name] != after[name]:
            yield _instead(f"{words} of {_text(this.column)}:", after[name], before[name])


def _setting_differences(this: Mapping[str, Any], other: Mapping[str, Any], section: str = "") -> Iterator[str]:
    for name in dict.fromkeys([*this, *other]):
        before, after = this.get(name), other.get(name)
        words = f"{section}{_NAMES.get(name, name)}".replace("_", " ")
        if before == after:
            continue
        if name == "knowledge":
            yield "other domain knowledge"
        elif name == "methods" and set(before or ()) != set(after or ()):
            yield f"methods: {_more_and_less(before or (), after or ())}"
        elif name == "asked" and (before is None or after is None):
            yield _instead(f"{words}:", (after or {}).get("name"), (before or {}).get("name"))
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _setting_differences(before, after, f"{words} ")
        else:
            yield _instead(words, after, before, nothing="automatic")


def _instead(words: str, after: object, before: object, nothing: str = "none") -> str:
    return f"{words} {_text(after, nothing)} instead of {_text(before, nothing)}"


def _more_and_less(before: Sequence[str], after: Sequence[str]) -> str:
    """``+age, -id``; the order alone is no difference."""
    more = [f"+{name}" for name in after if name not in before]
    less = [f"-{name}" for name in before if name not in after]
    return _text([*more, *less])


def _text(value: object, nothing: str = "none") -> str:
    """A value in a few words."""
    if isinstance(value, Mapping):
        text = "; ".join(f"{name} of {_text(one)}" for name, one in value.items())
    elif isinstance(value, list | tuple):
        text = ", ".join(_text(one) for one in value)
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = "" if value is None else str(value)
    text = " ".join(text.split()) or nothing
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
