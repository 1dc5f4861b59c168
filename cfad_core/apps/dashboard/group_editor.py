"""The widgets that say which groups a sensitive column has: two values, values put together by hand, or numbers cut."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from cfad_core.core.markdown import as_text
from cfad_core.data.attributes import MAX_BANDS, Attribute, attribute_findings, settle
from cfad_core.data.group_names import group_name
from cfad_core.data.groups import OUTSIDE, band_names
from cfad_core.data.kinds import kind_of
from cfad_core.data.tables import Tables

ALL_OTHERS = "all others"
CUTS, BANDS, ALL, TWO, ONE = "cut points", "equal bands", "all values", "two groups", "one against all others"
EACH = "each group with each other"
_MAX_VALUES = 200
_TALLEST = 330  # pixels
_BANDS = 4  # to begin with
_WAYS_HELP = (
    f"{CUTS}: numbers under and over points that you give; {BANDS}: about as many people in each; {ALL}: choose which, "
    f"put them together and in order; {TWO}, or {ONE}."
)


@dataclass(frozen=True)
class ColumnFacts:
    """What the widgets ask of a column: however long it is, that is short.

    Attributes
    ----------
    values : as text, the most frequent first; at most 200
    rows : how many have each of them
    distinct : how many values there are in all
    kind : of column
    middle : the median, of numbers
    """

    values: tuple[str, ...]
    rows: Mapping[str, int]
    distinct: int
    kind: str
    middle: float | None


def facts_of(column: pd.Series[Any]) -> ColumnFacts:
    """What there is to know of a column's values."""
    counts = column.dropna().value_counts()
    texts = counts.index.map(str)
    rows = pd.Series(counts.to_numpy()).groupby(texts.to_numpy()).sum()
    values, kind = tuple(texts[:_MAX_VALUES]), kind_of(column)
    middle = float(pd.to_numeric(column, errors="coerce").median()) if kind == "number" else None
    return ColumnFacts(values, {value: int(rows[value]) for value in values}, len(counts), kind, middle)


@dataclass(frozen=True)
class DraftColumn:
    """A column of the table of a draft; what is asked of it is computed once."""

    tables: Tables
    name: str

    @property
    def facts(self) -> ColumnFacts:
        return _facts(self.tables.digest, self.name, self.tables)

    def settled(self, asked: Attribute) -> Attribute | None:
        """The attribute with its groups; None if the column has no such groups."""
        return _settled(self.tables.digest, asked, self.tables)

    @property
    def by_value(self) -> Attribute:
        """The attribute whose groups are the values."""
        return _by_value(self.tables.digest, self.name, self.tables)


@st.cache_data(show_spinner=False, max_entries=64)
def _by_value(digest: str, name: str, _tables: Tables) -> Attribute:  # noqa: ARG001 - the cache's key
    return settle(_tables.column(name), Attribute(name))


@st.cache_data(show_spinner=False, max_entries=64)
def _facts(digest: str, name: str, _tables: Tables) -> ColumnFacts:  # noqa: ARG001 - the cache's key
    return facts_of(_tables.column(name))


@st.cache_data(show_spinner=False, max_entries=64)
def _settled(digest: str, asked: Attribute, _tables: Tables) -> Attribute | None:  # noqa: ARG001 - the cache's key
    column = _tables.column(asked.column)
    return None if attribute_findings(column, asked) else settle(column, asked)


def choose_attribute(column: DraftColumn, begin: Attribute, key: str) -> Attribute | None:
    """The sensitive attribute as the person sets it; None while that cannot be read.

    Parameters
    ----------
    begin : what is chosen when the page is entered
    """
    values, name = list(column.facts.values), column.name
    if not values:
        return Attribute(name)
    ways = _ways(column.facts.kind, len(values))
    way = TWO
    if ways:
        first = _way_of(begin)
        way = st.segmented_control(
            f"Groups of {as_text(name, 60)}",
            ways,
            default=first if first in ways else ways[0],
            required=True,
            key=f"by-{key}",
            help=_WAYS_HELP,
        )
    if way in (CUTS, BANDS):
        asked = _choose_numbers(column, begin, way, key)
    elif way == ALL:
        asked = _group_values(column, begin, values, key)
    else:
        asked = _choose_values(name, values, begin.groups, way, key)
    return None if asked is None else _choose_reference(column, asked, begin.reference, key)


def _ways(kind: str, values: int) -> list[str]:
    """How groups can be chosen; none where there is one way only."""
    if values <= 2:
        return []
    return [*([CUTS, BANDS] if kind == "number" else []), ALL, TWO, ONE]


def _way_of(begin: Attribute) -> str:
    if begin.cuts or begin.bands is not None:
        return BANDS if begin.bands is not None else CUTS
    if begin.groups is None or begin.merged or begin.others is not None or len(begin.groups) > 2:
        return ALL
    return TWO if len(begin.groups) == 2 else ONE


