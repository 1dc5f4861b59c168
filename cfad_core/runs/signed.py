"""Signed reports: copies in the folder of an audit that are written once, and never changed.

signed/0001/report.json, ...   the files of the report
signed/0001/signature.json     who signed it, when, and the sha256 of every file
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock

from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.core.files import new_folder
from cfad_core.core.settings import from_plain

FOLDER = "signed"
LOCK = ".signed.lock"
SIGNATURE = "signature.json"
REPORT = "report.json"
FILE_NAME = re.compile(r"[a-z_]+\.(json|html|pdf|md)")
LONGEST_NAME = 200  # characters, of signer and role
_VERSION = re.compile(r"[0-9]{4}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PATIENCE = 300.0  # seconds until somebody else's report is written

Files: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True)
class Signature:
    """Who signed a report, when, and what exactly.

    Attributes
    ----------
    version : counted from 1, for each audit
    at : seconds since 1970
    role : of the signer; empty if it was not given
    digest : sha256 of ``report.json``
    files : by name of a file, its sha256
    damage : what is wrong, if the signature cannot be read; all else but the version is then empty
    """

    version: int
    at: float
    signer: str
    role: str
    digest: str
    files: Mapping[str, str]
    damage: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; ``from_dict`` gives the same back."""
        values = dataclasses.asdict(self)
        values.pop("damage")
        return values

    @staticmethod
    def from_dict(values: Any) -> Signature:
        """Read what ``to_dict`` gave.

        Raises
        ------
        InvalidArtifactError
            If it is anything else.
        """
        try:
            found = from_plain(Signature, values, "signature")
            checked_signer(found.signer, found.role)
        except (InvalidConfigError, InvalidDataError) as error:
            raise InvalidArtifactError(f"The signature is damaged: {error}") from error
        is_right = {
            "version": 1 <= found.version <= 9999,
            "at": math.isfinite(found.at),
            "files": all(_is_signed_file(name, sha) for name, sha in found.files.items()),
            "digest": found.digest == found.files.get(REPORT),
            "damage": not found.damage,
        }
        if wrong := [name for name, right in is_right.items() if not right]:
            raise InvalidArtifactError(f"The signature is damaged: its {wrong[0]} cannot be used.")
        return found


def _is_signed_file(name: str, sha: str) -> bool:
    return name != SIGNATURE and bool(FILE_NAME.fullmatch(name) and _SHA256.fullmatch(sha))


def checked_signer(signer: str, role: str = "") -> tuple[str, str]:
    """The signer's name and role, each on one line.

    Raises
    ------
    InvalidDataError
        If there is no name, or one of them is too long or has several lines.
    """
    signer, role = signer.strip(), role.strip()
    if not signer:
        raise InvalidDataError("A signature needs a name: say who signs the report.")
    for what, text in (("name", signer), ("role", role)):
        if len(text) > LONGEST_NAME or not text.isprintable():
            raise InvalidDataError(f"Expected the signer's {what} on one line of at most {LONGEST_NAME} characters.")
    return signer, role


def sign(folder: Path, files: Callable[[int, float], Files], signer: str, role: str = "") -> Signature:
    """Write a signed copy of a report into the folder of an audit, whole or not at all.

    Whoever signs at the same time gets the next version.

    Parameters
    ----------
    folder : of the audit
    files : makes the report's files by their names, given the version and the time (seconds since 1970) of the
        signature, so that they can say both; ``report.json`` must be one of them

    Raises
    ------
    InvalidDataError
        If there is no signer, or a file cannot be signed.
    CfadError
        If nothing can be written.
    """
    signer, role = checked_signer(signer, role)
    if not folder.is_dir():
        raise InvalidArtifactError(f"There is no audit in '{folder}'.")
    place = folder / FOLDER
    try:
        with FileLock(folder / LOCK, timeout=_PATIENCE):
            version, at = _next_version(place), time.time()
            made = _checked_files(files(version, at))
            digests = {name: hashlib.sha256(content).hexdigest() for name, content in made.items()}
            signature = Signature(version, at, signer, role, digests[REPORT], digests)
            text = json.dumps(signature.to_dict(), indent=2) + "\n"
            with new_folder(place / f"{version:04}") as stage:
                for name, content in (made | {SIGNATURE: text.encode("utf-8")}).items():
                    _write(stage / name, content)
    except (OSError, TimeoutError) as error:
        raise CfadError(f"The signed report cannot be written to '{place}': {error}") from error
    return signature


def _next_version(place: Path) -> int:
    """One more than any copy has, damaged ones included; what a killed process left is cleared away."""
    for stage in place.glob(".staged-*"):  # whoever wrote it is dead: the lock is ours
        shutil.rmtree(stage, ignore_errors=True)
    version = max((int(copy.name) for copy in _copies(place)), default=0) + 1
    if version > 9999:
        raise InvalidDataError("This audit has 9,999 signed reports; no more fit.")
    return version


def _checked_files(files: Files) -> dict[str, bytes]:
    for name in files:
        if not FILE_NAME.fullmatch(name) or name == SIGNATURE:
            raise InvalidDataError(f"A signed report cannot have a file '{name[:100]}'; names are like report.html.")
    if REPORT not in files:
        raise InvalidDataError(f"Expected '{REPORT}' among the files of a signed report; got {', '.join(files)}.")
    return dict(files)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _copies(place: Path) -> list[Path]:
    """The folders of signed reports, ascending."""
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if path.is_dir() and _VERSION.fullmatch(path.name))


def signatures(folder: Path) -> tuple[Signature, ...]:
    """The signatures of an audit's reports, ascending; of one that cannot be read, its version and its ``damage``."""
    return tuple(_signature(copy) for copy in _copies(folder / FOLDER))


def _signature(copy: Path) -> Signature:
    version = int(copy.name)
    try:
        found = Signature.from_dict(json.loads((copy / SIGNATURE).read_text("utf-8")))
        if found.version == version:
            return found
        damage = f"The signature is damaged: it is that of version {found.version}."
    except InvalidArtifactError as error:
        damage = str(error)
    except (OSError, ValueError, RecursionError):
        damage = f"The signature is damaged: '{SIGNATURE}' is missing or cannot be read."
    return Signature(version, 0.0, "", "", "", {}, damage)


def copy_folder(folder: Path, version: int) -> Path:
    """Where a signed copy is."""
    return folder / FOLDER / f"{version:04}"


def altered(folder: Path, signature: Signature) -> tuple[str, ...]:
    """The files of a signed copy that are missing, are not as they were signed, or came later; none if all is well."""
    if signature.damage:
        return (SIGNATURE,)
    copy = copy_folder(folder, signature.version)
    changed = [name for name, sha in signature.files.items() if _sha256(copy / name) != sha]
    known = {*signature.files, SIGNATURE}
    added = [path.name for path in copy.iterdir() if path.name not in known] if copy.is_dir() else []
    return (*sorted(changed), *sorted(added))


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def check_copies(folder: Path) -> None:
    """Refuse signed copies that are not as they were signed.

    Raises
    ------
    InvalidArtifactError
    """
    for signature in signatures(folder):
        if names := altered(folder, signature):
            raise InvalidArtifactError(
                f"signed report {signature.version} is not as it was signed: {', '.join(names)[:200]}"
            )
