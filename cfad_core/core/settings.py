"""Settings that are checked however they are made, with their bounds beside them.

A group of settings is a frozen ``Settings`` class; a bound is part of a field's type, ``Annotated[int, Meta(ge=1)]``.
``msgspec`` checks the values; the words are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, get_args

import msgspec
from msgspec import inspect, structs

from cfad_core.core.errors import InvalidConfigError

T = TypeVar("T")
S = TypeVar("S", bound="Settings")


class Settings(msgspec.Struct, frozen=True):
    """A group of settings. Every field is checked when it is set, by whatever way."""

    section: ClassVar[str] = ""  # its place among all settings, for messages

    def __post_init__(self) -> None:
        for field in _fields(type(self)):
            value = getattr(self, field.name)
            if _settings_in(field.type) is None:
                read = _checked(field.type, value, _path(self.section, field.name))
                structs.force_setattr(self, field.name, read)  # a list where a tuple belongs becomes one
            elif not isinstance(value, field.type):
                raise InvalidConfigError(f"'{_path(self.section, field.name)}' must be settings; got {value!r}.")

    def replace(self: S, **changes: Any) -> S:
        """The same with some other settings."""
        return structs.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; ``from_dict`` gives the same settings back."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_dict(cls: type[S], values: Any) -> S:
        """Read what ``to_dict`` gave; what is not there has its default.

        Raises
        ------
        InvalidConfigError
            If there is an unknown setting, or one that cannot be.
        """
        where = f"'{cls.section}'" if cls.section else "the audit"
        if not isinstance(values, Mapping):
            raise InvalidConfigError(f"Expected an object of settings for {where}; got {values!r}.")
        known = {field.encode_name: field for field in _fields(cls)}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise InvalidConfigError(f"Unknown setting of {where}: {', '.join(unknown)}. Known: {', '.join(known)}.")
        given: dict[str, Any] = {}
        for name, value in values.items():
            kind = known[name].type
            inner = _settings_in(kind)
            if inner is None:
                read = _checked(kind, value, _path(cls.section, name))
            else:
                read = None if value is None and isinstance(None, kind) else inner.from_dict(value)
            given[known[name].name] = read
        return cls(**given)


def from_plain(kind: type[T], value: Any, where: str) -> T:
    """Rebuild a frozen dataclass from what JSON left of it.

    Raises
    ------
    InvalidConfigError
        If a field is unknown, missing or holds something else than it should.
    """
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        names = [field.name for field in dataclasses.fields(kind)]
        unknown = sorted(set(value) - set(names))
        if unknown:
            raise InvalidConfigError(f"Unknown in '{where}': {', '.join(unknown)}. Known: {', '.join(names)}.")
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise InvalidConfigError(f"'{where}{place.rstrip('`')}' cannot be read: {problem}.") from error


@cache
def _fields(kind: type[Settings]) -> tuple[structs.FieldInfo, ...]:
    return structs.fields(kind)


@cache
def _settings_in(kind: Any) -> type[Settings] | None:
    """The group of settings that a field holds, if it holds one; it may also be optional."""
    choices = [one for one in get_args(kind) or (kind,) if isinstance(one, type) and issubclass(one, Settings)]
    return choices[0] if choices else None


def _path(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _checked(kind: Any, value: Any, path: str) -> Any:
    value = value.item() if hasattr(value, "item") else value  # of numpy's numbers
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidConfigError(f"'{path}' must be {_in_words(inspect.type_info(kind))}; got {value!r}.") from error


def _in_words(kind: inspect.Type) -> str:
    """What a setting may be."""
    if isinstance(kind, inspect.Metadata):
        return _in_words(kind.type)
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_in_words(one) for one in kind.types)
    if isinstance(kind, inspect.VarTupleType):
        return f"a list, each entry {_in_words(kind.item_type)}"
    if isinstance(kind, inspect.TupleType):
        return f"a list of {len(kind.item_types)} ({', '.join(_in_words(one) for one in kind.item_types)})"
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        name = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
        form = "" if isinstance(kind, inspect.IntType) else "g"
        return name if kind.ge is None else f"{name} from {kind.ge:{form}} to {kind.le:{form}}"
    names = {inspect.BoolType: "true or false", inspect.StrType: "a text", inspect.NoneType: "null"}
    return names.get(type(kind), "something else")
