"""What child processes do in tests. Nothing heavy is imported: each of them starts anew."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

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


def try_everything(progress: Progress, folder: str) -> dict[str, str]:
    """What a limited process is not allowed, and how each attempt ends. Nothing is imported after the limits."""
    import ctypes
    import mmap
    import resource
    import socket

    from cfad_core.runs.limits import limit_process

    there, new = Path(folder) / "there", Path(folder) / "new"
    libc, ready = ctypes.CDLL(None, use_errno=True), socket.socket(socket.AF_UNIX)

    def call(number: int, *values: int) -> None:
        if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, values)) < 0:
            raise OSError(ctypes.get_errno(), "refused")

    attempts: dict[str, Callable[[], object]] = {
        "socket": socket.socket,
        "connect": lambda: ready.connect(str(there)),  # a socket from before
        "local socket": lambda: socket.socket(socket.AF_UNIX),
        "pair of sockets": socket.socketpair,
        "write a file": lambda: os.open(new, os.O_WRONLY | os.O_CREAT),
        "read a file": lambda: os.open(there, os.O_RDONLY),
        "look at a file": there.stat,
        "list a folder": lambda: list(Path(folder).iterdir()),
        "delete a file": there.unlink,
        "rename a file": lambda: there.rename(new),
        "make a folder": new.mkdir,
        "open rights": lambda: there.chmod(0o777),
        "fork": os.fork,
        "run a program": lambda: os.execv("/bin/true", ["true"]),
        "signal another": lambda: os.kill(os.getppid(), 0),
        "file in memory": lambda: os.memfd_create("new"),
        "code in memory": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC),
        "change limits": lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0)),
        "trace": lambda: call(101 if os.uname().machine == "x86_64" else 117, 0, 0, 0, 0),
        "io_uring": lambda: call(425, 1, 0),
        "too much memory": lambda: bytearray(2**30),
        "a thread": lambda: _thread(os.getpid),
        "enough memory": lambda: len(bytearray(2**27)),
    }
    _thread(lambda: None)
    limit_process(seconds=20.0, megabytes=800)
    found = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            found[name] = "done"
        except (OSError, MemoryError) as error:
            found[name] = type(error).__name__
    return found


def _thread(work: Callable[[], object]) -> None:
    started = threading.Thread(target=work)
    started.start()
    started.join()


def try_in_another_thread(progress: Progress) -> str:
    """A thread that was there before the limits has them, too."""
    import socket

    from cfad_core.runs.limits import limit_process

    limited, found = threading.Event(), []

    def wait() -> None:
        limited.wait()
        try:
            socket.socket()
            found.append("done")
        except PermissionError:
            found.append("PermissionError")

    thread = threading.Thread(target=wait)
    thread.start()
    limit_process(seconds=20.0, megabytes=800)
    limited.set()
    thread.join()
    return found[0]


def compute_for_ever(progress: Progress) -> None:
    from cfad_core.runs.limits import limit_process

    limit_process(seconds=1.0, megabytes=800)
    while True:
        pass


def write_log(progress: Progress) -> str:
    """What is open can be written to if it is a pipe, and not if it is a file."""
    from cfad_core.runs.limits import limit_process

    limit_process(seconds=20.0, megabytes=800)
    try:
        os.write(2, b"x" * 1000)
    except OSError as error:
        return type(error).__name__
    return "done"


def look_around(progress: Progress) -> dict[str, object]:
    return {"folder": str(Path.cwd()), "secret": os.environ.get("SECRET"), "files": len(list(Path.cwd().iterdir()))}


def talk_nonsense(progress: Progress) -> None:
    for handle in Path("/proc/self/fd").iterdir():
        if int(handle.name) > 2 and str(handle.readlink()).startswith("pipe:"):
            os.write(int(handle.name), b"[1, \xff\n")


def die_once(part: int, _: str, marks: str) -> int:
    """One part ends its worker the first time."""
    mark = Path(marks) / str(part)
    if part == 3 and not mark.exists():
        mark.touch()
        os._exit(1)
    return part


def die(_: int, __: str) -> int:
    """Every time."""
    os._exit(1)
