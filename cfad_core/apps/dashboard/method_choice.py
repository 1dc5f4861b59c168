"""The control that chooses one of an audit's methods."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.result import AuditResult
from cfad_core.detectors.registry import label_of


def choose_method(result: AuditResult, key: str, preferred: str = "cfad", place: DeltaGenerator | None = None) -> str:
    """One of the methods; at first the preferred one, if the audit has it."""
    methods = list(result.scores)
    first = preferred if preferred in methods else methods[0]
    chosen = (st if place is None else place).segmented_control(
        "Method", methods, default=first, format_func=label_of, required=True, key=key, help=HELP["method"]
    )
    return chosen or first
