"""The store and finished audits, as the commands name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult
    from cfad_core.runs.model import AuditRecord
    from cfad_core.runs.store import Store

TOKEN = "CFAD_TOKEN"  # noqa: S105 - the name of the variable


@dataclass(frozen=True)
class Opened:
    """A finished audit that a command was given.

    Attributes
    ----------
    record : of a saved audit; a folder has none
    may_tune : whether whoever runs the command may add to it
    """

    folder: Path
    record: AuditRecord | None
    may_tune: bool


@contextmanager
def open_store() -> Iterator[Store]:
    """The store, as the person sees it whose token ``CFAD_TOKEN`` is; without one, as the operator does.

    Whoever can read the files of the store needs no token to see all that is in it.

    Raises
    ------
    InvalidConfigError
        If the token is good for nothing.
    """
    from cfad_core.apps.server.sign_in import SignIn
    from cfad_core.runs.store import Store

    token = os.environ.get(TOKEN)
    with Store() as store:
        if token is None:
            yield store
            return
        viewer = store.viewer_of(token.strip(), "command", is_team=SignIn.from_environment().is_team)
        if viewer is None:
            raise InvalidConfigError(
                f"{TOKEN} holds no token that is good here: it is mistyped, was revoked, or has expired. Make one on "
                "the page Account, or unset the variable."
            )
        yield store.seen_by(viewer)


def open_audit(name: str, taken: str = "") -> AuditResult:
    """A finished audit by its folder, or by its id among the saved ones; ``taken``: what is handed out of it."""
    return open_recorded(name, taken)[0]


def open_recorded(name: str, taken: str = "") -> tuple[AuditResult, AuditRecord | None]:
    """The same with its record, which a folder has none of."""
    from cfad_core.audit.folder import load_audit

    found = find_audit(name, taken)
    return load_audit(found.folder), found.record


def audit_folder(name: str) -> Path:
    """The folder of a finished audit by its path, or by its id among the saved ones."""
    return find_audit(name).folder


def find_audit(name: str, taken: str = "") -> Opened:
    """A finished audit that is not read yet; that it was opened, or what was taken of it, is written into the log."""
    from cfad_core.runs.access import covers

    if Path(name).exists():
        return Opened(Path(name), None, may_tune=True)
    with open_store() as store:
        record = record_named(store, name)
        folder = store.finished_folder(name)
        store.note("downloaded" if taken else "opened", name, taken)
        return Opened(folder, record, covers(store.right(name), "tune"))


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
