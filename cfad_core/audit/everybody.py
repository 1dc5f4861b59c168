"""Everybody in a table that is too large for memory: an audit of a sample of it, and all rows scored part by part.

The causal models, the detectors and whoever is looked at one by one come from the sample. Flag rates, errors by label,
curves and densities come from counts of everybody's scores (``evaluation.counts``); twins and scores of everybody are
written to files as they are made.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer, shown_twins
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.formats import percent
from cfad_core.core.progress import Progress
from cfad_core.data.findings import Finding
from cfad_core.data.groups import matches
from cfad_core.evaluation.counts import ScoreCounts, edges_for
from cfad_core.evaluation.outcomes import PAPER_QUANTILES

STAGE = "everybody"
_FAR = 6.0  # standard errors that no sample should be away from the table, however many columns are compared


@dataclass(frozen=True)
class Scored:
    """What was counted of rows that were scored; that of parts adds up.

    Attributes
    ----------
    rows, outside : how many were read, and how many of them belong to no group
    counts : by method, of scores by state
    changes : by method, (moves, states, 2): how many are newly flagged, and newly cleared, in the twin that is shown
    unknown, clipped : by column, cells with a value that training did not see, and twins' that were clipped
    """

    rows: int
    outside: int
    counts: Mapping[str, ScoreCounts]
    changes: Mapping[str, NDArray[np.int64]]
    unknown: Mapping[str, int]
    clipped: Mapping[str, int]

    def __add__(self, other: Scored) -> Scored:
        return Scored(
            self.rows + other.rows,
            self.outside + other.outside,
            {method: counts + other.counts[method] for method, counts in self.counts.items()},
            {method: counts + other.changes[method] for method, counts in self.changes.items()},
            dict(Counter(self.unknown) + Counter(other.unknown)),
            dict(Counter(self.clipped) + Counter(other.clipped)),
        )


@dataclass(frozen=True)
class Everybody:
    """What an audit knows of the table that its people are a sample of.

    Attributes
    ----------
    source, digest : where the table was, and sha256 of its files
    rows, outside : how many it has, and how many of them belong to no group
    sampled : rows that were drawn, to learn from and to look at one by one
    furthest : the column in which the sample differs most from all rows, and by how many standard errors
    changes : by method, (moves,): how many people's outcome changes, by the twin that is shown
    positions : (sampled,), of the rows drawn in the table
    """

    source: str
    digest: str
    rows: int
    outside: int
    sampled: int
    furthest: tuple[str, float] | None
    changes: Mapping[str, tuple[int, ...]]
    positions: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``; the positions are in a file of their own."""
        values = {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name != "positions"}
        return values | {"changes": {method: list(found) for method, found in self.changes.items()}}

    @staticmethod
    def from_dict(values: Mapping[str, Any], positions: NDArray[np.int64]) -> Everybody:
        """Read what ``to_dict`` gave."""
        if len(positions) != values["sampled"]:
            raise InvalidArtifactError(f"Expected {values['sampled']} positions of sampled rows; got {len(positions)}.")
        furthest = None if values["furthest"] is None else (str(values["furthest"][0]), float(values["furthest"][1]))
        changes = {str(method): tuple(map(int, found)) for method, found in values["changes"].items()}
        return Everybody(**{**values, "furthest": furthest, "changes": changes}, positions=positions)


@dataclass(frozen=True)
class PartFiles:
    """What is written of a part: scores, and the twins of every move in the table's own columns; rows in order."""

    scores: pd.DataFrame
    twins: tuple[pd.DataFrame, ...]


def edges_of(result: AuditResult) -> dict[str, Floats]:
    """By method, the bins that scores are counted in; the audit's thresholds are edges."""
    found = {}
    for method, report in result.reports.items():
        thresholds = [report.threshold, *(report.threshold_at(quantile) for quantile in PAPER_QUANTILES)]
        scores = result.scores[method]
        found[method] = edges_for(np.concatenate([scores.train, scores.factual]), np.array(thresholds))
    return found


