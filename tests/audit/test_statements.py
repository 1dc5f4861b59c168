"""Statements come back as they were made, and what is no statement is refused in a sentence."""

from __future__ import annotations

import dataclasses
import json

import pytest

from cfad_core.audit.statements import PARTS, STATEMENTS, JustifiedPath, Statements, read_statements
from cfad_core.core.errors import InvalidConfigError

FULL = Statements(
    **{name: f"about {name}" for name in STATEMENTS},
    justified_paths=(JustifiedPath(("gender", "income"), "Income is what the law asks about."),),
)


def test_every_field_is_explained() -> None:
    fields = {field.name for field in dataclasses.fields(Statements)}
    assert fields == {*STATEMENTS, "justified_paths"}
    assert all(one.label and one.help.endswith("?") and one.part in PARTS for one in STATEMENTS.values())


def test_round_trip() -> None:
    assert Statements.from_dict(json.loads(json.dumps(FULL.to_dict()))) == FULL
    assert Statements.from_dict({}) == Statements()
    assert (FULL.said, Statements().said, Statements(system=" \n").said) == (len(STATEMENTS), 0, 0)


def test_files() -> None:
    toml = b'\xef\xbb\xbfsystem = "Claims 2"\n[[justified_paths]]\npath = ["gender", "income"]\nreason = "by law"\n'
    found = read_statements(toml, "said.toml")
    assert (found.system, found.justified_paths[0].text) == ("Claims 2", "gender → income")
    assert read_statements(json.dumps(FULL.to_dict()).encode(), "said.JSON") == FULL


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"system = ", "a.toml", "'a.toml' cannot be read as TOML"),
        (b"{", "a.json", "'a.json' cannot be read as JSON"),
        (b"[" * 100_000, "a.json", "'a.json' cannot be read as JSON"),
        (b"\xff\xfe", "a.toml", "'a.toml' cannot be read as TOML"),
        (b"[]", "a.json", "Expected statements by their names; got list."),
        (b'sistem = "x"', "a.toml", "Unknown in 'statements': sistem. Known: system, version"),
        (b"system = 3", "a.toml", "'statements.system' cannot be read: Expected `str`, got `int`."),
        (b'justified_paths = "x"', "a.toml", "Expected a list of justified paths"),
        (b'justified_paths = [{path = ["a", "b"], why = "x"}]', "a.toml", "Unknown in 'justified_paths[0]': why"),
        (b'justified_paths = [{path = ["a", "b"]}]', "a.toml", "'justified_paths[0]' cannot be read"),
        (b'justified_paths = [{path = ["a"], reason = "x"}]', "a.toml", "names at least two columns; got 'a'"),
        (b'justified_paths = [{path = ["a", "b"], reason = " "}]', "a.toml", "needs a reason; 'a → b' has none"),
        (
            b'system = "' + b"x" * 4001 + b'"',
            "a.toml",
            "The statement 'system' has 4,001 characters; at most 4,000 fit.",
        ),
    ],
)
def test_what_cannot_be_read(content: bytes, name: str, message: str) -> None:
    with pytest.raises(InvalidConfigError) as refused:
        read_statements(content, name)
    assert message in str(refused.value)
