"""What each column is for, while a person decides it: in boxes, in a table and in bulk, kept for the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.formats import counted, listed
from cfad_core.core.markdown import as_text
from cfad_core.data.findings import Finding
from cfad_core.data.roles import MAX_ATTRIBUTES
from cfad_core.data.suggestions import ColumnSuggestion, Suggestion
from cfad_core.data.tables import Tables

ROLES = ("feature", "sensitive", "label", "score", "ignore")
NONE = "none"
_ALONE = ("label", "score")  # roles of one column at most
_SEARCHED = 12  # columns from which they can be searched
_SORTS = ("order of the table", "name", "kind", "most missing cells", "most values")
_TALLEST = 460  # pixels
_ROW = 35
_ORDINALS = ("Sensitive column", "Second sensitive column", "Third sensitive column")


def with_role(roles: Mapping[str, str], column: str, role: str, *, beside: bool = False) -> dict[str, str]:
    """The roles after a column got one: it moves there from the column that had it, which is a feature again.

    Parameters
    ----------
    beside : whether a sensitive column comes beside those that there are; the last one goes if they are too many
    """
    others = [name for name, held in roles.items() if held == role and name != column]
    if role not in (*_ALONE, "sensitive"):
        others = []
    elif beside and role == "sensitive":
        others = others[MAX_ATTRIBUTES - 1 :]
    return {**roles, **dict.fromkeys(others, "feature"), column: role}


def roles_in_hand(draft: Draft, suggestion: Suggestion) -> dict[str, str]:
    """The role of each column: as set here, as chosen before, or as suggested."""
    place = _place(draft)
    kept = st.session_state.get(place)
    if kept is None or kept[0] is not draft.roles or set(kept[1]) != {entry.column for entry in suggestion.columns}:
        st.session_state[place] = (draft.roles, _first_roles(draft, suggestion))
    found: dict[str, str] = st.session_state[place][1]
    return found


def move_roles(old: Draft, new: Draft, names: Mapping[str, str] | None = None) -> None:
    """Keep what columns are for when the draft's table changes; ``names`` are new ones by the old ones."""
    kept = st.session_state.get(_place(old))
    if kept is not None:
        renamed = {(names or {}).get(name, name): role for name, role in kept[1].items()}
        st.session_state[_place(new)] = (new.roles, renamed)


def set_roles(draft: Draft, changed: Mapping[str, str], said: str = "") -> None:
    """Change the roles of columns, and show every widget anew; ``said`` stands above them once."""
    begun, roles = st.session_state[_place(draft)]
    st.session_state[_place(draft)] = (begun, {**roles, **changed})
    st.session_state[_turn(draft)] = _turns(draft) + 1
    st.session_state["roles-said"] = said


def _first_roles(draft: Draft, suggestion: Suggestion) -> dict[str, str]:
    if draft.roles is None:
        return {entry.column: entry.role for entry in suggestion.columns}
    chosen = dict.fromkeys(draft.roles.features(draft.first), "feature") | dict.fromkeys(draft.roles.ignore, "ignore")
    chosen |= dict.fromkeys(draft.roles.sensitive_columns, "sensitive")
    for role, column in (("label", draft.roles.label), ("score", draft.roles.score)):
        if column is not None:
            chosen[column] = role
    return {entry.column: chosen[entry.column] for entry in suggestion.columns}


def _place(draft: Draft) -> str:
    return f"columns-{draft.key}"


def _turn(draft: Draft) -> str:
    return f"columns-turn-{draft.key}"


def _turns(draft: Draft) -> int:
    return int(st.session_state.get(_turn(draft), 0))


# The boxes


def choose_columns(draft: Draft, roles: Mapping[str, str], suggestion: Suggestion) -> None:
    """The sensitive column or columns, the label, and a detector's scores, each in a box."""
    sensitive = [name for name, role in roles.items() if role == "sensitive"]
    boxes = [*sensitive, None] if not sensitive or st.session_state.get(f"another-{draft.key}") else sensitive
    boxes = boxes[:MAX_ATTRIBUTES]
    order = _likely_first(suggestion)
    left, middle, right = st.columns(3)
    with left:
        for place, name in enumerate(boxes):
            _box(draft, _ORDINALS[place], order, name, "sensitive")
        if sensitive and len(boxes) == len(sensitive) < MAX_ATTRIBUTES:
            st.button(
                "Add another sensitive column",
                key=f"add-{draft.key}-{_turns(draft)}",
                on_click=lambda: st.session_state.update({f"another-{draft.key}": True}),
                help=f"Up to {MAX_ATTRIBUTES} are audited together: sex and race, for instance.",
            )
    names = [entry.column for entry in suggestion.columns]
    with middle:
        held = next((name for name, role in roles.items() if role == "label"), None)
        _box(draft, "Known outcome (label), if there is one", names, held, "label")
    with right:
        held = next((name for name, role in roles.items() if role == "score"), None)
        _box(draft, "Scores of a detector that you have, if any", names, held, "score")
    if said := st.session_state.pop("roles-said", ""):
        st.caption(said)


