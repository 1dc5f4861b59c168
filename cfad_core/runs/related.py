"""Audits of the same people: a report lists them all, so that nobody can show the prettiest one alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError
from cfad_core.data.roles import ColumnRoles
from cfad_core.runs.differences import differences
from cfad_core.runs.index import Index
from cfad_core.runs.model import Status
from cfad_core.runs.plan import AuditPlan
from cfad_core.runs.trace import AuditTrace, column_names, trace_of

Relation = Literal["same tables", "same table", "same columns"]
T = TypeVar("T")
Reader = Callable[[str], T | None]


@dataclass(frozen=True)
class RelatedAudit:
    """Another audit of the same people, or of an earlier, filtered or corrected version of their table.

    Attributes
    ----------
    relation : ``same tables``: all are the same; ``same table``: the one that was learned from, or the one with the
        people who were judged; ``same columns``: another table with the same names of columns
    created, finished, deleted : seconds since 1970; ``deleted`` is None if it is still there
    sensitive : its sensitive attributes; empty if its roles cannot be read
    methods, seed : empty and None if its settings cannot be read
    differences : what it has instead of this audit's roles and settings, in short words
    verdicts : by method; empty unless it is done
    planned : its plan, if it was planned before it was started
    """

    id: str
    name: str
    relation: Relation
    created: float
    finished: float | None
    status: Status
    sensitive: str
    methods: tuple[str, ...]
    seed: int | None
    differences: tuple[str, ...]
    verdicts: dict[str, str]
    planned: AuditPlan | None
    deleted: float | None


def related(index: Index, audit: str) -> tuple[RelatedAudit, ...]:
    """All other audits, deleted ones included, that share a table with this one or have its columns; oldest first.

    Of a team's audits, those that whoever looks may see.

    Raises
    ------
    InvalidArtifactError
        If there is no such audit.
    """
    this = trace_of(index.get(audit))
    read_roles: Reader[ColumnRoles] = cache(lambda text: _read(ColumnRoles.from_dict, text))
    read_config: Reader[AuditConfig] = cache(lambda text: _read(AuditConfig.from_dict, text))
    columns_of = cache(lambda digest: frozenset(column_names(index.table_path(digest))))

    def columns(trace: AuditTrace) -> frozenset[str]:
        if trace.columns or trace.deleted is not None:
            return frozenset(trace.columns)
        return columns_of(_tables(trace).get("table", ""))

    others = [*(trace_of(record) for record in index.find()), *index.deleted()]
    found = []
    for other in sorted(others, key=lambda trace: (trace.created, trace.id)):
        relation = _relation(this, other, columns)
        if other.id != this.id and relation is not None:
            found.append(_related(this, other, relation, read_roles, read_config))
    return tuple(found)


def _relation(this: AuditTrace, other: AuditTrace, columns: Callable[[AuditTrace], frozenset[str]]) -> Relation | None:
    if this.data_digest == other.data_digest:
        return "same tables"
    mine, theirs = ({name for part, name in _tables(one).items() if part in ("table", "test")} for one in (this, other))
    if mine & theirs:
        return "same table"
    return "same columns" if columns(this) and columns(this) == columns(other) else None


def _tables(trace: AuditTrace) -> Mapping[str, str]:
    """By part; nothing if the record is damaged."""
    return trace.tables if isinstance(trace.tables, Mapping) else {}


def _related(
    this: AuditTrace,
    other: AuditTrace,
    relation: Relation,
    read_roles: Reader[ColumnRoles],
    read_config: Reader[AuditConfig],
) -> RelatedAudit:
    roles, config = read_roles(other.roles), read_config(other.config)
    asked = () if config is None or config.asked is None else (config.asked.name,)
    return RelatedAudit(
        id=other.id,
        name=other.name,
        relation=relation,
        created=other.created,
        finished=other.finished,
        status=other.status,
        sensitive="" if roles is None else roles.sensitive_name,
        methods=() if config is None else (*config.methods, *asked),
        seed=None if config is None else config.seed,
        differences=_differences((read_roles(this.roles), read_config(this.config)), (roles, config)),
        verdicts=dict(other.verdicts) if isinstance(other.verdicts, Mapping) else {},
        planned=_plan(other.plan),
        deleted=other.deleted,
    )


def _differences(
    this: tuple[ColumnRoles | None, AuditConfig | None], other: tuple[ColumnRoles | None, AuditConfig | None]
) -> tuple[str, ...]:
    """In words; what cannot be read is said, and not compared."""
    unread = [
        *(["its roles cannot be read"] if other[0] is None else []),
        *(["its settings cannot be read"] if other[1] is None else []),
        *(["this audit's own roles or settings cannot be read"] if None in this else []),
    ]
    roles, config = other[0] or this[0], other[1] or this[1]
    if this[0] is None or this[1] is None or roles is None or config is None:
        return tuple(unread)
    return (*unread, *differences((this[0], this[1]), (roles, config)))


def _plan(entry: Any) -> AuditPlan | None:
    try:
        return None if entry is None else AuditPlan.from_dict(entry)
    except CfadError:
        return None


def _read(make: Callable[[Any], T], text: str) -> T | None:
    """What is made of JSON; None if it is damaged."""
    try:
        return make(json.loads(text))
    except (CfadError, ValueError, TypeError, AttributeError, RecursionError):
        return None
