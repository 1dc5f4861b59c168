"""A full disk at each moment that writes: while a file comes, while an audit is saved, while the index is brought up.

The store is on a small file system of its own (tmpfs, so root is needed). It is filled up, something is tried, and
then room is made: what was tried must have ended in a sentence, must have left nothing half, and must work now.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.campaign.processes import Server, environment
from benchmarks.campaign.session import Session
from benchmarks.campaign.small import SAMPLE, numbers, put
from cfad_core.core.errors import CfadError
from cfad_core.runs.executor import wait_for
from cfad_core.runs.store import Store

_MEGABYTES = 64
_LEFT = (0, 8, 64, 256, 1024)  # kilobytes that are left
_FILLER = "filler"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        for _ in range(20):
            if subprocess.run(["umount", str(folder)], check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.5)


def fill(disk: Path, left: int) -> None:
    """Write until so many kilobytes are left."""
    make_room(disk)
    free = shutil.disk_usage(disk).free - left * 1024
    with suppress(OSError), (disk / _FILLER).open("wb") as stream:
        for _ in range(max(0, free) // 4096):
            stream.write(b"\x00" * 4096)
            stream.flush()


def make_room(disk: Path) -> None:
    (disk / _FILLER).unlink(missing_ok=True)


def run(scratch: Path, size: int = 5) -> dict[str, Any]:
    """Try everything with ``size`` different amounts of room that is left."""
    found: dict[str, Any] = {"part": "disk", "megabytes": _MEGABYTES, "kilobytes left": list(_LEFT[:size])}
    with small_disk(scratch / "disk") as disk:
        for what in (_upload, _save, _choose_threshold, _migrate, _backup):
            print(what.__name__, flush=True)
            folder = disk / what.__name__
            folder.mkdir()
            found[what.__name__.strip("_").replace("_", " ")] = what(disk, folder, scratch, _LEFT[:size])
            make_room(disk)
            shutil.rmtree(folder, ignore_errors=True)
    return found


def _server(home: Path, scratch: Path, **settings: str) -> Server:
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    return Server(home, scratch / f"{home.parent.name}.log", {"TMPDIR": str(temporary), **settings})


def _upload(disk: Path, folder: Path, scratch: Path, amounts: tuple[int, ...]) -> dict[str, Any]:
    server, found = _server(folder / "home", scratch, CFAD_WORKERS="1"), dict[str, Any]()
    content = SAMPLE.read_bytes() * 3  # 120 kB or so
    try:
        server.start()
        for left in amounts:
            with Session(server.url, "Data") as visitor:
                visitor.open()
                fill(disk, left)
                visitor.upload("people.csv", content)
                said = visitor.errors() or ["taken" if "Read: people" in visitor.said() else "nothing was said"]
                make_room(disk)
                visitor.open("Data")
                visitor.upload("people.csv", content)
                again = "taken" if "Read: people" in visitor.said() and not visitor.errors() else "not taken"
                found[f"{left} kB left"] = {"said": said, "with room": again, "exceptions": visitor.exceptions}
        found["left in uploads"] = _left_soon(folder / "home")
        found["errors of the server"] = server.faults()[:10]
    finally:
        make_room(disk)
        server.stop()
    return found


def _left_soon(home: Path) -> list[str]:
    until = time.monotonic() + 150.0  # sessions end two minutes after their visitors left
    while True:
        files = [path for path in (home / "uploads").rglob("*") if path.is_file() and path.name[0] != "."]
        if not files or time.monotonic() > until:
            return [path.name for path in files]
        time.sleep(2.0)


def _save(disk: Path, folder: Path, scratch: Path, amounts: tuple[int, ...]) -> dict[str, Any]:
    """The disk is full when the audit's result is saved; and nothing can be put into a full store."""
    home, found = folder / "home", dict[str, Any]()
    server = _server(home, scratch, CFAD_WORKERS="1")
    try:
        server.start()
        with Store(home) as store:
            expected = numbers(wait_for(store, put(store, "Undisturbed"), 300.0).metrics)
            for left in amounts:
                audit = put(store, f"{left} kB left")
                while store.get(audit).status == "queued":
                    time.sleep(0.05)
                fill(disk, left)
                record = _ended(store, audit)
                try:
                    put(store, "Into a full store", 7)
                    refused = "it was taken"
                except Exception as error:  # what exactly is the finding
                    refused = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
                half = sorted(path.name for path in store.folder(audit).glob("*")) if record != "done" else []
                make_room(disk)
                settled = wait_for(store, audit, 300.0)  # once there is room to write down how it ended
                if settled.status != "done":
                    store.requeue(audit)
                done = wait_for(store, audit, 300.0)
                same = done.status == "done" and numbers(done.metrics) == expected
                found[f"{left} kB left"] = {
                    "became while it was full": record,
                    "became then": settled.status + (f": {settled.error}" if settled.error else ""),
                    "another one was refused": refused,
                    "files of what is not done": half,
                    "again, with room": "the same numbers" if same else f"{done.status}: {done.error}",
                }
        found["errors of the server"] = server.faults()[:10]
    finally:
        make_room(disk)
        server.stop()
    return found


def _ended(store: Store, audit: str) -> str:
    """How it ended; a full disk may keep that from being written down until there is room."""
    until = time.monotonic() + 120.0
    while time.monotonic() < until:
        with suppress(Exception):  # the disk is full
            record = store.get(audit)
            if record.status not in ("queued", "running"):
                return record.status + (f": {record.error}" if record.error else "")
        time.sleep(0.3)
    return "still running"


