"""The widgets that say what each column is for, with suggestions already filled in."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.state import Draft
from cfad_core.apps.dashboard.text import as_text
from cfad_core.core.formats import percent
from cfad_core.data.encoding import kind_of
from cfad_core.data.findings import Finding
from cfad_core.data.groups import matches
from cfad_core.data.roles import ColumnRoles, resolve_roles, role_problems
from cfad_core.data.suggestions import Suggestion, suggest_anomaly, suggest_groups, suggest_roles
from cfad_core.data.validation import MIN_TRAINING_ROWS

ALL_OTHERS = "all others"
_ROLES = ["feature", "sensitive", "label", "ignore"]
_MAX_VALUES = 200


def edit_roles(draft: Draft) -> tuple[ColumnRoles | None, tuple[str, ...]]:
    """The roles as the person sets them (None while they cannot be told), and columns without causes."""
    name = draft.key
    suggestion = _suggest(name, draft.table)
    roles_now = _roles_now(draft, suggestion)
    st.caption(
        "Suggested by name and content; change what is wrong. One column is **sensitive** (whose value is "
        "flipped); a "
        "**label** says who really was an anomaly, if you know; **ignore** what is no property of a person."
    )
    rows = pd.DataFrame(
        {
            "column": [entry.column for entry in suggestion.columns],
            "role": [roles_now[entry.column] for entry in suggestion.columns],
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
        key=f"roles-{name}",
        column_config={"role": st.column_config.SelectboxColumn(options=_ROLES, required=True)},
    )
    named = {role: edited.loc[edited["role"] == role, "column"].tolist() for role in _ROLES}
    if len(named["sensitive"]) != 1 or len(named["label"]) > 1:
        if len(draft.table) < MIN_TRAINING_ROWS:
            st.error(f"This table has {len(draft.table)} rows; at least {MIN_TRAINING_ROWS} are needed.")
        if not named["sensitive"]:
            st.warning("Choose the sensitive column: click its cell under 'role', and pick 'sensitive'.")
        elif len(named["sensitive"]) > 1:
            st.warning(f"One column can be sensitive at a time; now {len(named['sensitive'])} are.")
        if len(named["label"]) > 1:
            st.warning(f"One column can be the label; now {len(named['label'])} are.")
        return None, ()
    sensitive = named["sensitive"][0]
    label = named["label"][0] if named["label"] else None
    groups, cut, anomaly = _groups_and_anomaly(draft, name, sensitive, label)
    roles = ColumnRoles(sensitive, groups=groups, cut=cut, label=label, anomaly=anomaly, ignore=tuple(named["ignore"]))
    roots = tuple(column for column in suggestion.roots if column in roles.features(draft.table))
    return roles, roots


@st.cache_data(show_spinner="Looking at the columns ...", max_entries=8)
def _suggest(name: str, _table: pd.DataFrame) -> Suggestion:  # noqa: ARG001 - the key
    return suggest_roles(_table)


def _roles_now(draft: Draft, suggestion: Suggestion) -> dict[str, str]:
    """The role of each column: as chosen before, else as suggested."""
    if draft.roles is None:
        return {entry.column: entry.role for entry in suggestion.columns}
    chosen = dict.fromkeys(draft.roles.features(draft.table), "feature") | dict.fromkeys(draft.roles.ignore, "ignore")
    chosen[draft.roles.sensitive] = "sensitive"
    if draft.roles.label is not None:
        chosen[draft.roles.label] = "label"
    return chosen


def _groups_and_anomaly(
    draft: Draft, name: str, sensitive: str, label: str | None
) -> tuple[tuple[str, ...] | None, float | None, str | None]:
    left, right = st.columns(2)
    column = draft.table[sensitive]
    suggested, cut = suggest_groups(column)
    if draft.roles is not None and draft.roles.sensitive == sensitive:
        suggested, cut = draft.roles.groups, draft.roles.cut
    groups = None
    with left:
        by_number = (
            kind_of(column) == "number"
            and column.nunique() > 2
            and st.toggle(
                "Compare numbers under and over a cut point", value=cut is not None, key=f"by-{name}-{sensitive}"
            )
        )
        if by_number:
            middle = float(cut if cut is not None else pd.to_numeric(column, errors="coerce").median())
            cut = st.number_input("Cut point: under it against the others", value=middle, key=f"cut-{name}-{sensitive}")
        else:
            cut = None
            values = [str(value) for value in column.dropna().value_counts().index[:_MAX_VALUES]]
            first = suggested[0] if suggested and suggested[0] in values else next(iter(values), "")
            one = st.selectbox(
                "Compare", values, index=values.index(first) if first in values else 0, key=f"a-{name}-{sensitive}"
            )
            others = [value for value in values if value != one] + [ALL_OTHERS]
            second = others[0]
            if suggested and one == suggested[0]:
                second = ALL_OTHERS if len(suggested) == 1 else suggested[1] if suggested[1] in others else second
            two = st.selectbox("with", others, index=others.index(second), key=f"b-{name}-{sensitive}-{one}")
            groups = (one,) if two == ALL_OTHERS else (one, two)
    anomaly = None
    with right:
        if label is not None:
            values = [str(value) for value in draft.table[label].dropna().value_counts().index[:_MAX_VALUES]]
            guess = (
                draft.roles.anomaly
                if draft.roles and draft.roles.label == label
                else suggest_anomaly(draft.table[label])
            )
            index = values.index(guess) if guess in values else 0
            anomaly = st.selectbox(
                "The label's value that means anomaly", values, index=index, key=f"anomaly-{name}-{label}"
            )
        else:
            st.caption("No label: everybody is taken for normal, and there will be no F1 or AUC.")
    return groups, cut, anomaly


def show_sizes(draft: Draft, roles: ColumnRoles) -> None:
    """Group sizes and label rates, before any metric."""
    if role_problems(draft.table, roles):
        return
    roles = resolve_roles(draft.table, roles)
    signs = roles.grouping.signs(draft.table[roles.sensitive])
    columns = st.columns(4)
    for place, sign, group in zip(columns, (-1.0, 1.0), roles.grouping.names, strict=False):
        inside = signs == sign
        rate = None
        if roles.label is not None and inside.any():
            rate = float(matches(draft.table.loc[inside, roles.label], str(roles.anomaly)).mean())
        place.metric(as_text(group, 40), f"{int(inside.sum()):,} rows", border=True)
        place.caption(f"anomalies among them: {percent(rate)}")
    columns[2].metric("left out", f"{int((signs == 0.0).sum()):,} rows", border=True)
    columns[2].caption("of neither group")
    columns[3].metric("attributes", len(roles.features(draft.table)), border=True)
    columns[3].caption("that the detector sees")


def show_problems(problems: Sequence[Finding]) -> None:
    """What stands in the way, then what is worth knowing; the same of many columns in one line."""
    for problem in problems:
        if problem.severity == "error":
            st.error(as_text(problem.text, 500))
    merged = merge_alike([problem for problem in problems if problem.severity != "error"])
    for severity, text in merged:
        (st.warning if severity == "warning" else st.info)(text)


def merge_alike(problems: Sequence[Finding]) -> list[tuple[str, str]]:
    """Severity and text; more than two of one kind become one line that names the columns."""
    kinds: dict[str, list[Finding]] = {}
    for problem in problems:
        kinds.setdefault(problem.code, []).append(problem)
    lines: list[tuple[str, str]] = []
    for alike in kinds.values():
        if len(alike) <= 2 or alike[0].code not in _KINDS:  # others are not about columns
            lines += [(problem.severity, as_text(problem.text, 500)) for problem in alike]
        else:
            columns = ", ".join(f"{as_text(problem.column, 40)} ({problem.count})" for problem in alike)
            lines.append((alike[0].severity, f"{_KINDS[alike[0].code]}: {columns}."))
    return lines


_KINDS = {
    "missing": "Columns with missing cells, which are filled with the median or are a category of their own",
    "constant": "Columns that never change and tell nothing",
    "high-cardinality": "Columns with many values, of which the most frequent are told apart",
    "label-leak": "Columns that tell the label exactly",
    "sensitive-copied": "Columns that tell the group exactly",
    "small-group": "Small groups",
}
