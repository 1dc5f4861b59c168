"""What the server answers, as a program has it in hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Me:
    """For whom a token acts."""

    name: str
    role: str
    groups: tuple[str, ...]
    token: str


@dataclass(frozen=True)
class Place:
    """What an audit in the queue can look forward to, in seconds."""

    place: int
    starts_in: float
    done_in: float


@dataclass(frozen=True)
class Audit:
    """An audit on the server, and how far it has come.

    Attributes
    ----------
    status : planned, queued, running, waiting (for scores), done, failed, cancelled or interrupted
    progress : the share of it that is done
    seconds_left : of a running audit; None while that is not known
    may, roles, settings, asks : only of one audit that was asked for
    remarks : what to know about its table, of an audit that was just made
    """

    id: str
    name: str
    owner: str
    note: str
    source: str
    status: str
    stage: str
    progress: float
    queue: Place | None
    seconds_left: float | None
    is_late: bool
    is_being_cancelled: bool
    created: datetime
    started: datetime | None
    finished: datetime | None
    error: str
    data_digest: str
    parent: str | None = None
    may: str = ""
    roles: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    asks: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Range:
    """A 90 % interval."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Headline:
    """A detector in a few numbers; None where one is not known."""

    n: int
    flag_rate: float | None
    auc_pr: float | None
    auc_roc: float | None
    macro_f1: float | None
    changing_ratio: float | None
    interval: Range | None
    threshold: float | None
    reliable: str
    verdict: str


@dataclass(frozen=True)
class GroupNumbers:
    """A group as it is; None where a number would be of fewer than ten people."""

    name: str
    n: int | None
    n_anomaly: int | None
    metrics: dict[str, float | None]
    intervals: dict[str, Range | None]


@dataclass(frozen=True)
class Comparison:
    """A detector between the groups of one attribute, or of two at once."""

    name: str
    groups: tuple[GroupNumbers, ...]
    n: int
    changing_ratio: float | None
    interval: Range | None
    verdict: str
    reliable: str
    why: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class MethodResult:
    """A detector at the threshold that was saved for it, else at the audit's own."""

    audit: str
    method: str
    threshold: float
    how: str
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class GateCheck:
    """One thing that was checked; ``holds`` is None where the line only informs."""

    name: str
    method: str
    comparison: str
    limit: float | None
    value: float | None
    interval: Range | None
    holds: bool | None
    line: str


@dataclass(frozen=True)
class GateResult:
    """Whether an audit stays within bounds."""

    passed: bool
    checks: tuple[GateCheck, ...]


@dataclass(frozen=True)
class Share:
    """With whom an audit is shared (person, group or everybody), and what for (read or tune)."""

    audience: str
    name: str
    may: str


@dataclass(frozen=True)
class Token:
    """A token, but for its secret; its state is good, revoked or expired."""

    id: str
    label: str
    role: str
    created: datetime
    expires: datetime
    used: datetime | None
    state: str
