"""What a session remembers between pages: the table, what its columns are for, and what is known of their causes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.services import store
from cfad_core.core.errors import CfadError
from cfad_core.core.settings import from_plain
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.outages import STORE_ERRORS

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
    """An audit that is being prepared.

    Attributes
    ----------
    origin : ``key`` of the table as it was uploaded, before columns were renamed or cells corrected; empty of others
    """

    tables: Tables
    source: str
    roles: ColumnRoles | None = None
    known: KnownCauses = field(default_factory=KnownCauses)
    origin: str = ""

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


_ADDRESS, _KEPT = "draft", "draft-kept"  # in the address: the id of the draft in the store


def draft() -> Draft | None:
    """What is prepared in this session; in a new one, what the address names, as the store kept it."""
    found = st.session_state.get("draft")
    if not isinstance(found, Draft):
        found = _from_store(st.query_params.get(_ADDRESS, ""))
        if found is not None:
            st.session_state["draft"] = found
    name, _ = st.session_state.get(_KEPT, (None, None))
    if found is not None and name is not None and st.query_params.get(_ADDRESS) != name:
        st.query_params[_ADDRESS] = name
    return found


def keep(new: Draft) -> None:
    """Make this the draft of the session, and keep it in the store."""
    st.session_state["draft"] = new
    keep_in_store(new)


def keep_in_store(new: Draft) -> None:
    """Keep a draft in the store alone, so that a reload or another tab has it; one that is kept already costs nothing.

    A table that is too large, or a disk that is full, keeps the person from nothing but that.
    """
    content = {
        "source": new.source,
        "roles": None if new.roles is None else new.roles.to_dict(),
        "known": dataclasses.asdict(new.known),
        "origin": new.origin,
    }
    mark = json.dumps([new.tables.digests, content], sort_keys=True)
    name, kept = st.session_state.get(_KEPT, (None, None))
    if mark == kept:
        return
    with suppress(CfadError, *STORE_ERRORS):
        st.session_state[_KEPT] = (store().keep_draft(new.tables, content, name), mark)


def is_kept() -> bool:
    """Whether a reload finds what is prepared."""
    return st.session_state.get(_KEPT, (None, None))[0] is not None


def drop_draft() -> None:
    """Forget what is prepared, in the store as well."""
    st.session_state.pop("draft", None)
    forget_in_store()


def forget_in_store() -> None:
    """Forget it in the store alone: an audit has it now."""
    name, _ = st.session_state.pop(_KEPT, (None, None))
    st.query_params.pop(_ADDRESS, None)
    if name is not None:
        store().drop_draft(name)


def _from_store(name: str) -> Draft | None:
    found = store().kept_draft(name)
    if found is None:
        return None
    content = found.content
    try:
        roles = None if content["roles"] is None else ColumnRoles.from_dict(content["roles"])
        known = from_plain(KnownCauses, content["known"], "known")
        loaded = Draft(found.tables, str(content["source"]), roles, known, str(content["origin"]))
    except (CfadError, KeyError):  # of another version of the program
        return None
    st.session_state[_KEPT] = (name, None)
    return loaded


def at_first(name: str, value: T, *, arrived: bool) -> T:
    """The value that there was when the page was entered, while ``value`` follows what is chosen there.

    A widget that is shown with another value to begin with forgets what was chosen in it last.
    """
    place = f"first-{name}"
    if arrived or place not in st.session_state:
        st.session_state[place] = value
    found: T = st.session_state[place]
    return found
