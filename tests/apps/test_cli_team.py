"""Commands of a team: whom CFAD_TOKEN acts for, sharing, tokens, the log; and every command as a stranger."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from cfad_core.apps import cli
from cfad_core.apps.cli import jobs
from cfad_core.core.progress import Progress
from cfad_core.runs.access import PROGRAM, Share, Viewer
from cfad_core.runs.allowance import Allowance
from cfad_core.runs.model import AUDITS
from cfad_core.runs.store import Store
from tests.apps.commands import exit_code
from tests.conftest import make_people
from tests.runs.conftest import QUICK, ROLES, TABLES
from tests.runs.test_team import _row as row_of

ADA, MALLORY = Viewer("ada"), Viewer("mallory")
HIDDEN, UNKNOWN = "0123456789ab", "ba9876543210"
Tokens = Mapping[str, str]


@pytest.fixture
def tokens(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tokens]:
    """In a store with an audit of ada's: a token of each of two people."""
    monkeypatch.delenv("CFAD_TOKEN", raising=False)
    with Store(home) as store:
        for viewer in (ADA, MALLORY):
            store.arrive(viewer)
        TABLES.save("table", store.table_path(TABLES.digest))
        with store._engine.begin() as connection:
            connection.execute(sa.insert(AUDITS).values(row_of(HIDDEN, "ada")))
        yield {name: store.make_token("x", "auditor", 5, owner=name) for name in ("ada", "mallory")}


