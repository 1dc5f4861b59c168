"""What pictures of a method are drawn from: its trade-off over thresholds, and the rates of its groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.report import MethodReport
from cfad_core.core.arrays import Floats
from cfad_core.evaluation.metrics import GROUP_METRICS
from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.figures import ShareCurve, Tradeoff

_USUAL, _HALF = 0.3, 0.5  # shares flagged
_DRAWN = ("flag_rate", "flag_rate_counterfactual", "true_positive_rate", "false_positive_rate")


def tradeoff(
    report: MethodReport, *, with_labels: bool, with_band: bool = False, most: float | None = None
) -> Tradeoff:
    """A method's curve, the paper's quantiles on it, and the interval of its changing ratio along it.

    Parameters
    ----------
    most : the highest share flagged that it reaches; where flagging more people makes quality and fairness worse, it
        ends before that. By default ``most_flagged``.
    """
    marks = np.array([report.threshold_at(share) for share in PAPER_QUANTILES])
    line, points = report.curves.people.at(report.grid), report.curves.people.at(marks)
    quality = line.macro_f1 if with_labels else line.flag_rate
    limit = most_flagged(report) if most is None else most
    kept = sensible(line.flag_rate, line.changing_ratio, quality, limit)
    low, high = report.band if with_band and report.band is not None else (None, None)
    drawn = points.flag_rate <= limit
    return Tradeoff(
        changing_ratio=line.changing_ratio[kept],
        quality=quality[kept],
        flag_rate=line.flag_rate[kept],
        quantiles=np.array(PAPER_QUANTILES)[drawn],
        quantile_changing_ratio=points.changing_ratio[drawn],
        quantile_quality=(points.macro_f1 if with_labels else points.flag_rate)[drawn],
        quantile_flag_rate=points.flag_rate[drawn],
        low=None if low is None else low[kept],
        high=None if high is None else high[kept],
    )


def most_flagged(report: MethodReport, threshold: float | None = None) -> float:
    """The highest share flagged that is worth drawing: beyond, a detector that flags everybody would look fair.

    A good deal more than is flagged at this threshold, than there are anomalies, and than what is usual.
    """
    curve = report.curves.people
    flagged = curve.flagged(report.threshold if threshold is None else threshold) / max(curve.n, 1)
    anomalies = (curve.n_anomaly or 0) / max(curve.n, 1)
    return max(_USUAL, min(_HALF, 1.5 * anomalies), min(1.0, 1.5 * flagged))


def sensible(flag_rate: Floats, ratio: Floats, quality: Floats, most: float) -> NDArray[np.intp]:
    """Which points of a curve to draw: up to a share flagged, and without the end where all gets worse.

    At that end, some other threshold is at least as fair and as useful as each.
    """
    kept = np.flatnonzero(flag_rate <= most)
    if not len(kept):
        return kept
    other = ratio[kept] - ratio[kept][:, None], quality[kept] - quality[kept][:, None]
    worse = ((other[0] <= 0.0) & (other[1] >= 0.0) & ((other[0] < 0.0) | (other[1] > 0.0))).any(axis=1)
    good = np.flatnonzero(~worse)
    order = np.argsort(-flag_rate[kept[good]])
    return kept[flag_rate[kept] <= flag_rate[kept[good[order[0]]]]] if len(good) else kept


def by_share(report: MethodReport, most: float, *, with_band: bool = False) -> ShareCurve:
    """What flagging more people does, from nobody to this share of them."""
    line = report.curves.people.at(report.grid)
    kept = np.flatnonzero(line.flag_rate <= most)[::-1]
    anomalies = report.curves.people.n_anomaly
    low, high = report.band if with_band and report.band is not None else (None, None)
    return ShareCurve(
        share=line.flag_rate[kept],
        changing_ratio=line.changing_ratio[kept],
        found=line.true_positive[kept] / anomalies if anomalies else None,
        low=None if low is None else low[kept],
        high=None if high is None else high[kept],
    )


def group_rates(report: MethodReport, threshold: float) -> dict[str, dict[str, float | None]]:
    """The shares of each group that are drawn; those that no group has are left out."""
    groups = report.metrics_at(threshold).groups
    shares = [name for name in _DRAWN if any(values[name] is not None for values in groups.values())]
    return {
        f"{group}, n = {values['n']:,}": {GROUP_METRICS[name].label: values[name] for name in shares}
        for group, values in groups.items()
    }
