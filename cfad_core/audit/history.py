"""The history of an audit: one line of JSON in its folder for every batch that was measured with it.

Lines are only ever added. Whoever was interrupted while writing leaves a torn line, which is skipped; so are lines of
another audit that was in the folder before.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from cfad_core.audit.batch import Batch
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.formats import HIDDEN_SIZE
from cfad_core.detectors.registry import METHODS

if TYPE_CHECKING:
    import pandas as pd

HISTORY = "history.jsonl"
_LOCK = ".history.lock"
_AUDIT = "audit"  # the key of a line that says which audit it belongs to
_PATIENCE = 30.0  # seconds


def append_batch(folder: Path, batch: Batch) -> None:
    """Add a batch to the history of the audit in a folder; safe to do from several processes at once.

    Raises
    ------
    InvalidArtifactError
        If the folder holds no audit.
    CfadError
        If nothing can be written to it.
    """
    line = json.dumps({_AUDIT: _mark(folder), **batch.to_dict()}, allow_nan=False) + "\n"
    path = folder / HISTORY
    try:
        with FileLock(folder / _LOCK, timeout=_PATIENCE), path.open("ab+") as stream:
            if stream.seek(0, os.SEEK_END):
                stream.seek(-1, os.SEEK_END)
                line = line if stream.read(1) == b"\n" else f"\n{line}"  # after a torn line
            stream.write(line.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
    except (OSError, TimeoutError) as error:
        raise CfadError(f"The batch cannot be added to '{path}': {error}") from error


def read_history(folder: Path) -> list[Batch]:
    """The batches that were measured with the audit in a folder, the oldest first.

    Raises
    ------
    InvalidArtifactError
        If the folder holds no audit.
    """
    mark, path = _mark(folder), folder / HISTORY
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CfadError(f"Cannot read '{path}': {error.strerror}.") from error
    found = [batch for line in lines if (batch := _batch(line, mark)) is not None]
    return sorted(found, key=lambda batch: batch.at)


def scored_before(history: Sequence[Batch], batch: Batch) -> list[Batch]:
    """The batches of a history with the same table."""
    return [other for other in history if other.digest == batch.digest]


def history_table(batches: Sequence[Batch]) -> pd.DataFrame:
    """A row for each batch, comparison and method, all numbers as they are."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for batch in batches:
        fit = {f"drop_{name}": one.drop for name, one in (batch.fit or {}).items()}
        fit |= {f"shift_{name}": one.shift.size for name, one in (batch.fit or {}).items()}
        about = {"date": batch.date, "source": batch.source, "digest": batch.digest, "n": batch.n}
        for comparison in batch.comparisons:
            test = comparison.twin_test
            sizes = {f"n_{group}": HIDDEN_SIZE if n is None else n for group, n in comparison.groups.items()}
            for method, found in comparison.methods.items():
                rates = {f"flag_rate_{group}": one.value for group, one in found.flag_rates.items()}
                ends = found.interval
                numbers = {
                    "comparison": comparison.name,
                    "method": method,
                    "threshold": found.threshold,
                    "flag_rate": found.flag_rate.value,
                    "changing_ratio": found.changing_ratio,
                    "changing_ratio_low": None if ends is None else ends.low,
                    "changing_ratio_high": None if ends is None else ends.high,
                    "judges": batch.judges,
                    "twin_auc": None if test is None else test.auc,
                    "twins_pass": comparison.twins_pass,
                    "unknown_rows": batch.unknown_rows,
                    "alarm": batch.alarm,
                }
                rows.append(about | numbers | sizes | rates | fit)
    return pd.DataFrame(rows)


def _batch(line: bytes, mark: str) -> Batch | None:
    """What a line says; None if it is torn, or about another audit."""
    try:
        values: dict[str, Any] = json.loads(line, parse_constant=_refuse)
        return Batch.from_dict(values) if values.pop(_AUDIT) == mark else None
    except (CfadError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _mark(folder: Path) -> str:
    """What an audit is recognised by, however often it is saved: its table, its seed and its thresholds."""
    try:
        text = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        own = {method: found for method, found in text["methods"].items() if method in METHODS}
        thresholds = {method: found["threshold"] for method, found in own.items()}
        known = json.dumps([text["data_digest"], text["config"].get("seed"), thresholds], sort_keys=True)
    except FileNotFoundError as error:
        raise InvalidArtifactError(f"'{folder}' holds no audit: there is no audit.json in it.") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArtifactError(f"The audit in '{folder}' is damaged: {error}") from error
    return hashlib.sha256(known.encode()).hexdigest()