class PartScorer:
    """Twins and scores of the rows of any part of the table.

    Parameters
    ----------
    result : the audit of the sample
    edges : by method, as ``edges_of`` says
    """

    def __init__(self, result: AuditResult, edges: Mapping[str, Floats]) -> None:
        self.result, self.edges = result, edges
        self.methods = tuple(method for method in result.scores if method in result.detectors)
        self.thresholds = {method: result.report(method).threshold for method in self.methods}

    def __call__(self, table: pd.DataFrame, first: int, progress: Progress) -> tuple[Scored, PartFiles]:
        """Of rows, the first of which has this position in the whole table."""
        encoding, roles, states = self.result.encoding, self.result.roles, self.result.plan.states
        inside = encoding.in_groups(table)
        rows = table[inside].reset_index(drop=True)
        people, where = encoding.encode(rows), first + np.flatnonzero(inside)
        state, scorer = states.of_codes(people[:, 0]), Scorer(self.methods, self.result.detectors, progress)
        is_anomaly = None if roles.label is None else matches(rows[roles.label], str(roles.anomaly))
        here, columns = scorer(people), {"row": where, "state": state.astype(np.int16)}
        if is_anomaly is not None:
            columns["is_anomaly"] = is_anomaly
        columns |= {f"{method}_score": here[method] for method in self.methods}
        changes: dict[str, list[NDArray[np.int64]]] = {method: [] for method in self.methods}
        written, clipped = [], Counter[str]()
        for move, twins in enumerate(shown_twins(self.result.model, people, self.result.plan, progress)):
            there = scorer(twins)
            for method in self.methods:
                columns[f"{method}_twin_score" + (f"_{move + 1}" if move else "")] = there[method]
                changes[method].append(self._changes(method, here[method], there[method], state))
            decoded = encoding.decode(twins, people, rows)
            clipped.update(decoded.clipped)
            written.append(decoded.rows.assign(**{_free("row", decoded.rows): where}))
        none = {one: ScoreCounts.none(self.edges[one], states.count, labelled=is_anomaly is not None) for one in here}
        counts = {method: none[method].with_people(here[method], state, is_anomaly) for method in self.methods}
        moved = {method: np.stack(found) for method, found in changes.items()}
        scored = Scored(len(table), len(table) - len(rows), counts, moved, encoding.unknown(rows), dict(clipped))
        return scored, PartFiles(pd.DataFrame(columns), tuple(written))

    def _changes(self, method: str, here: Floats, there: Floats, state: NDArray[np.intp]) -> NDArray[np.int64]:
        """(states, 2): how many are flagged only as their twin, and only as themselves."""
        threshold, states = self.thresholds[method], self.result.plan.states.count
        before, after = here > threshold, there > threshold
        both = [np.bincount(state[changed], minlength=states) for changed in (after & ~before, before & ~after)]
        return np.stack(both, axis=1).astype(np.int64)


def _free(name: str, table: pd.DataFrame) -> str:
    """A name that no column of the table has."""
    return name if name not in table else _free(f"{name}_", table)


def with_everybody(result: AuditResult, scored: Scored, known: Everybody) -> AuditResult:
    """The audit of a sample, with what was counted of everybody."""
    changes = {method: tuple(found.sum(axis=(1, 2)).tolist()) for method, found in scored.changes.items()}
    everybody = replace(known, rows=scored.rows, outside=scored.outside, changes=changes)
    scores = {method: replace(found, counts=scored.counts.get(method)) for method, found in result.scores.items()}
    return replace(result, scores=scores, everybody=everybody, notices=(*_notices(everybody, scored), *result.notices))


def _notices(known: Everybody, scored: Scored) -> Iterator[Finding]:
    error = max((counts.error for counts in scored.counts.values()), default=0.0)
    yield Finding(
        "sample",
        "info",
        f"The table has {known.rows:,} rows. {known.sampled:,} of them, drawn at random, as many of each group and "
        "label as in the table, were learned from, and are the people who are looked at one by one; what is said of "
        "columns is said of them. All rows were scored and counted: at the audit's threshold exactly, at any other "
        f"one to {percent(error, 3)} of people.",
        count=known.sampled,
    )
    if known.furthest is not None:
        column, errors = known.furthest
        yield Finding(
            "sample-differs",
            "warning" if errors > _FAR else "info",
            f"The sample differs most from all rows in '{column}': by {errors:.1f} standard errors.",
            column=column,
        )
    for name, count in scored.unknown.items():
        message = (
            f"{count:,} rows have a '{name}' that the sample does not hold; it is treated as the most frequent value."
        )
        yield Finding("unknown-categories", "warning", message, column=name, count=count)
