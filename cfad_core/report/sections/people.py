"""Sections about what was audited: the system, the auditor, the data and the groups."""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.statements import STATEMENTS, Statements
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, counted, listed, percent, suppressed_size
from cfad_core.data.kinds import kind_named
from cfad_core.detectors.registry import METHODS
from cfad_core.report.document import Bullets, Cell, Field, Fields, Section, Table, one_line, sentences, stated
from cfad_core.report.moments import moment
from cfad_core.report.numbers import Number, amount, count, share
from cfad_core.report.subject import SMALL_SHARE, Subject

_MOST_NAMED = 60  # columns that are named
_HIDDEN_SHARE: Cell = Number("not shown")


def said(statements: Statements, *names: str) -> tuple[Field, ...]:
    """What a person stated, or that they did not."""
    return tuple(stated(name, STATEMENTS[name].label, getattr(statements, name)) for name in names)


def system(audit: Subject, statements: Statements) -> Section:
    """What is audited, for what it is used, and what a flag means for a person."""
    result, asked = audit.result, audit.result.asked
    what = f"This report is about {one_line(statements.system) or 'a detector'}: {audit.label}"
    kind = ", one of the detectors that this program fitted to the table."
    if asked is not None and asked.name == audit.method:
        kind = f", a detector outside this program that was asked for its scores of {counted(asked.rows, 'row')}."
    elif audit.method not in METHODS:
        kind = ", a detector of another library that this program fitted to the table."
    fields = said(statements, "system", "version", "purpose", "owner", "consequence", "oversight")
    detectors = ", ".join(report.label for report in result.reports.values())
    more = (Field("detector", "Detector", audit.label), Field("detectors", "All detectors of the audit", detectors))
    missing = sum(field.stated is False for field in fields)
    were = "was" if missing == 1 else "were"
    gap = f"{missing} of {len(fields)} statements about it {were} not made." if missing else None
    return Section("system", "The system", sentences(what + kind, gap), (Fields((*fields, *more)),))


def auditor(audit: Subject, statements: Statements) -> Section:
    """Who audited, in which role, when, and when again."""
    fields = said(statements, "auditor", "auditor_role", "independence", "next_audit", "triggers")
    when = (
        Field("audit_started", "Audit asked for", moment(audit.created)),
        Field("audit_finished", "Audit finished", moment(audit.finished)),
    )
    who = one_line(statements.auditor) or "Somebody who did not state their name"
    due = (
        f"The next audit is due: {one_line(statements.next_audit)}."
        if statements.next_audit.strip()
        else "When the next audit is due was not stated."
    )
    return Section("auditor", "The auditor", sentences(f"{who} made this audit.", due), (Fields((*fields, *when)),))


def data(audit: Subject, statements: Statements) -> Section:
    """Which rows and columns were used, what was left out and why, and what is missing."""
    result, made, table = audit.result, audit.result.provenance, audit.table
    names = [variable.name for variable in result.encoding.variables]
    used = (
        f"{', '.join(names[:_MOST_NAMED])}{f' and {len(names) - _MOST_NAMED} more' if len(names) > _MOST_NAMED else ''}"
    )
    origin = {
        True: "They came in a table of their own.",
        False: f"They are {percent(result.config.test_share, 0)} of the rows, which nothing was learned from.",
        None: "Nothing was learned from them.",
    }[audit.has_test_table]
    plain = sentences(
        f"The causal model learned from {made.n_learned:,} rows, the detectors from the {made.n_learned_normal:,} of "
        f"them that count as normal. {audit.people:,} other people were judged. {origin}",
        f"{counted(len(names), 'column')} {'was' if len(names) == 1 else 'were'} used besides "
        f"{result.encoding.sensitive}.",
    )
    fields = [
        *said(statements, "data_source", "data_period", "data_kind", "data_preparation", "lawful_basis"),
        *(said(statements, "label_origin") if audit.has_labels else ()),
        Field("file", "File", audit.source or "not known"),
        *(
            (
                Field("table_rows", "Rows of the table", amount(table.rows)),
                Field("table_columns", "Columns of the table", amount(len(table.columns))),
            )
            if table is not None
            else ()
        ),
        Field("rows_learned", "Rows learned from", amount(made.n_learned)),
        Field("rows_normal", "Of these, rows that count as normal", amount(made.n_learned_normal)),
        Field("people_judged", "People judged", amount(audit.people)),
        Field("columns_used", "Columns used", used),
        Field("columns_ignored", "Columns left out", ", ".join(result.roles.ignore) or "none"),
        Field("label", "What counts as an anomaly", _label(audit)),
        Field("data_digest", "Digest of the data (sha256)", made.data_digest),
    ]
    return Section("data", "The data", plain, (Fields(tuple(fields)), *_left_out(audit), *_missing(audit)))


def _label(audit: Subject) -> str:
    roles = audit.result.roles
    return (
        f"{roles.label} is {roles.anomaly}" if roles.label else "nothing: there are no labels, all rows count as normal"
    )


