"""Audit a detector outside this program, first part: everything but its scores, and the rows that it must score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.checks import score_couplings
from cfad_core.audit.judging import sample_of
from cfad_core.audit.measuring import cut_edges
from cfad_core.audit.prepare import AuditRows
from cfad_core.audit.questions import (
    AskedNumbers,
    Questions,
    Recorder,
    Source,
    SourceRows,
    ask,
    asked_columns,
    stand_in_remarks,
)
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import Recorded, audit_recorded
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import AskedDetector, AuditConfig
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.columns import as_numbers
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.evaluation.couplings import CouplingScores
from cfad_core.evaluation.edge_cuts import CutScores

_MOST_TRAINING = 10_000  # training rows that the threshold's quantile is taken from: its error is below 0.3 points


@dataclass(frozen=True)
class PendingAudit:
    """An audit that waits for a detector's answers.

    Attributes
    ----------
    result : the audit of our own methods, with all that needs no answers
    questions : the rows to score
    """

    result: AuditResult
    questions: Questions


def ask_audit(
    tables: Tables, roles: ColumnRoles, config: AuditConfig, progress: Progress | None = None
) -> PendingAudit:
    """Learn the causal models, audit our own methods, and note which rows the detector must score.

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the table, the roles or the settings cannot be used.
    """
    asked, progress = _checked(config, roles, tables), progress or Progress()
    recorder = Recorder(asked.name)
    found = audit_recorded(tables, roles, config, progress, recorder=recorder)
    train = _sample(found.data, config.seed)
    numbers = _numbers(found, recorder, train, progress)
    sources = _sources(tables, found.data, train)
    table = tables.table.rename(columns=str)
    columns = asked_columns(table, found.data.roles, asked)
    decoded = recorder.decoded(sources, found.data.encoding, table, columns)
    known = _known_scores(sources, numbers, found.data.roles)
    remarks = stand_in_remarks(found.data.encoding.attributes, table)
    return PendingAudit(found.result, ask(recorder, numbers, decoded, known, remarks))


def _checked(config: AuditConfig, roles: ColumnRoles, tables: Tables) -> AskedDetector:
    asked = config.asked
    if asked is None:
        raise InvalidConfigError("Expected a detector to ask in the settings ('asked'); got none. Name one.")
    if config.discovery.mode == "paper":
        raise InvalidConfigError(
            "A detector outside this program can only score people who could be real; the paper's twins need not be. "
            "Use preset fast."
        )
    hidden = [name for name in asked.carried if name not in roles.ignore]
    if hidden:
        raise InvalidConfigError(
            f"Columns to carry along are some that the audit leaves out; '{hidden[0]}' is not. Ignore it, or do not "
            "carry it: the detector sees it anyway, unless it is the label or the scores."
        )
    for part, frame in tables.frames.items():
        needed = (
            asked.carried if roles.score is None or part == "test_counterfactual" else (*asked.carried, roles.score)
        )
        missing = [name for name in needed if name not in set(frame.columns.map(str))]
        if missing:
            what = {"table": "table", "test": "test table"}.get(part, "table of true twins")
            raise InvalidDataError(f"The {what} lacks the column '{missing[0]}'. Add it, or do without it everywhere.")
    return asked


def _sample(data: AuditRows, seed: int) -> Rows:
    """Positions of some normal training rows."""
    return sample_of(np.flatnonzero(data.train_is_normal), _MOST_TRAINING, np.random.default_rng([seed, 10]))


def _sources(tables: Tables, data: AuditRows, train: Rows) -> dict[Source, SourceRows]:
    """The rows that were asked about, or that twins were made of, by where they come from."""

    def rows(table: pd.DataFrame, positions: NDArray[Any]) -> pd.DataFrame:
        return table.rename(columns=str).iloc[positions].reset_index(drop=True)

    learned = SourceRows(rows(tables.table, data.train_rows[train]), data.train[train])
    judged = SourceRows(rows(tables.table if tables.test is None else tables.test, data.test_rows), data.test)
    found: dict[Source, SourceRows] = {"train": learned, "test": judged}
    if tables.test_counterfactual is not None and data.truth is not None:
        found["truth"] = SourceRows(rows(tables.test_counterfactual, data.test_rows), data.truth)
    return found


def _numbers(found: Recorded, recorder: Recorder, train: Rows, progress: Progress) -> AskedNumbers:
    """Note everything that the audit's own methods scored, and where its scores belong; of some training rows."""
    name, people, plan, data = recorder.name, found.result.people, found.result.plan, found.data
    everybody, seed = np.arange(len(people.row)), found.result.config.seed
    judgement, measured = found.judgement, found.subject is not None
    nothing = np.zeros((0, len(plan.moves), len(people.judged)))
    couplings: tuple[CouplingScores | None, ...] = ()
    cuts: tuple[CutScores, ...] = ()
    if found.tested is not None:
        tested = replace(found.tested, score=recorder)
        couplings = tuple(score_couplings(tested, one, progress) for one in plan.comparisons)
    if found.subject is not None:
        subject = replace(found.subject, score=recorder)
        cuts = tuple(cut_edges(subject, one, seed, progress) for one in plan.comparisons)
    return AskedNumbers(
        train=recorder.numbers(data.train[train], np.arange(len(train)), "train"),
        factual=recorder.numbers(people.factual, everybody),
        twins=np.stack([recorder.numbers(twins, everybody) for twins in people.twins]),
        truth=None if people.truth is None else recorder.numbers(people.truth, everybody, "truth"),
        judged=judgement.twin_scores.get(name, nothing).astype(np.int64),
        returned=judgement.returned[name].astype(np.int64) if measured else None,
        returned_by_same=judgement.returned_by_same[name].astype(np.int64) if measured else None,
        couplings=couplings,
        cuts=cuts,
    )


def _known_scores(
    sources: dict[Source, SourceRows], numbers: AskedNumbers, roles: ColumnRoles
) -> tuple[NDArray[np.int64], Floats]:
    """The numbers of people whose score the audited table has, and these scores."""
    if roles.score is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    rows = np.concatenate([numbers.train, numbers.factual])
    parts: tuple[Source, ...] = ("train", "test")
    scores = np.concatenate([as_numbers(sources[part].table[roles.score]) for part in parts])
    has_score = np.isfinite(scores)
    return rows[has_score], scores[has_score]
