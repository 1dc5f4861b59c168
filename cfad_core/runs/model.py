"""The index of audits: its tables, and the records that are made of their rows.

A new column is added here, to the table and to its record, and in a file of ``migrations/versions``; nowhere else.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeGuard, get_args

import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability_files import ONE_ENGINE
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError
from cfad_core.core.files import file_slug
from cfad_core.core.formats import percent
from cfad_core.data.roles import ColumnRoles
from cfad_core.evaluation.pair_table import worst_line
from cfad_core.evaluation.verdict import reliability
from cfad_core.runs.plan import AuditPlan
from cfad_core.runs.texts import Short, Text

Status = Literal["planned", "queued", "running", "waiting", "done", "failed", "cancelled", "interrupted"]
WayOfChoosing = Literal["investigations", "share", "score", "cost", "quantile"]

Period = Literal["a day", "a week", "a month", "a year"]

ACTIVE: tuple[Status, ...] = ("queued", "running")
ENDED_EARLY: tuple[Status, ...] = ("failed", "cancelled", "interrupted")

_EXPORTED = {"exported": True}  # the columns that an audit takes along to another store

METADATA = sa.MetaData()
AUDITS = sa.Table(
    "audits",
    METADATA,
    sa.Column("id", Short(32), primary_key=True),
    sa.Column("name", Text, nullable=False, info=_EXPORTED),
    sa.Column("owner", Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("note", Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("source", Text, nullable=False, default="", info=_EXPORTED),
    sa.Column("parent", Short(32)),
    sa.Column("created", sa.Float, nullable=False, info=_EXPORTED),
    sa.Column("started", sa.Float, info=_EXPORTED),
    sa.Column("finished", sa.Float, info=_EXPORTED),
    sa.Column("status", Short(16), nullable=False),
    sa.Column("stage", Text, nullable=False, default=""),
    sa.Column("progress", sa.Float, nullable=False, default=0.0),
    sa.Column("worker", Text),
    sa.Column("heartbeat", sa.Float),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, default=False),
    sa.Column("data_digest", Short(64), nullable=False, info=_EXPORTED),
    sa.Column("tables", sa.JSON, nullable=False, info=_EXPORTED),
    sa.Column("roles", Text, nullable=False, info=_EXPORTED),
    sa.Column("config", Text, nullable=False, info=_EXPORTED),
    sa.Column("metrics", sa.JSON(none_as_null=True)),
    sa.Column("threshold", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Column("error", Text, nullable=False, default=""),
    sa.Column("details", Text, nullable=False, default=""),
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Column("statements", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Column("plan", sa.JSON(none_as_null=True), info=_EXPORTED),
    sa.Column("expected", sa.Float),
    sa.Column("expected_stages", sa.JSON(none_as_null=True)),
    sa.Column("is_short", sa.Boolean),
    sa.Column("seconds_left", sa.Float),
    sa.Column("is_late", sa.Boolean),
    sa.Column("size", sa.BigInteger),
    sa.Index("audits_created", "created"),
    sa.Index("audits_status", "status"),
    sa.Index("audits_owner", "owner"),
)
REPORTS = sa.Table(
    "reports",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("audit", Short(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("stage", Text, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("values", sa.JSON, nullable=False),
    sa.Index("reports_audit", "audit", "id"),
)
DELETED = sa.Table(  # what reports of the same table list of audits that had a result; nothing about people
    "deleted_audits",
    METADATA,
    sa.Column("id", Short(32), primary_key=True),
    sa.Column("name", Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.Column("deleted", sa.Float, nullable=False),
    sa.Column("status", Short(16), nullable=False),
    sa.Column("data_digest", Short(64), nullable=False),
    sa.Column("tables", sa.JSON, nullable=False),
    sa.Column("columns", sa.JSON, nullable=False),
    sa.Column("roles", Text, nullable=False),
    sa.Column("config", Text, nullable=False),
    sa.Column("verdicts", sa.JSON, nullable=False),
    sa.Column("plan", sa.JSON(none_as_null=True)),
    sa.Column("owner", Text, nullable=False, server_default=""),
)
DRAFTS = sa.Table(  # tables that people are preparing
    "drafts",
    METADATA,
    sa.Column("id", Short(32), primary_key=True),
    sa.Column("changed", sa.Float, nullable=False),
    sa.Column("tables", sa.JSON, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Column("owner", Text, nullable=False, server_default=""),
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
    by : what was given: how many people can be looked at, the share of people to flag, the score itself, what a missed
        anomaly costs, or (until version 1.1) a quantile of the training scores
    quantile, count, share, cost : what was given, if it was not the score; the cost in needless checks
    of, period : of how many people, and how often, the count is; None: of those at hand, once
    """

    method: str
    by: WayOfChoosing
    value: float
    quantile: float | None = None
    count: int | None = None
    share: float | None = None
    cost: float | None = None
    of: int | None = None
    period: Period | None = None

    @property
    def how(self) -> str:
        """How it was chosen, in a few words."""
        if self.by == "quantile":
            return f"quantile {self.quantile:g}"
        if self.by == "share":
            return f"{percent(self.share)} of people flagged"
        if self.by == "cost":
            return f"lowest cost, a missed anomaly counted as {self.cost:g} needless checks"
        if self.by == "investigations":
            of = "" if self.of is None else f" of {self.of:,} people"
            return f"{self.count:,} investigations{of}{'' if self.period is None else f' {self.period}'}"
        return f"score {self.value:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, with only what was given."""
        given = {"method": self.method, "by": self.by, "value": self.value}
        more = {name: getattr(self, name) for name in ("quantile", "count", "share", "cost", "of", "period")}
        return {**given, **{name: value for name, value in more.items() if value is not None}, "how": self.how}

    def _what_was_given(self) -> dict[str, bool]:
        """By field, whether it is what its way of choosing needs."""

        def needed(by: WayOfChoosing, value: object, is_right: bool) -> bool:
            return is_right if self.by == by else value is None

        return {
            "quantile": needed("quantile", self.quantile, _is_share(self.quantile)),
            "count": needed("investigations", self.count, _is_count(self.count)),
            "share": needed("share", self.share, _is_share(self.share)),
            "cost": needed("cost", self.cost, _is_number(self.cost) and self.cost > 0.0),
            "of": self.of is None or needed("investigations", self.of, _is_count(self.of)),
            "period": self.period is None or needed("investigations", self.period, self.period in get_args(Period)),
        }

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
        is_right = {
            "method": isinstance(chosen.method, str),
            "by": chosen.by in get_args(WayOfChoosing),
            "value": _is_number(chosen.value),
            **chosen._what_was_given(),
        }
        if wrong := [name for name, right in is_right.items() if not right]:
            raise InvalidArtifactError(f"The saved threshold is damaged: its {wrong[0]} cannot be used.")
        return chosen


