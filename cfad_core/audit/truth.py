"""True twins that were kept from an audit: what its detectors say of them, and whether the audit was right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer, encode_people
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.evaluation.truth import TruthCheck


@dataclass(frozen=True)
class KeptTruth:
    """By method, the scores (n,) of the true twins of an audit's people."""

    scores: Mapping[str, Floats]

    def check(self, report: MethodReport, threshold: float) -> TruthCheck | None:
        """Whether the audit was right about a method at a threshold; None of a detector that is not saved with it."""
        scores = self.scores.get(report.method)
        if scores is None:
            return None
        changes = (report.scores.factual > threshold) != (scores > threshold)
        said = report.metrics_at(threshold).changing_ratio
        return TruthCheck(float(changes.mean()), said, report.changing_ratio_interval(threshold))


def kept_truth(result: AuditResult, truth: pd.DataFrame) -> KeptTruth:
    """What the detectors say of the true twins of everybody in the audit's test table, row by row.

    Raises
    ------
    InvalidDataError
        If the rows are no twins of these people.
    """
    if result.encoding.states.count > 2:
        raise InvalidDataError("True twins can be compared where an audit has two groups of one sensitive attribute.")
    people = result.people
    if people.row.max(initial=-1) >= len(truth):
        raise InvalidDataError(f"There are {len(truth)} true twins, and more people whom they should belong to.")
    twins = encode_people(result.encoding, truth.iloc[people.row].reset_index(drop=True))
    if (np.sign(twins[:, 0]) != -np.sign(people.factual[:, 0])).any():
        raise InvalidDataError("Every true twin must belong to the other group.")
    methods = tuple(method for method in result.scores if method in result.detectors)
    return KeptTruth(Scorer(methods, result.detectors, Progress())(twins))
