"""What a report is about: an audit, one detector of it at one threshold, and what the store knows of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.folder import load_audit
from cfad_core.audit.gate import choose_method
from cfad_core.audit.notebook import leading_method
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.formats import SMALLEST_GROUP
from cfad_core.data.columns import as_texts
from cfad_core.data.groups import OUTSIDE, Groups
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.group_metrics import Group, GroupTable
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.verdict import reliability, verdict
from cfad_core.runs.model import AuditRecord, ChosenThreshold, operating_threshold
from cfad_core.runs.plan import AuditPlan, is_sealed
from cfad_core.runs.related import RelatedAudit, related
from cfad_core.runs.store import Store

SMALL_SHARE = 0.02  # of the people judged, under which a group is shown but not compared
_MOST_VALUES = 12  # outside the groups, that are named


@dataclass(frozen=True)
class TableFacts:
    """What is known of the table that the judged people come from, besides the audit.

    Attributes
    ----------
    rows, columns : of the table as it was given
    unknown : by sensitive attribute, rows without a value
    outside : by sensitive attribute, rows by value that is in no group
    """

    rows: int
    columns: tuple[str, ...]
    unknown: Mapping[str, int]
    outside: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Subject:
    """An audit, as a report sees it.

    Attributes
    ----------
    method, threshold, how : the detector that the report is about, where it flags, and what that threshold is
    content : the audit's own ``audit.json``
    name, id, source : of a saved audit; of a folder its name, and no more
    created, finished : in seconds since 1970; None where that is not known
    choice : the threshold that somebody saved; None: the audit's own
    has_test_table : whether the judged people came in a table of their own; None where that is not known
    table : None where the table is not at hand
    plan, sealed : the plan that was made before, and whether the audit is what was sealed
    others : audits of the same table; None where there is no store to look in
    """

    result: AuditResult
    method: str
    threshold: float
    how: str
    content: bytes = field(repr=False)
    name: str
    id: str = ""
    source: str = ""
    created: float | None = None
    finished: float | None = None
    choice: ChosenThreshold | None = None
    has_test_table: bool | None = None
    table: TableFacts | None = None
    plan: AuditPlan | None = None
    sealed: bool = False
    others: tuple[RelatedAudit, ...] | None = None

    @property
    def label(self) -> str:
        """What people call the detector."""
        return label_of(self.method)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return self.result.plan.comparisons

    @property
    def has_labels(self) -> bool:
        return self.result.people.is_anomaly is not None

    @cached_property
    def people(self) -> int:
        """How many were judged."""
        return self.result.judged_people

    def scores(self, method: str | None = None) -> ScoreCurve:
        """The scores of everybody who was judged, also of people whom a comparison moves to no other group."""
        scores = self.result.scores[method or self.method]
        return ScoreCurve(scores.factual, scores.factual, self.result.people.is_anomaly, everybody=scores.counted())

    @cached_property
    def flagged(self) -> int:
        """How many people the detector flags."""
        return self.scores().flagged(self.threshold)

    @cached_property
    def flag_rate(self) -> float:
        """The share of all people judged whom it flags."""
        return self.flagged / max(1, self.people)

    def sizes(self, comparison: Comparison) -> dict[str, int]:
        """How many people each group has, as they are: for the program itself, not to be shown."""
        return self.result.sizes(comparison)

    def about(self, comparison: str) -> str:
        """The beginning of a sentence about one comparison, where there are several."""
        return f"By {comparison}: " if len(self.comparisons) > 1 else ""

    def report(self, comparison: Comparison) -> MethodReport:
        """What the audit says about the detector in a comparison."""
        return self.result.report(self.method, comparison.name)

    def evidence(self, comparison: Comparison, method: str | None = None) -> Evidence:
        """What the verdict is made of; without bounds that would tell the flag rate of a small group."""
        report = self.result.report(method or self.method, comparison.name)
        found = report.evidence_at(self.threshold_of(method or self.method))
        small = any(0 < int(rows.sum()) < SMALLEST_GROUP for rows in report.basis.groups.values())
        return dataclasses.replace(found, bounds=None) if small else found

    def threshold_of(self, method: str) -> float:
        """Where another method flags: the report's own threshold for its detector, the audit's for others."""
        return self.threshold if method == self.method else self.result.report(method).threshold

    def verdict(self, comparison: Comparison, method: str | None = None) -> str:
        """The verdict on a method in a comparison."""
        return verdict(self.evidence(comparison, method))

    def reliability(self, comparison: Comparison) -> tuple[str, str]:
        """Whether the number can be relied on, and why."""
        tested = self.report(comparison).basis.checks is not None
        return reliability(self.evidence(comparison), was_tested=tested)

    def groups(self, comparison: Comparison) -> GroupTable:
        """Every metric of each group, nothing about fewer than ten people."""
        table = self.result.group_report(self.method, comparison.name).metrics_at(self.threshold).suppressed()
        return GroupTable(table.threshold, tuple(_without_small_rates(group) for group in table.groups))

    def compared_groups(self, comparison: Comparison) -> GroupTable:
        """Those of them that are large enough to be compared with others."""
        table = self.groups(comparison)
        large = (group for group in table.groups if group.n and group.n >= SMALL_SHARE * self.people)
        return GroupTable(table.threshold, tuple(large))


def _without_small_rates(group: Group) -> Group:
    """A group without shares of fewer than ten people: of its anomalies, its normal people, or its flagged ones."""
    if group.n is None or group.n_anomaly is None:
        return group
    flagged = round((group.metrics["flag_rate"].value or 0.0) * group.n)
    counted = {
        "precision": flagged,
        "true_positive_rate": group.n_anomaly,
        "false_negative_rate": group.n_anomaly,
        "false_positive_rate": group.n - group.n_anomaly,
        "auc_roc": min(group.n_anomaly, group.n - group.n_anomaly),
    }
    hidden = {name for name, among in counted.items() if among < SMALLEST_GROUP}
    kept = {name: Estimate(None) if name in hidden else found for name, found in group.metrics.items()}
    draws = {name: some for name, some in group.draws.items() if name not in hidden}
    return Group(group.name, group.n, group.n_anomaly, kept, draws)


def subject_of_folder(folder: Path, method: str | None = None) -> Subject:
    """An audit in a folder, at its own threshold.

    Raises
    ------
    InvalidArtifactError, InvalidConfigError
        If there is no audit, or it has no such method.
    """
    result = load_audit(folder)
    chosen = choose_method(result, method) if method is not None else leading_method(result)
    return Subject(
        result,
        chosen,
        result.report(chosen).threshold,
        result.how_flagged(chosen),
        content=(folder / "audit.json").read_bytes(),
        name=folder.absolute().name,
    )


def subject_of_saved(
    store: Store,
    audit: str,
    method: str | None = None,
    result: AuditResult | None = None,
    record: AuditRecord | None = None,
) -> tuple[Subject, Statements]:
    """A saved audit at the threshold that was saved with it, and what was stated about it.

    Parameters
    ----------
    method : by default the one whose threshold was saved, else your own detector, else the first
    result, record : what the audit found, and what is stored of it, if that was read already

    Raises
    ------
    InvalidArtifactError, InvalidConfigError
        If there is no such audit, it is not done, or it has no such method.
    """
    folder = store.finished_folder(audit)
    record = store.get(audit) if record is None else record
    result = load_audit(folder) if result is None else result
    choice = record.threshold
    if choice is not None and choice.method not in result.scores:
        choice = None
    usual = leading_method(result) if choice is None else choice.method
    chosen = usual if method is None else choose_method(result, method)
    threshold, how = operating_threshold(record, result, chosen)
    return Subject(
        result,
        chosen,
        threshold,
        how,
        content=(folder / "audit.json").read_bytes(),
        name=record.name,
        id=record.id,
        source=record.source,
        created=record.created,
        finished=record.finished,
        choice=choice if choice is not None and choice.method == chosen else None,
        has_test_table="test" in record.tables,
        table=_table_facts(store, record, result),
        plan=record.plan,
        sealed=is_sealed(record),
        others=related(store, audit),
    ), record.statements


def _table_facts(store: Store, record: AuditRecord, result: AuditResult) -> TableFacts | None:
    """Of the table that the judged people come from: its size, and who is in no group."""
    import pyarrow.parquet as pq

    path = store.table_path(record.tables.get("test", record.tables["table"]))
    try:
        file, attributes = pq.ParquetFile(path), result.encoding.attributes
        found = pd.read_parquet(path, columns=[groups.column for groups in attributes])
    except Exception as error:  # whatever is wrong with the file, it is one thing to the reader
        raise InvalidArtifactError(f"The stored table '{path.name}' is missing or damaged.") from error
    return TableFacts(
        rows=file.metadata.num_rows,
        columns=tuple(file.schema_arrow.names),
        unknown={groups.column: int(found[groups.column].isna().sum()) for groups in attributes},
        outside={groups.column: _outside(found, groups) for groups in attributes},
    )


def _outside(table: pd.DataFrame, groups: Groups) -> dict[str, int]:
    """Rows by value that is in no group, the most frequent first."""
    cells = table[groups.column]
    others = cells[(groups.codes(cells) == OUTSIDE) & cells.notna().to_numpy(dtype=np.bool_)]
    counts = as_texts(others).value_counts()
    named = {str(value): int(n) for value, n in counts.head(_MOST_VALUES).items()}
    rest = int(counts.iloc[_MOST_VALUES:].sum())
    return named | ({"all other values": rest} if rest else {})
