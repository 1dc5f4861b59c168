"""The widgets that say what each column is for, with suggestions already filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.group_editor import DraftColumn, choose_attribute
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.arrays import Bools
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.core.states import States
from cfad_core.data.attributes import Attribute
from cfad_core.data.findings import Finding, Severity
from cfad_core.data.groups import OUTSIDE, Groups, matches
from cfad_core.data.roles import MAX_ATTRIBUTES, ColumnRoles, roles_of
from cfad_core.data.suggestions import Suggestion, suggest_anomaly, suggest_attribute, suggest_roles
from cfad_core.data.tables import Tables
from cfad_core.data.validation import MIN_TRAINING_ROWS, Validation, validate

_ROLES = ["feature", "sensitive", "label", "score", "ignore"]
# Findings that are alike but for their column, in one line
_ALIKE = {
    "missing": "Columns with missing cells, which are filled with the median or are a category of their own",
    "constant": "Columns that never change, so they say nothing about anybody",
    "high-cardinality": "Columns with many values, of which the most frequent are distinguished",
    "label-leak": "Columns that determine the label exactly",
    "sensitive-copied": "Columns that determine the group exactly",
    "small-group": "Small groups",
}


def edit_roles(draft: Draft) -> ColumnRoles | None:
    """The roles as the person sets them; None while they are incomplete."""
    suggestion = _suggest(draft.key, draft.tables)
    columns = _edit_columns(draft, suggestion)
    if not 1 <= len(columns["sensitive"]) <= MAX_ATTRIBUTES or max(len(columns["label"]), len(columns["score"])) > 1:
        _ask_to_complete(columns, draft.rows)
        return None
    sensitive, label = columns["sensitive"], next(iter(columns["label"]), None)
    left, right = st.columns(2)
    with left:
        attributes = _choose_groups(draft, sensitive)
    with right:
        anomaly = _choose_anomaly(draft, label)
    score = next(iter(columns["score"]), None)
    return None if len(attributes) < len(sensitive) else roles_of(attributes, label, anomaly, columns["ignore"], score)


@st.cache_data(show_spinner="Looking at the columns ...", max_entries=8)
def _suggest(key: str, _tables: Tables) -> Suggestion:  # noqa: ARG001 - the cache's key
    return suggest_roles(_tables.table)


def _edit_columns(draft: Draft, suggestion: Suggestion) -> dict[str, list[str]]:
    """The columns of each role, from a table that the person can edit."""
    now = _roles_now(draft, suggestion)
    st.caption(
        "Suggested from names and contents; change what is wrong. One column is **sensitive**, or up to "
        f"{MAX_ATTRIBUTES} are: the audit asks what would change had a person belonged to another group. A "
        "**label** says who really was an anomaly, if you know. A **score** (or a flag, 0 or 1) is what a detector "
        "that you have says of each person. **Ignore** what is not a property of a person."
    )
    rows = pd.DataFrame(
        {
            "column": [entry.column for entry in suggestion.columns],
            "role": [now[entry.column] for entry in suggestion.columns],
            "holds": [entry.kind for entry in suggestion.columns],
            "why": [entry.reason and f"it {entry.reason}" for entry in suggestion.columns],
        }
    )
    edited = st.data_editor(
        rows,
        hide_index=True,
        width="stretch",
        height=min(420, 38 + 35 * len(rows)),
        disabled=["column", "holds", "why"],
        key=f"roles-{draft.key}",
        column_config={"role": st.column_config.SelectboxColumn(options=_ROLES, required=True)},
    )
    return {role: edited.loc[edited["role"] == role, "column"].tolist() for role in _ROLES}


def _roles_now(draft: Draft, suggestion: Suggestion) -> dict[str, str]:
    """The role of each column: as chosen before, else as suggested."""
    if draft.roles is None:
        return {entry.column: entry.role for entry in suggestion.columns}
    chosen = dict.fromkeys(draft.roles.features(draft.first), "feature") | dict.fromkeys(draft.roles.ignore, "ignore")
    chosen |= dict.fromkeys(draft.roles.sensitive_columns, "sensitive")
    for role, column in (("label", draft.roles.label), ("score", draft.roles.score)):
        if column is not None:
            chosen[column] = role
    return chosen


def _ask_to_complete(columns: dict[str, list[str]], rows: int) -> None:
    """What the person must change before the roles say anything."""
    if rows < MIN_TRAINING_ROWS:
        st.error(f"This table has {rows} rows; at least {MIN_TRAINING_ROWS} are needed.")
    if not columns["sensitive"]:
        st.warning("Choose the sensitive column: click its cell under 'role', and pick 'sensitive'.")
    elif len(columns["sensitive"]) > MAX_ATTRIBUTES:
        st.warning(f"At most {MAX_ATTRIBUTES} columns can be sensitive; now {len(columns['sensitive'])} are.")
    for role, what in (("label", "be the label"), ("score", "hold the scores of your detector")):
        if len(columns[role]) > 1:
            st.warning(f"One column can {what}; now {len(columns[role])} are to.")


def _choose_groups(draft: Draft, columns: Sequence[str]) -> list[Attribute]:
    """The groups of each sensitive column; fewer while some cannot be read."""
    known = {} if draft.roles is None else {one.column: one for one in draft.roles.attributes}
    chosen = []
    for name in columns:
        if len(columns) > 1:
            st.markdown(f"**{as_text(name, 60)}**")
        begin = known[name] if name in known else _suggest_groups(draft.key, name, draft.tables)
        chosen.append(choose_attribute(DraftColumn(draft.tables, name), begin, f"{draft.key}-{name}"))
    return [one for one in chosen if one is not None]


@st.cache_data(show_spinner=False, max_entries=32)
def _suggest_groups(key: str, name: str, _tables: Tables) -> Attribute:  # noqa: ARG001 - the cache's key
    return suggest_attribute(_tables.column(name))


@st.cache_data(show_spinner=False, max_entries=32)
def _suggest_anomaly(key: str, name: str, _tables: Tables) -> str | None:  # noqa: ARG001 - the cache's key
    return suggest_anomaly(_tables.column(name))


def _choose_anomaly(draft: Draft, label: str | None) -> str | None:
    """The label's value that means anomaly; None without a label."""
    if label is None:
        st.caption("No label: everybody counts as normal, and there will be no F1 or AUC.")
        return None
    values = list(DraftColumn(draft.tables, label).facts.values)
    guess = _suggest_anomaly(draft.key, label, draft.tables)
    if draft.roles is not None and draft.roles.label == label:
        guess = draft.roles.anomaly
    index = values.index(guess) if guess in values else 0
    return st.selectbox("The label's value that means anomaly", values, index=index, key=f"anomaly-{draft.key}-{label}")


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


def show_findings(findings: Sequence[Finding]) -> None:
    """Errors, then what is worth knowing; the same of many columns in one line."""
    for finding in findings:
        if finding.severity == "error":
            st.error(as_text(finding.text, 500))
    for severity, text in merge_alike([finding for finding in findings if finding.severity != "error"]):
        (st.warning if severity == "warning" else st.info)(text)


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
            columns = ", ".join(f"{as_text(finding.column, 40)} ({finding.count})" for finding in alike)
            lines.append((alike[0].severity, f"{_ALIKE[code]}: {columns}."))
    return lines
