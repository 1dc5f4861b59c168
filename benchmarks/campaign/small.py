"""Small audits for the campaign: what they are made of, and their numbers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pandas as pd

from cfad_core.core.config import AskedDetector, AuditConfig, preset
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.sample import generate_sample
from cfad_core.data.tables import Tables
from cfad_core.runs.store import Store

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample.csv"
ROLES = ColumnRoles(
    "gender", groups=("female", "male"), label="fraud", anomaly="yes", ignore=("claim_id", "reported_on", "remark")
)


def sample() -> pd.DataFrame:
    """The table of invented people that comes with the project."""
    return pd.read_csv(SAMPLE)


def config(seed: int = 0, subsamples: int = 20) -> AuditConfig:
    """The settings of an audit of some seconds."""
    return preset("fast", seed=seed, subsamples=subsamples)


def put(store: Store, name: str, seed: int = 0, *, is_asked: bool = False, rows: int | None = None) -> str:
    """Put one into the queue; its id. With ``rows``, so many such people are drawn."""
    settings = config(seed)
    if is_asked:
        settings = settings.replace(asked=AskedDetector("mine"))
    people = sample() if rows is None else generate_sample(seed, rows)
    return store.create(Tables.of(people), ROLES, settings, name=name, source="sample.csv")


def numbers(metrics: Any) -> str:
    """A digest of an audit's headline: the same numbers, the same digest."""
    return hashlib.sha256(repr(_plain(metrics)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((str(name), _plain(one)) for name, one in value.items())
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
