"""What people read when a page cannot go on, and what is written down then."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from streamlit.errors import StreamlitAPIException

from cfad_core.apps.cli import main
from cfad_core.apps.dashboard import uploads
from cfad_core.apps.dashboard.broken import DISK_FULL, page_broke, sentence
from cfad_core.core.errors import CfadError
from cfad_core.runs.store import Store
from tests.apps.browser import PROJECT
from tests.apps.pages import people, press, said, visit
from tests.apps.test_data_page import bring_table, files_left

NO_ROOM = OSError(errno.ENOSPC, "No space left on device")


def of_database(words: str) -> sa.exc.OperationalError:
    return sa.exc.OperationalError("UPDATE audits", None, Exception(words))


def raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NO_ROOM, "is full"),
        (of_database("database or disk is full"), "is full"),
        (raised_from(CfadError("Cannot write"), NO_ROOM), "is full"),
        (of_database("connection refused"), "does not answer just now"),
        (CfadError("The audit is <b>gone</b>."), "gone"),
        (StreamlitAPIException("x", error_id="file-uploader-invalid-extension"), "none of those that can be taken"),
    ],
)
def test_what_is_known_is_a_sentence(error: Exception, words: str) -> None:
    found = sentence(error)
    assert found is not None
    assert words in found
    assert "<b>" not in found


def test_what_nobody_foresaw_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, count = Mock(), Mock()
    monkeypatch.setattr("streamlit.error", shown)
    assert page_broke(count)(of_database("gone"))
    shown.assert_called_once()
    count.assert_not_called()
    error = KeyError("a cell")
    assert not page_broke(count)(error)
    count.assert_called_once_with(error)


def test_an_upload_onto_a_full_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, write = people(200).to_csv(index=False).encode(), Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise NO_ROOM

    app = visit("1_Data.py")
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", half)
        bring_table(app, "people.csv", content)
    assert DISK_FULL in [error.value.replace("\\", "") for error in app.error]
    assert files_left(home) == []
    bring_table(app, "people.csv", content)
    assert "200 rows" in said(app)
    assert not app.error


def test_a_draft_that_the_store_cannot_keep_is_still_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise of_database("database or disk is full")

    monkeypatch.setattr("cfad_core.runs.drafts.Drafts.keep_draft", refuse)
    app = bring_table(visit("1_Data.py"), "people.csv", people(200).to_csv(index=False).encode())
    press(app, "Continue")
    assert "a reload of this page loses it" in said(app)


def test_errors_of_pages_are_lines_of_json(tmp_path: Path) -> None:
    """Streamlit would write them past its loggers, in colours and with what they quote."""
    program = """
from cfad_core.apps.dashboard.serving import _options
from cfad_core.apps.server.address import Address
from cfad_core.apps.server.logs import write_json_lines
from cfad_core.apps.server.sign_in import SignIn
from streamlit.error_util import _log_uncaught_app_exception
from streamlit.web import bootstrap
write_json_lines()
bootstrap.load_config_options(_options(Address("localhost", 1), SignIn(), None))
try:
    int("CELL-4711")
except ValueError as error:
    _log_uncaught_app_exception(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT)
    lines = [json.loads(line) for line in (done.stdout + done.stderr).splitlines()]
    assert [line["error"] for line in lines] == ["ValueError"]
    assert "CELL-4711" not in done.stdout + done.stderr


def test_what_was_uploaded_is_let_go_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there was no room for it."""
    dropped = Mock(side_effect=uploads._drop)
    monkeypatch.setattr(uploads, "_drop", dropped)
    monkeypatch.setattr(uploads, "_take", Mock(side_effect=NO_ROOM))
    bring_table(visit("1_Data.py"), "people.csv", b"a,b\n1,2\n")
    dropped.assert_called_once()


def test_a_command_says_it_too(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Store, "find", Mock(side_effect=of_database("database or disk is full")))
    assert main(["audits", "list"]) == 2
    assert capsys.readouterr().err == "error: The store cannot be used: database or disk is full\n"
    monkeypatch.setattr(Store, "find", Mock(side_effect=KeyError("a mistake of ours")))
    with pytest.raises(KeyError):
        main(["audits", "list"])
