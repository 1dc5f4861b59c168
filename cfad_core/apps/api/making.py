"""From a table and what is said of it to an audit in the queue, as the command ``audit`` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from cfad_core.apps.api.asked import NewAudit
from cfad_core.causal.graph import allowed_edges
from cfad_core.core.config import AuditConfig, Knowledge
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.findings import refuse_errors
from cfad_core.data.roles import ColumnRoles, roles_of
from cfad_core.data.suggestions import suggest_roles, suggest_roots
from cfad_core.data.tables import Tables
from cfad_core.data.validation import validate
from cfad_core.runs.reading import FileRead
from cfad_core.runs.store import Store

_LONGEST_TITLES = 200  # characters of lines that were left out


@dataclass(frozen=True)
class Wanted:
    """Roles and settings of an audit, and what to know about its table."""

    roles: ColumnRoles
    config: AuditConfig
    remarks: tuple[str, ...]


def make_audit(store: Store, given: NewAudit, tables: Tables, begins: FileRead, source: str) -> tuple[str, list[str]]:
    """Put it into the queue, or seal it if it is planned; returns its id and remarks.

    Parameters
    ----------
    begins : how the file of the first table was read
    source : its name

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the table cannot be audited in these roles, or a setting makes no sense.
    """
    wanted = _wanted(given, tables.table)
    validation = validate(tables.table, wanted.roles, tables.test)
    refuse_errors(validation.findings)
    remarks = [*_about_the_file(begins, given), *wanted.remarks]
    remarks += [f"{finding.severity}: {finding.text}" for finding in validation.findings]
    if given.plan is None:
        audit = store.create(tables, wanted.roles, wanted.config, name=given.name, source=source)
        return audit, remarks
    words = {"by": given.plan.by, "expectation": given.plan.expectation}
    return store.plan(tables, wanted.roles, wanted.config, name=given.name, source=source, **words), remarks


def tables_of(read: Sequence[FileRead]) -> Tables:
    """The tables of files: to learn from, and if there are more the people to judge and their true twins."""
    found = [one.table for one in read if one.table is not None]
    if len(found) < len(read):
        raise InvalidDataError("One of the files holds no table. Send it again.")
    return found[0] if len(found) == 1 else Tables.of(*(one.table for one in found))


def _wanted(given: NewAudit, table: pd.DataFrame) -> Wanted:
    attributes = given.attributes()
    columns = [one.column for one in attributes]
    suggested = () if given.ignore is not None else suggest_roles(table, columns, given.label).ignored
    ignore = [name for name in suggested if name != given.score_column] if given.ignore is None else given.ignore
    roles = roles_of(attributes, given.label, given.anomaly, ignore, given.score_column)
    remarks = []
    if given.ignore is None and ignore:
        remarks.append(f"info: Left out, as suggested ('ignore' says otherwise): {', '.join(ignore)}.")
    features = roles.features(table)
    if given.knowledge is None:
        knowledge = Knowledge(roots=suggest_roots(features))
        if knowledge.roots:
            names = ", ".join(knowledge.roots)
            remarks.append(f"info: Taken to have no causes in the table ('knowledge' says otherwise): {names}.")
    else:
        knowledge = Knowledge.from_dict(given.knowledge)
    if set(columns) <= set(table.columns):  # else that is what is said
        allowed_edges([*columns, *features], columns, knowledge)
    return Wanted(roles, given.config(knowledge), tuple(remarks))


def _about_the_file(found: FileRead, given: NewAudit) -> Iterator[str]:
    """How the file begins, where that may not be what was meant."""
    if found.begins.titles:
        titles = " / ".join(found.begins.titles)[:_LONGEST_TITLES]
        yield f"info: Left out above the names of the columns: {titles}."
    if len(found.sheets) > 1:
        yield f"info: Of {len(found.sheets)} sheets, '{found.sheet}' was read ('sheet' says otherwise)."
    if given.header and found.begins.doubt:
        yield (
            f"warning: The first line looks like data and not like the names of columns: {found.begins.doubt}. If it "
            "is, send it again with 'header' false."
        )
