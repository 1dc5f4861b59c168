"""What is wrong, or worth knowing, about a table: each problem with its remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cfad_core.core.errors import InvalidDataError

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Problem:
    """One problem.

    Attributes
    ----------
    code : stable name of the kind of problem
    severity : an ``error`` stands in the way of an audit
    message, remedy : what was found, and what to do about it
    column, count : where, and in how many rows (or values)
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


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Raise all errors at once, one a line.

    Raises
    ------
    InvalidDataError
        If there is an error among the problems.
    """
    errors = [problem.text for problem in problems if problem.severity == "error"]
    if errors:
        raise InvalidDataError("\n".join(errors))