def _likely_first(suggestion: Suggestion) -> list[str]:
    """The columns, those that look sensitive before the others."""
    likely = [one.column for one in suggestion.columns if one.role == "sensitive" or _is_likely(one)]
    return [*likely, *(one.column for one in suggestion.columns if one.column not in likely)]


def _is_likely(entry: ColumnSuggestion) -> bool:
    return entry.reason.startswith("could be sensitive")


def _box(draft: Draft, label: str, names: Sequence[str], held: str | None, role: str) -> None:
    """A box with the column of a role; choosing another one moves the role there."""
    key = f"box-{label}-{draft.key}-{_turns(draft)}"
    options = [NONE, *names]
    helps = {
        "sensitive": "The audit asks what would change had a person belonged to another group of it.",
        "label": "Who really was an anomaly, if you know; it is compared with what detectors say, never learned from.",
        "score": "What a detector of yours says of each person: numbers, or a flag of 0 and 1.",
    }

    def moved() -> None:
        chosen = st.session_state[key]
        changed = {} if held is None else {held: "feature"}
        if chosen != NONE:
            changed |= {name: "feature" for name in _holders(draft, role) if role in _ALONE}
            changed[chosen] = role
        st.session_state[f"another-{draft.key}"] = False
        set_roles(draft, changed)

    index = 0 if held is None else options.index(held)
    st.selectbox(label, options, index=index, key=key, on_change=moved, help=helps[role])


def _holders(draft: Draft, role: str) -> list[str]:
    return [name for name, held in st.session_state[_place(draft)][1].items() if held == role]


# The table


@dataclass(frozen=True)
class Counts:
    """Of each column: how many values it has, the share of missing cells, and the first cells."""

    distinct: Mapping[str, int]
    missing: Mapping[str, float]
    examples: Mapping[str, str]


@st.cache_data(show_spinner="Counting ...", max_entries=8)
def _counts(key: str, _tables: Tables) -> Counts:  # noqa: ARG001 - the cache's key
    values, missing, examples = {}, {}, {}
    for column in _tables.first.columns:
        name, cells = str(column), _tables.column(str(column))
        values[name], missing[name] = int(cells.nunique()), float(cells.isna().mean())
        examples[name] = ", ".join(str(cell)[:20] for cell in cells.dropna().unique()[:3])
    return Counts(values, missing, examples)


def show_columns(draft: Draft, roles: Mapping[str, str], suggestion: Suggestion, findings: Sequence[Finding]) -> None:
    """All columns with their roles: to search, sort and edit, and to set in bulk."""
    notes = _notes(findings)
    rows = _rows(roles, suggestion, _counts(draft.key, draft.tables), notes)
    shown = _narrowed(draft, rows) if len(rows) > _SEARCHED else rows.drop(columns="found")
    key = f"roles-{draft.key}-{_turns(draft)}-{hash(tuple(shown['column']))}"
    names = shown["column"].tolist()
    begun = st.session_state.setdefault(f"begun-{key}", {name: roles[name] for name in names})
    st.data_editor(
        shown.assign(role=[begun[name] for name in names]),
        hide_index=True,
        width="stretch",
        height=min(_TALLEST, 38 + _ROW * max(1, len(shown))),
        disabled=[name for name in shown.columns if name != "role"],
        key=key,
        on_change=_edited,
        args=(draft, key, names, begun),
        column_config={
            "role": st.column_config.SelectboxColumn(options=ROLES, required=True, width="small"),
            "missing": st.column_config.NumberColumn(format="percent"),
            "why": st.column_config.TextColumn(width="large"),
        },
    )
    if len(rows) > _SEARCHED:
        _set_in_bulk(draft, roles, names)


def _notes(findings: Sequence[Finding]) -> dict[str, str]:
    """By column, what was found about it."""
    notes: dict[str, str] = {}
    for finding in findings:
        if finding.column is not None:
            text = finding.message.removeprefix(f"Column '{finding.column}' ")
            notes[finding.column] = f"{notes[finding.column]} {text}" if finding.column in notes else text
    return notes


