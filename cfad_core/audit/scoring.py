"""Scores of people and of their twins: the same way for the audited people and for new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.report import MethodScores
from cfad_core.audit.result import AuditResult, People
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
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
        found: dict[str, Floats] = {}
        for method in self.methods:
            detector = self.detectors[method]
            base = detector.base if isinstance(detector, PeopleDetector) else None
            known = next((score for name, score in found.items() if self.detectors[name] is base), None)
            if known is None or not isinstance(detector, PeopleDetector):
                found[method] = self.by(method, people)
            else:  # the base has scored these people already
                found[method] = self._by_known(detector, people, known)
        return found

    def _by_known(self, detector: PeopleDetector, people: Floats, base_score: Floats) -> Floats:
        def score(some: Floats) -> Floats:
            return detector.score_people(some[:, :-1], some[:, -1])

        return in_slices(score, np.column_stack([people, base_score]), self.progress)

    def by(self, method: str, people: Floats) -> Floats:
        """Scores (n,) by one method."""
        detector = self.detectors[method]
        return in_slices(lambda some: score_people(detector, some), people, self.progress)

    def of_twins(self, method: str, twins: Floats, score: Floats) -> Floats:
        """Scores (n,) of people's twins by the causal model that the detectors know; ``score`` is the people's own.

        A twin's twin is the person: a detector that uses both scores both alike, to the last bit.
        """
        detector = self.detectors[method]
        if isinstance(detector, PeopleDetector) and detector.same_for_twins:
            return score
        return self.by(method, twins)

    def of_training(self, method: str, rows: TrainingRows) -> Floats:
        """The scores that thresholds are quantiles of.

        A method that learned from people and their twins has its threshold from both.
        """
        people = np.column_stack([rows.sensitive, rows.x])
        score = self.by(method, people)
        if method in METHODS and METHODS[method].learns_both:
            twins = np.column_stack([-rows.sensitive, rows.counterfactual])
            return np.concatenate([score, self.by(method, twins)])
        return score

    def silent(self, progress: Progress) -> Scorer:
        """The same for work that is one step of another stage."""
        return replace(self, progress=progress)


def score_methods(scorer: Scorer, rows: TrainingRows, people: People) -> dict[str, MethodScores]:
    """Scores of every method: of the training rows, the people, and their twins by both judges."""
    scores: dict[str, MethodScores] = {}
    for method in scorer.methods:
        factual = scorer.by(method, people.factual)
        scores[method] = MethodScores(
            train=scorer.of_training(method, rows),
            factual=factual,
            counterfactual=scorer.of_twins(method, people.counterfactual, factual),
            independent=scorer.by(method, people.independent),
        )
        scorer.progress.tick("evaluation", len(scores), len(scorer.methods))
    return scores


def score_rows(result: AuditResult, table: pd.DataFrame) -> pd.DataFrame:
    """Score new rows with every method whose detector is here: one of another library is not saved with an audit.

    Returns
    -------
    DataFrame
        Aligned with the table's rows; for each method ``_score``, ``_flag``, ``_score_counterfactual`` and
        ``_flip`` (the outcome changes).
    """
    people = encode_people(result.encoding, table)
    twins = result.model.counterfactual(people)
    scorer = Scorer(tuple(result.scores), result.detectors, Progress())
    columns: dict[str, NDArray[Any]] = {}
    for method, report in result.reports.items():
        if method not in result.detectors:
            continue
        here = scorer.by(method, people)
        there = scorer.of_twins(method, twins, here)
        flagged, twin_flagged = here > report.threshold, there > report.threshold
        columns[f"{method}_score"] = here
        columns[f"{method}_flag"] = flagged.astype(np.int64)
        columns[f"{method}_score_counterfactual"] = there
        columns[f"{method}_flip"] = (flagged != twin_flagged).astype(np.int64)
    return pd.DataFrame(columns, index=table.index)


def twin_rows(result: AuditResult, table: pd.DataFrame, *, clip: bool = True) -> DecodedRows:
    """Each row had its person belonged to the other group, in the table's own columns and units.

    Numbers are clipped to what was seen in training, and counted, unless ``clip`` is False.
    """
    people = encode_people(result.encoding, table)
    return result.encoding.decode(result.model.counterfactual(people), people, table, clip=clip)


def encode_people(encoding: Encoding, table: pd.DataFrame) -> Floats:
    """Encode rows that must all belong to one of the two groups."""
    inside = encoding.in_groups(table)
    if not inside.all():
        raise InvalidDataError(
            f"{int((~inside).sum())} of {len(table)} rows have a '{encoding.sensitive}' that is neither "
            f"'{encoding.groups[0]}' nor '{encoding.groups[1]}'; remove these rows first."
        )
    return encoding.encode(table)
