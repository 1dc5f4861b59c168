"""What was found about the table that is being prepared: ranked, each once, with a click that mends it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import streamlit as st

from cfad_core.apps.dashboard.column_roles import move_roles, set_roles
from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.apps.dashboard.state import Draft, keep
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.data.findings import Finding, Severity
from cfad_core.data.repairs import rows_of_totals, written_numbers
from cfad_core.data.tables import Tables

_MOST_OPEN = 4  # lines of one heading that are shown at once
_SAYS_MORE = ("label-leak", "sensitive-copied", "same-column", "fixed-column")  # than that cells are missing
_SAYS_LESS = ("missing", "high-cardinality")


@dataclass(frozen=True)
class _Heading:
    """What findings of one kind are about, and whether their columns can be left out with a click."""

    title: str
    why: str = ""
    can_ignore: bool = False


_HEADINGS: Mapping[str, _Heading] = {
    "label-leak": _Heading(
        "The outcome is given away",
        "Such a column is written down after the outcome, or because of it: a detector would repeat what is known.",
        can_ignore=True,
    ),
    "sensitive-copied": _Heading(
        "The group is given away",
        "Whoever knows this column knows the group. Keep it if a detector may use it; its twin changes with the group.",
        can_ignore=True,
    ),
    "same-column": _Heading(
        "Two columns say the same", "Causes cannot be distinguished between copies: keep one of them.", can_ignore=True
    ),
    "fixed-column": _Heading(
        "A column follows from others", "It adds nothing, and hides what causes what: leave it out.", can_ignore=True
    ),
    "mostly-anomalies": _Heading("Most people would be anomalies"),
    "numbers-as-text": _Heading("Numbers are written as text", "As text every number is a category of its own."),
    "totals": _Heading("The last rows are no people"),
    "duplicates": _Heading("Some people are alike"),
    "missing": _Heading("Cells are missing", "Nothing has to be done about a few of them."),
    "constant": _Heading("A column never changes", can_ignore=True),
    "high-cardinality": _Heading("A column has many values", "The rarer ones are taken together.", can_ignore=True),
    "all-missing": _Heading("A column is empty", can_ignore=True),
    "nearly-empty": _Heading("A column is nearly empty", can_ignore=True),
    "free-text": _Heading("A column holds names or free text", can_ignore=True),
    "mixed": _Heading("Numbers and text are mixed", can_ignore=True),
    "infinite": _Heading("A column holds infinite numbers", can_ignore=True),
    "small-group": _Heading("A group is small"),
    "few-rows": _Heading("There are few rows"),
    "rows-outside-groups": _Heading("Some people belong to no group"),
    "merged-values": _Heading("Values were taken together"),
}
_RANK = {code: place for place, code in enumerate(_HEADINGS)}
_SEVERITIES: Mapping[Severity, str] = {
    "error": "To be mended first",
    "warning": "Worth a look",
    "info": "Good to know",
}


def show_findings(draft: Draft, findings: Sequence[Finding]) -> None:
    """Everything that was found, the worst first, what is alike under one heading."""
    st.subheader("What was found", anchor=False)
    if not findings:
        st.markdown("Nothing speaks against this table.")
        return
    named = {finding.column for finding in findings if finding.code in _SAYS_MORE}
    findings = [one for one in findings if one.code not in _SAYS_LESS or one.column not in named]
    order: dict[str, int] = {severity: place for place, severity in enumerate(_SEVERITIES)}
    ranked = sorted(findings, key=lambda one: (order[one.severity], _RANK.get(one.code, len(_RANK)), one.code))
    for severity, some in groupby(ranked, key=lambda one: one.severity):
        alike = [list(those) for _, those in groupby(some, key=lambda one: one.code)]
        place = st.container() if severity != "info" else st.expander(f"{_SEVERITIES[severity]}: {_count(alike)}")
        with place:
            if severity != "info":
                st.markdown(f"**{_SEVERITIES[severity]}**: {_count(alike)}")
            for those in alike:
                _show_alike(draft, those)


def _count(alike: Sequence[Sequence[Finding]]) -> str:
    return counted(len(alike), "thing")


def _show_alike(draft: Draft, alike: Sequence[Finding]) -> None:
    """Findings of one kind: what they are, each column with its remedy, and one click for all."""
    first = alike[0]
    heading = _HEADINGS.get(first.code, _Heading(""))
    with st.container(border=True, key=f"finding-{first.severity}-{first.code}"):
        words, action = st.columns([4, 1], vertical_alignment="center")
        icon = {"error": "🛑 ", "warning": "⚠️ ", "info": ""}[first.severity]
        words.markdown(f"{icon}**{heading.title}**. {heading.why}" if heading.title else icon)
        with action:
            _show_remedy(draft, first, [one.column for one in alike if one.column is not None], heading)
        if first.code == "missing":
            for _, text in merge_alike(alike):
                st.caption(text)
            return
        for one in alike[:_MOST_OPEN]:
            _show_one(draft, one, heading, alone=len(alike) == 1)
        if len(alike) > _MOST_OPEN:
            with st.expander(f"{len(alike) - _MOST_OPEN} more"):
                for one in alike[_MOST_OPEN:]:
                    _show_one(draft, one, heading, alone=False)


def _show_one(draft: Draft, one: Finding, heading: _Heading, *, alone: bool) -> None:
    text = as_text(one.message if heading.can_ignore else one.text, 500)
    if alone or not heading.can_ignore or one.column is None:
        st.caption(text)
        return
    words, action = st.columns([4, 1], vertical_alignment="center")
    words.caption(text)
    with action:
        _ignore(draft, [one.column], f"{one.code}-{one.column}", "Ignore it")


def _show_remedy(draft: Draft, first: Finding, columns: list[str], heading: _Heading) -> None:
    """The click that mends findings of one kind, where there is one."""
    if heading.can_ignore and columns:
        label = "Ignore it" if len(columns) == 1 else f"Ignore all {len(columns)}"
        _ignore(draft, columns, f"all-{first.code}", label)
    elif first.code == "numbers-as-text":
        _button("Read as numbers", first.code, _read_as_numbers, draft, columns)
    elif first.code == "totals":
        _button("Leave them out", first.code, _drop_totals, draft)
    elif first.code == "duplicates" and first.severity == "warning":
        _button("Keep one of each", first.code, _drop_repeated, draft)


def _ignore(draft: Draft, columns: Sequence[str], key: str, label: str) -> None:
    changed = dict.fromkeys(columns, "ignore")
    said = f"{counted(len(columns), 'column')} ignored. The table below says which; change it there."
    st.button(label, key=f"ignore-{key}-{draft.key}", width="stretch", on_click=set_roles, args=(draft, changed, said))


def _button(label: str, code: str, act: object, *arguments: object) -> None:
    st.button(label, key=f"mend-{code}", width="stretch", on_click=act, args=arguments)  # type: ignore[arg-type]


def _read_as_numbers(draft: Draft, columns: Sequence[str]) -> None:
    table = draft.table
    read = {name: numbers for name in columns if (numbers := written_numbers(table[name])) is not None}
    with_tables(draft, dataclasses.replace(Tables.of(table.assign(**read), draft.test)))


def _drop_totals(draft: Draft) -> None:
    table = draft.table
    with_tables(draft, Tables.of(table[~rows_of_totals(table)].reset_index(drop=True), draft.test))


def _drop_repeated(draft: Draft) -> None:
    with_tables(draft, Tables.of(draft.table.drop_duplicates(ignore_index=True), draft.test))


def with_tables(draft: Draft, tables: Tables, names: Mapping[str, str] | None = None) -> None:
    """The draft with a table that was mended, or with other names; what its columns are for stays."""
    new = dataclasses.replace(draft, tables=tables, roles=None)
    move_roles(draft, new, names)
    keep(new)
