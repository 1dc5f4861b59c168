"""What the page about the threshold shows, from scores that were sorted once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.outcomes import Outcomes


def threshold_for(ascending: Floats, flagged: int) -> float:
    """The threshold that flags this many people (fewer, where scores tie)."""
    if flagged <= 0:
        return float(ascending[-1])
    if flagged >= len(ascending):
        return float(np.nextafter(ascending[0], -np.inf))
    return float(ascending[len(ascending) - flagged - 1])


def confusion(found: Outcomes) -> pd.DataFrame:
    """Counts by label and outcome."""
    counts = [
        [int(found.true_positive), int(found.false_negative)],
        [int(found.false_positive), int(found.true_negative)],
    ]
    return pd.DataFrame(counts, index=["anomaly", "normal"], columns=["flagged", "not flagged"])
