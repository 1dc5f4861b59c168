"""Audit a detector outside this program, second part: its answers take the places of the rows' numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.answers import AnswerRecord, Answers, match_answers
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.audit.basis import MethodScores
from cfad_core.audit.checks import ModelChecks, coupling_span
from cfad_core.audit.notices import answer_notices
from cfad_core.audit.questions import AskedNumbers, Questions, renumbered
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import with_slices
from cfad_core.audit.stability import Stability
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AskedDetector, AuditConfig
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.columns import too_large
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.adapter import Meaning


def answer_audit(pending: PendingAudit, answers: Answers, progress: Progress | None = None) -> AuditResult:
    """The whole audit, with the detector that answered as its first method."""
    questions, own = pending.questions, pending.result
    name, found = questions.name, renumbered(questions.numbers, answers.scores)
    scores = MethodScores(
        train=found.train,
        factual=found.factual,
        twins=found.twins,
        truth=found.truth,
        judged=found.judged,
        threshold=answers.threshold,
    )
    result = replace(own, scores={name: scores, **own.scores})
    threshold = result.report(name).threshold
    record = AnswerRecord.of(name, answers, threshold)
    result = replace(
        result,
        checks=tuple(_checked(one, k, found, name, threshold) for k, one in enumerate(own.checks)),
        stability=None if own.stability is None else _measured(own.stability, found, name, threshold),
        notices=(*own.notices, *answer_notices(record, questions.remarks, can_flag=answers.scores.max() > threshold)),
        asked=record,
    )
    return with_slices(result, (name,), progress or Progress())


def _checked(checks: ModelChecks, place: int, found: AskedNumbers, name: str, threshold: float) -> ModelChecks:
    couplings = found.couplings[place]
    span = None if couplings is None else coupling_span(couplings.ratios(name, threshold))
    return checks if span is None else replace(checks, spans={name: span, **checks.spans})


def _measured(stability: Stability, found: AskedNumbers, name: str, threshold: float) -> Stability:
    assert found.returned is not None
    assert found.returned_by_same is not None
    cuts = []
    for known, scores in zip(stability.edge_cuts, found.cuts, strict=True):
        mine = scores.at({name: threshold})
        cuts.append(
            replace(mine, whole={**mine.whole, **known.whole}, without={**mine.without, **known.without})
        )  # the same people and edges
    return replace(
        stability,
        returned={name: np.asarray(found.returned, dtype=np.float64), **stability.returned},
        returned_by_same={name: np.asarray(found.returned_by_same, dtype=np.float64), **stability.returned_by_same},
        edge_cuts=tuple(cuts),
    )


def audit_detector(  # noqa: PLR0913 - as run_audit, with what must be known of the scores
    table: pd.DataFrame,
    roles: ColumnRoles,
    score: Callable[[pd.DataFrame], Any],
    config: AuditConfig | None = None,
    progress: Progress | None = None,
    *,
    high_means: Meaning = "anomalous",
    threshold: float | None = None,
    test: pd.DataFrame | None = None,
    test_counterfactual: pd.DataFrame | None = None,
) -> AuditResult:
    """Audit a detector that exists already: anything that scores a table.

    Parameters
    ----------
    score : gets a table with the audited table's columns (without label, scores and ignored columns), once; people and
        twins in no order. Returns one score a row, or one flag (0 or 1)
    config : its ``asked`` names the detector; ``methods`` are audited beside it
    high_means : what a high score means
    threshold : above which it flags (below which, if high scores mean normal); by default the audit's quantile of the
        scores of training rows, or 0.5 of flags
    table, roles, test, test_counterfactual, progress : as in ``run_audit``

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the table, the roles, the settings or the scores cannot be used.
    """
    config = config or AuditConfig()
    if config.asked is None:
        config = config.replace(asked=AskedDetector())
    pending = ask_audit(Tables(table, test, test_counterfactual), roles, config, progress)
    lines = scored(pending.questions, score)
    answers = match_answers(pending.questions, lines, high_means, threshold=threshold, door="function")
    return answer_audit(pending, answers, progress)


def scored(questions: Questions, score: Callable[[pd.DataFrame], Any]) -> Floats:
    """What a function says of every line (b,) of the table to score; it does not see the ids.

    Raises
    ------
    InvalidDataError
        If it does not give one finite number a line.
    """
    batch = questions.batch.drop(columns=questions.id_column)
    answer = score(batch)
    if isinstance(answer, Mapping):
        raise InvalidDataError(f"Expected one score for each of {len(batch):,} rows; got {type(answer).__name__}.")
    if isinstance(answer, pd.Series) and len(answer) == len(batch) and batch.index.isin(answer.index).all():
        answer = answer.reindex(batch.index)  # in whatever order they are
    lines = np.asarray(answer)
    if lines.dtype.kind not in "biufO":
        raise InvalidDataError(f"Expected numbers as scores; got {lines.dtype}.")
    lines = lines[:, 0] if lines.ndim == 2 and lines.shape[1] == 1 else lines
    try:
        lines = lines.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"Expected numbers as scores; got values such as {lines.ravel()[:1]!r}.") from error
    if lines.shape != (len(batch),):
        raise InvalidDataError(
            f"Expected one score for each of {len(batch):,} rows; got an array of shape {lines.shape}."
        )
    if not np.isfinite(lines).all() or too_large(pd.Series(lines)).any():
        raise InvalidDataError("Expected a finite score for each row; got some that are infinite or nan.")
    return lines
