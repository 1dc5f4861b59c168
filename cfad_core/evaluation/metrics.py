"""Numbers about a detector, each with what it was counted on; undefined is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.outcomes import Outcomes, ScoreCurve


@dataclass(frozen=True)
class GroupMetrics:
    """One group at the threshold. Rates among anomalies and normals need labels; None if undefined."""

    n: int
    n_anomaly: int | None
    flag_rate: float | None
    flag_rate_counterfactual: float | None
    changing_ratio: float | None
    true_positive_rate: float | None
    false_positive_rate: float | None
    auc_roc: float | None


@dataclass(frozen=True)
class Metrics:
    """A detector at its threshold.

    Attributes
    ----------
    n, n_anomaly : people in the test rows, and anomalies among them (None without labels)
    changing_ratio : share whose outcome changes in the world of the audit's own SCM
    changing_ratio_independent : the same, judged by the independent SCM or the true counterfactuals
    newly_flagged, newly_cleared : the two directions of ``changing_ratio``
    groups : by group name
    flag_rate_difference, flag_rate_ratio : largest minus, and smallest over largest, flag rate of the groups
    true_positive_rate_gap, false_positive_rate_gap : between the groups
    """

    n: int
    n_anomaly: int | None
    threshold: float
    flag_rate: float | None
    auc_pr: float | None
    auc_roc: float | None
    macro_f1: float | None
    changing_ratio: float | None
    changing_ratio_independent: float | None
    newly_flagged: float | None
    newly_cleared: float | None
    groups: dict[str, GroupMetrics]
    flag_rate_difference: float | None
    flag_rate_ratio: float | None
    true_positive_rate_gap: float | None
    false_positive_rate_gap: float | None


def evaluate(
    score: Floats,
    score_counterfactual: Floats,
    score_independent: Floats,
    *,
    threshold: float,
    groups: dict[str, Bools],
    is_anomaly: Bools | None,
) -> Metrics:
    """All metrics of a detector at one threshold.

    Parameters
    ----------
    score : (n,), of the people as they are
    score_counterfactual, score_independent : (n,), of their twins by the own and by the independent judge
    groups : which people belong to each group
    """
    own = ScoreCurve(score, score_counterfactual, is_anomaly).at(threshold)
    judged = ScoreCurve(score, score_independent, is_anomaly).at(threshold)
    by_group = {
        name: _group(
            score[rows], score_counterfactual[rows], threshold, None if is_anomaly is None else is_anomaly[rows]
        )
        for name, rows in groups.items()
    }
    flag_rates = [group.flag_rate for group in by_group.values()]
    return Metrics(
        n=len(score),
        n_anomaly=None if is_anomaly is None else int(is_anomaly.sum()),
        threshold=threshold,
        flag_rate=number(own.flag_rate),
        auc_pr=auc_pr(score, is_anomaly),
        auc_roc=auc_roc(score, is_anomaly),
        macro_f1=number(own.macro_f1),
        changing_ratio=number(own.changing_ratio),
        changing_ratio_independent=number(judged.changing_ratio),
        newly_flagged=number(own.newly_flagged),
        newly_cleared=number(own.newly_cleared),
        groups=by_group,
        flag_rate_difference=_gap(flag_rates),
        flag_rate_ratio=_ratio(flag_rates),
        true_positive_rate_gap=_gap([group.true_positive_rate for group in by_group.values()]),
        false_positive_rate_gap=_gap([group.false_positive_rate for group in by_group.values()]),
    )


def auc_pr(score: Floats, is_anomaly: Bools | None) -> float | None:
    """Average precision; None unless there are anomalies and normal rows."""
    if not _has_both(is_anomaly):
        return None
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(is_anomaly, score))


def auc_roc(score: Floats, is_anomaly: Bools | None) -> float | None:
    """Area under the ROC curve; None unless there are anomalies and normal rows."""
    if not _has_both(is_anomaly):
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_anomaly, score))


def number(value: Floats | float) -> float | None:
    """A plain number, or None where it is undefined."""
    return None if np.isnan(value) else float(value)


def _group(score: Floats, counterfactual: Floats, threshold: float, is_anomaly: Bools | None) -> GroupMetrics:
    at = ScoreCurve(score, counterfactual, is_anomaly).at(threshold)
    return GroupMetrics(
        n=len(score),
        n_anomaly=None if is_anomaly is None else int(is_anomaly.sum()),
        flag_rate=number(at.flag_rate),
        flag_rate_counterfactual=number(at.flag_rate_counterfactual),
        changing_ratio=number(at.changing_ratio),
        true_positive_rate=_rate(at, "true_positive", "false_negative"),
        false_positive_rate=_rate(at, "false_positive", "true_negative"),
        auc_roc=auc_roc(score, is_anomaly),
    )


def _rate(at: Outcomes, flagged: str, cleared: str) -> float | None:
    yes, no = float(getattr(at, flagged)), float(getattr(at, cleared))
    return yes / (yes + no) if yes + no > 0 else None  # nan > 0 is false: undefined without labels


def _gap(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if len(known) == len(values) and known else None


def _ratio(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return min(known) / max(known) if len(known) == len(values) and known and max(known) > 0 else None


def _has_both(is_anomaly: Bools | None) -> bool:
    return is_anomaly is not None and bool(is_anomaly.any()) and not bool(is_anomaly.all())
