"""What a session remembers between pages: the table, what its columns are for, and what is known of their causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd
import streamlit as st

from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables

T = TypeVar("T")


@dataclass(frozen=True)
class KnownCauses:
    """What a person said of the causes of columns, whichever of them are attributes now.

    Attributes
    ----------
    roots : by column, whether nothing in the table causes it, where the person said so
    from_sensitive : by the name of the sensitive columns together, the columns that nothing else causes
    came : by column, its place in the time order (None: it has none), where the person changed the suggested one
    in_order : whether the time order is used
    """

    roots: Mapping[str, bool] = field(default_factory=dict)
    from_sensitive: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    came: Mapping[str, int | None] = field(default_factory=dict)
    in_order: bool = False


@dataclass(frozen=True)
class Draft:
    """An audit that is being prepared."""

    tables: Tables
    source: str
    roles: ColumnRoles | None = None
    known: KnownCauses = field(default_factory=KnownCauses)

    @property
    def table(self) -> pd.DataFrame:
        """The whole table; of an uploaded one it is made anew each time, so ask for less where less will do."""
        return self.tables.table

    @property
    def rows(self) -> int:
        return self.tables.rows

    @property
    def first(self) -> pd.DataFrame:
        """The first rows, with all columns."""
        return self.tables.first

    @property
    def test(self) -> pd.DataFrame | None:
        return self.tables.test

    @property
    def key(self) -> str:
        """Names this table and no other, for what is remembered about it."""
        return self.tables.digests["table"][:12]


def draft() -> Draft | None:
    found = st.session_state.get("draft")
    return found if isinstance(found, Draft) else None


def keep(new: Draft) -> None:
    st.session_state["draft"] = new


def drop_draft() -> None:
    st.session_state.pop("draft", None)


def at_first(name: str, value: T, *, arrived: bool) -> T:
    """The value that there was when the page was entered, while ``value`` follows what is chosen there.

    A widget that is shown with another value to begin with forgets what was chosen in it last.
    """
    place = f"first-{name}"
    if arrived or place not in st.session_state:
        st.session_state[place] = value
    found: T = st.session_state[place]
    return found
