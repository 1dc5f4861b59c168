"""Tables to begin with, and the step from a prepared table to an audit in the queue."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError
from cfad_core.data.readers import read_table
from cfad_core.data.sets.demo import ROLES, generate_demo
from cfad_core.data.sets.public import FILES, fetch, load_adult, load_compas, load_german, state
from cfad_core.data.tables import Tables
from cfad_core.runs.recording import SOURCE


def demo_draft() -> Draft:
    """Invented taxpayers whose true twins are known, and kept from the audit."""
    return Draft(generate_demo(), source=SOURCE, roles=ROLES)


def sample_draft() -> Draft:
    return Draft(Tables.of(read_table(ASSETS / "sample.csv")), source="sample.csv")


def _public(load: Callable[[], pd.DataFrame], source: str) -> Draft:
    if any(state(file) != "ready" for file in FILES):
        with st.spinner("Fetching the public data sets, once ..."):
            fetch()
    return Draft(Tables.of(load()), source)


BUILT_IN: dict[str, Callable[[], Draft]] = {
    "Sample: insurance claims": sample_draft,
    "Demo: invented taxpayers, whose true twins are known": demo_draft,
    "Adult (income, 1994)": lambda: _public(load_adult, "Adult"),
    "COMPAS (recidivism, 2016)": lambda: _public(load_compas, "COMPAS"),
    "German credit": lambda: _public(load_german, "German credit"),
}


def start(draft: Draft, config: AuditConfig, name: str, parent: str | None = None) -> str:
    """Put the audit into the queue; returns its id."""
    if draft.roles is None:
        raise CfadError("Say first what the columns are for.")
    return store().create(draft.tables, draft.roles, config, name=name, source=draft.source, parent=parent)


def plan(draft: Draft, config: AuditConfig, name: str, by: str, expectation: str) -> str:
    """Seal the audit without starting it; returns its id."""
    if draft.roles is None:
        raise CfadError("Say first what the columns are for.")
    return store().plan(
        draft.tables, draft.roles, config, name=name, by=by, expectation=expectation, source=draft.source
    )


def again(audit: str, config: AuditConfig, name: str) -> str:
    """The same audit with other settings, as a child of the first."""
    request = store().request(audit)
    draft = Draft(request.tables, store().get(audit).source, request.roles)
    return start(draft, config, name, parent=audit)
