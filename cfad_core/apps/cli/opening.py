"""Finished audits, as the commands name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.core.errors import InvalidArtifactError

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult
    from cfad_core.runs.model import AuditRecord
    from cfad_core.runs.store import Store


def open_audit(name: str) -> AuditResult:
    """A finished audit by its folder, or by its id among the saved ones."""
    return open_recorded(name)[0]


def open_recorded(name: str) -> tuple[AuditResult, AuditRecord | None]:
    """The same with its record, which a folder has none of."""
    from cfad_core.audit.folder import load_audit

    folder, record = _find(name)
    return load_audit(folder), record


def audit_folder(name: str) -> Path:
    """The folder of a finished audit by its path, or by its id among the saved ones."""
    return _find(name)[0]


def _find(name: str) -> tuple[Path, AuditRecord | None]:
    from cfad_core.runs.store import Store

    if Path(name).exists():
        return Path(name), None
    with Store() as store:
        record = record_named(store, name)
        return store.finished_folder(name), record


def record_named(store: Store, name: str) -> AuditRecord:
    """The saved audit of this id, where a folder could have been named as well.

    Raises
    ------
    InvalidArtifactError
        If there is none.
    """
    record = next((record for record in store.find() if record.id == name), None)
    if record is None:
        raise InvalidArtifactError(
            f"'{name}' is neither an audit folder nor the id of a saved audit; 'audits list' shows the ids."
        )
    return record
