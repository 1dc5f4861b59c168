"""Finished audits, as the commands name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.core.errors import InvalidArtifactError

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult


def open_audit(name: str) -> AuditResult:
    """A finished audit by its folder, or by its id among the saved ones."""
    from cfad_core.audit.folder import load_audit

    return load_audit(audit_folder(name))


def audit_folder(name: str) -> Path:
    """The folder of a finished audit by its path, or by its id among the saved ones."""
    from cfad_core.runs.store import Store

    if Path(name).exists():
        return Path(name)
    with Store() as store:
        if name not in {record.id for record in store.find()}:
            raise InvalidArtifactError(
                f"'{name}' is neither an audit folder nor the id of a saved audit; 'audits list' shows the ids."
            )
        return store.finished_folder(name)