def leaves(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command with the words that it is typed by."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield words, parser
    for action in below:
        for name, one in action.choices.items():
            yield from leaves(one, (*words, name))


COMMANDS = dict(leaves(cli.make_parser("cfad")))
ID = {"ID", "AUDIT"}  # what the name of an audit is called
TYPED = {"TABLE": "people.csv", "NAME": "bo", "DIR": "out", "TEXT": "x"}
MORE: dict[tuple[str, ...], Sequence[str]] = {
    ("gate",): ["--max-changing-ratio", "0.5"],
    ("report",): ["--out", "out"],
    ("audits", "share"): ["--with", "bo"],
    ("audits", "unshare"): ["--everybody"],
}
BY_TABLE = [["audit", "AUDIT-ID", "--scores", "people.csv", "--high-means", "normal"]]  # the table is then an audit
OTHER_WAYS = [
    ["report", "AUDIT-ID", "--check"],
    ["report", "AUDIT-ID", "--sign", "Ada"],
    ["graph", "AUDIT-ID", "--out", "x.json", "--knowledge"],
    ["log", "--audit", "AUDIT-ID", "--json", "x.jsonl"],
    ["audits", "start", "AUDIT-ID", "--ask-scores", "x.csv"],
]


def typed(words: tuple[str, ...], parser: argparse.ArgumentParser) -> list[str] | None:
    """A command that names an audit, with all that it needs; None if it names none."""
    found: list[str] = []
    for action in parser._actions:
        metavar = str(action.metavar)
        if metavar in ID:
            found += [*action.option_strings[:1], "AUDIT-ID"]
        elif action.required or not action.option_strings:
            file = "x.json" if words == ("graph",) else "x.csv"
            found += [*action.option_strings[:1], *([] if action.nargs == 0 else [TYPED.get(metavar, file)])]
    return [*words, *found, *MORE.get(words, [])] if "AUDIT-ID" in found else None


WALK = (
    [line for words, parser in COMMANDS.items() if (line := typed(words, parser)) is not None] + BY_TABLE + OTHER_WAYS
)


def test_commands_that_name_an_audit_are_found() -> None:
    first = {tuple(line[: line.index("AUDIT-ID")]) for line in WALK}
    assert {("score",), ("gate",), ("report",), ("audits", "show"), ("audits", "history"), ("log", "--audit")} <= first
    assert len(first) >= 17


@pytest.mark.parametrize("line", WALK, ids=lambda line: " ".join(line[:3]))
def test_a_stranger_finds_out_nothing(
    line: list[str], tokens: Tokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_people(20, seed=0).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFAD_TOKEN", tokens["mallory"])
    said = []
    for audit in (HIDDEN, UNKNOWN):
        code = exit_code([audit if word == "AUDIT-ID" else word for word in line])
        printed = capsys.readouterr()
        assert (code, printed.out) == (2, "")
        assert audit in printed.err
        said.append(printed.err.replace(audit, "ID"))
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "people.csv"]


def test_a_command_acts_for_the_owner_of_its_token(
    home: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["audits", "list"]) == 0  # the operator
    assert HIDDEN in capsys.readouterr().out
    for name, sees in (("ada", True), ("mallory", False)):
        monkeypatch.setenv("CFAD_TOKEN", f" {tokens[name]}\n")
        assert cli.main(["audits", "list"]) == 0
        assert (HIDDEN in capsys.readouterr().out) == sees
    for wrong in ("", "cfad_x", tokens["ada"][:-1]):
        monkeypatch.setenv("CFAD_TOKEN", wrong)
        assert cli.main(["audits", "list"]) == 2
        said = capsys.readouterr().err
        assert "CFAD_TOKEN holds no token that is good here" in said
        assert wrong not in said or not wrong
    with Store(home) as store:
        used = [token for token in store.tokens() if token.used is not None]
    assert len(used) == 2


def test_sharing(
    home: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CFAD_TOKEN", tokens["ada"])
    assert cli.main(["audits", "share", HIDDEN, "--with", "Mallory", "--tune"]) == 0
    assert capsys.readouterr().out == f"Audit {HIDDEN} is shared with person mallory, to tune.\n"
    assert cli.main(["audits", "share", HIDDEN, "--group", "Risk"]) == 0
    with Store(home) as store:
        assert store.shares(HIDDEN) == (Share("group", "risk", "read"), Share("person", "mallory", "tune"))
        assert store.seen_by(MALLORY).right(HIDDEN) == "tune"
        assert cli.main(["audits", "unshare", HIDDEN, "--with", "MALLORY"]) == 0
        assert cli.main(["audits", "unshare", HIDDEN, "--group", "risk"]) == 0
        assert store.shares(HIDDEN) == ()
        assert cli.main(["audits", "give", HIDDEN, "Mallory"]) == 0
        assert store.get(HIDDEN).owner == "mallory"
    assert f"Audit {HIDDEN} belongs to mallory." in capsys.readouterr().out
    assert exit_code(["audits", "share", HIDDEN]) == 2
    assert "one of the arguments --with --group --everybody is required" in capsys.readouterr().err


def test_tokens(
    home: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["tokens", "make", "--label", "night run", "--for", "Ada", "--days", "3"]) == 0
    made = capsys.readouterr().out.strip()
    with Store(home) as store:
        assert store.viewer_of(made) == Viewer("ada", role="viewer", via="api")
    assert cli.main(["tokens", "list"]) == 0
    listed = capsys.readouterr().out
    assert "night run" in listed
    assert "good until" in listed
    assert made not in listed
    assert cli.main(["tokens", "revoke", made.split("_")[1]]) == 0
    capsys.readouterr()
    monkeypatch.setenv("CFAD_TOKEN", made)
    assert cli.main(["tokens", "list"]) == 2
    monkeypatch.setenv("CFAD_TOKEN", tokens["mallory"])
    assert cli.main(["tokens", "make", "--label", "x"]) == 2
    assert "A token makes no tokens" in capsys.readouterr().err
    assert cli.main(["tokens", "list"]) == 0
    assert "ada" not in capsys.readouterr().out
    monkeypatch.delenv("CFAD_TOKEN")
    monkeypatch.setenv("CFAD_AUTH", "proxy")
    monkeypatch.setenv("CFAD_PROXY", "127.0.0.1")
    assert cli.main(["tokens", "make", "--label", "x"]) == 2
    assert "say for whom the token acts, with --for NAME" in capsys.readouterr().err


def test_the_log(
    tokens: Tokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CFAD_TOKEN", tokens["ada"])
    assert cli.main(["audits", "show", HIDDEN]) == 2  # its files are not there
    assert cli.main(["gate", HIDDEN, "--max-changing-ratio", "0.5"]) == 2
    assert cli.main(["graph", HIDDEN, "--out", str(tmp_path / "g.dot")]) == 2
    assert cli.main(["log"]) == 2
    assert "Only administrators read the whole log" in capsys.readouterr().err
    assert cli.main(["log", "--audit", HIDDEN]) == 0
    said = capsys.readouterr().out
    assert said.count("ada  command  opened") == 2
    assert said.rstrip().endswith("opened") or "downloaded" in said
    assert "g.dot" in said
    monkeypatch.delenv("CFAD_TOKEN")
    assert cli.main(["log", "--json", str(tmp_path / "log.jsonl")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert {line["deed"] for line in lines} == {"signed in", "token made", "opened", "downloaded"}
    capsys.readouterr()
    assert cli.main(["log", "--who", "ADA", "--json", "-"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [line for line in lines if line["who"] == "ada"]
    assert cli.main(["log", "--limit", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_job_waits_for_the_turn_of_its_owner(home: Path, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tokens
    with Store(home) as store:
        store.allowance = Allowance(running=1)
        ada = store.seen_by(ADA)
        first, second = (ada.create(TABLES, ROLES, QUICK, name="Mine") for _ in range(2))
        store.claim("another", first)
        looks: list[float] = []

        def look(seconds: float) -> None:
            looks.append(seconds)
            if len(looks) == 3:
                store.finish(first, {})

        monkeypatch.setattr(time, "sleep", look)
        found = jobs._claimed(store.seen_by(PROGRAM), second)
        assert found is not None
        assert (found.id, len(looks)) == (second, 3)
        third = ada.create(TABLES, ROLES, QUICK, name="Mine")

        def interrupt(_: float) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(time, "sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            jobs.run_job(ada, third, Progress())
        assert store.get(third).status == "cancelled"