def _left_out(audit: Subject) -> Iterator[Table | Bullets]:
    """Rows that were left out, and why."""
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "why": f"their {finding.column} is in no group that is compared",
            "of": "people to judge" if "test rows" in finding.message else "the table",
            "rows": count(finding.count),
        }
        for finding in audit.result.notices
        if finding.code == "rows-outside-groups"
    )
    if rows:
        columns = {"why": "Why", "of": "Of", "rows": "Rows"}
        yield Table("rows_left_out", "Rows left out, and why", columns, rows)
    else:
        yield Bullets(("No row was left out.",), "Rows left out, and why")


def _missing(audit: Subject) -> Iterator[Table | Bullets]:
    """Missing cells by column."""
    found = [one for one in audit.result.notices if one.code == "missing" and one.column and one.count]
    if not found:
        yield Bullets(("No cell is missing in the columns that were used.",), "Missing values")
        return
    total = audit.result.provenance.n_train + (0 if audit.has_test_table else audit.people)
    becomes = {variable.name: kind_named(variable.kind).missing for variable in audit.result.encoding.variables}
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "column": str(one.column),
            "cells": amount(one.count or 0),
            "share": share((one.count or 0) / max(1, total)),
            "treatment": f"they {becomes.get(str(one.column), 'were left out')}",
        }
        for one in sorted(found, key=lambda one: -(one.count or 0))
    )
    columns = {"column": "Column", "cells": "Missing cells"}
    columns |= {} if audit.has_test_table is None else {"share": f"Share of {total:,} rows"}
    columns |= {"treatment": "What becomes of them"}
    yield Table("missing", "Missing values", columns, rows)


def groups(audit: Subject, _: Statements) -> Section:
    """How many people each group has, who belongs to none, and which groups are too small to compare."""
    singles = [one for one in audit.comparisons if not one.is_joint]
    named = [f"{one.name} ({listed([f'{name}' for name in one.groups], 12)})" for one in singles]
    tables = [_sizes(audit, one) for one in singles]
    small = [f"{group} ({one.name})" for one in singles for group in _small(audit, one)]
    hidden = [f"{name} ({one.name})" for one in singles for name, n in audit.sizes(one).items() if _hidden(n)]
    why = (
        f"{listed(small, 12)}: under {percent(SMALL_SHARE, 0)} of the people judged. Rates of so few people say "
        "little, and one person more or less moves the lowest or highest rate: such groups are shown, but take no "
        "part in impact ratios."
        if small
        else None
    )
    few = f"Of {listed(hidden, 12)}, fewer than {SMALLEST_GROUP} people were judged." if hidden else None
    plain = sentences(
        f"People are compared by {' and by '.join(named)}.",
        why,
        few,
        f"Of groups with fewer than {SMALLEST_GROUP} people nothing but the name is shown, to protect them.",
    )
    return Section("groups", "The groups", plain, (*tables, *_unknown(audit)))


def _sizes(audit: Subject, comparison: Comparison) -> Table:
    rows: tuple[dict[str, Cell], ...] = tuple(
        {"group": name, "people": count(n), "share": _HIDDEN_SHARE if _hidden(n) else share(n / max(1, audit.people))}
        for name, n in audit.sizes(comparison).items()
    )
    columns = {"group": "Group", "people": "People judged", "share": f"Share of {audit.people:,}"}
    return Table(f"sizes_{comparison.name}", f"Groups of {comparison.name}", columns, rows)


def _hidden(n: int) -> bool:
    return suppressed_size(n) == HIDDEN_SIZE


def _small(audit: Subject, comparison: Comparison) -> list[str]:
    """Groups whose rates are shown, and not compared."""
    least = SMALL_SHARE * audit.people
    return [name for name, n in audit.sizes(comparison).items() if SMALLEST_GROUP <= n < least]


def _unknown(audit: Subject) -> Iterator[Table | Bullets]:
    """Rows whose group is not known, or is not compared."""
    title = "Who is in none of these groups"
    if audit.table is None:
        known = [one for one in audit.result.notices if one.code == "rows-outside-groups"]
        text = (
            "Some rows are in no group (see the data); how many of them have no value was not kept with this audit."
            if known
            else "Nobody: every row belongs to a group."
        )
        yield Bullets((text,), title)
        return
    rows: list[dict[str, Cell]] = []
    for attribute, unknown in audit.table.unknown.items():
        rows.append(_row(audit, attribute, "not known (no value)", unknown))
        rows += [_row(audit, attribute, value, n) for value, n in audit.table.outside[attribute].items()]
    columns = {"attribute": "Attribute", "value": "Value", "rows": "Rows", "share": f"Share of {audit.table.rows:,}"}
    yield Table("outside", title, columns, tuple(rows))


def _row(audit: Subject, attribute: str, value: str, n: int) -> dict[str, Cell]:
    assert audit.table is not None
    part = _HIDDEN_SHARE if _hidden(n) else share(n / max(1, audit.table.rows))
    return {"attribute": attribute, "value": value, "rows": count(n), "share": part}
