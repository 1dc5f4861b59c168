"""What child processes do in tests. Nothing heavy is imported: each of them starts anew."""

from __future__ import annotations

import os
import signal
import sys
import time

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.runs.child import run_in_child


def add(progress: Progress, first: int, second: int) -> dict[str, object]:
    sys.stdout.write("this is no answer\n")
    for step in range(1, 4):
        progress.tick("adding", step, 3, loss=1.0 / step)
    return {"sum": first + second, "threads": os.environ["OMP_NUM_THREADS"]}


def refuse(progress: Progress) -> None:
    raise InvalidDataError("First line.\nSecond line.")


def break_down(progress: Progress) -> None:
    raise ZeroDivisionError("nobody expected this")


def fill_disk(progress: Progress) -> None:
    raise RuntimeError("IoError(Os { code: 28, message: 'No space left on device' })")


def eat_memory(progress: Progress) -> None:
    bytearray(2**60)


def be_killed(progress: Progress) -> None:
    progress.tick("dying", 1, 2)
    os.kill(os.getpid(), signal.SIGKILL)


def leave(progress: Progress) -> None:
    os._exit(7)


def obey(progress: Progress) -> None:
    while True:
        progress.tick("waiting", 0, 1)
        time.sleep(0.05)


def ignore_everything(progress: Progress) -> None:
    progress.report("deaf", 0, 1, {})
    while True:
        time.sleep(10.0)


def orphan_maker() -> None:
    """Run by a process that is to be killed."""
    run_in_child("tests.runs.children:ignore_everything", {})
