"""What the report of a method is made from: its scores, and what the reports of all methods share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.checks import ModelChecks
from cfad_core.audit.comparisons import View
from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.counts import ScoreCounts
from cfad_core.evaluation.outcomes import Tallies


@dataclass(frozen=True)
class MethodScores:
    """Scores of one method: higher = more anomalous.

    Attributes
    ----------
    train : of the rows the threshold is taken from
    factual : (n,), of the test people as they are
    twins : (k, n), of the twins that are shown: one in each of k other groups
    truth : (n,), of their true twins, where these are known
    judged : (R, k, m), of R possible twins of each judged person in each of k other groups, by causal models that the
        detector does not know: those of one model next to each other
    threshold : above which its owner flags; None: the audit's quantile of the training scores
    counts : of everybody, where the test people are some of a table that is too large to keep all scores of; by state,
        and by group in a view
    """

    train: Floats
    factual: Floats
    twins: Floats
    truth: Floats | None
    judged: Floats
    threshold: float | None = None
    counts: ScoreCounts | None = None

    @property
    def counterfactual(self) -> Floats:
        """(n,), of the twins that are shown: where there are several other groups, in the first."""
        return np.asarray(self.twins[0])

    def seen(self, view: View, judged: NDArray[np.int64]) -> MethodScores:
        """Of one view of an audit whose judged people have these positions (m,) among all."""
        return MethodScores(
            train=self.train,
            factual=self.factual[view.rows],
            twins=view.take(self.twins),
            truth=None if self.truth is None else self.truth[view.rows],
            judged=view.take(self.judged, judged),
            threshold=self.threshold,
            counts=None if self.counts is None else self.counts.grouped(*view.states, len(view.names)),
        )

    def counted(self, group: int | None = None) -> Tallies | None:
        """Of everybody, or of one of the groups of a view; None where the people are all there are."""
        return None if self.counts is None else self.counts.tallies(group)


@dataclass(frozen=True)
class ReportBasis:
    """What the reports of all methods share.

    Attributes
    ----------
    view : who is compared with whom
    is_anomaly : (n,), None without labels
    judged : (m,), positions of the people whom other causal models judged
    judges : how many such models there are
    has_path : whether what is compared affects anything in the audit's own graph
    is_additive : whether twins are the paper's, which need not be legal people
    graph_was_given : rather than learned
    quantile : of the training scores that sets the threshold
    checks : whether the causal model passes its tests
    """

    view: View
    is_anomaly: Bools | None
    judged: NDArray[np.int64]
    judges: int
    has_path: bool
    is_additive: bool
    graph_was_given: bool
    quantile: float
    checks: ModelChecks | None

    @property
    def groups(self) -> dict[str, Bools]:
        """Which of the people (n,) belong to each group."""
        return self.view.groups
