"""One person and their twin, for the page about people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.apps.dashboard.views import groups_of, view_of
from cfad_core.audit.explanation import NOTICEABLE, Explanation, explain
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.data.tables import safe_for_spreadsheets
from cfad_core.detectors.registry import METHODS, label_of
from cfad_core.evaluation.plausibility import Plausibility

CHANGES, IMPLAUSIBLE = "whose outcome may change", "whose twin is implausible"
_LISTED = 1000


def list_people(
    result: AuditResult, method: str, threshold: float, choice: str
) -> tuple[NDArray[np.intp], pd.DataFrame]:
    """The people of a choice, and a table of them: those first whose outcome is likeliest to change, or score does."""
    scores, report, view = result.scores[method], result.report(method), view_of(result)
    here = scores.factual > threshold
    likely = report.change_probability(threshold)
    moves = np.abs(scores.twins - scores.factual).max(axis=0)
    wanted = np.arange(len(here))
    if choice == CHANGES:
        wanted = np.flatnonzero(likely > 0.0)
        wanted = wanted[np.lexsort((-moves[wanted], -likely[wanted]))]
    elif choice == IMPLAUSIBLE and result.stability is not None:
        wanted = np.flatnonzero(result.stability.plausibility.far)
    if choice not in ("all", CHANGES):
        wanted = wanted[np.argsort(-moves[wanted], kind="stable")]
    wanted = wanted[:_LISTED]
    columns = {
        "row": result.row_numbers[wanted],
        view.comparison.name: np.array(view.names, dtype=object)[view.group[wanted]],
        "outcome changes": 100.0 * likely[wanted],
        "score": scores.factual[wanted],
    }
    columns |= _of_twins(result, method, threshold, wanted)
    if result.people.is_anomaly is not None:
        columns["labelled anomaly"] = result.people.is_anomaly[wanted]
    if result.stability is not None:
        marks = [_marks(result, result.stability.plausibility, int(person)) for person in wanted]
        columns["the twin is"] = np.array(marks, dtype=object)
    return wanted, pd.DataFrame(columns)


def _of_twins(result: AuditResult, method: str, threshold: float, people: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    """Columns about the twins of some people; of several twins each, the one whose score is furthest from theirs."""
    scores = result.scores[method]
    own, twins = scores.factual[people], scores.twins[:, people]  # (p,), (k, p)
    flagged = twins > threshold
    if len(twins) == 1:
        return {"score of the twin": twins[0], "flagged": own > threshold, "twin flagged": flagged[0]}
    furthest, rows = np.abs(twins - own).argmax(axis=0), result.people.encoded.some(people).twins
    shown = rows[furthest, np.arange(len(people))]
    by_group = [  # some have a twin more than once, where others have more of them
        dict(zip(groups_of(result, rows[:, place]), marks, strict=True)) for place, marks in enumerate(flagged.T)
    ]
    counts = [f"{sum(marks.values())} of {len(marks)}" for marks in by_group]
    return {
        "furthest twin": np.array(groups_of(result, shown), dtype=object),
        "its score": twins[furthest, np.arange(len(people))],
        "flagged": own > threshold,
        "twins flagged": np.array(counts, dtype=object),
    }


def _marks(result: AuditResult, twins: Plausibility, person: int) -> str:
    """What is implausible about the twins of a person; of several, which."""
    marks = (
        (twins.distance > twins.usual, "far from any real person"),
        (twins.out_of_range, "out of range"),
        (twins.between_levels, "between values"),
    )
    found = ["; ".join(words for marked, words in marks if marked[k, person]) for k in range(len(twins.distance))]
    if len(found) == 1:
        return found[0]
    twin_rows = result.people.encoded.some(np.array([person])).twins[:, 0]
    named = dict(zip(groups_of(result, twin_rows), found, strict=True))
    return "; ".join(f"{group}: {words}" for group, words in named.items() if words)


def twin_warning(result: AuditResult, person: int) -> str:
    """Why the person's twin that is shown is implausible; empty if it is not, or that was not measured."""
    if result.stability is None:
        return ""
    twins, parts = result.stability.plausibility, []
    distance, usual = twins.distance[0, person], twins.usual[0, person]
    if distance > usual:
        parts.append(
            f"This twin is far from any real person (distance {distance:.2g} to the nearest row that "
            f"was trained on; 99 % of real people are within {usual:.2g})."
        )
    if twins.out_of_range[0, person]:
        parts.append("A number of the twin lies beyond all that was seen in training.")
    if twins.between_levels[0, person]:
        parts.append("A category of the twin lies between two values, where no person is; the nearest one is shown.")
    return " ".join([*parts, "Read its score with care."]) if parts else ""


def both_rows(result: AuditResult, person: int) -> tuple[Floats, Floats]:
    """The encoded rows (1, d) of a person and of the twin that is shown."""
    found = result.people.encoded.some(np.array([person]))
    return found.factual, found.twins[0]


def side_by_side(result: AuditResult, table: pd.DataFrame, person: int) -> pd.DataFrame:
    """Column by column: the person and their twin, in the table's own units."""
    cells = table.iloc[[int(result.people.row[person])]].reset_index(drop=True)
    x, twin = both_rows(result, person)
    decoded = result.encoding.decode(twin, x, cells)
    names = [*result.encoding.attribute_names, *(variable.name for variable in result.encoding.variables)]
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
    x, twin = both_rows(result, person)
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
    """Why a person's score and their twin's are as they are.

    Attributes
    ----------
    explanation : of the two, the person first
    moved : (v,), whether a variable differs between the two
    """

    explanation: Explanation
    moved: Bools

    @property
    def named(self) -> Bools:
        """(v,), those that may be called a reason: they moved, or have a noticeable part in either score."""
        found: Bools = self.moved | self.explanation.noticeable.any(axis=0)
        return found


def reasons_of(result: AuditResult, method: str, person: int) -> Reasons | None:
    """Why the two scores are as they are; None if the detector is not saved with the audit."""
    both = np.concatenate(both_rows(result, person))
    explanation = explain(result, method, both)
    if explanation is None:
        return None
    differs = both[0] != both[1]
    moved_columns = {
        name for name, moved in zip(result.encoding.column_variables[1:], differs[1:], strict=True) if moved
    }
    return Reasons(explanation, np.array([name in moved_columns for name in explanation.variables], dtype=np.bool_))


def raised_by(explanation: Explanation) -> str:
    """What raised the person's score, in a line of Markdown."""
    raised = as_text(explanation.reasons()[0], 400)
    if raised:
        return f"Raised most by: {raised}"
    if (explanation.parts[0] > 0.0).any():
        return f"Many columns raised this score a little, none of them by {percent(NOTICEABLE, 0)} or more."
    return "No column by itself raised this score."


def parts_caption(method: str, explanation: Explanation) -> str:
    """What the bars of the picture are, for people."""
    noticeable = percent(NOTICEABLE, 0)
    whose = f" Explained is the score that {label_of(method)} is made of." if explanation.is_shared else ""
    if explanation.kind == "sum":
        parts = f": {METHODS[method].parts}" if method in METHODS and METHODS[method].parts else ""
        return (
            f"What each column adds to each of the two scores{parts}. All bars of one colour add up to that score."
            f"{whose} Named are columns that moved, or that carry at least {noticeable} of either score."
        )
    return (
        "How much each of the two scores falls if this column alone is replaced by values that are typical of normal "
        "people. A bar to the left means that the score would rise instead. These bars do not add up to the score."
        f"{whose} Shown are columns that moved, or that make up at least {noticeable} of all bars of one colour."
    )
