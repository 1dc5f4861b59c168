"""What the server writes about itself: a line of JSON for each event, with the id of the request it belongs to.

What tables hold is never written. An error's message may quote a cell, and so may what a library says; of errors
only their kind is kept and where they arose, and of what libraries say only the words that are the same every time.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REQUEST: ContextVar[str] = ContextVar("request", default="")  # the id of the one that is answered

LOGGER = logging.getLogger("cfad_core.server")
_OURS = ("cfad_core", "uvicorn")  # their messages hold no data
_BASE = logging.getLogRecordFactory()
_FIELDS = "fields"  # of a record: what else belongs into its line


def write_json_lines() -> None:
    """Make every logger of this process write lines of JSON, whoever set it up.

    The line is made with the record, not by a handler: libraries bring handlers of their own, and each of them writes
    what a record says.
    """
    logging.setLogRecordFactory(_record)
    logging.captureWarnings(capture=True)
    if not LOGGER.handlers:
        LOGGER.addHandler(logging.StreamHandler())
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    threading.excepthook = _thread_broke  # it would print what the error says


def event(message: str, **fields: object) -> None:
    """Write down that something happened; ``fields`` are JSON, and nothing of a table."""
    LOGGER.info(message, extra={_FIELDS: fields})


def _thread_broke(ended: threading.ExceptHookArgs) -> None:
    LOGGER.error("a thread ended by an error", exc_info=ended.exc_value)


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = _BASE(*args, **kwargs)
    record.msg, record.args = _Line(record), ()
    record.exc_info = record.exc_text = record.stack_info = None
    return record


class _Line:
    """The line of a record, made when it is written: what ``extra`` holds comes after the record."""

    def __init__(self, record: logging.LogRecord) -> None:
        is_ours = record.name.startswith(_OURS)
        self._record = record
        self._message = record.getMessage() if is_ours else str(record.msg).partition("\n")[0]  # then come details
        self._error = record.exc_info[1] if record.exc_info else None

    def __str__(self) -> str:
        record = self._record
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"at": at, "level": record.levelname, "logger": record.name, "message": self._message}
        line |= {"request": REQUEST.get()} if REQUEST.get() else {}
        line |= getattr(record, _FIELDS, {})
        line |= {"error": type(self._error).__name__, "where": _where(self._error)} if self._error else {}
        return json.dumps(line, ensure_ascii=False)


def _where(error: BaseException) -> list[str]:
    """The places an error came through, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
