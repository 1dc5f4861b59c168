"""One person and their twin, for the page about people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import explain_people
from cfad_core.evaluation.plausibility import Plausibility

CHANGES, IMPLAUSIBLE = "whose outcome may change", "whose twin is implausible"
_LISTED = 1000


def list_people(
    result: AuditResult, method: str, threshold: float, choice: str
) -> tuple[NDArray[np.intp], pd.DataFrame]:
    """The people of a choice, and a table of them: those first whose outcome is likeliest to change, or score does."""
    scores, report = result.scores[method], result.report(method)
    here, there = report.flags_at(threshold)
    likely = report.change_probability(threshold)
    moves = np.abs(scores.counterfactual - scores.factual)
    wanted = np.arange(len(here))
    if choice == CHANGES:
        wanted = np.flatnonzero(likely > 0.0)
        wanted = wanted[np.lexsort((-moves[wanted], -likely[wanted]))]
    elif choice == IMPLAUSIBLE and result.stability is not None:
        wanted = np.flatnonzero(result.stability.plausibility.far)
    if choice not in ("all", CHANGES):
        wanted = wanted[np.argsort(-moves[wanted], kind="stable")]
    wanted = wanted[:_LISTED]
    first, second = result.encoding.groups
    names = np.where(result.people.factual[wanted, 0] < 0.0, first, second)
    columns = {
        "row": result.people.row[wanted] + 1,
        result.encoding.sensitive: names,
        "outcome changes": 100.0 * likely[wanted],
        "score": scores.factual[wanted],
        "score of the twin": scores.counterfactual[wanted],
        "flagged": here[wanted],
        "twin flagged": there[wanted],
    }
    if result.people.is_anomaly is not None:
        columns["labelled anomaly"] = result.people.is_anomaly[wanted]
    if result.stability is not None:
        columns["the twin is"] = np.array(_marks(result.stability.plausibility, wanted), dtype=object)
    return wanted, pd.DataFrame(columns)


def _marks(twins: Plausibility, people: NDArray[np.intp]) -> list[str]:
    marks = (
        (twins.far, "far from any real person"),
        (twins.out_of_range, "out of range"),
        (twins.between_levels, "between values"),
    )
    return ["; ".join(words for marked, words in marks if marked[person]) for person in people]


def twin_warning(result: AuditResult, person: int) -> str:
    """Why the person's twin is implausible; empty if it is not, or that was not measured."""
    if result.stability is None:
        return ""
    twins, parts = result.stability.plausibility, []
    if twins.far[person]:
        parts.append(
            f"This twin is far from any real person (distance {twins.distance[person]:.2g} to the nearest row that "
            f"was trained on; 99 % of real people are within {twins.usual[person]:.2g})."
        )
    if twins.out_of_range[person]:
        parts.append("A number of the twin lies beyond all that was seen in training.")
    if twins.between_levels[person]:
        parts.append("A category of the twin lies between two values, where no person is; the nearest one is shown.")
    return " ".join([*parts, "Read its score with care."]) if parts else ""


def side_by_side(result: AuditResult, table: pd.DataFrame, person: int) -> pd.DataFrame:
    """Column by column: the person and their twin, in the table's own units."""
    cells = table.iloc[[int(result.people.row[person])]].reset_index(drop=True)
    x, twin = result.people.factual[[person]], result.people.counterfactual[[person]]
    decoded = result.encoding.decode(twin, x, cells)
    names = [result.encoding.sensitive, *(variable.name for variable in result.encoding.variables)]
    before, after = (_shown(frame, names) for frame in (cells, decoded.rows))
    clipped = ["clipped to what was seen" if name in decoded.clipped else "" for name in names]
    moved = [first != second for first, second in zip(before, after, strict=True)]
    values = {"column": names, "the person": before, "the twin": after, "note": clipped, "moved": moved}
    return pd.DataFrame(values)


def _shown(frame: pd.DataFrame, names: list[str]) -> list[str]:
    cells = [frame[name].iloc[0] for name in names]
    return ["" if pd.isna(cell) else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells]


def contributions_of(result: AuditResult, method: str, person: int) -> tuple[list[str], Floats] | None:
    """The variables, and the part of each in the score of the person and of their twin; shape (2, variables).

    None if the method's score is no sum over columns.
    """
    both = np.concatenate([result.people.factual[[person]], result.people.counterfactual[[person]]])
    parts = explain_people(result.detectors.get(method), both)
    if parts is None:
        return None
    names = [variable.name for variable in result.encoding.variables]
    member = np.array([names.index(name) for name in result.encoding.column_variables[1:]])
    summed: Floats = np.zeros((2, len(names)))
    for which, line in enumerate(parts):
        np.add.at(summed[which], member, line)
    return names, summed