def _is_share(value: object) -> bool:
    return _is_number(value) and 0.0 <= value <= 1.0


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


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
    expected, expected_stages : seconds that it takes, and each stage, where costs were measured; None of audits from
        elsewhere
    is_short : whether it is taken by workers that are kept free for short audits, too
    seconds_left, is_late : of a running audit, as ``Countdown`` says; None while there is too little to go by
    size : bytes of its folder, once it is done
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
    expected: float | None = None
    expected_stages: dict[str, float] | None = None
    is_short: bool | None = None
    seconds_left: float | None = None
    is_late: bool | None = None
    size: int | None = None

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

    def file(self, what: str) -> str:
        """A file to take away, named after the audit: ``adult-sex-report-2026-05-31.html`` for ``report.html``."""
        kind, dot, suffix = what.rpartition(".")
        return f"{file_slug(self.name)}-{kind}-{datetime.fromtimestamp(self.created):%Y-%m-%d}{dot}{suffix}"

    @property
    def ended_at(self) -> float | None:
        """Since when it is as it is, in seconds since 1970: it ended, or was taken in; None if it has not ended."""
        if self.status != "done" and self.status not in ENDED_EARLY:
            return None
        return max(self.created, self.finished or 0.0, self.heartbeat or 0.0)  # imported ones have lived here, too

    @property
    def is_of_older_engine(self) -> bool:
        """Whether it was made before every variable had a mechanism of its own: its numbers mean something else."""
        return self.status == "done" and self.schema_version < ONE_ENGINE

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started is None:
            return None
        return max(0.0, (self.finished or time.time()) - self.started)  # the clock may have been set back since


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
    found = {}
    for method, report in result.reports.items():
        evidence = report.evidence_at(report.threshold)
        interval = None if evidence.interval is None else [evidence.interval.low, evidence.interval.high]
        found[method] = {
            **{name: getattr(report.metrics, name) for name in names},
            "threshold": report.threshold,
            "interval": interval,
            "reliable": reliability(evidence, was_tested=report.basis.checks is not None)[0],
            "verdict": report.verdict,
        }
        if len(result.plan.moves) > 1:
            found[method]["worst_pairs"] = _worst_pairs(result, method)
    return found


def _worst_pairs(result: AuditResult, method: str) -> dict[str, str]:
    """By attribute, between which of its groups most outcomes change, in a sentence; nothing about few people."""
    threshold, found = result.report(method).threshold, {}
    for comparison in result.plan.comparisons:
        pairs = result.group_report(method, comparison.name).pairs_at(threshold)
        shown = None if pairs is None else pairs.suppressed()
        if shown is not None and shown.worst is not None:
            found[comparison.name] = worst_line(shown, comparison.name)
    return found
