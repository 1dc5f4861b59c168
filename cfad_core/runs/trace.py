"""What is listed of an audit among related ones, and what is left of it when it is deleted. Nothing about people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfad_core.runs.model import AuditRecord, Status

_OLDER = "Made by an older version, whose numbers mean something else; it is not repeated here."


@dataclass(frozen=True)
class AuditTrace:
    """An audit without its results: its names, tables, roles, settings and verdicts.

    Attributes
    ----------
    created, finished, deleted : seconds since 1970; ``deleted`` is None of an audit that is there
    data_digest, tables : as in ``AuditRecord``
    columns : names of the columns of the table that was learned from; empty if they are not known (yet)
    roles, config, plan : as stored
    verdicts : by method, its verdict
    """

    id: str
    name: str
    created: float
    finished: float | None
    deleted: float | None
    status: Status
    data_digest: str
    tables: Mapping[str, str]
    columns: Sequence[str]
    roles: str
    config: str
    verdicts: Mapping[str, str]
    plan: Mapping[str, Any] | None
    owner: str = ""


def trace_of(record: AuditRecord, columns: Sequence[str] = (), deleted: float | None = None) -> AuditTrace:
    """What there is to list of a saved audit."""
    return AuditTrace(
        id=record.id,
        name=record.name,
        created=record.created,
        finished=record.finished,
        deleted=deleted,
        status=record.status,
        data_digest=record.data_digest,
        tables=record.tables,
        columns=list(columns),
        roles=record.roles_text,
        config=record.config_text,
        verdicts=_verdicts(record),
        plan=record.plan_entry,
        owner=record.owner,
    )


def _verdicts(record: AuditRecord) -> dict[str, str]:
    """By method; of an audit by an older engine, words in the place of its numbers."""
    if record.status != "done" or not isinstance(record.metrics, dict):
        return {}
    found = {str(method): values for method, values in record.metrics.items() if isinstance(values, dict)}
    return {
        method: _OLDER if record.is_of_older_engine else str(values.get("verdict", ""))
        for method, values in found.items()
    }


def column_names(table: Path) -> tuple[str, ...]:
    """The names of the columns of a stored table, without reading its rows; empty if it is missing or damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return tuple(map(str, pq.read_schema(table).names))
    except (OSError, pa.ArrowException):
        return ()
