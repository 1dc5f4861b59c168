"""The controls that choose methods: one of an audit's, or some of all that there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.result import AuditResult
from cfad_core.detectors.registry import METHODS, RANK, help_of, label_of, plain_methods

_IN_A_ROW = 5


def choose_method(
    result: AuditResult, key: str, saved: str | None = None, place: DeltaGenerator | None = None, usual: str = "cfad"
) -> str:
    """One of the methods; at first that of the saved threshold, the user's own detector, or else the usual one."""
    methods = list(result.scores)
    own = None if result.asked is None else result.asked.name
    first = next((method for method in (saved, own, usual) if method in methods), methods[0])
    chosen = (st if place is None else place).segmented_control(
        "Method", methods, default=first, format_func=label_of, required=True, key=key, help=HELP["method"]
    )
    return chosen or first


def tick_methods(methods: Sequence[str], ticked: Collection[str], key: Callable[[str], str]) -> list[str]:
    """The methods that are ticked, of a box for each, a few in a row."""
    chosen = []
    for start in range(0, len(methods), _IN_A_ROW):
        for place, method in zip(st.columns(_IN_A_ROW), methods[start : start + _IN_A_ROW], strict=False):
            if place.checkbox(label_of(method), value=method in ticked, key=key(method), help=help_of(method)):
                chosen.append(method)
    return chosen


def choose_ranks(present: Collection[str], key: str) -> list[str]:
    """Methods whose scores are ranked within the groups as well, without those that are there already."""
    chosen = st.multiselect(
        "Also as ranks within each group",
        unranked(present),
        format_func=label_of,
        key=key,
        help=HELP["rank within the group"],
        placeholder="None",
    )
    return [f"{name}{RANK}" for name in chosen]


def unranked(present: Collection[str]) -> list[str]:
    """Methods whose ranks are not among these."""
    return [name for name in plain_methods() if f"{name}{RANK}" in METHODS and f"{name}{RANK}" not in present]


def in_order(methods: Collection[str]) -> tuple[str, ...]:
    """As they are listed everywhere."""
    return tuple(method for method in METHODS if method in methods)
