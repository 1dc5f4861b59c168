"""What an audit found: data only, frozen and complete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.checks import ModelChecks
from cfad_core.audit.notices import result_notices
from cfad_core.audit.report import MethodReport, MethodScores, ReportBasis
from cfad_core.audit.stability import Stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import AnyDetector
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.intervals import Difference

PLAIN = "ae"
"""The detector that others are compared with."""


@dataclass(frozen=True)
class People:
    """The test rows and their twins, as encoded variables (n, d).

    Attributes
    ----------
    row : position of each person in the table they came from
    is_anomaly : None without labels
    factual : as they are
    counterfactual : their twins by the audit's own causal model, the first draw: those that are shown
    truth : their true twins, where these are known
    judged : (m,), positions of those whom the judges made twins of
    """

    row: NDArray[np.int64]
    is_anomaly: Bools | None
    factual: Floats
    counterfactual: Floats
    truth: Floats | None
    judged: NDArray[np.int64]


@dataclass(frozen=True)
class Provenance:
    """What an audit was made from, and by what.

    Attributes
    ----------
    data_digest : sha256 of all tables that were given
    seconds : wall time by stage
    versions : of the packages that computed
    n_train, n_train_normal : training rows, and the normal ones among them that the detectors learned from
    """

    data_digest: str
    seconds: dict[str, float]
    versions: dict[str, str]
    n_train: int
    n_train_normal: int


@dataclass(frozen=True)
class AuditResult:
    """An audit. What is said about a method is in its report: ``result.report("cfad").verdict``.

    Attributes
    ----------
    roles, config : what was asked
    settings : of Phase Two as they were used, with what was left to the data filled in
    encoding, model, detectors : what scores new rows
    people, scores : the test rows and their scores by method
    judges : how many causal models of other rows judged the people; none if the true twins were known and enough
    checks : whether the causal model passes its tests, if they were run
    stability : what is uncertain about it, if that was measured
    notices : what the reader must know about the table, the graph and the detectors
    provenance : what it was made from
    """

    roles: ColumnRoles
    config: AuditConfig
    settings: DetectorConfig
    encoding: Encoding
    model: CausalModel
    detectors: dict[str, AnyDetector]
    people: People
    scores: dict[str, MethodScores]
    judges: int
    checks: ModelChecks | None
    stability: Stability | None
    notices: tuple[Finding, ...]
    provenance: Provenance

    @cached_property
    def groups(self) -> dict[str, Bools]:
        """Which test people belong to each group."""
        s = self.people.factual[:, 0]
        return {self.encoding.groups[0]: s < 0.0, self.encoding.groups[1]: s > 0.0}

    @cached_property
    def reports(self) -> dict[str, MethodReport]:
        """By method, what the audit says about it."""
        basis = ReportBasis(
            groups=self.groups,
            sensitive=self.people.factual[:, 0],
            is_anomaly=self.people.is_anomaly,
            judged=self.people.judged,
            judges=self.judges,
            attribute=self.model.sensitive,
            has_path=bool(self.model.affected_names),
            is_additive=isinstance(self.model, AdditiveModel),
            graph_was_given=self.config.knowledge.complete,
            quantile=self.config.quantile,
            checks=self.checks,
        )
        return {
            method: MethodReport(method, label_of(method), scores, basis, self.stability)
            for method, scores in self.scores.items()
        }

    def improvement(self, method: str) -> Difference | None:
        """By how much the outcome of fewer people changes than with AE, negative if so; None for AE, or without it."""
        if method == PLAIN or PLAIN not in self.reports:
            return None
        return self.reports[method].difference_from(self.reports[PLAIN])

    def report(self, method: str) -> MethodReport:
        """What the audit says about one method."""
        return self.reports[method]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that the reader must know, also about what was found."""
        return (*self.notices, *result_notices(self.reports, older=self.is_of_older_engine))

    @property
    def is_of_older_engine(self) -> bool:
        """Whether it was made before every variable had a mechanism of its own."""
        return isinstance(self.model, AdditiveModel) and self.config.discovery.mode != "paper"