def _choose_numbers(column: DraftColumn, begin: Attribute, way: str, key: str) -> Attribute | None:
    """Cut points between numbers, or so many bands."""
    name = column.name
    if way == BANDS:
        first = begin.bands or _BANDS
        bands = st.number_input("Groups of about the same size", 2, MAX_BANDS, first, 1, key=f"bands-{key}")
        return Attribute(name, bands=int(bands))
    cuts = begin.cuts or (column.facts.middle or 0.0,)
    text = st.text_input(
        "Cut points: under the first, and from each on",
        value=", ".join(f"{cut:.12g}" for cut in cuts),
        key=f"cut-{key}",
        help="One makes two groups: under it, and the others. Several are separated by commas: 30, 50.",
    )
    try:
        return Attribute(name, cuts=cuts_in(text))
    except ValueError:
        st.error(f"Expected numbers with commas between them, such as 30, 50; got '{as_text(text, 60)}'.")
        return None


def cuts_in(text: str) -> tuple[float, ...]:
    """The numbers that a person typed, ascending.

    Raises
    ------
    ValueError
        If there is none, or something else than numbers.
    """
    parts = [part for part in re.split(r"[\s,;]+", text) if part]
    if not parts:
        raise ValueError("no number")
    return tuple(sorted({float(part) for part in parts}))


def _choose_values(name: str, values: list[str], begin: tuple[str, ...] | None, way: str, key: str) -> Attribute:
    """The two values to compare, or one against all others."""
    first = values.index(begin[0]) if begin and begin[0] in values else 0

    def called(value: str) -> str:
        return value if value == ALL_OTHERS else group_name(name, value)

    one = st.selectbox("Compare", values, index=first, format_func=called, key=f"a-{key}")
    if way == ONE:
        return Attribute(name, groups=(one,))
    others = [*(value for value in values if value != one), ALL_OTHERS]
    second = others[0]
    if begin and one == begin[0]:
        if len(begin) == 1:
            second = ALL_OTHERS
        elif begin[1] in others:
            second = begin[1]
    two = st.selectbox("with", others, index=others.index(second), format_func=called, key=f"b-{key}-{one}")
    return Attribute(name, groups=(one,) if two == ALL_OTHERS else (one, two))


def _group_values(column: DraftColumn, begin: Attribute, values: list[str], key: str) -> Attribute:
    """Which values are compared, in which order, and which of them together, in a table that the person edits."""
    name = column.name
    settled = column.settled(begin) if _way_of(begin) == ALL else None
    begin = settled or column.by_value
    edited = st.data_editor(
        value_rows(column.facts, begin),
        hide_index=True,
        width="stretch",
        height=min(_TALLEST, 38 + 35 * len(values)),
        disabled=["value", "rows"],
        key=f"values-{key}",
        column_config={
            "group": st.column_config.TextColumn(
                max_chars=80, help="Values with the same name are one group; without a name a value is left out."
            ),
            "order": st.column_config.NumberColumn(
                min_value=1, step=1, help="Of the groups; the disadvantaged ones first, if you like."
            ),
        },
    )
    listed = f"Of {column.facts.distinct:,} values the {_MAX_VALUES} most frequent are listed. "
    st.caption(
        (listed if column.facts.distinct > len(values) else "")
        + "Give values the same group to merge them; empty a group to leave its value out."
    )
    return attribute_in(edited, name, begin.others)


def value_rows(facts: ColumnFacts, settled: Attribute) -> pd.DataFrame:
    """The values, how many rows have each, and the group of each with its place."""
    values = list(facts.values)
    names, codes = settled.grouping.names, settled.grouping.codes(pd.Series(values))
    return pd.DataFrame(
        {
            "value": values,
            "rows": [facts.rows[value] for value in values],
            "group": ["" if code == OUTSIDE else names[code] for code in codes],
            "order": pd.array([None if code == OUTSIDE else int(code) + 1 for code in codes], dtype="Int64"),
        }
    )


def attribute_in(rows: pd.DataFrame, name: str, others: str | None) -> Attribute:
    """The groups of an edited table of values.

    Parameters
    ----------
    others : the group of all other values, which it stays while it is the last one and no value is left out
    """
    held: dict[str, list[str]] = {}
    place: dict[str, float] = {}
    for value, group, order in zip(rows["value"], rows["group"], rows["order"], strict=True):
        called = "" if pd.isna(group) else " ".join(str(group).split())
        if called:
            held.setdefault(called, []).append(str(value))
            place[called] = min(place.get(called, float("inf")), float("inf") if pd.isna(order) else float(order))
    groups = sorted(held, key=lambda group: place[group])  # stable: else as the values stand
    everybody = sum(map(len, held.values())) == len(rows)
    rest = others if everybody and len(groups) > 1 and groups[-1] == others else None
    named = tuple(group for group in groups if group != rest)
    merged = {group: tuple(held[group]) for group in named if held[group] != [group]}
    return Attribute(name, groups=named, merged=merged, others=rest)


def _choose_reference(column: DraftColumn, asked: Attribute, begin: str | None, key: str) -> Attribute:
    """One group that each other one is compared with, where there are more than two."""
    if asked.bands is not None:
        settled = column.settled(asked)
        names = () if settled is None else band_names(settled.cuts)
    elif asked.cuts:
        names = band_names(asked.cuts)
    else:
        names = (*(asked.groups or ()), *([asked.others] if asked.others is not None else []))
    if len(names) <= 2:
        return asked
    choices = [EACH, *(f"each group with {name}" for name in names)]
    first = 1 + names.index(begin) if begin in names else 0
    chosen = st.selectbox("Compare", choices, index=first, key=f"reference-{key}-{hash(names)}")
    place = choices.index(chosen)
    return asked if not place else dataclasses.replace(asked, reference=names[place - 1])
