"""What happens at a threshold, for every threshold, exactly.

Scores are sorted once. How many exceed a threshold is then a binary search, and everything else follows from
such counts: somebody's outcome changes if the threshold lies between their own score and their twin's, so

    changed(t) = #(max(g, g_cf) > t) - #(min(g, g_cf) > t).

Where there are several other groups, the same holds for the highest and the lowest score of all of a person's twins:
their outcome changes if it does in any other group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.tally import Tally, area_under_roc, average_precision

PAPER_QUANTILES = (0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class Outcomes:
    """Counts and rates at each of some thresholds; arrays of their shape. ``nan`` means undefined.

    Attributes
    ----------
    n : people
    threshold : flagged means score > threshold
    flag_rate, flag_rate_counterfactual : share flagged of the people, and of their twins
    above_median : share whose score exceeds the median score of all people, whatever the threshold
    changing_ratio : share whose outcome changes: only they, or only their twin in some other group, would be flagged;
        where everybody has several possible twins, the mean over them
    newly_flagged, newly_cleared : its two directions: only the twin is flagged, only the person
    true_positive, false_positive, false_negative, true_negative : counts; ``nan`` without labels
    macro_f1 : mean of the F1 of anomalies and of normal rows; ``nan`` unless there are both
    """

    n: int
    threshold: Floats
    flag_rate: Floats
    above_median: Floats
    flag_rate_counterfactual: Floats
    changing_ratio: Floats
    newly_flagged: Floats
    newly_cleared: Floats
    true_positive: Floats
    false_positive: Floats
    false_negative: Floats
    true_negative: Floats
    macro_f1: Floats


Tallies = tuple[Tally, Tally | None]
"""Of people, and of the anomalies among them: None without labels."""


class ScoreCurve:
    """Sorted scores of people and of their twins; answers for any threshold in O(log n).

    Parameters
    ----------
    score : (n,), of people who have twins
    twins : (n,), the score of everybody's twin; or (R, n), of R possible twins of each; or (R, k, n), of R possible
        twins in each of k other groups
    is_anomaly : (n,), or None without labels
    everybody : the scores of all people, if those above are some of them
    """

    def __init__(
        self,
        score: Floats,
        twins: Floats,
        is_anomaly: Bools | None = None,
        *,
        everybody: Tallies | None = None,
    ) -> None:
        several = twins if twins.ndim == 3 else np.atleast_2d(twins)[:, None]
        highest, lowest = several.max(axis=1).ravel(), several.min(axis=1).ravel()
        here = np.broadcast_to(score, (len(several), len(score))).ravel()
        up, down = highest > here, lowest < here
        self.n_twins = len(here)
        self.people, self.anomalies = _tallies(score, is_anomaly) if everybody is None else everybody
        self._counterfactual = np.sort(several.ravel())
        self._rising = np.sort(here[up]), np.sort(highest[up])
        self._falling = np.sort(lowest[down]), np.sort(here[down])

    @property
    def n(self) -> int:
        return self.people.n

    @cached_property
    def twins(self) -> Tally:
        """The scores of everybody's twins, of all of them."""
        return Tally(self._counterfactual)

    @property
    def n_anomaly(self) -> int | None:
        return None if self.anomalies is None else self.anomalies.n

    @property
    def median(self) -> float:
        """Of the people's scores; nan without people."""
        return self.people.median

    @cached_property
    def auc_pr(self) -> float | None:
        """Average precision, whatever the threshold; None unless there are anomalies and normal rows."""
        return None if self.anomalies is None else average_precision(self.anomalies, self.people)

    @cached_property
    def auc_roc(self) -> float | None:
        """Area under the ROC curve; None unless there are anomalies and normal rows."""
        return None if self.anomalies is None else area_under_roc(self.anomalies, self.people)

    def flagged(self, threshold: float) -> int:
        """How many people score above a threshold."""
        return int(self.people.above(threshold))

    def at(self, threshold: Floats | float, median: float | None = None) -> Outcomes:
        """Outcomes at the given thresholds.

        ``median`` is that of all people's scores, where these people are some of them; by default it is their own.
        """
        t = np.asarray(threshold, dtype=np.float64)
        n, twins = (float(count) if count else np.nan for count in (self.n, self.n_twins))
        flagged = self.people.above(t)
        high = self.people.above(np.full(t.shape, self.median if median is None else median))
        newly_flagged = _above(self._rising[1], t) - _above(self._rising[0], t)
        newly_cleared = _above(self._falling[1], t) - _above(self._falling[0], t)
        nothing = np.full(t.shape, np.nan)
        tp = fp = fn = tn = macro_f1 = nothing
        if self.anomalies is not None:
            tp = self.anomalies.above(t)
            fp, fn = flagged - tp, self.anomalies.n - tp
            tn = self.n - flagged - fn
            if 0 < self.anomalies.n < self.n:
                macro_f1 = 0.5 * (_f1(tp, fp, fn) + _f1(tn, fn, fp))
        return Outcomes(
            n=self.n,
            threshold=t,
            flag_rate=flagged / n,
            above_median=high / n,
            flag_rate_counterfactual=_above(self._counterfactual, t) / (len(self._counterfactual) or np.nan),
            changing_ratio=(newly_flagged + newly_cleared) / twins,
            newly_flagged=newly_flagged / twins,
            newly_cleared=newly_cleared / twins,
            true_positive=tp,
            false_positive=fp,
            false_negative=fn,
            true_negative=tn,
            macro_f1=macro_f1,
        )


def _tallies(score: Floats, is_anomaly: Bools | None) -> Tallies:
    return Tally.of(score), None if is_anomaly is None else Tally.of(score[is_anomaly])


def _above(ascending: Floats, threshold: Floats) -> Floats:
    """How many exceed each threshold."""
    count: Floats = (len(ascending) - np.searchsorted(ascending, threshold, side="right")).astype(np.float64)
    return count


def _f1(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    """2 tp / (2 tp + fp + fn); the class is present, so this is defined."""
    total = 2.0 * tp + fp + fn
    return 2.0 * tp / total
