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

CHANGES, ONLY_PERSON, ONLY_TWIN = "outcome may change", "flagged only as they are", "flagged only as their twin"
MOVES, IMPLAUSIBLE, ALL = "score changes most", "twin is implausible", "everybody"
_LISTED = 1000


@dataclass(frozen=True)
class Wanted:
    """Which people are listed.

    Attributes
    ----------
    choice : what is special about them
    group : theirs; None: any
    least : how likely their outcome changes, at least
    """

    choice: str = CHANGES
    group: str | None = None
    least: float = 0.0


def choices_for(result: AuditResult) -> list[str]:
    """What may be chosen about the people of an audit."""
    implausible = [IMPLAUSIBLE] if result.stability is not None else []
    return [CHANGES, ONLY_PERSON, ONLY_TWIN, MOVES, *implausible, ALL]


def order_words(choice: str) -> str:
    """In which order the people of a choice are listed."""
    if choice in (CHANGES, ONLY_PERSON, ONLY_TWIN):
        return "those whose outcome is most likely to change first"
    return "in the table's order" if choice == ALL else "those whose score changes most first"


def wanted_people(result: AuditResult, method: str, threshold: float, wanted: Wanted) -> NDArray[np.intp]:
    """The positions of the people of a choice: those first whose outcome is likeliest to change, or score does."""
    scores, view = result.scores[method], view_of(result)
    here, likely = scores.factual > threshold, result.report(method).change_probability(threshold)
    moves = np.abs(scores.twins - scores.factual).max(axis=0)
    changes = np.where(np.isnan(likely), ((scores.twins > threshold) != here).any(axis=0), likely > 0.0)
    chosen = {CHANGES: changes, ONLY_PERSON: changes & here, ONLY_TWIN: changes & ~here}
    if wanted.choice == IMPLAUSIBLE and result.stability is not None:
        chosen[IMPLAUSIBLE] = result.stability.plausibility.far
    kept = chosen.get(wanted.choice, np.ones(len(here), dtype=np.bool_))
    if wanted.group in view.names:
        kept = kept & (view.group == view.names.index(wanted.group))
    if wanted.least > 0.0:
        kept = kept & (np.nan_to_num(likely) >= wanted.least)
    people = np.flatnonzero(kept)
    if wanted.choice in (CHANGES, ONLY_PERSON, ONLY_TWIN):
        return people[np.lexsort((-moves[people], -np.nan_to_num(likely[people])))]
    return people if wanted.choice == ALL else people[np.argsort(-moves[people], kind="stable")]


def people_shown(result: AuditResult, method: str, threshold: float, people: NDArray[np.intp]) -> pd.DataFrame:
    """A table of some people: the first thousand of them."""
    listed, scores, view = people[:_LISTED], result.scores[method], view_of(result)
    columns = {
        "row": result.row_numbers[listed],
        view.comparison.name: np.array(view.names, dtype=object)[view.group[listed]],
        "outcome changes": 100.0 * result.report(method).change_probability(threshold)[listed],
        "score": scores.factual[listed],
    }
    columns |= _of_twins(result, method, threshold, listed)
    if result.people.is_anomaly is not None:
        columns["labelled anomaly"] = result.people.is_anomaly[listed]
    if result.stability is not None:
        columns["the twin is"] = _marks(result, result.stability.plausibility, listed)
    return pd.DataFrame(columns)


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


def _marks(result: AuditResult, twins: Plausibility, people: NDArray[np.intp]) -> NDArray[np.object_]:
    """What is implausible about the twins of some people (p,); of several, which."""
    marks = (
        ((twins.distance > twins.usual)[:, people], "far from any real person"),
        (twins.out_of_range[:, people], "out of range"),
        (twins.between_levels[:, people], "between values"),
    )
    texts = np.full(len(people), "", dtype=object)
    odd = np.flatnonzero(np.any([marked for marked, _ in marks], axis=(0, 1)))
    rows = result.people.encoded.some(people[odd]).twins if len(twins.distance) > 1 and len(odd) else None
    for place, k in enumerate(odd.tolist()):
        found = ["; ".join(words for marked, words in marks if marked[move, k]) for move in range(len(twins.distance))]
        if rows is None:
            texts[k] = found[0]
            continue
        named = dict(zip(groups_of(result, rows[:, place]), found, strict=True))
        texts[k] = "; ".join(f"{group}: {words}" for group, words in named.items() if words)
    return texts


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


def raised_by(explanation: Explanation, place: int = 0) -> str:
    """What raised the score of one of the people that are explained, in a line of Markdown."""
    raised = as_text(explanation.reasons()[place], 400)
    if raised:
        return f"Raised most by: {raised}"
    if (explanation.parts[place] > 0.0).any():
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
