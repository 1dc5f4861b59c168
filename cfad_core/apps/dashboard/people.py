"""One person in both worlds, for the page about people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Validity
from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import ExplainedDetector

FLIPS, FAR = "whose outcome flips", "whose twin is far from anything real"
_LISTED = 1000


def list_people(
    result: AuditResult, method: str, threshold: float, choice: str
) -> tuple[NDArray[np.intp], pd.DataFrame]:
    """The people of a choice, those whose score changes most first, and a table of them."""
    scores = result.scores[method]
    here, there = scores.factual > threshold, scores.counterfactual > threshold
    change = np.abs(scores.counterfactual - scores.factual)
    wanted = np.arange(len(here))
    if choice == FLIPS:
        wanted = np.flatnonzero(here != there)
    elif choice == FAR and result.uncertainty is not None:
        wanted = np.flatnonzero(result.uncertainty.validity.far)
    if choice != "all":
        wanted = wanted[np.argsort(-change[wanted], kind="stable")]
    wanted = wanted[:_LISTED]
    names = np.where(result.people.factual[wanted, 0] < 0.0, *result.encoding.groups)
    columns = {
        "row": result.people.row[wanted] + 1,
        result.encoding.sensitive: names,
        "score": scores.factual[wanted],
        "score in the other group": scores.counterfactual[wanted],
        "flagged": here[wanted],
        "flagged in the other group": there[wanted],
    }
    if result.people.is_anomaly is not None:
        columns["labelled anomaly"] = result.people.is_anomaly[wanted]
    if result.uncertainty is not None:
        columns["the twin is"] = np.array(_marks(result.uncertainty.validity, wanted), dtype=object)
    return wanted, pd.DataFrame(columns)


def _marks(validity: Validity, people: NDArray[np.intp]) -> list[str]:
    marks = (
        (validity.far, "far from anything real"),
        (validity.out_of_range, "out of range"),
        (validity.between_levels, "between values"),
    )
    return ["; ".join(words for marked, words in marks if marked[person]) for person in people]


def twin_warning(result: AuditResult, person: int) -> str:
    """What speaks against the person's twin being somebody; empty if nothing does, or it was not measured."""
    if result.uncertainty is None:
        return ""
    validity, parts = result.uncertainty.validity, []
    if validity.far[person]:
        parts.append(
            f"This twin is far from anything real (distance {validity.distance[person]:.2g} to the nearest row that "
            f"was trained on; 99 % of real people are within {validity.usual[person]:.2g})."
        )
    if validity.out_of_range[person]:
        parts.append("A number of the twin lies beyond all that was seen in training.")
    if validity.between_levels[person]:
        parts.append("A category of the twin lies between two values, where nobody is; the nearest one is shown.")
    return " ".join([*parts, "Read its score with care."]) if parts else ""


def side_by_side(result: AuditResult, table: pd.DataFrame, person: int) -> pd.DataFrame:
    """Column by column: as they are, and in the other group, in the table's own units."""
    cells = table.iloc[[int(result.people.row[person])]].reset_index(drop=True)
    x, twin = result.people.factual[[person]], result.people.counterfactual[[person]]
    decoded = result.encoding.decode(twin, x, cells)
    names = [result.encoding.sensitive, *(variable.name for variable in result.encoding.variables)]
    before, after = (_shown(frame, names) for frame in (cells, decoded.rows))
    clipped = ["clipped to what was seen" if name in decoded.clipped else "" for name in names]
    moved = [first != second for first, second in zip(before, after, strict=True)]
    values = {"column": names, "as they are": before, "in the other group": after, "note": clipped, "moved": moved}
    return pd.DataFrame(values)


def _shown(frame: pd.DataFrame, names: list[str]) -> list[str]:
    cells = [frame[name].iloc[0] for name in names]
    return ["" if pd.isna(cell) else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells]


def contributions_of(result: AuditResult, method: str, person: int) -> tuple[list[str], Floats] | None:
    """The variables, and the part of each in the score, in both worlds; shape (2, variables).

    None if the method's score is no sum over columns.
    """
    detector = result.detectors.get("cfad" if method == "twin" else method)
    if not isinstance(detector, ExplainedDetector):
        return None
    both = np.concatenate([result.people.factual[[person]], result.people.counterfactual[[person]]])
    parts = detector.contributions(both[:, 1:])
    names = [variable.name for variable in result.encoding.variables]
    member = np.array([names.index(name) for name in result.encoding.column_variables[1:]])
    summed: Floats = np.zeros((2, len(names)))
    for world, line in enumerate(parts):
        np.add.at(summed[world], member, line)
    if method == "twin":  # one and the same in both worlds: their mean, or one of the two
        totals = summed.sum(axis=1)
        chosen = {"min": summed[totals.argmin()], "max": summed[totals.argmax()]}
        summed = np.stack([chosen.get(str(result.detector.twin), summed.mean(axis=0))] * 2)
    return names, summed
