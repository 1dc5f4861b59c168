"""Slices that nobody asked for: the columns of an audit's people, cut into bands and levels, and the search in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cfad_core.audit.report import MethodReport
from cfad_core.core.arrays import Floats
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.evaluation.slice_columns import SliceColumn, level_column, number_column
from cfad_core.evaluation.slices import Slices, find_slices


@dataclass(frozen=True)
class MethodSlices:
    """The slices of one method, at the audit's threshold.

    Attributes
    ----------
    flagged : people who are flagged more often than others
    changes : by comparison, people whose outcome changes more often than that of others
    """

    flagged: Slices
    changes: dict[str, Slices] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        changes = {name: found.to_dict() for name, found in self.changes.items()}
        return {"flagged": self.flagged.to_dict(), "changes": changes}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> MethodSlices:
        changes = {name: Slices.from_dict(found) for name, found in values["changes"].items()}
        return MethodSlices(Slices.from_dict(values["flagged"]), changes)


def slice_method(
    score: Floats, reports: Mapping[str, MethodReport], columns: list[SliceColumn], seed: int, progress: Progress
) -> MethodSlices:
    """The worst slices of a method.

    Parameters
    ----------
    score : (n,), of all people
    reports : by comparison, what is said about those of them who are compared
    """
    changes: dict[str, Slices] = {}
    for name, report in reports.items():
        likely = np.full(len(score), np.nan)
        likely[report.basis.view.rows] = report.change_probability(report.threshold)
        changes[name] = find_slices(likely, columns, seed, kind="changes", progress=progress)
    threshold = next(iter(reports.values())).threshold
    flagged = (score > threshold).astype(np.float64)
    return MethodSlices(find_slices(flagged, columns, seed, kind="flagged", progress=progress), changes)


def slice_columns(encoding: Encoding, people: Floats) -> list[SliceColumn]:
    """The attributes of encoded people (n, d), sensitive ones and dates left out, in the table's own units."""
    found, start = [], 1
    for variable in encoding.variables:
        end = start + len(variable.columns)
        columns = people[:, start:end]
        start = end
        if variable.kind == "number":
            numbers = columns[:, 0] * variable.scale + variable.offset
            missing = variable.missing_as()
            if missing is not None:
                numbers = np.where(columns[:, 1] == missing[1], np.nan, numbers)
            found.append(number_column(variable.name, numbers))
        elif variable.kind == "category":
            found.append(level_column(variable.name, variable.level_codes(columns), variable.levels))
    return found
