"""Planned audits: their tables, roles and settings are sealed before any result is seen.

The seal is the sha256 of all that was planned. Whoever notes it down beforehand can show later that the audit is the
one that was planned: another setting, another table or another expectation would have another seal.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.core.settings import from_plain

if TYPE_CHECKING:
    from cfad_core.runs.model import AuditRecord

LONGEST_EXPECTATION = 4_000  # characters
LONGEST_NAME = 200
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class AuditPlan:
    """Who planned an audit, when, and what they expected of it.

    Attributes
    ----------
    at : seconds since 1970
    by : the planner's name; empty if it was not given
    expectation : which method and threshold it will be about, what would be acceptable; empty if nothing was said
    digest : the seal
    """

    at: float
    by: str
    expectation: str
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; ``from_dict`` gives the same back."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Any) -> AuditPlan:
        """Read what ``to_dict`` gave.

        Raises
        ------
        InvalidArtifactError
            If it is anything else.
        """
        try:
            plan = from_plain(AuditPlan, values, "plan")
            checked_words(plan.by, plan.expectation)
        except (InvalidConfigError, InvalidDataError) as error:
            raise InvalidArtifactError(f"The saved plan is damaged: {error}") from error
        if not math.isfinite(plan.at) or not _SHA256.fullmatch(plan.digest):
            raise InvalidArtifactError("The saved plan is damaged: it has no time, or no seal.")
        return plan


def checked_words(by: str, expectation: str) -> tuple[str, str]:
    """The planner's name and expectation, without white space around them.

    Raises
    ------
    InvalidDataError
        If one is too long, or the name has several lines.
    """
    by, expectation = by.strip(), expectation.strip()
    if len(by) > LONGEST_NAME or not by.isprintable():
        raise InvalidDataError(f"Expected the planner's name on one line of at most {LONGEST_NAME} characters.")
    if len(expectation) > LONGEST_EXPECTATION:
        raise InvalidDataError(
            f"Expected at most {LONGEST_EXPECTATION:,} characters of what is expected; got {len(expectation):,}. "
            "Shorten it."
        )
    return by, expectation


def sealed_plan(row: Mapping[str, Any], by: str, expectation: str) -> AuditPlan:
    """The plan of an audit that is about to be stored as this row of the index."""
    by, expectation = checked_words(by, expectation)
    at = float(row["created"])
    return AuditPlan(at, by, expectation, _seal(row["tables"], row["roles"], row["config"], (at, by, expectation)))


def is_sealed(record: AuditRecord) -> bool:
    """Whether the tables, roles and settings that are stored are the ones that were planned; False if none were."""
    try:
        plan = record.plan
        if plan is None:
            return False
        words = (plan.at, plan.by, plan.expectation)
        return plan.digest == _seal(record.tables, record.roles_text, record.config_text, words)
    except (CfadError, TypeError, ValueError):  # what cannot be read is not what was planned
        return False


def _seal(tables: Mapping[str, str], roles: str, config: str, words: tuple[float, str, str]) -> str:
    """sha256 of all that is sealed, as JSON with sorted keys and without spaces."""
    at, by, expectation = words
    sealed = {"tables": dict(tables), "roles": json.loads(roles), "config": json.loads(config)}
    sealed |= {"at": at, "by": by, "expectation": expectation}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
