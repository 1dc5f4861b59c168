"""A whole store as one file, made while it is in use, and a store that is made of it.

The file is a zip archive without compression: what ``snapshot`` describes, and ``manifest.json`` with the sha256 of
every file. That nothing is compressed makes a file that unpacks to more than its own size a wrong one.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.files import staged_file
from cfad_core.core.formats import counted
from cfad_core.runs.database import newest_revision
from cfad_core.runs.model import METADATA
from cfad_core.runs.scratch import Scratch
from cfad_core.runs.store import Store

_MANIFEST = "manifest.json"
_VERSION = 1
_PART = r"[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]{0,199}"  # of a path: nothing that leads elsewhere
_MEMBER = re.compile(
    r"rows/[a-z_]+\.jsonl|tables/[0-9a-f]{64}\.parquet|template/report\.toml"
    rf"|template/{_PART}\.(png|PNG|jpe?g|JPE?G|svg|SVG)|audits/[0-9A-Za-z]{{1,32}}(/{_PART}){{1,6}}"
)
_DAMAGE = (
    *(InvalidArtifactError, EOFError, KeyError, TypeError, ValueError, AttributeError),
    *(zipfile.BadZipFile, RuntimeError),  # also what is encrypted
)
_LONGEST_MANIFEST = 2**28  # bytes
_BLOCK = 2**20
_MB = 10**6


@dataclass(frozen=True)
class Backup:
    """What is in a backup: how many rows each table of the index has, how many files there are, and their bytes."""

    rows: Mapping[str, int]
    files: int
    size: int
    made: float

    @property
    def words(self) -> str:
        """``3 audits, 120 files, 4.5 MB``."""
        return f"{counted(self.rows['audits'], 'audit')}, {counted(self.files, 'file')}, {self.size / _MB:,.1f} MB"


def back_up(store: Store, path: Path) -> Backup:
    """Write everything that is in a store to a file, for its owner's eyes alone; whole or not at all.

    Raises
    ------
    NotAllowedError
        If it is not the program itself, or whoever runs it, who asks.
    CfadError
        If it cannot be written.
    """
    store.need_operator()
    try:
        scratch = Scratch(store.home / ".backup")
        try:
            store.take_snapshot(scratch.path / "store")
            with staged_file(path, mode=0o600) as stage:
                found = _write(scratch.path / "store", stage)
        finally:
            scratch.close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise CfadError(f"The backup cannot be written to '{path}': {reason}. Nothing of it is left there.") from error
    store.note("backed up", None, f"{path.name}: {found.words}")
    return found


def _write(folder: Path, path: Path) -> Backup:
    files: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            name = file.relative_to(folder).as_posix()
            if not _MEMBER.fullmatch(name):
                raise CfadError(f"'{name[:200]}' is no file that a store has; remove it, and back up again.")
            with file.open("rb") as source, archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
                size, digest = _copy(source, target)
            files[name] = {"bytes": size, "sha256": digest}
        rows = {table.name: _lines(folder / "rows" / f"{table.name}.jsonl") for table in METADATA.sorted_tables}
        entry = {"version": _VERSION, "schema": newest_revision(), "made": time.time(), "rows": rows, "files": files}
        archive.writestr(_MANIFEST, json.dumps(entry, indent=1) + "\n")
    return _summary(entry)


def _summary(entry: Mapping[str, Any]) -> Backup:
    files = entry["files"].values()
    return Backup(dict(entry["rows"]), len(files), sum(int(one["bytes"]) for one in files), float(entry["made"]))


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _copy(source: IO[bytes], target: IO[bytes]) -> tuple[int, str]:
    """Returns how many bytes there were, and their sha256."""
    size, digest = 0, hashlib.sha256()
    while block := source.read(_BLOCK):
        target.write(block)
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()


def restore(path: Path, home: Path | None = None, url: str | None = None) -> Backup:
    """Fill an empty store with a backup, after every digest in it was checked; all of it or nothing.

    The database may be another one than that of the backup. No program may use the store meanwhile.

    Raises
    ------
    InvalidArtifactError
        If the file is no backup, is damaged, of another version, or holds anything else besides.
    InvalidDataError
        If the store has something in it.
    CfadError
        If there is no such file, or it cannot be unpacked.
    """
    if not path.is_file():
        raise CfadError(f"There is no file '{path}'.")
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _manifest(archive, path.stat().st_size)
            with Store(home, url) as store:
                store.need_empty()
                _fill(store, archive, entry)
                store.note("restored", None, f"{path.name}: {_summary(entry).words}")
            return _summary(entry)
    except _DAMAGE as error:
        reason = str(error).strip() or type(error).__name__
        raise InvalidArtifactError(f"'{path.name}' is no backup of a store, or damaged: {reason}") from error
    except OSError as error:
        raise CfadError(f"'{path.name}' cannot be restored: {error.strerror or error}. Nothing was changed.") from error


def _manifest(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """What it says is in it, if that is what is in it."""
    members = {member.filename: member for member in archive.infolist()}
    strange = next((name for name in members if name != _MANIFEST and not _MEMBER.fullmatch(name)), None)
    if strange is not None or len(members) < len(archive.infolist()):
        raise InvalidArtifactError(f"it holds '{(strange or 'a file twice')[:100]}', which no store has")
    packed = any(member.compress_type != zipfile.ZIP_STORED for member in members.values())
    if packed or sum(member.file_size for member in members.values()) > size:
        raise InvalidArtifactError("it unpacks to more than it holds")
    if _MANIFEST not in members or members[_MANIFEST].file_size > _LONGEST_MANIFEST:
        raise InvalidArtifactError(f"it has no {_MANIFEST}")
    entry: dict[str, Any] = json.loads(archive.read(_MANIFEST))
    if (entry["version"], entry["schema"]) != (_VERSION, newest_revision()):
        raise InvalidArtifactError(
            f"it has version {entry['version']} and schema {entry['schema']}; this program reads {_VERSION} and "
            f"{newest_revision()}. Restore it with the program that made it, and open that store with this one"
        )
    tables = {table.name for table in METADATA.sorted_tables}
    sizes = {name: member.file_size for name, member in members.items() if name != _MANIFEST}
    is_whole = sizes == {name: one["bytes"] for name, one in entry["files"].items()}
    if not is_whole or set(entry["rows"]) != tables or not {f"rows/{name}.jsonl" for name in tables} <= set(sizes):
        raise InvalidArtifactError("its files are not those of its manifest")
    return entry


def _fill(store: Store, archive: zipfile.ZipFile, entry: Mapping[str, Any]) -> None:
    """Unpack it beside the store, and move it in."""
    needed, free = _summary(entry).size, shutil.disk_usage(store.home).free
    if needed > free:
        raise CfadError(
            f"The backup needs {needed / _MB:,.0f} MB, and there are {free / _MB:,.0f} MB in '{store.home}'. Make "
            "room, or restore it elsewhere."
        )
    scratch = Scratch(store.home / ".restore")
    try:
        for name, one in entry["files"].items():
            target = scratch.path / "store" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as out:
                _, digest = _copy(source, out)
            if digest != one["sha256"]:
                raise InvalidArtifactError(f"'{name}' is not as it was backed up")
        store.put_snapshot(scratch.path / "store")
    finally:
        scratch.close()
