"""What a detector outside this program answered: checked, and turned so that higher means more anomalous."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from cfad_core.audit.questions import Questions
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.formats import listed
from cfad_core.core.settings import from_plain
from cfad_core.data.columns import as_numbers, too_large, unreadable
from cfad_core.detectors.adapter import Meaning

Door = Literal["file", "function", "command", "address", "onnx"]

_NAMES = ("score", "scores", "anomaly_score", "outlier_score", "flag", "flags", "flagged", "prediction")
_FLAGS = {"true": 1.0, "false": 0.0}
_SAME = 1e-9  # relative difference of two answers that are the same
_FOLLOWS = 3.0  # standard errors of an AUC from 0.5 from which on labels say which way scores point
_AS_KNOWN = 1e-6  # relative difference of an answer from the table's own score that rounding explains


@dataclass(frozen=True)
class Answers:
    """One score for each row that was asked about.

    Attributes
    ----------
    scores : (rows,), higher = more anomalous; where a row was asked about twice, the answer that came first: a mean of
        both would hide a part of the detector's noise
    twice : (r, 2), both answers about these rows
    high_means : what a high score meant as it was given
    are_flags : whether they are 0 and 1 alone
    threshold : above which its owner flags, turned as the scores are; None: none was given
    door : how the answers came
    known : (k, 2), the answers about people whose score the audited table has, beside that score
    mark : what they are recognised by, of those that are kept
    """

    scores: Floats
    twice: Floats
    high_means: Meaning
    are_flags: bool
    threshold: float | None
    door: Door
    known: Floats
    mark: str = ""

    @property
    def differing(self) -> int:
        """How many of the rows that were asked about twice got two different answers."""
        first, second = self.twice.T
        return int((~np.isclose(first, second, rtol=_SAME, atol=_SAME * _spread(self.scores))).sum())

    def flags_differ(self, threshold: float) -> float:
        """The share of the rows asked about twice that are flagged by one answer alone."""
        flagged = self.twice > threshold
        return float((flagged[:, 0] != flagged[:, 1]).mean()) if len(flagged) else 0.0

    @property
    def unlike_known(self) -> int:
        """How many answers differ from the score that the audited table has."""
        first, second = self.known.T
        return int((~np.isclose(first, second, rtol=_AS_KNOWN, atol=_AS_KNOWN * _spread(self.scores))).sum())


@dataclass(frozen=True)
class AnswerRecord:
    """What an audit remembers of answers.

    Attributes
    ----------
    name : of the detector
    door : how the answers came
    rows : different ones that were asked about
    repeated, differing : of them those that were asked about twice, and those with two different answers
    flags_differ : share of the repeated rows that are flagged by one answer alone, at the audit's threshold
    high_means, are_flags : what the answers were
    known, unlike_known : people whose score the audited table has, and those of them with another answer
    mark : of the answers
    """

    name: str
    door: Door
    rows: int
    repeated: int
    differing: int
    flags_differ: float
    high_means: Meaning
    are_flags: bool
    known: int = 0
    unlike_known: int = 0
    mark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> AnswerRecord:
        return from_plain(AnswerRecord, values, "asked")

    @staticmethod
    def of(name: str, answers: Answers, threshold: float) -> AnswerRecord:
        return AnswerRecord(
            name=name,
            door=answers.door,
            rows=len(answers.scores),
            repeated=len(answers.twice),
            differing=answers.differing,
            flags_differ=answers.flags_differ(threshold),
            high_means=answers.high_means,
            are_flags=answers.are_flags,
            known=len(answers.known),
            unlike_known=answers.unlike_known,
            mark=answers.mark,
        )


def read_answers(
    questions: Questions,
    given: pd.DataFrame,
    high_means: Meaning,
    *,
    column: str | None = None,
    threshold: float | None = None,
    door: Door = "file",
) -> Answers:
    """Match a table of ids and scores with the rows that were asked about.

    Parameters
    ----------
    column : that holds the scores; by default the only one that was not in the table to score
    threshold : strictly above which the owner flags (below which, if high scores mean normal), as the scores are given;
        by default, of two different values, the middle between them

    Raises
    ------
    InvalidDataError
        If an id is missing, unknown or there twice, or a score is no finite number.
    """
    given = given.rename(columns=str)
    ids = _ids(questions, given)
    name = score_column(questions, given.columns.tolist()) if column is None else column
    if name not in given.columns or name == questions.id_column:
        raise InvalidDataError(f"There is no column '{name}' of scores; the table has: {', '.join(given.columns)}.")
    place = ids.get_indexer(pd.Index(questions.batch[questions.id_column]))
    lines = _numbers(given[name], ids)[place]
    return match_answers(questions, lines, high_means, threshold=threshold, door=door)


def match_answers(
    questions: Questions, lines: Floats, high_means: Meaning, *, threshold: float | None = None, door: Door
) -> Answers:
    """The answers (b,) to every line of the table to score, in its order."""
    if high_means not in ("anomalous", "normal"):
        raise InvalidConfigError(f"A high score means 'anomalous' or 'normal'; got {high_means!r}.")
    if threshold is not None and not np.isfinite(threshold):
        raise InvalidConfigError(f"The threshold must be a finite number; got {threshold}.")
    sign = 1.0 if high_means == "anomalous" else -1.0
    different = np.unique(lines)
    are_flags = bool(np.isin(different, (0.0, 1.0)).all())
    if threshold is None and (are_flags or len(different) == 2):  # a quantile of two values is one of them
        threshold = 0.5 if are_flags else float(different.mean())
    lines = sign * lines
    order, counts = np.argsort(questions.row_of, kind="stable"), np.bincount(questions.row_of, minlength=questions.rows)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    scores, again = lines[order[first]], first[counts == 2]
    twice = np.column_stack([lines[order[again]], lines[order[again + 1]]])
    return Answers(
        scores=scores,
        twice=twice,
        high_means=high_means,
        are_flags=are_flags,
        threshold=None if threshold is None else sign * threshold,
        door=door,
        known=np.column_stack([sign * scores[questions.known_rows], questions.known]),
    )


def suggest_meaning(questions: Questions, answers: Answers, is_anomaly: Bools | None) -> tuple[Meaning | None, float]:
    """What a high score seems to mean, by the labels of the judged people, and how well it ranks them then (AUC).

    Nothing without labels of both kinds, or where the scores do not follow them.
    """
    if is_anomaly is None or is_anomaly.all() or not is_anomaly.any():
        return None, 0.5
    from sklearn.metrics import roc_auc_score

    score = answers.scores[questions.numbers.factual] * (1.0 if answers.high_means == "anomalous" else -1.0)
    auc = float(roc_auc_score(is_anomaly, score))
    odd, others = int(is_anomaly.sum()), int((~is_anomaly).sum())
    if abs(auc - 0.5) < _FOLLOWS * np.sqrt((odd + others + 1) / (12.0 * odd * others)):
        return None, auc
    return ("anomalous", auc) if auc > 0.5 else ("normal", 1.0 - auc)


def score_column(questions: Questions, columns: Sequence[str]) -> str:
    """The column of an answer that holds the scores.

    Raises
    ------
    InvalidDataError
        If there is none, or several that could be.
    """
    new = [name for name in columns if name not in questions.batch.columns]
    if len(new) == 1:
        return new[0]
    beside = [name for name in columns if name != questions.id_column]
    if len(beside) == 1:  # it may be called as a column of the table is
        return beside[0]
    named = [name for name in new if name.strip().casefold().replace(" ", "_") in _NAMES]
    if len(named) == 1:
        return named[0]
    came = f"there are {len(new)}: {listed(new)}" if new else "there is none"
    raise InvalidDataError(
        f"Expected one column of scores (or of flags, 0 and 1) beside '{questions.id_column}'; {came}. Name it 'score'."
    )


def _ids(questions: Questions, given: pd.DataFrame) -> pd.Index[str]:
    """The ids of the answers, once it is certain that they are those of the questions."""
    column = questions.id_column
    if column not in given.columns:
        raise InvalidDataError(
            f"Expected the column '{column}' with the ids of the rows that were scored; the table has: "
            f"{listed(given.columns.tolist())}. Keep that column as it is, and add the scores."
        )
    ids = pd.Index(given[column].astype(str).str.strip())
    asked = pd.Index(questions.batch[column])
    twice, absent, strange = ids[ids.duplicated()], asked.difference(ids), ids.difference(asked)
    problems = [
        (twice, "there twice", "Answer every row once"),
        (absent, "missing", "Answer every row of the file, also those that look alike"),
        (strange, "not among those that were asked about", "Answer the file of this very audit"),
    ]
    said = [
        f"{len(some):,} of {len(asked):,} ids are {what}, such as '{str(some[0])[:40]}'. {remedy}."
        for some, what, remedy in problems
        if len(some)
    ]
    if said:
        raise InvalidDataError("\n".join(said))
    return ids


def _numbers(cells: pd.Series[Any], ids: pd.Index[str]) -> Floats:
    said = cells.map(lambda cell: _FLAGS.get(str(cell).strip().casefold()))
    cells = said if said.notna().all() else cells
    values, is_text = as_numbers(cells), unreadable(cells)
    bad = ~np.isfinite(values) | too_large(cells)
    if bad.any():
        example = f"'{cells[is_text].iloc[0]}'"[:40] if is_text.any() else str(values[bad][0])
        raise InvalidDataError(
            f"Expected a finite number as the score of every row; {int(bad.sum()):,} of {len(values):,} are none, such "
            f"as {example} of row '{ids[bad][0]}'. Give every row a score, also one that the detector finds odd."
        )
    return values


def _spread(scores: Floats) -> float:
    """The size of differences between scores that mean something."""
    return float(np.ptp(scores)) if len(scores) else 1.0
