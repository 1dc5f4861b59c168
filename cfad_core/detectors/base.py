"""What every detector offers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Detector(Protocol):
    """Scores rows of profile attributes ``X`` (never ``S``)."""

    def anomaly_score(self, x: Floats) -> Floats:
        """Score each row of x (n, m): higher = more anomalous. A row's score depends on that row alone."""
        ...
