"""How long an audit will take, before it is started: by its table and settings, and by who is in the queue."""

from __future__ import annotations

import time

import streamlit as st

from cfad_core.apps.dashboard.services import store, workers
from cfad_core.apps.dashboard.state import Draft
from cfad_core.apps.dashboard.visitor import here
from cfad_core.audit.estimate import Size, expected_seconds, size_of
from cfad_core.core.config import AuditConfig
from cfad_core.core.formats import counted
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.forecast import estimate, outlook_words, outlooks_of
from cfad_core.runs.lanes import Waiting, is_short


def show_estimate(now: Draft, config: AuditConfig) -> None:
    """How long it takes here; and where others wait or run, when it would start and be done."""
    assert now.roles is not None
    size = _size(now.key, repr(now.roles), config.test_share, now.tables, now.roles, config)
    knows_truth = now.tables.test_counterfactual is not None
    words = estimate(store(), size, config, knows_truth=knows_truth).words
    st.markdown(f"Takes **{words}** on {here()}." + _queue_words(size, config, now, knows_truth=knows_truth))
    st.caption("Learned from audits that were done here; it takes longer while the computer is busy with other things.")


@st.cache_data(show_spinner=False, max_entries=50)
def _size(key: str, roles: str, share: float, _tables: Tables, _roles: ColumnRoles, _config: AuditConfig) -> Size:  # noqa: ARG001 - the key
    return size_of(_tables, _roles, _config)


def _queue_words(size: Size, config: AuditConfig, now: Draft, *, knows_truth: bool) -> str:
    expected = expected_seconds(config, size, knows_truth=knows_truth)
    short = is_short(expected, size.rows * now.first.shape[1])
    mine = Waiting("", time.time(), expected, short, store().viewer.name)
    found = outlooks_of(store(), workers(), more=mine)[mine.id]
    if found.starts_in <= 0.0:
        return ""
    ahead = counted(found.place - 1, "audit") + " in the queue before it" if found.place > 1 else "Another audit runs"
    return f" {ahead}: it {outlook_words(found)}."
