"""What programs read about audits. Times are in universal time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.runs.access import Audience, Right, Role, Sharing
from cfad_core.runs.lanes import Outlook
from cfad_core.runs.model import AuditRecord, Status


class Place(BaseModel):
    """What an audit in the queue can look forward to, in seconds."""

    place: int = Field(description="in the order in which audits will start; 1 is the next one")
    starts_in: float
    done_in: float


class Audit(BaseModel):
    """An audit, and how far it has come."""

    id: str
    name: str
    owner: str = Field(description="empty where nobody signs in")
    note: str
    source: str = Field(description="where its table came from")
    parent: str | None = Field(description="the audit that this one repeats with other settings")
    status: Status
    stage: str
    progress: float = Field(description="the share of the audit that is done")
    queue: Place | None
    seconds_left: float | None = Field(description="of a running audit; null while that is not known")
    is_late: bool = Field(description="whether it takes longer than was expected")
    is_being_cancelled: bool
    created: datetime
    started: datetime | None
    finished: datetime | None
    error: str = Field(description="what went wrong, if something did")
    data_digest: str = Field(description="sha256 of the tables that it was made from")


class Planned(BaseModel):
    """Who planned an audit, when, and what they expected."""

    at: datetime
    by: str
    expectation: str
    seal: str


class WholeAudit(Audit):
    """The same with roles, settings, and what whoever asks may do."""

    may: Right
    roles: dict[str, Any]
    settings: dict[str, Any]
    asks: str | None = Field(description="the detector of somebody's own that it asks for scores")
    plan: Planned | None


class NewlyMade(WholeAudit):
    """An audit that was just made, with what to know about its table."""

    remarks: list[str]


class Audits(BaseModel):
    """Some audits, the newest first."""

    audits: list[Audit]
    more: bool = Field(description="whether there are more after these")


class Me(BaseModel):
    """For whom a token acts."""

    name: str = Field(description="empty where nobody signs in")
    role: Role = Field(description="what this token may at most")
    groups: list[str]
    token: str = Field(description="the id of the token")


class SharedWith(BaseModel):
    """With whom an audit is shared, and what for."""

    audience: Audience
    name: str
    may: Sharing


class OneToken(BaseModel):
    """A token, but for its secret."""

    id: str
    label: str
    role: Role
    created: datetime
    expires: datetime
    used: datetime | None
    state: Literal["good", "revoked", "expired"]


def moment(seconds: float) -> datetime:
    """Seconds since 1970 as a date."""
    return datetime.fromtimestamp(seconds, UTC)


def moment_or_none(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)


def shown(record: AuditRecord, places: Mapping[str, Outlook], error: str) -> dict[str, Any]:
    """The fields of ``Audit``; ``error`` as it may be shown."""
    names = ("id", "name", "owner", "note", "source", "parent", "status", "stage", "seconds_left", "data_digest")
    found = places.get(record.id)
    return {
        **{name: getattr(record, name) for name in names},
        "progress": min(1.0, max(0.0, record.progress)),
        "queue": None if found is None else Place(place=found.place, starts_in=found.starts_in, done_in=found.done_in),
        "is_late": bool(record.is_late),
        "is_being_cancelled": record.cancel_requested and record.status == "running",
        "created": moment(record.created),
        "started": moment_or_none(record.started),
        "finished": moment_or_none(record.finished),
        "error": error,
    }


def more_of(record: AuditRecord) -> dict[str, Any]:
    """The fields that ``WholeAudit`` has more, but for ``may``.

    Raises
    ------
    InvalidArtifactError
        If what is stored is damaged.
    """
    try:
        config, plan = record.config, record.plan
        roles, settings = record.roles.to_dict(), config.to_dict()
    except (CfadError, ValueError) as error:
        raise InvalidArtifactError(f"The roles or settings of audit '{record.id}' are damaged.") from error
    asks = None if config.asked is None else config.asked.name
    planned = None
    if plan is not None:
        planned = Planned(at=moment(plan.at), by=plan.by, expectation=plan.expectation, seal=plan.digest)
    return {"roles": roles, "settings": settings, "asks": asks, "plan": planned}
