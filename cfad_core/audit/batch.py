"""A batch: what an audit says about a table of new people, as numbers that are kept."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cfad_core.core.formats import listed, percent
from cfad_core.core.settings import from_plain
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.shift_test import FEWEST, Shift
from cfad_core.evaluation.twin_test import TwinTest
from cfad_core.evaluation.verdict import in_pairs

MOST_UNKNOWN = 0.05  # of the rows, with a category that the audit does not know
_INTERVAL, _STRICT = 1.6449, 2.3263  # standard errors: half of a 90 % interval; what chance exceeds once in 100 times
_HOW = {
    "average": ("lower on average", "higher on average"),
    "spread": ("less spread out", "more spread out"),
    "missing": ("missing less often", "missing more often"),
    "common value": ("less often at its most common value", "more often at its most common value"),
}


@dataclass(frozen=True)
class MethodBatch:
    """What one method does with a batch, at the audit's threshold.

    Attributes
    ----------
    flag_rate : of all people who are compared
    flag_rates : by group; nothing of groups of fewer than ten people
    changing_ratio : share of people whose outcome changes, by the audit's judges; None if nobody is compared
    interval : of it; None where that was not measured
    """

    threshold: float
    flag_rate: Estimate
    flag_rates: dict[str, Estimate]
    changing_ratio: float | None
    interval: Interval | None


@dataclass(frozen=True)
class ComparisonBatch:
    """A batch through one comparison.

    Attributes
    ----------
    groups : how many people each has; None: fewer than ten
    twin_test : whether twins pass for real people of the other group; None where that cannot be tested
    audit_twin_test : the same in the audit itself
    methods : those whose detector is at hand
    """

    name: str
    groups: dict[str, int | None]
    twin_test: TwinTest | None
    audit_twin_test: TwinTest | None
    methods: dict[str, MethodBatch]

    @property
    def twins_pass(self) -> bool | None:
        """None where that was not tested."""
        return None if self.twin_test is None else self.twin_test.passes()

    @property
    def twins_got_worse(self) -> bool:
        """Whether they do not pass, and were harder to recognise in the audit beyond chance.

        Otherwise the causal model may have been wrong from the beginning: that is no change.
        """
        now, then = self.twin_test, self.audit_twin_test
        if now is None or then is None or now.passes():
            return False
        error = math.hypot(now.high - now.low, then.high - then.low) / (2.0 * _INTERVAL)
        return now.auc - then.auc > _STRICT * error


@dataclass(frozen=True)
class VariableFit:
    """How well the mechanism of a variable still fits.

    Attributes
    ----------
    drop : mean log-likelihood of the audit's people minus that of the batch, in nats a person, within groups
    shift : what differs most of that which its causes do not explain
    group : the name of the group in which it does
    """

    drop: float
    shift: Shift
    group: str

    @property
    def words(self) -> str:
        """How it differs: ``0.8 standard deviations higher on average among b``."""
        size = f"{abs(self.shift.size):.1f} standard deviations"
        where = f"among {self.group}"
        if self.shift.what in _HOW:
            return f"{size} {_HOW[self.shift.what][self.shift.size > 0.0]} {where}"
        if self.shift.what.startswith("of "):
            return f"otherwise related to {self.shift.what.removeprefix('of ')}, by {size}, {where}"
        if self.shift.what.startswith("value "):
            often = "more" if self.shift.size > 0.0 else "less"
            return f"{often} often '{self.shift.what.removeprefix('value ')}' {where}, by {size}"
        return f"at other values {where}, by {size}"


@dataclass(frozen=True)
class Batch:
    """New people, as an audit sees them.

    Attributes
    ----------
    at : the date of the batch, in seconds since 1970
    source : the name of the table
    digest : of its contents
    n, judged : people, and those whom the judges made twins of
    judges : causal models that judged; 0 if the audit's own did, as it was saved without its judges
    comparisons : in the order of the audit
    unknown : by column, the share of rows with a category that the audit does not know
    unknown_rows : the share of rows with one in any column
    fit : by variable that a sensitive attribute reaches; None where it was not tested
    measured : of a large table, how many people drawn by chance the rates and tests are about; None: all. The numbers
        of people, and the shares of unknown categories, are always of all
    """

    at: float
    source: str
    digest: str
    n: int
    judged: int
    judges: int
    comparisons: tuple[ComparisonBatch, ...]
    unknown: dict[str, float]
    unknown_rows: float
    fit: dict[str, VariableFit] | None
    measured: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Batch:
        """Read what ``to_dict`` gave.

        Raises
        ------
        InvalidConfigError
            If it is something else.
        """
        return from_plain(Batch, values, "batch")

    @property
    def date(self) -> str:
        """``2026-03-01``, in universal time."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d")

    def comparison(self, name: str) -> ComparisonBatch | None:
        """Of this name; None if it has none."""
        return next((one for one in self.comparisons if one.name == name), None)

    @property
    def misfits(self) -> tuple[str, ...]:
        """The variables whose mechanism no longer holds, the largest shift first."""
        found = {name: one.shift for name, one in (self.fit or {}).items() if one.shift.matters}
        return tuple(sorted(found, key=lambda name: -abs(found[name].size)))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the causal model does not fit, a clause each; none if it does as far as was tested."""
        found = []
        if self.misfits:
            verb = "is" if len(self.misfits) == 1 else "are"
            first = f"{self.misfits[0]} is {(self.fit or {})[self.misfits[0]].words}"
            found.append(f"{listed(self.misfits)} {verb} distributed otherwise than in the audit ({first})")
        found += [
            f"twins do not pass for real people of another group of {one.name} ({_how_often(one)})"
            for one in self.comparisons
            if one.twins_got_worse
        ]
        if self.unknown_rows > MOST_UNKNOWN:
            columns = sorted(self.unknown, key=lambda name: -self.unknown[name])
            found.append(
                f"{percent(self.unknown_rows)} of the rows have a category that the audit does not know "
                f"({listed(columns)})"
            )
        return tuple(found)

    @property
    def alarm(self) -> str | None:
        """What the reader must know before they use the changing ratio; None if nothing is wrong."""
        if not self.reasons:
            return None
        return (
            f"The causal model no longer fits these rows: {'; '.join(self.reasons)}. The changing ratio of this batch "
            "is not reliable. Audit again with new rows."
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was not measured, a sentence each."""
        found = []
        if self.measured is not None:
            found.append(
                f"Rates and tests of this batch are about {self.measured:,} of its {self.n:,} people, drawn by chance; "
                "the numbers of people are of all."
            )
        if self.fit is None and all(one.twin_test is None for one in self.comparisons):
            found.append(
                f"The causal model was not tested on these rows: that takes at least {FEWEST} people of a group, here "
                "and among the people of the audit, and a causal model that can be tested."
            )
        found += [
            f"Twins do not pass for real people of another group of {one.name} ({_how_often(one)}). That is no clear "
            "change: the causal model of the audit may have been wrong from the beginning."
            for one in self.comparisons
            if one.twins_pass is False and not one.twins_got_worse
        ]
        if not self.judges:
            found.append(
                "The changing ratio is by the audit's own causal model and has no interval, as the audit was saved "
                "without its judges; run the audit again to have both."
            )
        return tuple(found)


def _how_often(one: ComparisonBatch) -> str:
    """``a classifier distinguishes them in 63 of 100 pairs; in the audit, in 51 of 100 pairs``."""
    now, then = one.twin_test, one.audit_twin_test
    if now is None:
        return ""
    before = "" if then is None else f"; in the audit, in {in_pairs(then.auc)}"
    return f"a classifier distinguishes them in {in_pairs(now.auc)}{before}"
