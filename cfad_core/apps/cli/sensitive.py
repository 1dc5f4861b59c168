"""Sensitive columns as they are typed: their groups, and which of these are compared.

With one column the words after an option are about it: ``--sensitive race --groups Black White``. With several, they
begin with the column that they are about: ``--sensitive sex race --groups race Black White --reference race White``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfad_core.core.errors import InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.data.attributes import Attribute

Words = list[str]
# Name, words after it, and what it says
_OPTIONS: tuple[tuple[str, tuple[str, ...] | str, str], ...] = (
    ("groups", "VALUE", "its values to compare, of two the disadvantaged one first; one value: against all others"),
    ("merge", ("NAME", "VALUE"), "a group of several values, and what to call it; may be repeated"),
    ("others", "NAME", "take all other values together as a group of this name"),
    ("cut", "X", "of a column of numbers: cut points between groups; one X: under X against X or more"),
    ("bands", "N", "of a column of numbers: N groups of about the same size"),
    ("reference", "GROUP", "compare each other group with this one, and it with them; by default each with each"),
    ("compare", "GROUP", "the groups that people are moved to; by default all"),
)


def add_sensitive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sensitive",
        nargs="+",
        metavar="COL",
        help="the column whose value is changed; or several",
    )
    about = "with several sensitive columns, each of these begins with the column's name and may be repeated"
    groups = parser.add_argument_group("groups of a sensitive column", about)
    for name, words, said in _OPTIONS:
        groups.add_argument(f"--{name}", nargs="+", action="append", default=[], metavar=words, help=said)


def typed_attributes(options: argparse.Namespace) -> list[Attribute]:
    """The sensitive attributes of a command.

    Raises
    ------
    InvalidConfigError
        If an option names no sensitive column where there are several, comes twice, or holds something else than it
        should.
    """
    from cfad_core.data.attributes import Attribute

    columns: Sequence[str] = options.sensitive
    said = {name: _by_column(name, getattr(options, name), columns) for name, *_ in _OPTIONS}
    found = []
    for column in columns:
        own = {name: by_column.get(column, []) for name, by_column in said.items()}
        groups, compare, cuts = (_once(name, column, own[name]) for name in ("groups", "compare", "cut"))
        found.append(
            Attribute(
                column,
                groups=tuple(groups) if groups else None,
                merged=_merged(own["merge"]),
                others=_one("others", column, own["others"]),
                cuts=tuple(_number("cut", word) for word in cuts),
                bands=_bands(_one("bands", column, own["bands"])),
                reference=_one("reference", column, own["reference"]),
                compare=tuple(compare),
            )
        )
    return found


def _by_column(name: str, given: Sequence[Words], columns: Sequence[str]) -> dict[str, list[Words]]:
    """What was given for each column; with several, the first word says which."""
    if len(columns) == 1:
        return {columns[0]: list(given)}
    found: dict[str, list[Words]] = {}
    for first, *rest in given:
        if first not in columns:
            known = ", ".join(columns)
            raise InvalidConfigError(
                f"With several sensitive columns, --{name} begins with one of them ({known}); got '{first}'."
            )
        if not rest:
            raise InvalidConfigError(f"--{name} {first} says nothing about '{first}'; add what it should be.")
        found.setdefault(first, []).append(rest)
    return found


def _once(name: str, column: str, given: Sequence[Words]) -> Words:
    if len(given) > 1:
        raise InvalidConfigError(f"--{name} is there twice for '{column}'; put all of it into one.")
    return given[0] if given else []


def _one(name: str, column: str, given: Sequence[Words]) -> str | None:
    words = _once(name, column, given)
    if len(words) > 1:
        raise InvalidConfigError(f"--{name} takes one word for '{column}'; got {', '.join(words)}.")
    return words[0] if words else None


def _merged(given: Sequence[Words]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, *values in given:
        if not values or name in found:
            problem = "is there twice" if name in found else "has no values"
            raise InvalidConfigError(f"--merge takes a new name and the values of that group; '{name}' {problem}.")
        found[name] = tuple(values)
    return found


def _number(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise InvalidConfigError(f"--{name} takes numbers; got '{word}'.") from error


def _bands(word: str | None) -> int | None:
    if word is None or word.isdecimal():
        return None if word is None else int(word)
    raise InvalidConfigError(f"--bands takes a whole number; got '{word}'.")
