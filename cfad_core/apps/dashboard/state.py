"""What a session remembers between pages before there is an audit: the table, and what its columns are for."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables


@dataclass(frozen=True)
class Draft:
    """An audit that is being prepared."""

    tables: Tables
    source: str
    roles: ColumnRoles | None = None
    roots: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        return self.tables.table

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
