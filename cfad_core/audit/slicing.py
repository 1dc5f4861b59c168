"""Slices that nobody asked for: the columns of an audit's people, cut into bands and levels, and the search in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cfad_core.audit.report import MethodReport
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.evaluation.slice_columns import SliceColumn, level_column, number_column
from cfad_core.evaluation.slices import Slices, find_slices

STAGE = "slices"


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
    reports: Mapping[str, MethodReport], columns: list[SliceColumn], seed: int, progress: Progress
) -> MethodSlices:
    """The worst slices of a method, of whose reports there is one for each comparison."""
    first = next(iter(reports.values()))
    flagged = (first.scores.factual > first.threshold).astype(np.float64)
    return MethodSlices(
        flagged=find_slices(flagged, columns, seed, kind="flagged", progress=progress),
        changes={
            name: find_slices(
                report.change_probability(report.threshold), columns, seed, kind="changes", progress=progress
            )
            for name, report in reports.items()
        },
    )


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
            found.append(level_column(variable.name, _levels(len(variable.levels), columns), variable.levels))
    return found


def _levels(count: int, columns: Floats) -> Rows:
    """The level (n,) of everybody by the columns of a category with so many levels: one column of two, else of each."""
    if count <= 2:
        return np.where(columns[:, 0] > 0.0, count - 1, 0)
    levels: Rows = columns.argmax(axis=1)
    return levels
