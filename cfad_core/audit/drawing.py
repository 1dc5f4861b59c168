"""What pictures of a method are drawn from: its trade-off over thresholds, and the rates of its groups."""

from __future__ import annotations

import numpy as np

from cfad_core.audit.report import MethodReport
from cfad_core.evaluation.metrics import GROUP_METRICS
from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.figures import Tradeoff

_DRAWN = ("flag_rate", "flag_rate_counterfactual", "true_positive_rate", "false_positive_rate")


def tradeoff(report: MethodReport, *, with_labels: bool, with_band: bool = False) -> Tradeoff:
    """A method's curve, the paper's quantiles on it, and the interval of its changing ratio along it."""
    marks = np.array([report.threshold_at(share) for share in PAPER_QUANTILES])
    line, points = report.curves.people.at(report.grid), report.curves.people.at(marks)
    low, high = report.band if with_band and report.band is not None else (None, None)
    return Tradeoff(
        changing_ratio=line.changing_ratio,
        quality=line.macro_f1 if with_labels else line.flag_rate,
        flag_rate=line.flag_rate,
        quantiles=np.array(PAPER_QUANTILES),
        quantile_changing_ratio=points.changing_ratio,
        quantile_quality=points.macro_f1 if with_labels else points.flag_rate,
        quantile_flag_rate=points.flag_rate,
        low=low,
        high=high,
    )


def group_rates(report: MethodReport, threshold: float) -> dict[str, dict[str, float | None]]:
    """The shares of each group that are drawn; those that no group has are left out."""
    groups = report.metrics_at(threshold).groups
    shares = [name for name in _DRAWN if any(values[name] is not None for values in groups.values())]
    return {
        f"{group}, n = {values['n']:,}": {GROUP_METRICS[name].label: values[name] for name in shares}
        for group, values in groups.items()
    }
