"""An audit as one zip file, to be taken elsewhere."""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from cfad_core.audit.folder import load_audit, load_judges
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.files import staged_file
from cfad_core.data.readers import Limits, check_shape
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import PARTS, Tables, load_parquet
from cfad_core.detectors.registry import check_known
from cfad_core.runs import signed
from cfad_core.runs.model import AS_STORED, AUDITS, EXPORTED, AuditRecord, ChosenThreshold, headline
from cfad_core.runs.plan import AuditPlan
from cfad_core.runs.store import Store, checked_name

_VERSION = 1
_DAMAGE = (
    *(CfadError, OSError, EOFError, KeyError, TypeError, ValueError, AttributeError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # also what is encrypted or packed in a way that is not known
)
_MAX_BYTES = 20_000_000_000
_MAX_JSON = 500_000_000  # bytes of a file that is read at once
_MEMBER = re.compile(
    r"record\.json|audit/[a-z_]+\.(json|jsonl|parquet|safetensors)|tables/[0-9a-f]{64}\.parquet"
    rf"|audit/{signed.FOLDER}/[0-9]{{4}}/{signed.FILE_NAME.pattern}"
)


def export_audit(store: Store, audit: str, path: Path) -> None:
    """Write a finished audit, its tables, signed reports and place in the index to a zip file, whole or not at all.

    Raises
    ------
    InvalidArtifactError
        If it is not done, or damaged, or a signed report is not as it was signed.
    """
    record, folder = store.get(audit), store.folder(audit)
    store.result(audit)  # refuses an audit that is not done, or damaged
    try:
        signed.check_copies(folder)
    except InvalidArtifactError as error:
        place = folder / signed.FOLDER
        raise InvalidArtifactError(f"Audit '{audit}' cannot be exported: {error}. Restore it in '{place}'.") from error
    entry = {"version": _VERSION} | {name: _plain(record, name) for name in EXPORTED}
    with staged_file(path) as stage, zipfile.ZipFile(stage, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("record.json", json.dumps(entry, indent=2) + "\n")
        for file in sorted([*folder.iterdir(), *folder.glob(f"{signed.FOLDER}/*/*")]):
            name = f"audit/{file.relative_to(folder).as_posix()}"
            if file.is_file() and _MEMBER.fullmatch(name):
                archive.write(file, name)
        for name in sorted(set(record.tables.values())):
            archive.write(store.table_path(name), f"tables/{name}.parquet")


def _plain(record: AuditRecord, name: str) -> Any:
    """What an archive has of a column; roles and settings to the letter, as a plan may have sealed them."""
    stored, made = getattr(record, AS_STORED.get(name, name)), getattr(record, name)
    if name in ("roles", "config"):
        return json.loads(stored)
    return made.to_dict() if stored is not None and hasattr(made, "to_dict") else stored


def import_audit(store: Store, path: Path) -> str:
    """Take an audit out of a zip file into the store; returns its id, which is a new one.

    Raises
    ------
    InvalidArtifactError
        If the file is no exported audit, is damaged, or holds anything else besides.
    NotAllowedError, LimitReachedError
        If whoever looks may make none, or keeps too much.
    """
    if not path.is_file():
        raise CfadError(f"There is no file '{path}'.")
    store.need_room(_unpacked_size(path))
    with tempfile.TemporaryDirectory(dir=store.home, prefix=".import-") as scratch:
        folder = Path(scratch)
        try:
            entry = _unpack(path, folder)
            result = load_audit(folder / "audit")
            load_judges(folder / "audit")  # refuses damaged ones
            signed.check_copies(folder / "audit")
            tables = _tables(entry, folder / "tables")
            row = _row(entry, result)
            row["schema_version"] = json.loads((folder / "audit" / "audit.json").read_text("utf-8"))["schema_version"]
            found = headline(result)
        except _DAMAGE as error:
            reason = str(error).strip() or type(error).__name__
            raise InvalidArtifactError(f"'{path.name}' is not an exported audit, or damaged: {reason}") from error
        return store.adopt(row, found, folder / "audit", tables)


def _unpacked_size(path: Path) -> int:
    """What it says of itself; 0 if it is no archive, which is found out later."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except _DAMAGE:
        return 0


def _unpack(path: Path, folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        strange = [member.filename for member in members if not _MEMBER.fullmatch(member.filename)]
        if strange:
            raise InvalidArtifactError(f"it holds '{strange[0][:100]}', which no audit has")
        _check_sizes(members, folder)
        entry: dict[str, Any] = json.loads(archive.read("record.json"))
        if entry["version"] != _VERSION:
            raise InvalidArtifactError(f"it has version {entry['version']}; this program reads {_VERSION}")
        for member in members:
            target = folder / member.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)
    return entry


def _check_sizes(members: Sequence[zipfile.ZipInfo], folder: Path) -> None:
    """Nothing is unpacked that would fill the disk or the memory; what a member says of its size is held to it."""
    total = sum(member.file_size for member in members)
    if total > _MAX_BYTES:
        raise InvalidArtifactError(f"it unpacks to more than {_MAX_BYTES:,} bytes")
    if total > (free := shutil.disk_usage(folder).free):
        raise InvalidArtifactError(f"it unpacks to {total:,} bytes, and {free:,} are free")
    for member in members:
        if not member.filename.endswith((".parquet", ".safetensors")) and member.file_size > _MAX_JSON:
            raise InvalidArtifactError(f"'{member.filename}' in it unpacks to more than {_MAX_JSON:,} bytes")


def _tables(entry: Mapping[str, Any], folder: Path) -> Tables:
    """The tables that were audited; any others are refused."""
    given = {part: entry["tables"][part] for part in PARTS if part in entry["tables"]}
    for name in given.values():
        with suppress(OSError, pa.ArrowException):  # missing or damaged: said by whoever reads it
            metadata = pq.read_metadata(folder / f"{name}.parquet")
            check_shape((metadata.num_rows, metadata.num_columns), Limits(), "a table")
    tables = Tables.stored({part: load_parquet(folder / f"{name}.parquet") for part, name in given.items()})
    if tables.digests != entry["tables"] or tables.digest != entry["data_digest"]:
        raise InvalidArtifactError("a table is not the one that was audited")
    return tables


def _row(entry: Mapping[str, Any], result: AuditResult) -> dict[str, Any]:
    """What the index keeps of it, checked: an archive may come from anywhere."""
    row = {name: entry[name] for name in EXPORTED if entry.get(name) is not None}
    chosen = ChosenThreshold.from_dict(row["threshold"]) if "threshold" in row else None
    if chosen is not None and chosen.method not in result.scores:
        raise InvalidArtifactError(f"its threshold is for a method '{chosen.method[:40]}', which was not audited")
    row["threshold"] = None if chosen is None else chosen.to_dict()
    row["statements"] = Statements.from_dict(row["statements"]).to_dict() if "statements" in row else None
    row["plan"] = AuditPlan.from_dict(row["plan"]).to_dict() if "plan" in row else None
    as_given = ColumnRoles.from_dict(row["roles"]) == result.roles
    row["roles"] = json.dumps(row["roles"] if as_given else result.roles.to_dict())  # with the groups that it settled
    check_known(AuditConfig.from_dict(row["config"]).methods)
    row["config"] = json.dumps(row["config"])
    for name in EXPORTED:
        _check(AUDITS.columns[name], row.get(name))
    return row | {"name": checked_name(row["name"])}


def _check(column: sa.Column[Any], value: Any) -> None:
    if value is None:  # a column may also be newer than the archive
        fits = column.nullable is True or column.default is not None
    elif column.type.python_type is float:
        fits = isinstance(value, (int, float)) and math.isfinite(value)
    else:
        fits = isinstance(value, column.type.python_type)
    if not fits:
        raise InvalidArtifactError(f"its {column.name} cannot be used")
