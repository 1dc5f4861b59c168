"""A PostgreSQL server that can be killed and started again, and Dask."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.campaign.processes import environment, free_port
from tests.runs.postgres import MISSING, binaries


@dataclass
class Postgres:
    """A server of our own, in a folder."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://cfad@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Make its data, and start it."""
        self.folder.mkdir(parents=True)
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            for parent in self.folder.parents:  # it must be able to get there
                if parent.stat().st_uid == 0 and parent != Path("/"):
                    parent.chmod(parent.stat().st_mode | 0o011)
        self._run("initdb", "-D", self.data, "-U", "cfad", "-A", "trust", "--no-sync")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start it, also when it was killed and its other processes have not all ended yet."""
        options = f"-p {self.port} -k {self.folder} -h 127.0.0.1 -c fsync=off"
        for _ in range(30):
            try:
                self._run("pg_ctl", "-D", self.data, "-o", options, "-l", self.folder / "log", "-w", "start")
            except subprocess.CalledProcessError:
                time.sleep(1.0)
            else:
                return
        raise RuntimeError(f"PostgreSQL does not start: {(self.folder / 'log').read_text('utf-8')[-1000:]}")

    @property
    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self.data / "postmaster.pid").read_text("utf-8").split()[0]))

    def kill(self) -> None:
        """End its first process; the others then end by themselves."""
        self.postmaster.send_signal(signal.SIGKILL)

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def _run(self, command: str, *arguments: str | Path) -> None:
        found = binaries()
        if found is None:
            raise RuntimeError(MISSING)
        words = [str(found / command), *map(str, arguments)]
        user = "postgres" if os.geteuid() == 0 else None
        subprocess.run(words, check=True, capture_output=True, user=user, cwd=self.folder, env=environment())


@dataclass
class Command:
    """A process of a kind, started again when it was killed."""

    module: tuple[str, ...]
    log: Path
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self.module],
                cwd=self.log.parent,
                env=environment(self.settings),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self.kill()
