"""Audits beside each other, and the paper's table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cfad_core.dashboard.services import store
from cfad_core.dashboard.tables import METRIC_NAMES
from cfad_core.store import AuditRecord

_COLUMNS = ["AUC-PR", "AUC-ROC", "Macro-F1", "changing ratio"]
_METHODS = ["PCA", "OC-SVM", "iForest", "AE", "DCFOD", "FairOD", "CFAD"]


def _paper(rows: Sequence[Sequence[float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, index=_METHODS, columns=_COLUMNS)


# The paper's Table 2: five-run means at the 0.95 quantile, by the source of an audit
PAPER = {
    "synthetic people": _paper(
        [
            [0.992, 0.999, 0.908, 0.478],
            [0.776, 0.953, 0.477, 0.399],
            [0.190, 0.693, 0.570, 0.271],
            [0.957, 0.996, 0.883, 0.461],
            [0.383, 0.832, 0.721, 0.212],
            [0.580, 0.873, 0.689, 0.261],
            [0.947, 0.996, 0.930, 0.199],
        ]
    ),
    "Adult": _paper(
        [
            [0.238, 0.582, 0.476, 0.261],
            [0.282, 0.638, 0.482, 0.285],
            [0.312, 0.658, 0.570, 0.279],
            [0.349, 0.640, 0.608, 0.590],
            [0.249, 0.623, 0.533, 0.071],
            [0.222, 0.621, 0.531, 0.131],
            [0.319, 0.589, 0.576, 0.057],
        ]
    ),
    "COMPAS": _paper(
        [
            [0.365, 0.642, 0.595, 0.268],
            [0.337, 0.593, 0.488, 0.376],
            [0.311, 0.567, 0.564, 0.415],
            [0.344, 0.616, 0.581, 0.407],
            [0.260, 0.569, 0.466, 0.067],
            [0.265, 0.548, 0.493, 0.068],
            [0.314, 0.596, 0.539, 0.049],
        ]
    ),
}


def same_but_seed(record: AuditRecord) -> list[AuditRecord]:
    """Finished audits of the same data, roles and settings, one for each seed."""
    wanted = dataclasses.replace(record.config, seed=0)
    by_seed = {record.config.seed: record}
    for other in store().find(status="done"):
        if (
            other.data_digest == record.data_digest
            and other.roles_text == record.roles_text
            and dataclasses.replace(other.config, seed=0) == wanted
        ):
            by_seed.setdefault(other.config.seed, other)
    return list(by_seed.values())


def spread(records: Sequence[AuditRecord]) -> dict[str, dict[str, tuple[float, float] | None]]:
    """Mean and standard deviation of the headline, by metric and method."""
    found: dict[str, dict[str, tuple[float, float] | None]] = {}
    for name, shown in METRIC_NAMES.items():
        found[shown] = {}
        for method in records[0].metrics or {}:
            values = [(record.metrics or {})[method].get(name) for record in records]
            known = [value for value in values if value is not None]
            found[shown][method] = (float(np.mean(known)), float(np.std(known))) if known else None
    return found
