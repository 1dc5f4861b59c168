"""The demo as it was recorded once: a finished audit that ships with the program, and opens without a wait.

It is an exported audit like any other, made by ``python -m cfad_core demo --record FILE``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import audit_tables
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_folder
from cfad_core.core.progress import Progress
from cfad_core.data.sets.demo import ROLES, generate_demo
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.model import headline
from cfad_core.runs.store import Store

NAME, SOURCE = "Demo", "invented taxpayers"
_ONE_AT_A_TIME = threading.Lock()


def record_demo(path: Path, config: AuditConfig, progress: Progress | None = None) -> None:
    """Audit the demo's people, and write the recording."""
    tables = generate_demo()
    with tempfile.TemporaryDirectory() as scratch, Store(Path(scratch) / "home") as store:
        audit = store.create(tables, ROLES, config, name=NAME, source=SOURCE)
        store.claim("recording", audit)
        result = audit_tables(store.request(audit).tables, ROLES, config, progress)
        save_audit(result, store.folder(audit))
        store.finish(audit, headline(result))
        export_audit(store, audit, path)


def open_recording(store: Store, path: Path) -> str:
    """The id of the recorded audit in the store, where it is put once; copies that people own are theirs."""
    entry = _member(path, "record.json")
    with _ONE_AT_A_TIME:
        for record in store.find(status="done", owner="", text=str(entry["source"])):
            if record.created == entry["created"] and record.data_digest == entry["data_digest"]:
                return record.id
        return import_audit(store, path)


def recorded_result(path: Path, home: Path) -> AuditResult:
    """What the recorded audit found, without an audit in the store; its files are unpacked once below ``home``."""
    folder = home / "recording" / hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    with _ONE_AT_A_TIME:
        if not (folder / "audit.json").is_file():
            with staged_folder(folder, last="audit.json") as stage, zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.startswith("audit/"):
                        (stage / Path(name).name).write_bytes(archive.read(name))
    return load_audit(folder)


def recorded_numbers(path: Path) -> dict[str, Any]:
    """``audit.json`` of the recorded audit: what it found, without opening it."""
    return _member(path, "audit/audit.json")


def _member(path: Path, name: str) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            found: dict[str, Any] = json.loads(archive.read(name))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidArtifactError(f"The recorded demo '{path.name}' is missing or damaged: {error}") from error
    return found
