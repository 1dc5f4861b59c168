"""Every bound of every setting, whatever settings there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, field, inspect, structs

from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.settings import Settings, from_plain

Number = inspect.IntType | inspect.FloatType


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def groups(kind: type[Settings] = AuditConfig) -> Iterator[type[Settings]]:
    """All groups of settings of an audit."""
    yield kind
    for info in structs.fields(kind):
        if isinstance(info.type, type) and issubclass(info.type, Settings):
            yield from groups(info.type)


def numbers(kind: inspect.Type) -> Iterator[Number]:
    """The numbers that a setting may be; not those inside of a list."""
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        yield kind
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from numbers(one)
    elif isinstance(kind, inspect.Metadata):
        yield from numbers(kind.type)


NUMBERS = [
    (group, info, number)
    for group in groups()
    for info in structs.fields(group)
    for number in numbers(inspect.type_info(info.type))
]
EVERY_NUMBER = pytest.mark.parametrize(
    ("group", "info", "number"), NUMBERS, ids=[f"{group.__name__}.{info.name}" for group, info, _ in NUMBERS]
)


def path_of(group: type[Settings], name: str) -> str:
    return f"{group.section}.{name}" if group.section else name


def beyond(number: Number) -> tuple[Any, Any]:
    """Just below, and just above what it may be."""
    assert number.ge is not None
    assert number.le is not None
    if isinstance(number, inspect.IntType):
        return number.ge - 1, number.le + 1
    return number.ge - 1e-9, number.le * (1.0 + 1e-9)


def test_all_groups_are_found_and_all_their_numbers_have_bounds() -> None:
    assert [group.section for group in groups()] == [
        "",
        "knowledge",
        "discovery",
        "detector",
        "baselines",
        "baselines.dcfod",
        "baselines.fairod",
        "baselines.fairad",
    ]
    assert len(NUMBERS) > 30
    for group, info, number in NUMBERS:
        assert (number.ge is None, number.le is None) == (False, False), path_of(group, info.name)


@EVERY_NUMBER
def test_every_bound_refuses(group: type[Settings], info: structs.FieldInfo, number: Number) -> None:
    for value in (*beyond(number), "1", [1]):
        refused = rf" must be .*; got {re.escape(repr(value))}\.$"
        in_code = f"^'{re.escape(path_of(group, info.name))}'{refused}"
        with pytest.raises(InvalidConfigError, match=in_code):
            group(**{info.name: value})
        with pytest.raises(InvalidConfigError, match=in_code):
            group().replace(**{info.name: value})
        with pytest.raises(InvalidConfigError, match=f"^'{re.escape(path_of(group, info.encode_name))}'{refused}"):
            group.from_dict({info.encode_name: value})


@EVERY_NUMBER
def test_the_bounds_themselves_are_allowed(group: type[Settings], info: structs.FieldInfo, number: Number) -> None:
    for value in (number.ge, number.le):
        made = group().replace(**{info.name: value})
        assert getattr(made, info.name) == value
        assert group.from_dict(json.loads(json.dumps(made.to_dict()))) == made


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("group", "info"),
    [(group, info) for group, info, number in NUMBERS if isinstance(number, inspect.FloatType)],
    ids=lambda given: getattr(given, "name", getattr(given, "__name__", "")),
)
def test_what_is_no_number_is_refused(group: type[Settings], info: structs.FieldInfo, value: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"^'{re.escape(path_of(group, info.name))}' must be a number from"):
        group(**{info.name: value})


@pytest.mark.parametrize("group", list(groups()), ids=lambda group: group.__name__)
def test_unknown_settings_are_refused_in_every_group(group: type[Settings]) -> None:
    where = f"'{group.section}'" if group.section else "the audit"
    known = ", ".join(info.encode_name for info in structs.fields(group))
    with pytest.raises(
        InvalidConfigError, match=exactly(f"Unknown setting of {where}: colour, speed. Known: {known}.")
    ):
        group.from_dict({"speed": 1, "colour": 2})
    with pytest.raises(InvalidConfigError, match=exactly(f"Expected an object of settings for {where}; got 5.")):
        group.from_dict(5)


@pytest.mark.parametrize("group", list(groups()), ids=lambda group: group.__name__)
def test_defaults_survive_json_and_cannot_be_set(group: type[Settings]) -> None:
    made = group()
    assert group.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False))) == made
    for info in structs.fields(group):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(made, info.name, None)
    assert made == group()


class Inner(Settings, frozen=True):
    section: ClassVar[str] = "outer.inner"
    times: Annotated[int, Meta(ge=1, le=9)] = 1
    shares: tuple[Annotated[float, Meta(ge=0.0, le=1.0)], ...] = ()
    kind: Literal["a", "b"] | None = None


class Outer(Settings, frozen=True):
    section: ClassVar[str] = "outer"
    seed: int = field(default=0, name="start")
    inner: Inner = field(default_factory=Inner)


@given(
    st.integers(-100, 100),
    st.integers(1, 9),
    st.lists(st.floats(0.0, 1.0)),
    st.sampled_from(["a", "b", None]),
)
def test_any_settings_survive_json(seed: int, times: int, shares: list[float], kind: Literal["a", "b"] | None) -> None:
    made = Outer(seed, Inner(times, tuple(shares), kind))
    text = json.dumps(made.to_dict())
    assert Outer.from_dict(json.loads(text)) == made
    assert json.loads(text)["start"] == seed  # by its name in files


@given(st.integers().filter(lambda times: not 1 <= times <= 9))
def test_whatever_lies_outside_of_the_bounds_is_refused(times: int) -> None:
    message = exactly(f"'outer.inner.times' must be a whole number from 1 to 9; got {times}.")
    with pytest.raises(InvalidConfigError, match=message):
        Outer.from_dict({"inner": {"times": times}})
    with pytest.raises(InvalidConfigError, match=message):
        Inner().replace(times=times)


def test_a_list_becomes_what_the_setting_holds() -> None:
    made = Inner(shares=[0, 1.0])  # type: ignore[arg-type]
    assert made.shares == (0.0, 1.0)
    assert made == Inner.from_dict(made.to_dict())
    assert hash(made) == hash(Inner(shares=(0.0, 1.0)))


@dataclass(frozen=True)
class Plain:
    name: str
    size: int = 0


def test_plain_data_is_read_back_and_checked() -> None:
    assert from_plain(Plain, {"name": "a", "size": 2}, "thing") == Plain("a", 2)
    with pytest.raises(InvalidConfigError, match=r"^Unknown in 'thing': colour\. Known: name, size\.$"):
        from_plain(Plain, {"name": "a", "colour": 1}, "thing")
    wrong = exactly("'thing.size' cannot be read: Expected `int`, got `str`.")
    with pytest.raises(InvalidConfigError, match=wrong):
        from_plain(Plain, {"name": "a", "size": "2"}, "thing")
    missing = exactly("'thing' cannot be read: Object missing required field `name`.")
    with pytest.raises(InvalidConfigError, match=missing):
        from_plain(Plain, {}, "thing")
