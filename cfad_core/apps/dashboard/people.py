"""One person and their twin, for the page about people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Bools, Floats
from cfad_core.data.tables import safe_for_spreadsheets
from cfad_core.detectors.protocol import explain_people
from cfad_core.evaluation.plausibility import Plausibility

CHANGES, IMPLAUSIBLE = "whose outcome may change", "whose twin is implausible"
NOTICEABLE = 0.05  # share of a score from which on a column matters
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
    pairs = [(cells[name].iloc[0], decoded.rows[name].iloc[0]) for name in names]
    shown = [_shown(*pair) for pair in pairs]
    return pd.DataFrame(
        {
            "column": names,
            "the person": [before for before, _ in shown],
            "the twin": [after for _, after in shown],
            "note": ["clipped to what was seen" if name in decoded.clipped else "" for name in names],
            "moved": [_differ(*pair) for pair in pairs],
        }
    )


def _differ(before: object, after: object) -> bool:
    if pd.isna(before) or pd.isna(after):  # type: ignore[call-overload]
        return bool(pd.isna(before) != pd.isna(after))  # type: ignore[call-overload]
    return str(before) != str(after) and before != after


def _shown(before: object, after: object) -> tuple[str, str]:
    """Two cells as text: numbers with six digits, or with as many as distinguish them."""
    short = _text(before, 6), _text(after, 6)
    return short if short[0] != short[1] or not _differ(before, after) else (_text(before, 17), _text(after, 17))


def _text(cell: object, digits: int) -> str:
    if pd.isna(cell):  # type: ignore[call-overload]
        return ""
    return f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell)


def pair_file(result: AuditResult, table: pd.DataFrame, person: int) -> bytes:
    """The person's row and their twin's as a CSV file: put through ``score``, each gets the score that is shown."""
    cells = table.iloc[[int(result.people.row[person])]].reset_index(drop=True)
    x, twin = result.people.factual[[person]], result.people.counterfactual[[person]]
    rows = pd.concat([cells, result.encoding.decode(twin, x, cells).rows], ignore_index=True)
    rows.insert(0, _unused("who", rows), ["the person", "the twin"])
    return safe_for_spreadsheets(rows).to_csv(index=False).encode("utf-8-sig")


def _unused(name: str, table: pd.DataFrame) -> str:
    """The name, longer if a column has it."""
    while name in table:
        name += "_"
    return name


@dataclass(frozen=True)
class Reasons:
    """What the scores of a person and of their twin are made of.

    Attributes
    ----------
    variables : their names
    parts : (2, v), what each adds to the person's score and to the twin's
    moved : (v,), whether it differs between the two
    """

    variables: list[str]
    parts: Floats
    moved: Bools

    @property
    def named(self) -> Bools:
        """(v,), those that may be called a reason: they moved, or carry a noticeable share of either score."""
        size = np.abs(self.parts)
        share = size / np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
        found: Bools = self.moved | (share >= NOTICEABLE).any(axis=0)
        return found


def reasons_of(result: AuditResult, method: str, person: int) -> Reasons | None:
    """What the two scores are made of; None if the method's score is no sum over columns."""
    both = np.concatenate([result.people.factual[[person]], result.people.counterfactual[[person]]])
    parts = explain_people(result.detectors.get(method), both)
    if parts is None:
        return None
    names = [variable.name for variable in result.encoding.variables]
    member = np.array([names.index(name) for name in result.encoding.column_variables[1:]])
    summed: Floats = np.zeros((2, len(names)))
    for which, line in enumerate(parts):
        np.add.at(summed[which], member, line)
    moved = np.zeros(len(names), dtype=np.bool_)
    np.logical_or.at(moved, member, both[0, 1:] != both[1, 1:])
    return Reasons(names, summed, moved)
