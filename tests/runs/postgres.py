"""A PostgreSQL server of our own, where Debian's (or another) is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "no PostgreSQL server is installed here (Debian: apt-get install postgresql)"


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start one on a free port, give its URL, stop it."""
    with tempfile.TemporaryDirectory(prefix="cfad-pg-") as scratch:
        data = Path(scratch) / "data"
        data.mkdir()
        user = None
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            user = "postgres"
            entry = pwd.getpwnam(user)
            for path in (Path(scratch), data):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]

        def run(*command: str | Path) -> None:
            subprocess.run([*map(str, command)], check=True, capture_output=True, user=user, cwd=scratch)

        run(folder / "initdb", "-D", data, "-U", "cfad", "-A", "trust", "--no-sync")
        options = f"-p {port} -k {scratch} -h 127.0.0.1 -c fsync=off"
        run(folder / "pg_ctl", "-D", data, "-o", options, "-l", Path(scratch) / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://cfad@127.0.0.1:{port}/postgres"
        finally:
            run(folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
