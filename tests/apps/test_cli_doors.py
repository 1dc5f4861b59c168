"""A command or an address that is asked, and what can go wrong with it."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import psutil
import pytest

from cfad_core.apps.cli.doors import ask_address, ask_command, write_batch
from cfad_core.audit.answers import read_answers
from cfad_core.audit.asking import ask_audit
from cfad_core.audit.questions import Questions
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.data.tables import Tables
from tests.apps.pages import QUICK, ROLES
from tests.apps.servers import answering, saying
from tests.conftest import make_people


@cache
def questions() -> Questions:
    config = QUICK.replace(methods=(), asked=AskedDetector())
    return ask_audit(Tables.of(make_people(200, seed=0)), ROLES, config).questions


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_an_address_gives_every_score_to_the_last_digit(kind: str) -> None:
    with answering(kind) as address:
        given = ask_address(questions(), address, 30.0)
    assert np.array_equal(given["score"].to_numpy(np.float64), -questions().batch["debt"].to_numpy())


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [
        ("text/plain", "no such model", 500, "answered with status 500: no such model"),
        ("text/plain", "", 302, "answered with status 302"),
        ("application/json", "{", 200, "JSON that is no list of objects with 'row_id' and a score"),
        ("application/json", '[{"a": 1}]', 200, "Expected the column 'row_id'"),
        ("text/csv", "row_id,score\nr1,2\n", 200, "ids are missing"),
    ],
)
def test_what_an_address_answers_may_be_wrong(kind: str, body: str, status: int, message: str) -> None:
    with answering(kind, body, status) as address, pytest.raises(CfadError) as error:
        read_answers(questions(), ask_address(questions(), address, 30.0), "anomalous")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"nothing of the kind\r\n\r\n", "could not be asked for scores: nothing of the kind"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1000\r\n\r\nrow_id,score\n", "the answer ended 987 bytes early"),
        (b"", "could not be asked for scores"),
    ],
)
def test_what_is_no_server_is_explained(answer: bytes, message: str) -> None:
    with saying(answer) as address, pytest.raises(CfadError) as error:
        ask_address(questions(), address, 30.0)
    assert message in str(error.value)


def test_nobody_answers() -> None:
    with pytest.raises(CfadError, match="could not be asked for scores"):
        ask_address(questions(), "http://localhost:1", 5.0)


def run(script: str, path: Path, seconds: float = 30.0) -> None:
    path.write_text(script)
    given = ask_command(questions(), f"{sys.executable} '{path}' {{in}} {{out}}", "csv", seconds)
    read_answers(questions(), given, "anomalous")


@pytest.mark.parametrize(
    ("script", "seconds", "message"),
    [
        ("import sys; sys.exit('the model is missing')", 60.0, "ended with exit code 1: the model is missing"),
        ("", 60.0, "ended well, but wrote no file {out}"),
        ("import time; time.sleep(60)", 0.3, "took longer than 0.3 seconds"),
        ("import sys; open(sys.argv[2], 'w').write('row_id,score\\nr0,1\\n')", 60.0, "ids are missing"),
    ],
)
def test_a_command_that_fails_is_explained(script: str, seconds: float, message: str, tmp_path: Path) -> None:
    with pytest.raises(CfadError) as error:
        run(script, tmp_path / "score.py", seconds)
    assert message in str(error.value)


def test_a_command_that_takes_too_long_leaves_nothing_running() -> None:
    mark = "31.4159"
    with pytest.raises(CfadError, match="took longer than 0.3 seconds"):
        ask_command(questions(), f"sh -c 'sleep {mark} & sleep {mark}' {{in}} {{out}}", "csv", 0.3)
    assert not [one for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or [])]


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(CfadError, match="The command 'no-such-program' cannot be started"):
        ask_command(questions(), "no-such-program {in} {out}", "csv", 5.0)


def test_rows_are_written_as_csv_or_parquet(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match="written as .csv or .parquet; got 'rows.xlsx'"):
        write_batch(questions(), tmp_path / "rows.xlsx")
