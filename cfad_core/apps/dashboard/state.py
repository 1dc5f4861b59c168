"""What a session remembers between pages before there is an audit: the table, and what its columns are for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import streamlit as st

from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import digest


@dataclass(frozen=True)
class Draft:
    """An audit that is being prepared."""

    table: pd.DataFrame
    source: str
    test: pd.DataFrame | None = None
    test_counterfactual: pd.DataFrame | None = None
    roles: ColumnRoles | None = None
    roots: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """Tells this table from any other, for what is remembered about it."""
        return digest(self.table)[:12]


def draft() -> Draft | None:
    found = st.session_state.get("draft")
    return found if isinstance(found, Draft) else None


def keep(new: Draft) -> None:
    st.session_state["draft"] = new
