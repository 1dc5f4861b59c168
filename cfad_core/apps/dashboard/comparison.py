"""Audits beside each other: those that differ by one setting alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.services import result_of, store, stored_table
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError
from cfad_core.core.looks import Look
from cfad_core.data.roles import ColumnRoles, resolve_roles
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.metrics import HEADLINE
from cfad_core.paper.experiments import SENSITIVITY
from cfad_core.paper.report import SETTING_NAMES
from cfad_core.runs.model import AuditRecord


def same_but_seed(record: AuditRecord) -> list[AuditRecord]:
    """Finished audits of the same data, roles and settings, one for each seed."""
    by_seed = {record.config.seed: record}
    for other in _alike(record, lambda config: config.replace(seed=0)):
        if other.status == "done":
            by_seed.setdefault(other.config.seed, other)
    return list(by_seed.values())


def spread(records: Sequence[AuditRecord]) -> dict[str, dict[Look, tuple[float, float] | None]]:
    """Mean and standard deviation of the headline, by metric and method."""
    found: dict[str, dict[Look, tuple[float, float] | None]] = {}
    for name, metric in HEADLINE.items():
        found[metric.label] = {}
        for method in records[0].metrics or {}:
            values = [(record.metrics or {}).get(method, {}).get(name) for record in records]
            known = [value for value in values if value is not None]
            found[metric.label][look_of(method)] = (float(np.mean(known)), float(np.std(known))) if known else None
    return found


def variants(record: AuditRecord, setting: str) -> dict[float, AuditRecord]:
    """Audits with CFAD that differ from this one by a setting of the fine-tuning alone, by its value.

    Those that failed or were cancelled are left out; a finished one comes before one that waits.
    """

    def without(config: AuditConfig) -> AuditConfig:
        return config.replace(methods=("cfad",)).with_detector(**{setting: 0.0})

    found: dict[float, AuditRecord] = {}
    for other in [record, *_alike(record, without)]:
        value = getattr(other.config.detector, setting)
        if other.id == record.id:
            value = getattr(result_of(record).settings, setting)  # as it was used, if it was left to the data
        if value is None or "cfad" not in other.config.methods or other.status not in ("queued", "running", "done"):
            continue
        if value not in found or (found[value].status != "done" and other.status == "done"):
            found[value] = other
    return dict(sorted(found.items()))


def any_waits(record: AuditRecord) -> bool:
    """Whether a variant is still in the queue or running."""
    return any(other.status != "done" for setting in SETTING_NAMES for other in variants(record, setting).values())


def missing(found: Mapping[float, AuditRecord], setting: str) -> list[float]:
    """The usual values of a setting that no audit has yet."""
    return [value for value in SENSITIVITY[setting] if value not in found]


def run_variants(record: AuditRecord, setting: str) -> None:
    """Put what is missing of the usual values of a setting into the queue."""
    for value in missing(variants(record, setting), setting):
        config = record.config.replace(methods=("cfad", "twin"), asked=None).with_detector(**{setting: value})
        again(record.id, config, f"{record.name} ({SETTING_NAMES[setting]} {value:g})")


def variant_lines(found: dict[float, AuditRecord]) -> tuple[Floats, dict[str, tuple[Floats, Floats]]]:
    """The values, and CFAD's metrics at each of them; one audit each, so nothing is known of their spread."""
    names = {name: HEADLINE[name].label for name in ("macro_f1", "changing_ratio")}
    headlines: list[dict[str, Any]] = [(record.metrics or {})["cfad"] for record in found.values()]
    lines = {}
    for key, name in names.items():
        values = np.array([headline.get(key) for headline in headlines], dtype=np.float64)
        if np.isfinite(values).any():  # without labels there is no F1
            lines[name] = (values, np.full(len(values), np.nan))
    return np.array(list(found)), lines


def _alike(record: AuditRecord, normalised: Callable[[AuditConfig], AuditConfig]) -> list[AuditRecord]:
    """Audits of the same data and roles whose settings are the same once both are normalised."""

    def is_alike(other: AuditRecord) -> bool:
        if other.schema_version != record.schema_version or other.data_digest != record.data_digest:
            return False  # of another engine, or another table
        try:
            same = _settled_roles(other.tables["table"], other.roles_text) == roles
            return same and normalised(other.config) == wanted
        except CfadError:  # a record that cannot be read is like no other
            return False

    roles, wanted = _settled_roles(record.tables["table"], record.roles_text), normalised(record.config)
    return [other for other in store().find() if is_alike(other)]


@st.cache_data(show_spinner=False, max_entries=256)
def _settled_roles(digest: str, roles_text: str) -> ColumnRoles:
    """With the groups, which the record of an audit of an older version may leave to its table."""
    roles = ColumnRoles.from_dict(json.loads(roles_text))
    return roles if roles.are_settled else resolve_roles(stored_table(digest), roles)