def _rows(roles: Mapping[str, str], suggestion: Suggestion, counts: Counts, notes: Mapping[str, str]) -> pd.DataFrame:
    entries = suggestion.columns
    return pd.DataFrame(
        {
            "column": [entry.column for entry in entries],
            "role": [roles[entry.column] for entry in entries],
            "holds": [entry.kind for entry in entries],
            "values": [counts.distinct[entry.column] for entry in entries],
            "missing": [counts.missing[entry.column] for entry in entries],
            "such as": [counts.examples[entry.column] for entry in entries],
            "why": [notes.get(entry.column) or _reason(entry) for entry in entries],
            "found": [entry.column in notes for entry in entries],
        }
    )


def _reason(entry: ColumnSuggestion) -> str:
    return entry.reason if not entry.reason or _is_likely(entry) else f"it {entry.reason}"


def _narrowed(draft: Draft, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are searched for, in the order that is asked for."""
    search, which, kinds, order = st.columns([3, 3, 3, 2])
    key = draft.key
    text = search.text_input("Search", placeholder="part of a name", key=f"search-{key}").strip().casefold()
    filters = [*ROLES, *(["something was found"] if rows["found"].any() else [])]
    wanted = which.multiselect("Show only", filters, key=f"only-{key}", placeholder="all roles")
    held = kinds.multiselect("that hold", sorted(set(rows["holds"])), key=f"kinds-{key}", placeholder="anything")
    by = order.selectbox("Sort by", _SORTS, key=f"sort-{key}")
    return narrow(rows, text, wanted, held, by)


def narrow(rows: pd.DataFrame, text: str, wanted: Sequence[str], held: Sequence[str], by: str) -> pd.DataFrame:
    """The rows whose name has the text, of some roles (or with something found) and kinds, sorted."""
    kept = rows["column"].map(lambda name: text in str(name).casefold())
    roles = [role for role in wanted if role in ROLES]
    if roles:
        kept &= rows["role"].isin(roles)
    if len(roles) < len(wanted):
        kept &= rows["found"]
    if held:
        kept &= rows["holds"].isin(held)
    sorts: dict[str, tuple[str, bool]] = {
        "name": ("column", True),
        "kind": ("holds", True),
        "most missing cells": ("missing", False),
        "most values": ("values", False),
    }
    found = rows[kept]
    if by in sorts:
        column, ascending = sorts[by]
        found = found.sort_values(column, ascending=ascending, kind="stable")
    return found.drop(columns="found").reset_index(drop=True)


def _set_in_bulk(draft: Draft, roles: Mapping[str, str], names: Sequence[str]) -> None:
    """Two buttons for all columns that are shown; sensitive columns, the label and scores stay what they are."""
    plain = [name for name in names if roles[name] in ("feature", "ignore")]
    said, ignore, use, _ = st.columns([3, 2, 2, 3], vertical_alignment="center")
    said.caption(f"{counted(len(names), 'column')} shown, {len(plain)} of them features or ignored.")
    for place, role, label in ((ignore, "ignore", "Ignore all shown"), (use, "feature", "Use all shown")):
        changed = {name: role for name in plain if roles[name] != role}
        place.button(
            label,
            key=f"bulk-{role}-{draft.key}",
            disabled=not changed,
            width="stretch",
            on_click=set_roles,
            args=(draft, changed, f"{counted(len(changed), 'column')}: now {role}."),
        )


def _edited(draft: Draft, key: str, names: Sequence[str], begun: Mapping[str, str]) -> None:
    """What a person typed into the table; a role of one column alone moves."""
    edits: Mapping[int, Mapping[str, str]] = st.session_state[key]["edited_rows"]
    before: dict[str, str] = st.session_state[_place(draft)][1]
    typed = {name: edits.get(place, {}).get("role", begun[name]) for place, name in enumerate(names)}
    after = dict(before)
    for name, role in typed.items():
        if role != before[name]:
            several = sum(held == "sensitive" for held in after.values()) > 1
            after = with_role(after, name, role, beside=several)
    changed = {name for name in after if after[name] != before[name]}
    if all({before[name], after[name]} <= {"feature", "ignore"} for name in changed):  # the table shows it already
        st.session_state[_place(draft)] = (st.session_state[_place(draft)][0], after)
        return
    moved = [as_text(f"'{name}'", 60) for name in after if name in changed and after[name] != typed.get(name)]
    more = "To compare both, add another sensitive column."
    set_roles(draft, after, f"The role has moved: {listed(moved)} is a feature again. {more}" if moved else "")
