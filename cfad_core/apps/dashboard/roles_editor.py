"""The widgets that say what each column is for, with suggestions already filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.state import Draft
from cfad_core.apps.dashboard.text import as_text
from cfad_core.core.formats import percent
from cfad_core.data.findings import Finding, Severity
from cfad_core.data.groups import matches
from cfad_core.data.kinds import kind_of
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.suggestions import Suggestion, suggest_anomaly, suggest_groups, suggest_roles
from cfad_core.data.validation import MIN_TRAINING_ROWS

ALL_OTHERS = "all others"
_ROLES = ["feature", "sensitive", "label", "ignore"]
_MAX_VALUES = 200
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
    suggestion = _suggest(draft.key, draft.table)
    columns = _edit_columns(draft, suggestion)
    if len(columns["sensitive"]) != 1 or len(columns["label"]) > 1:
        _ask_to_complete(columns, len(draft.table))
        return None
    sensitive, label = columns["sensitive"][0], next(iter(columns["label"]), None)
    left, right = st.columns(2)
    with left:
        groups, cut = _choose_groups(draft, sensitive)
    with right:
        anomaly = _choose_anomaly(draft, label)
    ignore = tuple(columns["ignore"])
    return ColumnRoles(sensitive, groups=groups, cut=cut, label=label, anomaly=anomaly, ignore=ignore)


@st.cache_data(show_spinner="Looking at the columns ...", max_entries=8)
def _suggest(key: str, _table: pd.DataFrame) -> Suggestion:  # noqa: ARG001 - the cache's key
    return suggest_roles(_table)


def _edit_columns(draft: Draft, suggestion: Suggestion) -> dict[str, list[str]]:
    """The columns of each role, from a table that the person can edit."""
    now = _roles_now(draft, suggestion)
    st.caption(
        "Suggested from names and contents; change what is wrong. One column is **sensitive**: the audit asks what "
        "would change had a person belonged to its other group. A **label** says who really was an anomaly, if you "
        "know. **Ignore** what is not a property of a person."
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
    chosen = dict.fromkeys(draft.roles.features(draft.table), "feature") | dict.fromkeys(draft.roles.ignore, "ignore")
    chosen[draft.roles.sensitive] = "sensitive"
    if draft.roles.label is not None:
        chosen[draft.roles.label] = "label"
    return chosen


def _ask_to_complete(columns: dict[str, list[str]], rows: int) -> None:
    """What the person must change before the roles say anything."""
    if rows < MIN_TRAINING_ROWS:
        st.error(f"This table has {rows} rows; at least {MIN_TRAINING_ROWS} are needed.")
    if not columns["sensitive"]:
        st.warning("Choose the sensitive column: click its cell under 'role', and pick 'sensitive'.")
    elif len(columns["sensitive"]) > 1:
        st.warning(f"One column can be sensitive at a time; now {len(columns['sensitive'])} are.")
    if len(columns["label"]) > 1:
        st.warning(f"One column can be the label; now {len(columns['label'])} are.")


def _choose_groups(draft: Draft, sensitive: str) -> tuple[tuple[str, ...] | None, float | None]:
    """The values of the two groups, or the cut point between them."""
    column, key = draft.table[sensitive], f"{draft.key}-{sensitive}"
    groups, cut = suggest_groups(column)
    if draft.roles is not None and draft.roles.sensitive == sensitive:
        groups, cut = draft.roles.groups, draft.roles.cut
    can_be_cut = kind_of(column) == "number" and column.nunique() > 2
    if can_be_cut and st.toggle("Compare numbers under and over a cut point", value=cut is not None, key=f"by-{key}"):
        middle = float(cut if cut is not None else pd.to_numeric(column, errors="coerce").median())
        return None, st.number_input("Cut point: under it against the others", value=middle, key=f"cut-{key}")
    return _choose_values(column, groups, key), None


def _choose_values(column: pd.Series[Any], suggested: tuple[str, ...] | None, key: str) -> tuple[str, ...] | None:
    """The two values to compare, or one against all others; None of an empty column."""
    values = _frequent(column)
    if not values:
        return None
    first = values.index(suggested[0]) if suggested and suggested[0] in values else 0
    one = st.selectbox("Compare", values, index=first, key=f"a-{key}")
    others = [*(value for value in values if value != one), ALL_OTHERS]
    second = others[0]
    if suggested and one == suggested[0]:
        if len(suggested) == 1:
            second = ALL_OTHERS
        elif suggested[1] in others:
            second = suggested[1]
    two = st.selectbox("with", others, index=others.index(second), key=f"b-{key}-{one}")
    return (one,) if two == ALL_OTHERS else (one, two)


def _choose_anomaly(draft: Draft, label: str | None) -> str | None:
    """The label's value that means anomaly; None without a label."""
    if label is None:
        st.caption("No label: everybody counts as normal, and there will be no F1 or AUC.")
        return None
    values = _frequent(draft.table[label])
    guess = suggest_anomaly(draft.table[label])
    if draft.roles is not None and draft.roles.label == label:
        guess = draft.roles.anomaly
    index = values.index(guess) if guess in values else 0
    return st.selectbox("The label's value that means anomaly", values, index=index, key=f"anomaly-{draft.key}-{label}")


def _frequent(column: pd.Series[Any]) -> list[str]:
    return [str(value) for value in column.dropna().value_counts().index[:_MAX_VALUES]]


def show_sizes(table: pd.DataFrame, roles: ColumnRoles) -> None:
    """Group sizes and label rates, before any metric; the roles' groups must be settled."""
    signs = roles.grouping.signs(table[roles.sensitive])
    columns = st.columns(4)
    for place, sign, group in zip(columns, (-1.0, 1.0), roles.grouping.names, strict=False):
        inside = signs == sign
        rate = None
        if roles.label is not None and inside.any():
            rate = float(matches(table.loc[inside, roles.label], str(roles.anomaly)).mean())
        place.metric(as_text(group, 40), f"{int(inside.sum()):,} rows", border=True)
        place.caption(f"anomalies among them: {percent(rate)}")
    columns[2].metric("left out", f"{int((signs == 0.0).sum()):,} rows", border=True)
    columns[2].caption("of neither group")
    columns[3].metric("attributes", len(roles.features(table)), border=True)
    columns[3].caption("that the detector sees")


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
