"""Tables so small, or so mixed, that the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.core.config import Scaling
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.roles import ColumnRoles, resolve_roles


def table() -> pd.DataFrame:
    """Four people."""
    return pd.DataFrame(
        {
            "sex": ["f", "m", "f", "m"],
            "age": [20, 30, 40, 60],
            "pay": [1.5, 2.5, 3.5, 9.5],
            "id": ["a", "b", "c", "d"],
            "bad": [0, 0, 1, 0],
        }
    )


ROLES = ColumnRoles("sex", label="bad", anomaly="1", ignore=("id",))


def mixed(n: int = 60) -> pd.DataFrame:
    """Numbers, categories, booleans and dates, some of them missing."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(np.array(["clerk", "nurse", "smith", None], dtype=object), n),
            "owner": rng.choice([True, False], n),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(10.0, 3.0, n)),
        }
    )


def fit_to(frame: pd.DataFrame, roles: ColumnRoles | None = None, scaling: Scaling = "auto") -> Encoding:
    """The encoding of a table whose sensitive column is 'sex' unless said otherwise."""
    return fit_encoding(frame, resolve_roles(frame, roles or ColumnRoles("sex")), scaling)
