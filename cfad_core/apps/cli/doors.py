"""How a detector outside this program is asked from the command line: a command, an address, an ONNX file."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfad_core.core.errors import CfadError, InvalidConfigError, InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.answers import Door
    from cfad_core.audit.questions import Questions

Asked = Callable[["Questions"], "pd.DataFrame"]
"""Questions to a table of ids and scores."""

_LAST = 600  # characters of what a command or a server said that are shown


def door_of(options: argparse.Namespace) -> tuple[Door, Asked] | None:
    """How the options say that the detector is asked; None if they leave that to a file."""
    if options.score_command is not None:
        _check_command(options.score_command)
        return "command", lambda questions: ask_command(
            questions, options.score_command, options.score_format, options.score_seconds
        )
    if options.score_address is not None:
        _check_address(options.score_address)
        return "address", lambda questions: ask_address(questions, options.score_address, options.score_seconds)
    if options.onnx is not None:
        return "onnx", lambda questions: ask_model(questions, options)
    return None


def write_batch(questions: Questions, path: Path) -> None:
    """Write the table to score, as CSV or Parquet by the name of the file."""
    from cfad_core.data.tables import save_parquet, write_table

    check_batch_name(path)
    write = save_parquet if path.suffix.lower() == ".parquet" else write_table
    write(questions.batch, path)


def check_batch_name(path: Path) -> None:
    """Refuse a name that ``write_batch`` would, before anything long begins."""
    from cfad_core.core.files import check_file

    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InvalidConfigError(f"The rows to score are written as .csv or .parquet; got '{path.name}'.")
    check_file(path)


# A command


def _check_command(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidConfigError(f"The command cannot be read: {error}.") from error
    if not any("{in}" in word for word in words) or not any("{out}" in word for word in words):
        raise InvalidConfigError(
            "The command needs the places {in} and {out}, such as: --score-command 'python score.py {in} {out}'; got "
            f"'{command}'."
        )
    return words


def ask_command(questions: Questions, command: str, form: str, seconds: float) -> pd.DataFrame:
    """Run a command that reads one file and writes another; no shell is involved.

    Raises
    ------
    CfadError
        If it cannot be started, fails, takes too long or writes nothing.
    """
    from cfad_core.data.readers import read_table

    with tempfile.TemporaryDirectory(prefix="cfad-") as folder:
        given, answered = Path(folder) / f"to_score.{form}", Path(folder) / f"scores.{form}"
        write_batch(questions, given)
        words = [word.replace("{in}", str(given)).replace("{out}", str(answered)) for word in _check_command(command)]
        code, said = _run(words, seconds)
        if code is None:
            raise CfadError(
                f"The command took longer than {seconds:g} seconds for {len(questions.batch):,} rows. Give it more "
                "time with --score-seconds."
            )
        if code:
            raise CfadError(f"The command ended with exit code {code}" + (f": {said}" if said else "."))
        if not answered.is_file():
            raise CfadError(f"The command ended well, but wrote no file {{out}} ({answered.name}).")
        return read_table(answered)


def _run(words: list[str], seconds: float) -> tuple[int | None, str]:
    """Exit code and last words of a command; None if it took too long, and was ended with all that it had started."""
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise CfadError(f"The command '{words[0]}' cannot be started: {error.strerror}.") from error
        try:
            code: int | None = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        return code, _last_words(log.read())


# An address


def _check_address(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise InvalidConfigError(f"An address begins with http:// or https://; got '{address}'.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """People's rows go to the address that was typed, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def ask_address(questions: Questions, address: str, seconds: float) -> pd.DataFrame:
    """Send the table to score as CSV, and read a table of ids and scores (CSV, or a JSON list of objects) back.

    Raises
    ------
    CfadError
        If nobody answers, or no such table.
    """
    import pandas as pd

    from cfad_core.data.readers import read_table

    body = questions.batch.to_csv(index=False).encode("utf-8")
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "text/csv"}, method="POST")  # noqa: S310 - checked
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=seconds) as response:
            kind, content = response.headers.get_content_type(), _read(response, seconds)
    except urllib.error.HTTPError as error:
        with error:
            said = _last_words(error.read(_LAST))
        raise CfadError(f"{address} answered with status {error.code}" + (f": {said}" if said else ".")) from error
    except (OSError, ValueError, http.client.HTTPException) as error:  # also time-outs
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise CfadError(f"{address} could not be asked for scores: {reason}.") from error
    if kind == "application/json":
        try:
            return pd.DataFrame.from_records(json.loads(content))
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidDataError(
                f"{address} answered with JSON that is no list of objects with '{questions.id_column}' and a score."
            ) from error
    return read_table(content, name="scores.csv")


def _read(response: Any, seconds: float) -> bytes:
    """All of an answer, however slowly it comes; a part of it is none."""
    parts, deadline = [], time.monotonic() + seconds
    while part := response.read1(1_000_000):
        parts.append(part)
        if time.monotonic() > deadline:
            raise TimeoutError(f"it took longer than {seconds:g} seconds")
    if response.length:
        raise OSError(f"the answer ended {response.length:,} bytes early")
    return b"".join(parts)


# An ONNX file


def ask_model(questions: Questions, options: argparse.Namespace) -> pd.DataFrame:
    """Score with an ONNX model, in a process under limits."""
    from cfad_core.runs.onnx_model import read_form, score_with_model
    from cfad_core.runs.onnx_use import check_use, suggest_use

    rows = questions.batch.drop(columns=questions.id_column)
    form = read_form(options.onnx)
    use = suggest_use(form, rows, list(rows.columns))
    if options.onnx_input:
        use = replace(use, inputs={words[0]: tuple(words[1:]) for words in options.onnx_input})
    if options.onnx_output is not None:
        name, _, column = options.onnx_output.rpartition(":")
        is_numbered = bool(name) and column.isdecimal()
        use = replace(
            use, output=name if is_numbered else options.onnx_output, column=int(column) if is_numbered else 0
        )
    check_use(form, use, rows)
    scores = score_with_model(options.onnx, use, rows, seconds=options.score_seconds)
    return questions.batch[[questions.id_column]].assign(score=scores)


def _last_words(said: bytes) -> str:
    return " ".join(said.decode("utf-8", errors="replace").split())[-_LAST:]
