"""Numbers about a detector at a threshold, each with what it was counted on; undefined is None, never 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP
from cfad_core.evaluation.outcomes import Outcomes, ScoreCurve

Value: TypeAlias = float | None


Cell: TypeAlias = Literal["true_positive", "false_positive", "false_negative", "true_negative"]
CELLS: tuple[Cell, ...] = get_args(Cell)


@dataclass(frozen=True)
class Rate:
    """A share of the people of some cells of the confusion matrix.

    Attributes
    ----------
    of, among : the cells that are counted, and those that they are counted among
    """

    of: tuple[Cell, ...]
    among: tuple[Cell, ...]

    def __call__(self, _: ScoreCurve, at: Outcomes) -> Value:
        """Of one group at a threshold; None where there is nobody to count, or no label."""
        return defined(self.of_counts(np.array([getattr(at, cell) for cell in CELLS], dtype=np.float64)))

    def of_counts(self, counts: Floats) -> Floats:
        """From counts (..., 4) of all cells; nan where there is nobody to count."""
        of, among = ([CELLS.index(cell) for cell in some] for some in (self.of, self.among))
        with np.errstate(invalid="ignore"):
            rate: Floats = counts[..., of].sum(axis=-1) / counts[..., among].sum(axis=-1)
        return rate


@dataclass(frozen=True)
class GroupMetric:
    """A number about one group.

    Attributes
    ----------
    label : what people call it
    help : what it is, in a sentence
    of : from the group's scores and what happens at the threshold; None where it is undefined
    is_share : whether it is a share of the group, or of a part of it
    compared : whether groups are compared by it, as they are (``group_metrics``)
    difference : what it means if groups differ in it, in a sentence; empty unless it is compared
    """

    label: str
    help: str
    of: Callable[[ScoreCurve, Outcomes], Value]
    is_share: bool = True
    compared: bool = False
    difference: str = ""


# A new metric is an entry here: pages, the command line and audit.json take them from this table, and the draws of a
# ``Rate`` follow from its cells
GROUP_METRICS: dict[str, GroupMetric] = {
    "n": GroupMetric("people", "How many people of the group were judged.", lambda curve, _: curve.n, is_share=False),
    "n_anomaly": GroupMetric(
        "anomalies", "How many of them are anomalies by their label.", lambda curve, _: curve.n_anomaly, is_share=False
    ),
    "flag_rate": GroupMetric(
        "flagged",
        "Share of the group that is flagged.",
        lambda _, at: defined(at.flag_rate),
        compared=True,
        difference="People of one group are flagged more often, whether or not they are anomalies.",
    ),
    "above_median": GroupMetric(
        "above median",
        "Share of the group that scores higher than the median person of all groups, whatever the threshold.",
        lambda _, at: defined(at.above_median),
        compared=True,
        difference="People of one group rank higher as a whole, also far below the threshold.",
    ),
    "flag_rate_counterfactual": GroupMetric(
        "twins flagged",
        "Share of the group that would be flagged, had they belonged to the other group.",
        lambda _, at: defined(at.flag_rate_counterfactual),
    ),
    "changing_ratio": GroupMetric(
        "outcome changes",
        "Share of the group whose outcome would change, had they belonged to the other group.",
        lambda _, at: defined(at.changing_ratio),
    ),
    "precision": GroupMetric(
        "hit rate of the flags",
        "Share of the group's flagged people that are anomalies.",
        Rate(("true_positive",), among=("true_positive", "false_positive")),
        compared=True,
        difference="A flag means less about the people of one group: more of them are flagged for nothing.",
    ),
    "true_positive_rate": GroupMetric(
        "anomalies flagged",
        "Share of the group's anomalies that are flagged.",
        Rate(("true_positive",), among=("true_positive", "false_negative")),
        compared=True,
        difference="Anomalies of one group are found more often.",
    ),
    "false_positive_rate": GroupMetric(
        "normal people flagged",
        "Share of the group's normal people that are flagged.",
        Rate(("false_positive",), among=("false_positive", "true_negative")),
        compared=True,
        difference="Normal people of one group are flagged more often.",
    ),
    "false_negative_rate": GroupMetric(
        "anomalies missed",
        "Share of the group's anomalies that are not flagged.",
        Rate(("false_negative",), among=("true_positive", "false_negative")),
        compared=True,
        difference="Anomalies of one group are missed more often.",
    ),
    "auc_roc": GroupMetric(
        "AUC-ROC",
        "Chance that an anomaly of the group scores higher than a normal person of it; 0.5 is guessing.",
        lambda curve, _: curve.auc_roc,
        is_share=False,
        compared=True,
        difference="Anomalies of one group are easier to tell from its normal people, at any threshold.",
    ),
}


@dataclass(frozen=True)
class Metrics:
    """A detector at a threshold.

    Attributes
    ----------
    n, n_anomaly : people in the test rows, and anomalies among them (None without labels)
    changing_ratio : share of people whose outcome changes
    newly_flagged, newly_cleared : the two directions of ``changing_ratio``
    groups : by group name, ``GROUP_METRICS`` by their names
    flag_rate_difference, flag_rate_ratio : largest minus, and smallest over largest, flag rate of the groups
    true_positive_rate_gap, false_positive_rate_gap : between the groups
    """

    n: int
    n_anomaly: int | None
    threshold: float
    flag_rate: Value
    auc_pr: Value
    auc_roc: Value
    macro_f1: Value
    changing_ratio: Value
    newly_flagged: Value
    newly_cleared: Value
    groups: dict[str, dict[str, Value]]
    flag_rate_difference: Value
    flag_rate_ratio: Value
    true_positive_rate_gap: Value
    false_positive_rate_gap: Value


def suppressed(groups: Mapping[str, Mapping[str, Value]]) -> dict[str, dict[str, Any]]:
    """The metrics of groups as they may leave the program: nothing about fewer than ten people."""
    return {
        name: dict.fromkeys(found) | {"n": HIDDEN_SIZE} if 0 < (found["n"] or 0) < SMALLEST_GROUP else dict(found)
        for name, found in groups.items()
    }


@dataclass(frozen=True)
class HeadlineMetric:
    """A metric that lists and comparisons show, and whether a high or a low value is good (None: neither)."""

    label: str
    term: str  # its entry in the glossary
    good: str | None = None


HEADLINE: dict[str, HeadlineMetric] = {
    "auc_pr": HeadlineMetric("AUC-PR", "AUC-PR", "high"),
    "auc_roc": HeadlineMetric("AUC-ROC", "AUC-ROC", "high"),
    "macro_f1": HeadlineMetric("Macro-F1", "Macro-F1", "high"),
    "flag_rate": HeadlineMetric("flagged", "flagged"),
    "changing_ratio": HeadlineMetric("outcome changes", "changing ratio", "low"),
}


@dataclass(frozen=True)
class Curves:
    """The sorted scores of one method: everything that a moving threshold needs.

    Attributes
    ----------
    people : of all people and their twins
    groups : the same by group name
    """

    people: ScoreCurve
    groups: Mapping[str, ScoreCurve]


def evaluate(curves: Curves, threshold: float) -> Metrics:
    """All metrics of a detector at one threshold."""
    found = curves.people.at(threshold)
    median = curves.people.median
    groups = {name: evaluate_group(curve, threshold, median) for name, curve in curves.groups.items()}

    def over_groups(name: str) -> list[Value]:
        return [group[name] for group in groups.values()]

    return Metrics(
        n=curves.people.n,
        n_anomaly=curves.people.n_anomaly,
        threshold=threshold,
        flag_rate=defined(found.flag_rate),
        auc_pr=curves.people.auc_pr,
        auc_roc=curves.people.auc_roc,
        macro_f1=defined(found.macro_f1),
        changing_ratio=defined(found.changing_ratio),
        newly_flagged=defined(found.newly_flagged),
        newly_cleared=defined(found.newly_cleared),
        groups=groups,
        flag_rate_difference=_gap(over_groups("flag_rate")),
        flag_rate_ratio=_ratio(over_groups("flag_rate")),
        true_positive_rate_gap=_gap(over_groups("true_positive_rate")),
        false_positive_rate_gap=_gap(over_groups("false_positive_rate")),
    )


def evaluate_group(curve: ScoreCurve, threshold: float, median: float) -> dict[str, Value]:
    """Every group metric by its name, where all people's scores have this median."""
    at = curve.at(threshold, median)
    return {name: metric.of(curve, at) for name, metric in GROUP_METRICS.items()}


def defined(value: Floats | float) -> Value:
    """A plain number, or None where it is undefined."""
    return None if np.isnan(value) else float(value)


def _gap(values: list[Value]) -> Value:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if len(known) == len(values) and known else None


def _ratio(values: list[Value]) -> Value:
    known = [value for value in values if value is not None]
    return min(known) / max(known) if len(known) == len(values) and known and max(known) > 0 else None
