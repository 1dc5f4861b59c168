"""What the page about the threshold computes: everything from curves that were sorted once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.apps.dashboard.services import Curves
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.core.config import PAPER_QUANTILES
from cfad_core.evaluation.outcomes import Outcomes
from cfad_core.figures import Tradeoff
from cfad_core.runs.model import AuditRecord

_POINTS = 201  # of a curve on the screen, fewer where there are few people


def quantile(ascending: Floats, share: float) -> float:
    """As ``np.quantile``, of numbers that are sorted already."""
    place = share * (len(ascending) - 1)
    low = int(place)
    high = min(low + 1, len(ascending) - 1)
    return float(ascending[low] + (place - low) * (ascending[high] - ascending[low]))


def threshold_for(ascending: Floats, flagged: int) -> float:
    """The threshold that flags this many people (fewer, where scores tie)."""
    if flagged <= 0:
        return float(ascending[-1])
    if flagged >= len(ascending):
        return float(np.nextafter(ascending[0], -np.inf))
    return float(ascending[len(ascending) - flagged - 1])


def operating_threshold(record: AuditRecord, result: AuditResult, method: str) -> tuple[float, str]:
    """The threshold that pages and downloads use, and its name: as saved with the audit, else its quantile."""
    saved = record.threshold
    if saved is not None and saved.method == method:
        return saved.value, f"as saved, {saved.how}"
    return result.threshold(method), f"quantile {result.config.quantile:g} of training scores"


def grid_of(curves: Curves) -> Floats:
    """The thresholds that a curve on the screen is drawn at, ascending."""
    points = min(_POINTS, max(20, len(curves.scores) // 10))
    return curves.scores[np.linspace(0, len(curves.scores) - 1, points).astype(np.intp)]


def tradeoff(
    curves: Curves, *, with_labels: bool, independent: bool, band: tuple[Floats, Floats] | None = None
) -> Tradeoff:
    """A method's curve, the paper's quantiles on it, and bounds of its changing ratio along it, if they are known."""
    judged = curves.independent if independent else curves.own
    grid = grid_of(curves)
    marks = np.array([quantile(curves.train, share) for share in PAPER_QUANTILES])
    line, points = judged.at(grid), judged.at(marks)
    return Tradeoff(
        changing_ratio=line.changing_ratio,
        quality=line.macro_f1 if with_labels else line.flag_rate,
        flag_rate=line.flag_rate,
        quantiles=np.array(PAPER_QUANTILES),
        quantile_changing_ratio=points.changing_ratio,
        quantile_quality=points.macro_f1 if with_labels else points.flag_rate,
        quantile_flag_rate=points.flag_rate,
        low=None if band is None else band[0],
        high=None if band is None else band[1],
    )


def group_rates(curves: Curves, threshold: float, *, with_labels: bool) -> dict[str, dict[str, float | None]]:
    """Shares of each group at the threshold."""
    rates: dict[str, dict[str, float | None]] = {}
    for group, curve in curves.groups.items():
        found, name = curve.at(threshold), f"{group}, n = {curve.n:,}"
        rates[name] = {
            "flagged": float(found.flag_rate),
            "flagged in the other group": float(found.flag_rate_counterfactual),
        }
        if with_labels:
            rates[name]["anomalies flagged"] = _share(found.true_positive, found.true_positive + found.false_negative)
            rates[name]["normal people flagged"] = _share(
                found.false_positive, found.false_positive + found.true_negative
            )
    return rates


def confusion(found: Outcomes) -> pd.DataFrame:
    """Counts by label and outcome."""
    counts = [
        [int(found.true_positive), int(found.false_negative)],
        [int(found.false_positive), int(found.true_negative)],
    ]
    return pd.DataFrame(counts, index=["anomaly", "normal"], columns=["flagged", "not flagged"])


def _share(part: Floats, whole: Floats) -> float | None:
    return float(part / whole) if float(whole) > 0.0 else None