def _choose_threshold(disk: Path, folder: Path, scratch: Path, amounts: tuple[int, ...]) -> dict[str, Any]:
    """A page changes the index of a store on a full disk."""
    home, found = folder / "home", dict[str, Any]()
    server = _server(home, scratch, CFAD_WORKERS="1")
    try:
        server.start()
        with Store(home) as store:
            audit = put(store, "Threshold")
            wait_for(store, audit, 300.0)
        for left in amounts:
            with Session(server.url, "Threshold", audit=audit) as visitor:
                visitor.open()
                fill(disk, left)
                for _ in range(30):  # until the log of changes of the index needs more room
                    visitor.press("Save this threshold")
                    if visitor.errors() or visitor.exceptions:
                        break
                said = visitor.errors() or ["saved"]
                make_room(disk)
                visitor.open("Threshold", audit=audit)
                visitor.press("Save this threshold")
                again = "saved" if not visitor.errors() else visitor.errors()
                found[f"{left} kB left"] = {"said": said, "with room": again, "exceptions": visitor.exceptions}
        found["errors of the server"] = server.faults()[:10]
    finally:
        make_room(disk)
        server.stop()
    return found


_OLD_STORE = """
import json, sys
from pathlib import Path
import sqlalchemy as sa
from benchmarks.campaign.small import ROLES, config as settings
from alembic import command
from alembic.config import Config
from cfad_core.runs.database import MIGRATIONS
home = Path(sys.argv[1])
(home / "tables").mkdir(parents=True); (home / "audits").mkdir()
config = Config()
config.set_main_option("script_location", str(MIGRATIONS))
with sa.create_engine(f"sqlite:///{home}/audits.sqlite").begin() as connection:
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    row = dict(id="a", name="A", owner="", note="", source="", created=1.0, status="failed", stage="", progress=0.0,
        cancel_requested=False, data_digest="d", tables="{}", roles=json.dumps(ROLES.to_dict()),
        config=json.dumps(settings().to_dict()), error="e", details="", schema_version=5)
    for k in range(300):
        names = ", ".join(row); marks = ", ".join(f":{name}" for name in row)
        connection.execute(sa.text(f"INSERT INTO audits ({names}) VALUES ({marks})"),
            row | {"id": str(k), "details": "x" * 2000})
"""


def _migrate(disk: Path, folder: Path, scratch: Path, amounts: tuple[int, ...]) -> dict[str, Any]:
    """A store of the first version is opened on a full disk, and then with room."""
    found: dict[str, Any] = {}
    for left in amounts:
        home = folder / f"home{left}"
        subprocess.run([sys.executable, "-c", _OLD_STORE, str(home)], check=True, env=environment(), cwd=scratch)
        fill(disk, left)
        listing = [sys.executable, "-m", "cfad_core", "audits", "list"]
        variables = environment({"CFAD_HOME": str(home)})
        full = subprocess.run(listing, capture_output=True, text=True, env=variables, cwd=scratch, check=False)
        before = _count(home)
        make_room(disk)
        roomy = subprocess.run(listing, capture_output=True, text=True, env=variables, cwd=scratch, check=False)
        found[f"{left} kB left"] = {
            "exit code": full.returncode,
            "said": (full.stderr.strip().splitlines() or ["nothing"])[-1][:300],
            "traceback": "Traceback" in full.stderr,
            "audits while it was full": before,
            "with room": roomy.returncode,
            "audits then": _count(home),
        }
    return found


def _count(home: Path) -> int | str:
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(home / "audits.sqlite")
        try:
            return int(connection.execute("SELECT COUNT(*) FROM audits").fetchone()[0])
        finally:
            connection.close()
    return "cannot be read"


def _backup(disk: Path, folder: Path, scratch: Path, amounts: tuple[int, ...]) -> dict[str, Any]:
    """A backup onto a full disk, where the program makes backups."""
    asked = [sys.executable, "-m", "cfad_core", "store", "--help"]
    if subprocess.run(asked, capture_output=True, env=environment(), cwd=scratch, check=False).returncode != 0:
        return {"not there": "this version has no 'cfad store backup'"}
    home, found = scratch / "backed-up", dict[str, Any]()
    with Store(home) as store, suppress(CfadError):
        for k in range(3):
            put(store, f"Backup {k}", k)
    variables, command = environment({"CFAD_HOME": str(home)}), [sys.executable, "-m", "cfad_core", "store", "backup"]
    for left in amounts:
        fill(disk, left)
        target = folder / f"backup{left}.zip"
        full = subprocess.run(
            [*command, str(target)], capture_output=True, text=True, env=variables, cwd=scratch, check=False
        )
        files = sorted(path.name for path in folder.iterdir())
        make_room(disk)
        roomy = subprocess.run(
            [*command, str(folder / f"again{left}.zip")],
            capture_output=True,
            text=True,
            env=variables,
            cwd=scratch,
            check=False,
        )
        found[f"{left} kB left"] = {
            "exit code": full.returncode,
            "said": (full.stderr.strip().splitlines() or ["nothing"])[-1][:300],
            "traceback": "Traceback" in full.stderr,
            "files there": files,
            "with room": roomy.returncode,
        }
    return found
