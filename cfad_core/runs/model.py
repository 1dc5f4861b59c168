"""The index of audits: its tables, and the records that are made of their rows.

A new column is added here, to the table and to its record, and in a file of ``migrations/versions``; nowhere else.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeGuard, get_args

import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability_files import ONE_ENGINE
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError
from cfad_core.data.roles import ColumnRoles
from cfad_core.evaluation.pair_table import worst_line
from cfad_core.runs.plan import AuditPlan

Status = Literal["planned", "queued", "running", "waiting", "done", "failed", "cancelled", "interrupted"]
WayOfChoosing = Literal["quantile", "score", "investigations"]

ACTIVE: tuple[Status, ...] = ("queued", "running")
ENDED_EARLY: tuple[Status, ...] = ("failed", "cancelled", "interrupted")

_EXPORTED = {"exported": True}  # the columns that an audit takes along to another store

METADATA = sa.MetaData()
AUDITS = sa.Table(
    "audits",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False, info=_EXPORTED),
    sa.Column("owner", sa.Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("note", sa.Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("source", sa.Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("parent", sa.String(32)),
    sa.Column("created", sa.Float, nullable=False, info=_EXPORTED),
    sa.Column("started", sa.Float, info=_EXPORTED),
    sa.Column("finished", sa.Float, info=_EXPORTED),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("stage", sa.Text, nullable=False, default=""),
    sa.Column("progress", sa.Float, nullable=False, default=0.0),
    sa.Column("worker", sa.Text),
    sa.Column("heartbeat", sa.Float),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, default=False),
    sa.Column("data_digest", sa.String(64), nullable=False, info=_EXPORTED),
    sa.Column("tables", sa.JSON, nullable=False, info=_EXPORTED),
    sa.Column("roles", sa.Text, nullable=False, info=_EXPORTED),
    sa.Column("config", sa.Text, nullable=False, info=_EXPORTED),
    sa.Column("metrics", sa.JSON(none_as_null=True)),
    sa.Column("threshold", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Column("error", sa.Text, nullable=False, default=""),
    sa.Column("details", sa.Text, nullable=False, default=""),
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("statements", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Column("plan", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Index("audits_created", "created"),
    sa.Index("audits_status", "status"),
)
REPORTS = sa.Table(
    "reports",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("audit", sa.String(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("values", sa.JSON, nullable=False),
    sa.Index("reports_audit", "audit", "id"),
)
DELETED = sa.Table(  # what reports of the same table list of audits that had a result; nothing about people
    "deleted_audits",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.Column("deleted", sa.Float, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("data_digest", sa.String(64), nullable=False),
    sa.Column("tables", sa.JSON, nullable=False),
    sa.Column("columns", sa.JSON, nullable=False),
    sa.Column("roles", sa.Text, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("verdicts", sa.JSON, nullable=False),
    sa.Column("plan", sa.JSON(none_as_null=True)),
)
EXPORTED = tuple(column.name for column in AUDITS.columns if column.info == _EXPORTED)

# Columns whose values are JSON of something: the field that keeps it as stored, the property that makes it is named as
# the column. It is made when it is asked for: lists do not need it, and one damaged row must not spoil them.
AS_STORED = {
    **{"roles": "roles_text", "config": "config_text", "threshold": "threshold_entry"},
    **{"statements": "statements_entry", "plan": "plan_entry"},
}


@dataclass(frozen=True)
class ChosenThreshold:
    """The threshold that somebody chose for an audit, and how.

    Attributes
    ----------
    by : what was given: a quantile of the training scores, the score itself, or how many people can be investigated
    quantile, count : what was given, if it was not the score
    """

    method: str
    by: WayOfChoosing
    value: float
    quantile: float | None = None
    count: int | None = None

    @property
    def how(self) -> str:
        """How it was chosen, in a few words."""
        if self.by == "quantile":
            return f"quantile {self.quantile:g}"
        return f"score {self.value:.4g}" if self.by == "score" else f"{self.count} investigations"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, with only what was given."""
        given = {"method": self.method, "by": self.by, "value": self.value}
        more = {"quantile": self.quantile, "count": self.count}
        return {**given, **{name: value for name, value in more.items() if value is not None}, "how": self.how}

    @staticmethod
    def from_dict(values: Any) -> ChosenThreshold:
        """Rebuild it from what ``to_dict`` made.

        Raises
        ------
        InvalidArtifactError
            If it is anything else.
        """
        found = {**values} if isinstance(values, Mapping) else {}
        found.pop("how", None)  # follows from the others
        if "by" not in found or (found["by"] == "investigations" and "count" not in found):
            found |= {"by": "score", "quantile": None, "count": None}  # as the first versions saved it
        try:
            chosen = ChosenThreshold(**found)
        except TypeError as error:
            raise InvalidArtifactError(f"The saved threshold is damaged: {error}.") from error
        share, count = chosen.quantile, chosen.count
        is_right = {
            "method": isinstance(chosen.method, str),
            "by": chosen.by in get_args(WayOfChoosing),
            "value": _is_number(chosen.value),
            "quantile": _is_number(share) and 0.0 <= share <= 1.0 if chosen.by == "quantile" else share is None,
            "count": type(count) is int and count >= 0 if chosen.by == "investigations" else count is None,
        }
        if wrong := [name for name, right in is_right.items() if not right]:
            raise InvalidArtifactError(f"The saved threshold is damaged: its {wrong[0]} cannot be used.")
        return chosen


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class AuditRecord:
    """An audit in the index.

    Times are seconds since 1970; ``metrics``, ``threshold`` and ``plan`` are None if there are none (yet).

    Attributes
    ----------
    source : where the table came from, for people
    parent : the audit that this one repeats with other settings
    tables : digests of the tables that were given, by their part
    roles_text, config_text, threshold_entry, statements_entry, plan_entry : as stored; ``roles``, ``config``,
        ``threshold``, ``statements`` and ``plan`` are made of them
    metrics : the headline, by method
    error : what went wrong, for everybody; ``details`` are for repair
    """

    id: str
    name: str
    owner: str
    note: str
    source: str
    parent: str | None
    created: float
    started: float | None
    finished: float | None
    status: Status
    stage: str
    progress: float
    worker: str | None
    heartbeat: float | None
    cancel_requested: bool
    data_digest: str
    tables: dict[str, str]
    roles_text: str
    config_text: str
    metrics: dict[str, Any] | None
    threshold_entry: dict[str, Any] | None
    error: str
    details: str
    schema_version: int
    statements_entry: dict[str, Any] | None
    plan_entry: dict[str, Any] | None

    @staticmethod
    def of(row: Mapping[Any, Any]) -> AuditRecord:
        """The record of a row of ``AUDITS``."""
        return AuditRecord(**{AS_STORED.get(str(name), str(name)): value for name, value in row.items()})

    @cached_property
    def roles(self) -> ColumnRoles:
        return ColumnRoles.from_dict(json.loads(self.roles_text))

    @cached_property
    def config(self) -> AuditConfig:
        return AuditConfig.from_dict(json.loads(self.config_text))

    @cached_property
    def threshold(self) -> ChosenThreshold | None:
        return None if self.threshold_entry is None else ChosenThreshold.from_dict(self.threshold_entry)

    @cached_property
    def statements(self) -> Statements:
        """What people stated about the audit; nothing until somebody does."""
        try:
            return Statements() if self.statements_entry is None else Statements.from_dict(self.statements_entry)
        except InvalidConfigError as error:
            raise InvalidArtifactError(f"The saved statements are damaged: {error}") from error

    @cached_property
    def plan(self) -> AuditPlan | None:
        """What was planned before it was started; None if nothing was."""
        return None if self.plan_entry is None else AuditPlan.from_dict(self.plan_entry)

    @property
    def is_of_older_engine(self) -> bool:
        """Whether it was made before every variable had a mechanism of its own: its numbers mean something else."""
        return self.status == "done" and self.schema_version < ONE_ENGINE

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started is None:
            return None
        return (self.finished or time.time()) - self.started

    @property
    def seconds_left(self) -> float | None:
        """By the share that is done; None while there is too little to go by."""
        if self.status != "running" or self.seconds is None or self.progress < 0.03:
            return None
        return self.seconds * (1.0 - self.progress) / self.progress


