"""An audit as one zip file, to be taken elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.files import staged_file
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import digest, load_parquet
from cfad_core.runs.store import Store, headline

_VERSION = 1
_DAMAGE = (
    *(CfadError, OSError, EOFError, KeyError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # also what is encrypted or packed in a way that is not known
)
_MAX_BYTES = 20_000_000_000
_MEMBER = re.compile(r"record\.json|audit/[a-z_]+\.(json|parquet|safetensors)|tables/[0-9a-f]{64}\.parquet")
_KEPT = ("name", "owner", "note", "source", "created", "started", "finished", "tables", "threshold", "data_digest")


def export_audit(store: Store, audit: str, path: Path) -> None:
    """Write a finished audit, its tables and its place in the index to a zip file, whole or not at all."""
    record = store.get(audit)
    store.result(audit)  # refuses an audit that is not done, or damaged
    text = asdict(record)
    entry = {name: text[name] for name in _KEPT}
    entry |= {"version": _VERSION, "roles": record.roles.to_dict(), "config": record.config.to_dict()}
    with staged_file(path) as stage, zipfile.ZipFile(stage, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("record.json", json.dumps(entry, indent=2) + "\n")
        for file in sorted(store.folder(audit).iterdir()):
            if file.is_file():
                archive.write(file, f"audit/{file.name}")
        for name in sorted(set(record.tables.values())):
            archive.write(store.table_path(name), f"tables/{name}.parquet")


def import_audit(store: Store, path: Path) -> str:
    """Take an audit out of a zip file into the store; returns its id, which is a new one.

    Raises
    ------
    InvalidArtifactError
        If the file is no exported audit, is damaged, or holds anything else besides.
    """
    if not path.is_file():
        raise CfadError(f"There is no file '{path}'.")
    with tempfile.TemporaryDirectory(dir=store.home, prefix=".import-") as scratch:
        folder = Path(scratch)
        try:
            entry = _unpack(path, folder)
            result = AuditResult.load(folder / "audit")
            tables = {name: load_parquet(folder / "tables" / f"{name}.parquet") for name in entry["tables"].values()}
            if any(digest(table) != name for name, table in tables.items()):
                raise InvalidArtifactError("a table is not the one that was audited")
            row = {name: entry[name] for name in _KEPT}
            row["schema_version"] = json.loads((folder / "audit" / "audit.json").read_text("utf-8"))["schema_version"]
            row["roles"] = json.dumps(ColumnRoles.from_dict(entry["roles"]).to_dict())
            row["config"] = json.dumps(AuditConfig.from_dict(entry["config"]).to_dict())
            found = headline(result)
        except _DAMAGE as error:
            reason = str(error).strip() or type(error).__name__
            raise InvalidArtifactError(f"'{path.name}' is not an exported audit, or damaged: {reason}") from error
        return store.adopt(row, found, folder / "audit", tables)


def _unpack(path: Path, folder: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        strange = [member.filename for member in members if not _MEMBER.fullmatch(member.filename)]
        if strange:
            raise InvalidArtifactError(f"it holds '{strange[0][:100]}', which no audit has")
        if sum(member.file_size for member in members) > _MAX_BYTES:
            raise InvalidArtifactError(f"it unpacks to more than {_MAX_BYTES:,} bytes")
        entry: dict[str, Any] = json.loads(archive.read("record.json"))
        if entry["version"] != _VERSION:
            raise InvalidArtifactError(f"it has version {entry['version']}; this program reads {_VERSION}")
        for member in members:
            target = folder / member.filename
            target.parent.mkdir(exist_ok=True)
            with archive.open(member) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)
    return entry
