"""What the page about the threshold shows, from scores that were sorted once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.evaluation.outcomes import Outcomes
from cfad_core.evaluation.tally import Tally


def threshold_for(people: Tally, flagged: int) -> float:
    """The threshold that flags this many people (fewer, where scores tie)."""
    if flagged <= 0:
        return float(people.at_rank(np.array(people.n - 1)))
    if flagged >= people.n:
        return float(np.nextafter(people.at_rank(np.array(0)), -np.inf))
    return float(people.at_rank(np.array(people.n - flagged - 1)))


def confusion(found: Outcomes) -> pd.DataFrame:
    """Counts by label and outcome."""
    counts = [
        [int(found.true_positive), int(found.false_negative)],
        [int(found.false_positive), int(found.true_negative)],
    ]
    return pd.DataFrame(counts, index=["anomaly", "normal"], columns=["flagged", "not flagged"])
