"""The widgets that ask what is known of causes: columns without causes, or with one alone, and a time order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.state import Draft, KnownCauses
from cfad_core.core.config import Knowledge
from cfad_core.core.markdown import as_text
from cfad_core.data.suggestions import suggest_roots, time_rank

Places = dict[str, int | None]

_TALLEST = 420  # pixels
_ORDER = (
    "No arrow runs from a later to an earlier column; columns with the same number may cause each other, and those "
    "without a number are free. The order is a guess from the names: correct it before you use it."
)


def choose_causes(
    columns: Sequence[str], sensitive: str, begin: Knowledge, key: str, *, disabled: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that nothing causes, and columns that nothing but the sensitive ones causes, as the person chooses them.

    Parameters
    ----------
    sensitive : what the sensitive columns are called together
    begin : what is chosen when the page is entered
    """
    left, right = st.columns(2)
    roots = left.multiselect(
        "Nothing in the table causes it",
        columns,
        default=[name for name in begin.roots if name in columns],
        key=f"{key}-roots",
        disabled=disabled,
        help=f"Such as age: no arrow of the causal graph leads into it, not even from {as_text(sensitive, 60)}.",
    )
    alone = right.multiselect(
        f"Nothing but {as_text(sensitive, 60)} causes it",
        columns,
        default=[name for name in begin.from_sensitive if name in columns],
        key=f"{key}-alone",
        disabled=disabled,
        help=f"An arrow may lead into it from {as_text(sensitive, 60)}, but from no other column.",
    )
    return tuple(roots), tuple(alone)


def choose_order(
    begin: Mapping[str, int | None], key: str, *, used: bool, disabled: bool = False
) -> tuple[bool, Places]:
    """Whether a time order is used, and the place of each column in it, as the person chooses them.

    Parameters
    ----------
    begin, used : what is chosen when the page is entered
    """
    used = st.toggle(
        "Use this time order", value=used, key=f"{key}-ordered", disabled=disabled, help=HELP["time order"]
    )
    st.caption(_ORDER)
    first = sorted(begin, key=lambda name: begin[name] or len(begin) + 1)
    rows = pd.DataFrame({"column": first, "came": pd.array([begin[name] for name in first], dtype="Int64")})
    edited = st.data_editor(
        rows,
        hide_index=True,
        height=min(_TALLEST, 38 + 35 * len(rows)),
        disabled=["column"],
        key=f"{key}-came",
        placeholder="not ordered",
        column_config={
            "came": st.column_config.NumberColumn(
                "place in time",
                min_value=1,
                step=1,
                help="1: first; only the order counts. Empty: not ordered.",
            )
        },
    )
    return used, places_in(edited)


def places_in(rows: pd.DataFrame) -> Places:
    """The place of each column in the time order; None of those that have none."""
    return {
        str(name): None if pd.isna(place) else int(place)
        for name, place in zip(rows["column"], rows["came"], strict=True)
    }


def tiers_of(places: Mapping[str, int | None]) -> tuple[tuple[str, ...], ...]:
    """The columns that have a place, the earliest first."""
    taken = sorted({place for place in places.values() if place is not None})
    return tuple(tuple(name for name, place in places.items() if place == tier) for tier in taken)


def suggested_places(columns: Sequence[str]) -> Places:
    """The place of each column in the suggested time order."""
    return {name: time_rank(name) for name in columns}


def choose_for(now: Draft, begin: KnownCauses, key: str, *, disabled: bool) -> tuple[Draft, Knowledge]:
    """What is known of a table's causes before an audit; the draft remembers it, also of columns with other roles now.

    Parameters
    ----------
    begin : what the draft remembered when the page was entered
    """
    assert now.roles is not None
    columns, sensitive = now.roles.features(now.first), now.roles.sensitive_name
    suggested = suggest_roots(columns)
    known = Knowledge(
        roots=tuple(name for name in columns if begin.roots.get(name, name in suggested)),
        from_sensitive=begin.from_sensitive.get(sensitive, _said_of_each(begin, now.roles.sensitive_columns)),
    )
    roots, alone = choose_causes(columns, sensitive, known, key, disabled=disabled)
    guess = suggested_places(columns)
    places = {name: begin.came.get(name, guess[name]) for name in columns}
    in_order, places = choose_order(places, key, used=begin.in_order, disabled=disabled)
    said = KnownCauses(
        roots={
            **{name: said for name, said in now.known.roots.items() if name not in columns},
            **{name: name in roots for name in columns if (name in roots) != (name in suggested)},
        },
        from_sensitive={**now.known.from_sensitive, sensitive: _with_others(now, alone)},
        came={
            **{name: place for name, place in now.known.came.items() if name not in columns},
            **{name: place for name, place in places.items() if place != guess[name]},
        },
        in_order=in_order,
    )
    in_table = {name: places[name] for name in columns}
    chosen = Knowledge(roots=roots, from_sensitive=alone, tiers=tiers_of(in_table) if in_order else ())
    return dataclasses.replace(now, known=said), chosen


def _said_of_each(begin: KnownCauses, sensitive: Sequence[str]) -> tuple[str, ...]:
    """Where nothing was said of several sensitive columns together: nothing but one of them is nothing but these."""
    return tuple(dict.fromkeys(name for column in sensitive for name in begin.from_sensitive.get(column, ())))


def _with_others(now: Draft, alone: tuple[str, ...]) -> tuple[str, ...]:
    """What was said of columns that are no attributes now stays said."""
    assert now.roles is not None
    columns = now.roles.features(now.first)
    before = now.known.from_sensitive.get(now.roles.sensitive_name, ())
    return (*alone, *(name for name in before if name not in columns))
