"""Scores of people and of their twins: the same way for the audited people and for new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.explanation import explain
from cfad_core.audit.judging import UNSEEN, draws_of
from cfad_core.audit.report import MethodScores
from cfad_core.audit.result import AuditResult, People
from cfad_core.causal.additive import AdditiveModel
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import DecodedRows, Encoding
from cfad_core.detectors.protocol import AnyDetector, PeopleDetector, TrainingRows, score_people
from cfad_core.detectors.registry import METHODS

_SLICE = 8_192  # rows between two looks at whether to stop


def in_slices(function: Callable[[Floats], Floats], x: Floats, progress: Progress, stage: str = "evaluation") -> Floats:
    """``function`` of x, slice by slice, so that it can be cancelled; it works row by row, so this changes nothing."""
    parts = []
    for start in range(0, max(1, len(x)), _SLICE):
        progress.check(stage)
        parts.append(function(x[start : start + _SLICE]))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Scorer:
    """What every method says of people (n, d).

    Attributes
    ----------
    methods : to score with, in the order in which they are shown
    detectors : by name; those that others start from are among them, too
    """

    methods: tuple[str, ...]
    detectors: Mapping[str, AnyDetector]
    progress: Progress

    def __call__(self, people: Floats) -> dict[str, Floats]:
        """Slice by slice, all methods on one: what they share is made once."""
        parts = []
        for start in range(0, max(1, len(people)), _SLICE):
            self.progress.check("evaluation")
            parts.append(self._slice(people[start : start + _SLICE]))
        return {method: np.concatenate([part[method] for part in parts]) for method in self.methods}

    def _slice(self, people: Floats) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        for method in self.methods:
            detector = self.detectors[method]
            base = detector.base if isinstance(detector, PeopleDetector) else None
            known = next((score for name, score in found.items() if self.detectors[name] is base is not None), None)
            if known is not None and isinstance(detector, PeopleDetector):  # the base has scored these people already
                found[method] = detector.score_people(people, known)
            else:
                found[method] = score_people(detector, people)
        return found

    def by(self, method: str, people: Floats) -> Floats:
        """Scores (n,) by one method."""
        detector = self.detectors[method]
        return in_slices(lambda some: score_people(detector, some), people, self.progress)

    def of_training(self, rows: TrainingRows) -> dict[str, Floats]:
        """By method, the scores that thresholds are quantiles of.

        A method that learned from people and their twins has its threshold from both.
        """
        found = self(np.column_stack([rows.sensitive, rows.x]))
        twins = np.column_stack([-rows.sensitive, rows.counterfactual])
        for method in self.methods:
            if method in METHODS and METHODS[method].learns_both:
                found[method] = np.concatenate([found[method], self.by(method, twins)])
        return found

    def silent(self, progress: Progress) -> Scorer:
        """The same for work that is one step of another stage."""
        return replace(self, progress=progress)


def score_methods(
    scorer: Scorer, rows: TrainingRows, people: People, twin_scores: Mapping[str, Floats]
) -> dict[str, MethodScores]:
    """Scores of every method: of the training rows, the people, the twins that are shown, and the true ones.

    Parameters
    ----------
    twin_scores : those of other causal models' twins, (R, m) by method
    """
    nothing = np.zeros((0, len(people.judged)))
    train = scorer.of_training(rows)
    scorer.progress.tick("evaluation", 1, 4)
    factual = scorer(people.factual)
    scorer.progress.tick("evaluation", 2, 4)
    counterfactual = scorer(people.counterfactual)
    scorer.progress.tick("evaluation", 3, 4)
    truth = None if people.truth is None else scorer(people.truth)
    scorer.progress.tick("evaluation", 4, 4)
    return {
        method: MethodScores(
            train=train[method],
            factual=factual[method],
            counterfactual=counterfactual[method],
            truth=None if truth is None else truth[method],
            judged=twin_scores.get(method, nothing),
        )
        for method in scorer.methods
    }


def score_rows(result: AuditResult, table: pd.DataFrame, *, reasons: bool = True) -> pd.DataFrame:
    """Score new rows with every method whose detector is here: one of another library is not saved with an audit.

    Parameters
    ----------
    reasons : whether to say why; where a score is no sum over columns, this takes longer than the scores

    Returns
    -------
    DataFrame
        Aligned with the table's rows; for each method ``_score``, ``_flag``, ``_score_counterfactual`` (of the twin
        that ``twin_rows`` writes), ``_change`` (how likely the outcome changes: the share of 16 possible twins), and
        ``_reasons`` (the columns that raised the score most, with their shares: ``income 62 %, age 21 %``).
    """
    people = encode_people(result.encoding, table)
    draws = 1 if isinstance(result.model, AdditiveModel) else draws_of(1)
    methods = tuple(method for method in result.scores if method in result.detectors)
    scorer = Scorer(methods, result.detectors, Progress())
    here, shown = scorer(people), scorer(result.model.twins(people))
    others = [scorer(result.model.twins(people, UNSEEN + draw)) for draw in range(draws)] if draws > 1 else [shown]
    columns: dict[str, NDArray[Any]] = {}
    for method in scorer.methods:
        threshold = result.report(method).threshold
        flagged = here[method] > threshold
        columns[f"{method}_score"] = here[method]
        columns[f"{method}_flag"] = flagged.astype(np.int64)
        columns[f"{method}_score_counterfactual"] = shown[method]
        columns[f"{method}_change"] = np.mean([flagged != (some[method] > threshold) for some in others], axis=0)
        if reasons and (found := explain(result, method, people)) is not None:
            columns[f"{method}_reasons"] = np.array(found.reasons(), dtype=object)
    return pd.DataFrame(columns, index=table.index)


def explain_rows(result: AuditResult, table: pd.DataFrame, method: str) -> pd.DataFrame:
    """What each column has to do with a method's scores of new rows: aligned with the table's rows, a column each.

    If the method's score is a sum over columns, a row adds up to its score. For any other method, a number is how much
    the score falls if that column alone is made typical of normal people; these may be negative, and add up to
    nothing.

    Raises
    ------
    InvalidConfigError
        If the audit has no such method, or its detector is another library's and was not saved with the audit.
    """
    if method not in result.scores:
        raise InvalidConfigError(f"The audit has no method '{method}'; it has: {', '.join(result.scores)}.")
    found = explain(result, method, encode_people(result.encoding, table))
    if found is None:
        raise InvalidConfigError(
            f"The detector of '{method}' is not saved with the audit, so its scores cannot be explained; run the audit "
            "again and explain them before it is loaded from its folder."
        )
    return pd.DataFrame(found.parts, index=table.index, columns=list(found.variables))


def twin_rows(result: AuditResult, table: pd.DataFrame, *, clip: bool = True) -> DecodedRows:
    """Each row had its person belonged to the other group, in the table's own columns and units.

    Put through ``score_rows``, a twin gets the score that its person's row calls counterfactual. Only the paper's
    additive twins may have numbers beyond what was seen in training: these are clipped, and counted, unless ``clip`` is
    False.
    """
    people = encode_people(result.encoding, table)
    return result.encoding.decode(result.model.twins(people), people, table, clip=clip)


def encode_people(encoding: Encoding, table: pd.DataFrame) -> Floats:
    """Encode rows that must all belong to one of the two groups."""
    inside = encoding.in_groups(table)
    if not inside.all():
        raise InvalidDataError(
            f"{int((~inside).sum())} of {len(table)} rows have a '{encoding.sensitive}' that is neither "
            f"'{encoding.groups[0]}' nor '{encoding.groups[1]}'; remove these rows first."
        )
    return encoding.encode(table)
