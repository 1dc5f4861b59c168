"""What is wrong with a table or an audit, or worth knowing: each finding with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One thing that the reader must know.

    Attributes
    ----------
    code : stable name of the kind of finding
    severity : an ``error`` prevents an audit
    message, remedy : what was found, and what to do about it
    column, count : where, and in how many rows (or values), if it is about one column and not about few people
    """

    code: str
    severity: Severity
    message: str
    remedy: str = ""
    column: str | None = None
    count: int | None = None

    @property
    def text(self) -> str:
        """Message and remedy."""
        return f"{self.message} {self.remedy}".strip()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; the message includes the remedy."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.text,
            "column": self.column,
            "count": self.count,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Finding:
        return from_plain(Finding, values, "notice")


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise all errors at once, one a line.

    Raises
    ------
    InvalidDataError
        If there is an error among the findings.
    """
    errors = [finding.text for finding in findings if finding.severity == "error"]
    if errors:
        raise InvalidDataError("\n".join(errors))
