"""The widgets that say what each column is for, with suggestions already filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.column_roles import ROLES, choose_columns
from cfad_core.apps.dashboard.group_editor import DraftColumn, choose_attribute
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.arrays import Bools
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.core.states import States
from cfad_core.data.attributes import Attribute
from cfad_core.data.findings import Finding, Severity
from cfad_core.data.group_names import as_values, group_name, with_names
from cfad_core.data.groups import OUTSIDE, Groups, matches
from cfad_core.data.roles import MAX_ATTRIBUTES, ColumnRoles, roles_of
from cfad_core.data.suggestions import Suggestion, suggest_anomaly, suggest_attribute, suggest_roles
from cfad_core.data.tables import Tables
from cfad_core.data.validation import MIN_TRAINING_ROWS, Validation, validate

# Findings that are alike but for their column, in one line
_ALIKE = {
    "missing": "Columns with missing cells, which are filled with the median or are a category of their own",
    "constant": "Columns that never change, so they say nothing about anybody",
    "high-cardinality": "Columns with many values, of which the most frequent are distinguished",
    "label-leak": "Columns that give the label away",
    "sensitive-copied": "Columns that give the group away",
    "same-column": "Columns that say what another one says",
    "fixed-column": "Columns that one or two others determine",
    "small-group": "Small groups",
}


def edit_roles(draft: Draft, suggestion: Suggestion, columns: Mapping[str, str]) -> ColumnRoles | None:
    """The roles as the person sets them, with their groups; None while they are incomplete."""
    by_role = {role: [name for name, held in columns.items() if held == role] for role in ROLES}
    choose_columns(draft, columns, suggestion)
    sensitive, label = by_role["sensitive"], next(iter(by_role["label"]), None)
    if not 1 <= len(sensitive) <= MAX_ATTRIBUTES:
        _ask_to_complete(len(sensitive), draft.rows)
        return None
    left, right = st.columns(2)
    with left:
        attributes = _choose_groups(draft, sensitive)
    with right:
        anomaly = _choose_anomaly(draft, label)
    score = next(iter(by_role["score"]), None)
    return None if len(attributes) < len(sensitive) else roles_of(attributes, label, anomaly, by_role["ignore"], score)


def suggested(draft: Draft) -> Suggestion:
    """A first guess at what the columns of a draft are for; computed once."""
    return _suggest(draft.key, draft.tables)


@st.cache_data(show_spinner="Looking at the columns ...", max_entries=8)
def _suggest(key: str, _tables: Tables) -> Suggestion:  # noqa: ARG001 - the cache's key
    return suggest_roles(_tables.table)


def _ask_to_complete(sensitive: int, rows: int) -> None:
    """What the person must change before the roles say anything."""
    if rows < MIN_TRAINING_ROWS:
        st.error(f"This table has {rows} rows; at least {MIN_TRAINING_ROWS} are needed.")
    if not sensitive:
        st.warning(
            "Choose the sensitive column: the one that says which group a person belongs to, such as sex. No column is "
            "named like one."
        )
    else:
        st.warning(f"At most {MAX_ATTRIBUTES} columns can be sensitive; now {sensitive} are.")


def _choose_groups(draft: Draft, columns: Sequence[str]) -> list[Attribute]:
    """The groups of each sensitive column; fewer while some cannot be read."""
    known = {} if draft.roles is None else {one.column: one for one in draft.roles.attributes}
    chosen = []
    for name in columns:
        if len(columns) > 1:
            st.markdown(f"**{as_text(name, 60)}**")
        begin = as_values(known[name]) if name in known else _suggest_groups(draft.key, name, draft.tables)
        chosen.append(choose_attribute(DraftColumn(draft.tables, name), begin, f"{draft.key}-{name}"))
    return [with_names(one) for one in chosen if one is not None]


@st.cache_data(show_spinner=False, max_entries=32)
def _suggest_groups(key: str, name: str, _tables: Tables) -> Attribute:  # noqa: ARG001 - the cache's key
    return suggest_attribute(_tables.column(name))


@st.cache_data(show_spinner=False, max_entries=32)
def _suggest_anomaly(key: str, name: str, _tables: Tables) -> str | None:  # noqa: ARG001 - the cache's key
    return suggest_anomaly(_tables.column(name))


def _choose_anomaly(draft: Draft, label: str | None) -> str | None:
    """The label's value that means anomaly; None without a label."""
    if label is None:
        st.caption("No label: the audit cannot say how well a detector works, only whether it treats groups alike.")
        return None
    values = list(DraftColumn(draft.tables, label).facts.values)
    guess = _suggest_anomaly(draft.key, label, draft.tables)
    if draft.roles is not None and draft.roles.label == label:
        guess = draft.roles.anomaly
    index = values.index(guess) if guess in values else 0
    return st.selectbox(
        "The label's value that means anomaly",
        values,
        index=index,
        key=f"anomaly-{draft.key}-{label}",
        format_func=lambda value: group_name(label, value),
    )


