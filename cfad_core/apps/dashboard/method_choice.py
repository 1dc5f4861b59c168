"""The controls that choose methods: one of an audit's, or some of all that there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import streamlit as st

from cfad_core.apps.dashboard.frame import METHOD
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.result import AuditResult
from cfad_core.detectors.registry import METHODS, RANK, help_of, plain_methods, title_of
from cfad_core.runs.model import AuditRecord

_IN_A_ROW = 4


def choose_method(
    result: AuditResult,
    key: str,
    wanted: str | None = None,
    *,
    usual: str = "cfad",
    narrow: bool = False,
    on_change: Callable[[], None] | None = None,
) -> str:
    """One of the methods; at first the one that is wanted, the user's own detector, or else the usual one.

    Parameters
    ----------
    narrow : whether there is no room to show them beside each other
    """
    methods = list(result.scores)
    own = None if result.asked is None else result.asked.name
    first = next((method for method in (wanted, own, usual) if method in methods), methods[0])
    if narrow:
        return st.selectbox(
            "Method",
            methods,
            methods.index(first),
            format_func=title_of,
            key=key,
            help=HELP["method"],
            on_change=on_change,
        )
    chosen = st.segmented_control(
        "Method",
        methods,
        default=first,
        format_func=title_of,
        required=True,
        key=key,
        help=HELP["method"],
        on_change=on_change,
    )
    return chosen or first


def choose_page_method(record: AuditRecord, result: AuditResult, *, usual: str = "cfad", narrow: bool = False) -> str:
    """The method that a page is about: as its address or an earlier page says, or else that of the saved threshold.

    A choice stays in the address, so that it outlives a reload, and goes along from page to page.
    """
    key, memory = f"method-{record.id}", f"chosen-method-{record.id}"

    def keep() -> None:
        st.session_state[memory] = st.query_params[METHOD] = st.session_state[key]

    chosen = st.query_params.get(METHOD) or st.session_state.get(memory)
    if chosen in result.scores:
        st.session_state[memory] = chosen
        if st.query_params.get(METHOD) != chosen:
            st.query_params[METHOD] = chosen
        return choose_method(result, key, chosen, usual=usual, narrow=narrow, on_change=keep)
    saved = None if record.threshold is None else record.threshold.method
    return choose_method(result, key, saved, usual=usual, narrow=narrow, on_change=keep)


def tick_methods(methods: Sequence[str], ticked: Collection[str], key: Callable[[str], str]) -> list[str]:
    """The methods that are ticked, of a box for each, a few in a row."""
    chosen = []
    for start in range(0, len(methods), _IN_A_ROW):
        for place, method in zip(st.columns(_IN_A_ROW), methods[start : start + _IN_A_ROW], strict=False):
            if place.checkbox(title_of(method), value=method in ticked, key=key(method), help=help_of(method)):
                chosen.append(method)
    return chosen


def choose_ranks(present: Collection[str], key: str) -> list[str]:
    """Methods whose scores are ranked within the groups as well, without those that are there already."""
    chosen = st.multiselect(
        "Also as ranks within each group",
        unranked(present),
        format_func=title_of,
        key=key,
        help=HELP["rank within the group"],
        placeholder="None",
    )
    return [f"{name}{RANK}" for name in chosen]


def explain_methods() -> None:
    """What each method does, a line each."""
    st.markdown("\n".join(f"- **{title_of(method)}**: {help_of(method)}" for method in plain_methods()))
    st.markdown(f"Each of them can also be ranked within the groups. {HELP['rank within the group']}")


def unranked(present: Collection[str]) -> list[str]:
    """Methods whose ranks are not among these."""
    return [name for name in plain_methods() if f"{name}{RANK}" in METHODS and f"{name}{RANK}" not in present]


def in_order(methods: Collection[str]) -> tuple[str, ...]:
    """As they are listed everywhere."""
    return tuple(method for method in METHODS if method in methods)