@dataclass(frozen=True)
class Report:
    """One report of progress: how far a stage has come, and the numbers that it gave.

    ``id`` grows; it, ``audit`` and ``at`` are set when a report is stored.
    """

    stage: str
    step: int
    total: int
    values: Mapping[str, float] = field(default_factory=dict)
    id: int = 0
    audit: str = ""
    at: float = 0.0


def operating_threshold(record: AuditRecord, result: AuditResult, method: str) -> tuple[float, str]:
    """The threshold that pages, downloads and gates use, and its name: as saved with the audit, else its quantile."""
    saved = record.threshold
    if saved is not None and saved.method == method:
        return saved.value, f"as saved, {saved.how}"
    return result.report(method).threshold, result.how_flagged(method)


def headline(result: AuditResult) -> dict[str, Any]:
    """The metrics that lists show; ``worst_pairs`` only where there are more than two groups, or several attributes."""
    names = ("n", "flag_rate", "auc_pr", "auc_roc", "macro_f1", "changing_ratio")
    return {
        method: {name: getattr(report.metrics, name) for name in names}
        | {"threshold": report.threshold, "verdict": report.verdict}
        | ({"worst_pairs": _worst_pairs(result, method)} if len(result.plan.moves) > 1 else {})
        for method, report in result.reports.items()
    }


def _worst_pairs(result: AuditResult, method: str) -> dict[str, str]:
    """By attribute, between which of its groups most outcomes change, in a sentence; nothing about few people."""
    threshold, found = result.report(method).threshold, {}
    for comparison in result.plan.comparisons:
        pairs = result.group_report(method, comparison.name).pairs_at(threshold)
        shown = None if pairs is None else pairs.suppressed()
        if shown is not None and shown.worst is not None:
            found[comparison.name] = worst_line(shown, comparison.name)
    return found
