"""Servers of the campaign, and all processes that they start: to watch, to kill, and to find what is left."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
_START = 120.0  # seconds that a server may take to answer, on a busy machine
MARK = f"campaign-{secrets.token_hex(6)}"  # in the environment of all processes that are started here


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of what is started here; the mark goes where also readers of files have it."""
    path = os.pathsep.join([str(ROOT), f"/nowhere/{MARK}", *(os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    return {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "OMP_NUM_THREADS": "1", **(more or {})}


def started() -> list[psutil.Process]:
    """Every living process that descends from what was started here, whoever its parent is now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and _is_marked(process.pid):
                found.append(process)
    return found


def _is_marked(process: int) -> bool:
    return MARK.encode() in Path(f"/proc/{process}/environ").read_bytes() and process != os.getpid()


def role(process: psutil.Process) -> str:
    """What a process is: server, child of an audit, reader of a file, Dask scheduler or worker, ..."""
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        names = {
            "reading_child": "reader",
            "cfad_core.runs.child": "child",
            "cfad_core serve": "server",
            "cfad_core": "command",
            "distributed.cli.dask_scheduler": "scheduler",
            "distributed.cli.dask_worker": "worker",
            "distributed": "worker",
        }
        return next((name for part, name in names.items() if part in words), words[:60])
    return "gone"


def end_all() -> list[str]:
    """Kill whatever of it still lives; what that was."""
    left = started()
    told = [role(process) for process in left]
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=10)
    return told


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A ``cfad serve`` on a store of its own.

    Attributes
    ----------
    prefix : what the command is run by: strace, say
    """

    home: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it answers."""
        command = [*self.prefix, sys.executable, "-m", "cfad_core", "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.home.parent,
                env=environment({"CFAD_HOME": str(self.home), **self.settings}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it can work.

        Raises
        ------
        RuntimeError
            If it ends before, or takes too long.
        """
        assert self.process is not None
        until = time.monotonic() + _START
        while answer(f"{self.url}/readyz") != 200:
            if self.process.poll() is not None or time.monotonic() > until:
                tail = self.log.read_text("utf-8", "replace")[-2000:]
                raise RuntimeError(f"the server did not start (exit code {self.process.poll()}):\n{tail}")
            time.sleep(0.1)

    @property
    def running(self) -> psutil.Process:
        """The process of the server itself, also below a prefix."""
        assert self.process is not None
        top = psutil.Process(self.process.pid)
        return next(one for one in top.children() if role(one) == "server") if self.prefix else top

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it as somebody does who runs it."""
        if self.process is None:
            return
        with suppress(psutil.Error, StopIteration, ProcessLookupError):
            self.running.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()

    def lines(self) -> list[dict[str, object]]:
        """What it wrote down, as far as that is JSON."""
        found = []
        for line in self.log.read_text("utf-8", "replace").splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                found += [entry] if isinstance(entry, dict) else []
        return found

    def faults(self) -> list[str]:
        """Errors nobody foresaw, as it wrote them down; and lines that are no JSON, which none should be."""
        found = []
        for line in self.log.read_text("utf-8", "replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                found.append(f"not JSON: {line[:300]}")
                continue
            if entry.get("level") in ("ERROR", "CRITICAL") or int(entry.get("status") or 0) >= 500:
                found.append(json.dumps(entry)[:800])
        return found


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Start it, and end it whatever happens."""
    try:
        server.start()
        yield server
    finally:
        server.stop()


def answer(url: str) -> int:
    """The status with which a server answers; 0 if it does not."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=5) as found:
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, OSError):
        return 0