def check(draft: Draft, roles: ColumnRoles) -> Validation:
    """Whether the draft's tables can be audited in these roles, and what is worth knowing; computed once."""
    return _check(draft.tables.digest, roles, draft.tables)


@st.cache_data(show_spinner="Checking the table ...", max_entries=32)
def _check(digest: str, roles: ColumnRoles, _tables: Tables) -> Validation:  # noqa: ARG001 - the cache's key
    return validate(_tables.table, roles, _tables.test)


@dataclass(frozen=True)
class GroupSize:
    """How many rows a group has, and the share of anomalies among them."""

    column: str
    group: str
    rows: int
    rate: float | None


@dataclass(frozen=True)
class Sizes:
    """Of all groups of all sensitive columns, of those outside, and of each combination of groups."""

    groups: tuple[GroupSize, ...]
    outside: int
    combinations: tuple[int, ...]


def show_sizes(draft: Draft, roles: ColumnRoles) -> None:
    """Group sizes and label rates, before any metric; the roles' groups must be settled."""
    found, groupings = _count(draft.key, roles, draft.tables), roles.groupings
    columns = list(st.columns(4))
    if [len(groups.names) for groups in groupings] == [2]:
        for place, group in zip(columns, found.groups, strict=False):
            place.metric(as_text(group.group, 40), f"{group.rows:,} rows", border=True)
            if roles.label is not None:
                place.caption(f"anomalies among them: {percent(group.rate)}")
        outside = "of neither group"
    else:
        st.dataframe(_size_rows(found.groups, labelled=roles.label is not None), hide_index=True)
        columns, outside = columns[2:] + columns[:2], "of no group"
        if len(groupings) > 1:
            _show_smallest(found.combinations, groupings)
    columns[2].metric("left out", f"{found.outside:,} rows", border=True)
    columns[2].caption(outside)
    columns[3].metric("attributes", len(roles.features(draft.first)), border=True)
    columns[3].caption("that the detector sees")


@st.cache_data(show_spinner=False, max_entries=32)
def _count(key: str, roles: ColumnRoles, _tables: Tables) -> Sizes:  # noqa: ARG001 - the cache's key
    groupings = roles.groupings
    is_anomaly = None if roles.label is None else matches(_tables.column(roles.label), str(roles.anomaly))
    levels = {groups.column: groups.codes(_tables.column(groups.column)) for groups in groupings}
    sizes = [
        GroupSize(groups.column, name, *_size(levels[groups.column] == k, is_anomaly))
        for groups in groupings
        for k, name in enumerate(groups.names)
    ]
    states = States(tuple(len(groups.names) for groups in groupings))
    inside = np.all([codes != OUTSIDE for codes in levels.values()], axis=0)
    state = states.of_levels([codes[inside] for codes in levels.values()])
    counts = np.bincount(state, minlength=states.count)
    return Sizes(tuple(sizes), int((~inside).sum()), tuple(int(count) for count in counts))


def _size_rows(sizes: Sequence[GroupSize], *, labelled: bool) -> pd.DataFrame:
    """A row for each group of each sensitive column."""
    found = []
    for size in sizes:
        row = {"sensitive": size.column, "group": size.group, "rows": f"{size.rows:,}"}
        found.append({**row, "anomalies among them": percent(size.rate)} if labelled else row)
    return pd.DataFrame(found)


def _size(inside: Bools, is_anomaly: Bools | None) -> tuple[int, float | None]:
    """How many rows (n,) are inside, and the share of anomalies among them."""
    rows = int(inside.sum())
    return rows, None if is_anomaly is None or not rows else float(is_anomaly[inside].mean())


def _show_smallest(counts: Sequence[int], groupings: Sequence[Groups]) -> None:
    """The combination of groups that fewest people have."""
    states = States(tuple(len(groups.names) for groups in groupings))
    fewest = int(np.argmin(counts))
    names = [groups.names[k] for groups, k in zip(groupings, states.levels[fewest], strict=True)]
    st.caption(
        f"Of {states.count} combinations of groups, the smallest is {as_text(', '.join(names))}: "
        f"{counts[fewest]:,} rows."
    )


def merge_alike(findings: Sequence[Finding]) -> list[tuple[Severity, str]]:
    """Severity and text; more than two of one kind become one line that names the columns."""
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.code, []).append(finding)
    lines: list[tuple[Severity, str]] = []
    for code, alike in kinds.items():
        if len(alike) <= 2 or code not in _ALIKE:
            lines += [(finding.severity, as_text(finding.text, 500)) for finding in alike]
        else:
            columns = ", ".join(_counted(finding) for finding in alike)
            lines.append((alike[0].severity, f"{_ALIKE[code]}: {columns}."))
    return lines


def _counted(finding: Finding) -> str:
    """A column, and in how many rows (or values) something was found."""
    return as_text(finding.column, 40) + ("" if finding.count is None else f" ({finding.count:,})")
