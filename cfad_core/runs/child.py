"""Run a function in a process of its own: it can be watched, stopped, or die, without taking anything with it.

The child is a fresh interpreter that gets the function by name and its arguments as JSON, and answers in lines of
JSON on its standard output. Its standard input stays open: a line asks it to stop, and its end (the parent died, by
whatever means) ends it. Nothing of the parent is inherited or pickled, and no script is run a second time.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from cfad_core.core import errors
from cfad_core.core.errors import AuditCancelled, CfadError, WorkerDied
from cfad_core.core.progress import Progress

_GRACE = 1.0  # seconds to stop by oneself
_LOOK = 0.1  # seconds between two looks at whether to stop
_REPORTS_A_SECOND = 10.0
_LONGEST = 2**28  # characters of an answer
_PLAIN = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def run_in_child(
    function: str,
    arguments: Mapping[str, Any],
    progress: Progress | None = None,
    *,
    threads: int | None = None,
    folder: Path | None = None,
) -> Any:
    """Call ``function(progress=..., **arguments)`` in a child process and return what it returns.

    Parameters
    ----------
    function : ``module:name``
    arguments : JSON-able, as is what the function returns
    progress : hears the child's reports, and may ask it to stop
    threads : that the child computes with; all cores by default
    folder : that the child works in; it then knows nothing of this process's environment

    Raises
    ------
    AuditCancelled
        If ``progress`` asked to stop. A child that does not stop by itself is killed.
    CfadError
        Whatever the function raised; ``WorkerDied`` if the process ended without an answer.
    """
    with Child(threads, folder=folder) as child:
        return child.run(function, arguments, progress)


class Deadline(Progress):
    """Asks to stop when the time is over, or when ``inner`` does; says whether it was the time."""

    def __init__(self, seconds: float, inner: Progress | None = None) -> None:
        self._end, self._inner = time.monotonic() + seconds, inner
        self.is_over = False

    def stop_requested(self) -> bool:
        if self._inner is not None and self._inner.stop_requested():
            return True
        self.is_over = self.is_over or time.monotonic() > self._end
        return self.is_over


class Child:
    """A process that waits for one task; it can be started ahead of it.

    Parameters
    ----------
    threads : that it computes with; all cores by default
    warm : modules that it imports while it waits
    folder : as in ``run_in_child``
    """

    def __init__(self, threads: int | None = None, warm: Sequence[str] = (), folder: Path | None = None) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._process = _start(threads, warm, self._log, folder)
        self._listener: threading.Thread | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        if self._listener is not None:
            self._listener.join(timeout=_GRACE)  # it hears the end of what is said, and must not read what is closed
        with self._process:  # closes its pipes and waits
            pass
        self._log.close()

    @property
    def is_ready(self) -> bool:
        """Whether it still waits for its task."""
        return self._process.poll() is None

    def run(self, function: str, arguments: Mapping[str, Any], progress: Progress | None = None) -> Any:
        """As ``run_in_child``."""
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._listener = threading.Thread(target=_read, args=(self._process.stdout, lines), daemon=True)
        self._listener.start()
        _tell(self._process, {"function": function, "arguments": arguments})
        return _watch(self._process, lines, progress or Progress(), self._log)


def _watch(
    process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None], progress: Progress, log: IO[bytes]
) -> Any:
    stage, asked = "start", None
    while True:
        try:
            line = lines.get(timeout=_LOOK)
        except queue.Empty:
            line = ""
        if line is None:
            raise _obituary(process.wait(), asked is not None, stage, log)
        if line:
            message = _understand(line)
            if "stage" in message:
                stage = message["stage"]
                if asked is None:
                    progress.report(stage, message["step"], message["total"], message["values"])
            elif "result" in message:
                return message["result"]
            else:
                raise _error(message)
        if asked is None and progress.stop_requested():
            asked = time.monotonic()
            _tell(process, "stop")
        elif asked is not None and time.monotonic() - asked > _GRACE:
            raise AuditCancelled(f"The audit was cancelled during '{stage}'. Nothing was saved.")


def _start(threads: int | None, warm: Sequence[str], log: IO[bytes], folder: Path | None) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if folder is None or name in _PLAIN}
    environment["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reports to its maker otherwise, from its import on
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_PACKAGE_PARENT), environment.get("PYTHONPATH")]))
    if threads is not None:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(threads)
    return subprocess.Popen(
        [sys.executable, "-m", "cfad_core.runs.child", *warm],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
        cwd=folder,
        start_new_session=True,  # Ctrl-C is the parent's business
    )


def _read(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with suppress(ValueError):  # closed while it listened: nobody waits for more
        while line := stream.readline(_LONGEST):
            lines.put(line)
    lines.put(None)


def _tell(process: subprocess.Popen[str], message: Any) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it died; the end of its output says so


def _understand(line: str) -> dict[str, Any]:
    try:
        message: dict[str, Any] = json.loads(line)
        if {"stage", "step", "total", "values"} <= message.keys() or "result" in message:
            return message
        return {**message, "error": str(message["error"]), "message": str(message["message"])}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise WorkerDied(
            "The process that computed this gave an answer that makes no sense. Start it again."
        ) from error


def _error(message: Mapping[str, Any]) -> CfadError:
    kind = getattr(errors, message["error"], CfadError)
    is_ours = isinstance(kind, type) and issubclass(kind, CfadError)
    error: CfadError = (kind if is_ours else CfadError)(message["message"])
    error.details = message.get("details", "")
    return error


def _obituary(code: int, was_asked: bool, stage: str, log: IO[bytes]) -> CfadError:
    if was_asked:
        return AuditCancelled(f"The audit was cancelled during '{stage}'. Nothing was saved.")
    if code == -signal.SIGKILL:
        reason = "was killed, most likely because the machine ran out of memory"
        remedy = "Close other programs or use fewer rows, and start it again."
    else:
        reason = f"ended unexpectedly ({'signal' if code < 0 else 'exit code'} {abs(code)})"
        remedy = "Start it again; if it happens once more, report it with the details."
    error = WorkerDied(f"The process that computed this {reason}, during '{stage}'. {remedy}")
    error.code = code
    log.seek(0)
    error.details = log.read()[-4000:].decode("utf-8", errors="replace")
    return error


class _ToParent(Progress):
    """Sends reports up, not too many of them, and hears whether to stop."""

    def __init__(self, answers: IO[str]) -> None:
        self._answers, self._last, self._stage = answers, 0.0, ""
        self._stop = threading.Event()

    def listen(self, stream: IO[str]) -> None:
        for _ in stream:
            self._stop.set()
        os._exit(1)  # the parent is gone

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        now = time.monotonic()
        if stage == self._stage and step < total and now - self._last < 1.0 / _REPORTS_A_SECOND:
            return
        self._last, self._stage = now, stage
        self.answer({"stage": stage, "step": step, "total": total, "values": dict(values)})

    def stop_requested(self) -> bool:
        return self._stop.is_set()

    def answer(self, message: Mapping[str, Any]) -> None:
        self._answers.write(json.dumps(message) + "\n")
        self._answers.flush()


def _sentence(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return "There was not enough memory. Close other programs or use fewer rows, and start it again."
    if os.strerror(errno.ENOSPC) in text:  # some libraries wrap the system's error in one of their own
        return "The disk is full. Make room, and start it again."
    if isinstance(error, OSError):
        where = f" '{error.filename}'" if error.filename else ""
        return f"The file{where} could not be read or written: {error.strerror or text}."
    return f"Something unexpected went wrong ({type(error).__name__}: {text[:200]}). Report it with the details."


def main() -> None:
    """The child: read the task, do it, answer."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    for module in sys.argv[1:]:
        importlib.import_module(module)
    line = sys.stdin.readline()
    if not line:
        return  # nobody needed it
    task = json.loads(line)
    progress = _ToParent(answers)
    threading.Thread(target=progress.listen, args=(sys.stdin,), daemon=True).start()
    module, _, name = task["function"].partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(progress=progress, **task["arguments"])
        progress.answer({"result": result})
    except CfadError as error:
        progress.answer({"error": type(error).__name__, "message": str(error)})
    except BaseException as error:  # the message is for people, the details for whoever repairs
        details = traceback.format_exc()[-4000:]
        progress.answer({"error": "WorkerDied", "message": _sentence(error), "details": details})
    finally:
        answers.flush()
    os._exit(0)  # no thread or library keeps it alive


if __name__ == "__main__":
    main()
