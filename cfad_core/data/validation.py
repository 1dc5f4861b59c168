"""Whether a table can be audited, and what its reader must know: everything at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.formats import SMALLEST_GROUP, suppressed_size
from cfad_core.data.columns import as_texts, unreadable
from cfad_core.data.findings import Finding, refuse_errors
from cfad_core.data.groups import OUTSIDE, listed, matches
from cfad_core.data.kinds import MAX_LEVELS, kind_named, kind_of
from cfad_core.data.leaks import Target, near_leaks, redundant_columns
from cfad_core.data.repairs import repair_findings, written_numbers
from cfad_core.data.roles import ColumnRoles, role_findings, settle_groups, state_codes

MIN_GROUP_ROWS = 30
MIN_TRAINING_ROWS = 100
_FEW_ROWS = 500
_SMALL_GROUP = 0.05  # share of the rows
_MOSTLY_NUMBERS = 0.9
_MOSTLY_MISSING = 0.5
_MOSTLY_ANOMALIES = 0.5
_COINCIDENCE = 0.2  # of the repeated rows, that chance alone explains
_MIN_KNOWN = 10  # cells, so that both the rows to learn from and those to judge have some
_TEXT_SHARE = 0.5  # of distinct values among the rows, from which a text is no category
_MOST_NAMED = 8  # values of a group
_FIRST = 1000  # rows that are looked at before all are, as they often show it
_ROWS_A_VALUE = 20  # on average, for a column that determines another one exactly to mean something


@dataclass(frozen=True)
class Validation:
    """What was found about a table in its roles.

    Attributes
    ----------
    findings : errors first
    roles : with the groups settled; None if the roles do not fit the table
    """

    findings: tuple[Finding, ...]
    roles: ColumnRoles | None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that prevent an audit."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def is_usable(self) -> bool:
        """Whether the table can be audited."""
        return self.roles is not None and not self.errors

    def usable_roles(self) -> ColumnRoles:
        """The roles, with the groups settled.

        Raises
        ------
        InvalidDataError
            With every error, one a line.
        """
        refuse_errors(self.findings)
        assert self.roles is not None  # without roles there are errors
        return self.roles


def validate(table: pd.DataFrame, roles: ColumnRoles, test: pd.DataFrame | None = None) -> Validation:
    """Check the roles, then the table in these roles; find everything at once.

    Parameters
    ----------
    table : the people to learn from
    test : the people to judge, if they come in a table of their own
    """
    findings = role_findings(table, roles)
    if any(finding.code == "duplicate-columns" for finding in findings):
        return Validation(tuple(findings), None)
    if findings:  # the other columns can be checked all the same
        special = {*roles.sensitive_columns, roles.label, *roles.ignore}
        others = [name for name in table.columns if name not in special]
        return Validation((*findings, *(f for name in others for f in column_findings(table[name]))), None)
    roles = settle_groups(table, roles)
    findings = _table_findings(table, roles, test)
    if test is not None:
        findings += _test_findings(table, test, roles)
    rank = {"error": 0, "warning": 1, "info": 2}
    return Validation(tuple(sorted(findings, key=lambda finding: rank[finding.severity])), roles)


def _table_findings(table: pd.DataFrame, roles: ColumnRoles, test: pd.DataFrame | None) -> list[Finding]:
    kept = state_codes(table, roles.groupings) != OUTSIDE
    inside = table if kept.all() else table[kept]
    return [
        *_rows_outside(table, roles, "rows"),
        *_merged(table, roles),
        *_size_findings(inside, roles),
        *_label_findings(inside, roles, test),
        *repair_findings(inside, roles.features(table)),
        *(finding for name in roles.features(table) for finding in column_findings(inside[name])),
        *_leaks(inside, roles),
        *redundant_columns(inside, roles.features(inside)),
        *_duplicates(inside, roles),
    ]


def column_findings(cells: pd.Series[Any]) -> list[Finding]:
    """What is wrong with one attribute."""
    name, n = str(cells.name), len(cells)
    missing = int(cells.isna().sum())
    if missing == n:
        return [Finding("all-missing", "error", f"Column '{name}' has no values at all.", "Ignore it.", name, n)]
    if n - missing < _MIN_KNOWN:
        message = f"Column '{name}' has values in {n - missing:,} of {n:,} rows only; at least {_MIN_KNOWN} are needed."
        return [Finding("nearly-empty", "error", message, "Ignore it.", name, missing)]
    kind = kind_named(kind_of(cells))
    findings = _category_findings(cells, name) if kind.name == "category" else []
    if count := int(kind.too_large(cells).sum()):
        message = f"Column '{name}' has {count:,} infinite {_cells(count)}."
        findings.append(Finding("infinite", "error", message, "Correct them, or ignore the column.", name, count))
    if not missing and bool((cells == cells.iloc[0]).all()):
        message = f"Column '{name}' never changes, so it says nothing about anybody."
        findings.append(Finding("constant", "warning", message, "Ignore it.", name, n))
    if missing:
        message = f"Column '{name}' has {missing:,} missing {_cells(missing)} of {n:,}; they {kind.missing}."
        remedy = "Consider ignoring the column." if missing > _MOSTLY_MISSING * n else ""
        findings.append(Finding("missing", "warning", message, remedy, name, missing))
    return findings


def _category_findings(cells: pd.Series[Any], name: str) -> list[Finding]:
    if written_numbers(cells) is not None:  # which is a finding of its own
        return []
    text = unreadable(cells)
    count, known = int(text.sum()), int(cells.notna().sum())
    if 0 < count <= (1.0 - _MOSTLY_NUMBERS) * known:
        message = (
            f"Column '{name}' holds numbers, but text in {count:,} {_cells(count)}, such as '{cells[text].iloc[0]}'."
        )
        return [Finding("mixed", "error", message, "Correct them, or ignore the column.", name, count)]
    distinct = cells.nunique()
    if distinct > max(MAX_LEVELS, _TEXT_SHARE * len(cells)):
        message = f"Column '{name}' looks like names or free text ({distinct} values in {len(cells)} rows)."
        return [Finding("free-text", "error", message, "Ignore it.", name, distinct)]
    if distinct > MAX_LEVELS:
        message = f"Column '{name}' has {distinct} values; the {MAX_LEVELS - 1} most frequent ones are distinguished."
        return [Finding("high-cardinality", "warning", message, "Merge values that belong together.", name, distinct)]
    return []


def _rows_outside(table: pd.DataFrame, roles: ColumnRoles, which: str) -> list[Finding]:
    """About rows that belong to no group, by attribute."""
    findings = []
    for groups in roles.groupings:
        outside = int((groups.codes(table[groups.column]) == OUTSIDE).sum())
        if not outside:
            continue
        names = [f"'{name}'" for name in groups.names]
        none = f"neither {names[0]} nor {names[1]}" if len(names) == 2 else f"none of {', '.join(names)}"
        few = outside < SMALLEST_GROUP  # without the total, too, which would give the number away
        how_many = f"{suppressed_size(outside)} {which}" if few else f"{outside} of {len(table)} {which}"
        message, count = f"{how_many} are left out: their '{groups.column}' is {none}.", None if few else outside
        findings.append(Finding("rows-outside-groups", "info", message, column=groups.column, count=count))
    return findings


def _merged(table: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    """About groups of several values, where these are not numbers: which, and how many people have each."""
    findings = []
    for groups in roles.groupings:
        if groups.cuts or (len(groups.names) == 2 and () in groups.values):  # noqa: PD011 - no table
            continue  # "not a" says it all
        column = table[groups.column]
        codes = groups.codes(column)
        for k, values in enumerate(groups.values):
            counts = as_texts(column[codes == k]).value_counts()
            if len(values) == 1 or len(counts) < 2:
                continue
            named = counts.head(_MOST_NAMED)
            held = ", ".join(f"'{value}' ({suppressed_size(count)})" for value, count in named.items())
            more = f" and {len(counts) - _MOST_NAMED} more" if len(counts) > _MOST_NAMED else ""
            message = f"Group '{groups.names[k]}' of '{groups.column}' takes together {held}{more}."
            total = int(counts.sum()) if named.min() >= SMALLEST_GROUP else None  # it would give a hidden number away
            findings.append(Finding("merged-values", "info", message, column=groups.column, count=total))
    return findings


def _size_findings(inside: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    findings, total = [], len(inside)
    for groups in roles.groupings:
        codes = groups.codes(inside[groups.column])
        for k, group in enumerate(groups.names):
            rows = int((codes == k).sum())
            if rows < MIN_GROUP_ROWS:
                message = f"Group '{group}' of '{groups.column}' has {rows} rows; at least {MIN_GROUP_ROWS} are needed."
                remedy = "Add more rows, or compare larger groups."
                findings.append(Finding("small-group", "error", message, remedy, groups.column, rows))
            elif rows < _SMALL_GROUP * total:
                message = f"Group '{group}' of '{groups.column}' has {rows:,} of {total:,} rows: few to learn from."
                findings.append(Finding("small-group", "warning", message, "", groups.column, rows))
    if total < MIN_TRAINING_ROWS:
        which = "two groups" if [len(groups.names) for groups in roles.groupings] == [2] else "groups"
        message = f"There are {total} rows in the {which}; at least {MIN_TRAINING_ROWS} are needed."
        findings.append(Finding("few-rows", "error", message, "Add more rows.", count=total))
    elif total < _FEW_ROWS:
        message = f"{total:,} rows are few: the learned graph, and all that rests on it, is uncertain."
        findings.append(Finding("few-rows", "warning", message, "", count=total))
    return findings


def _label_findings(inside: pd.DataFrame, roles: ColumnRoles, test: pd.DataFrame | None) -> list[Finding]:
    if roles.label is None:
        return []
    name, findings = roles.label, []
    tables = [inside] if test is None or name not in test.columns else [inside, test]
    missing = sum(int(table[name].isna().sum()) for table in tables)
    if missing:
        message = f"The label column '{name}' has {missing:,} missing {_cells(missing)}."
        findings.append(
            Finding("label-missing", "error", message, "Fill these cells, or drop their rows.", name, missing)
        )
    anomalies = [matches(table[name], str(roles.anomaly)) for table in tables]
    if not any(found.any() for found in anomalies):
        message = f"No cell of the label column '{name}' is '{roles.anomaly}'; it holds {listed(inside[name])}."
        remedy = "Name the value that means anomaly, or leave the label out."
        findings.append(Finding("one-label", "error", message, remedy, name))
    elif anomalies[0].mean() > _MOSTLY_ANOMALIES and not anomalies[0].all():
        message = (
            f"{anomalies[0].mean():.0%} of the rows are anomalies: '{name}' is '{roles.anomaly}'. Detectors look for "
            "what is rare."
        )
        remedy = f"Is '{roles.anomaly}' the value that means anomaly? Choose the rarer one, or leave the label out."
        findings.append(Finding("mostly-anomalies", "warning", message, remedy, name, int(anomalies[0].sum())))
    elif anomalies[0].all():
        message = f"All {len(inside)} rows to learn from are anomalies by '{name}'; a detector learns from normal ones."
        remedy = "Name the value that means anomaly, or add normal rows."
        findings.append(Finding("one-label", "error", message, remedy, name, len(inside)))
    return findings


def _leaks(inside: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    """Attributes that determine the label or a group, and those that nearly do."""
    exact = _copies(inside, roles)
    targets = [
        Target(codes == 1, "the group", f"'{groups.column}' is '{groups.names[1]}'", "sensitive-copied")
        for groups in roles.groupings
        if len(groups.names) == 2 and (codes := groups.codes(inside[groups.column])).any()
    ]
    if roles.label is not None:
        holds = matches(inside[roles.label], str(roles.anomaly))
        targets.append(Target(holds, "the label", f"'{roles.label}' is '{roles.anomaly}'", "label-leak"))
    named = {(finding.code, finding.column) for finding in exact}
    nearly = near_leaks(inside, roles.features(inside), targets)
    return [*exact, *(finding for finding in nearly if (finding.code, finding.column) not in named)]


def _copies(inside: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    """Attributes that determine the label, or a group, exactly."""
    findings = []
    targets: list[tuple[NDArray[Any], str, str]] = [
        (groups.codes(inside[groups.column]), f"the group of '{groups.column}'", "sensitive-copied")
        for groups in roles.groupings
    ]
    if roles.label is not None:
        targets.append((matches(inside[roles.label], str(roles.anomaly)), f"the label '{roles.label}'", "label-leak"))
    for name in roles.features(inside):
        cells = inside[name]
        first = _places(cells.head(_FIRST))  # they show of most columns that they determine nothing
        likely = [entry for entry in targets if _determines(first, entry[0][:_FIRST])]
        parts = (cells.head(len(cells) // 10), cells)  # a tenth of the rows shows it of numbers
        if not likely or any(part.nunique() * _ROWS_A_VALUE > len(cells) for part in parts):
            continue
        values = _places(cells)
        for target, what, code in likely:
            if len(pd.unique(target)) > 1 and _determines(values, target):
                message = f"Column '{name}' determines {what} exactly."
                findings.append(Finding(code, "warning", message, "Ignore it unless that is meant.", name, len(inside)))
    return findings


def _places(cells: pd.Series[Any]) -> NDArray[np.intp]:
    """A number for each value, (n,); missing cells are a value."""
    texts = as_texts(cells) if cells.dtype == object else cells
    return pd.factorize(texts, use_na_sentinel=False)[0]


def _determines(values: NDArray[np.intp], target: NDArray[Any]) -> bool:
    """Whether equal values always go with equal targets."""
    codes, targets = pd.factorize(target)
    pairs = values * np.intp(len(targets)) + codes
    return len(pd.unique(pairs)) == len(pd.unique(values))


def _duplicates(inside: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    columns = [*roles.sensitive_columns, *([roles.label] if roles.label else []), *roles.features(inside)]
    count = _repeated(inside, columns)
    if not count:
        return []
    if _repeated(inside, columns, by_chance=True) >= _COINCIDENCE * count:
        message = (
            f"{count:,} of {len(inside):,} rows are like an earlier one in every column that is used. With so few "
            "different values that is to be expected: they are different people."
        )
        return [Finding("duplicates", "info", message, count=count)]
    message = f"{count:,} of {len(inside):,} rows repeat an earlier one in every column that is used."
    remedy = "Remove them if they are the same people twice."
    return [Finding("duplicates", "info" if count < 0.05 * len(inside) else "warning", message, remedy, count=count)]


def _repeated(inside: pd.DataFrame, columns: list[str], *, by_chance: bool = False) -> int:
    """How many rows repeat an earlier one in these columns; or would by chance, if these were independent.

    The columns of most values come first, as they leave few rows to compare.
    """
    draw, n = np.random.default_rng(0), len(inside)
    left, keys = np.arange(n), np.zeros(n, dtype=np.intp)
    for name in inside[columns].head(10 * _FIRST).nunique().sort_values(ascending=False).index:
        codes = _places(inside[name])
        codes = codes[draw.integers(0, n, len(left)) if by_chance else left]
        keys = pd.factorize(keys * (codes.max() + 1) + codes)[0]
        alike = np.bincount(keys)[keys] > 1
        left, keys = left[alike], keys[alike]
        if not len(left):
            return 0
    return len(keys) - len(np.unique(keys))


def _test_findings(table: pd.DataFrame, test: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    needed = [*roles.sensitive_columns, *([roles.label] if roles.label is not None else []), *roles.features(table)]
    missing = [str(name) for name in needed if name not in test.columns]
    if missing:
        message = f"The test table lacks columns of the training table: {', '.join(missing[:10])}."
        return [Finding("test-columns", "error", message, "Add them, or ignore them.", count=len(missing))]
    inside = state_codes(test, roles.groupings) != OUTSIDE
    findings = _rows_outside(test, roles, "test rows")
    if not inside.any():
        names = " and ".join(repr(name) for groups in roles.groupings for name in groups.names)
        message = f"No test row belongs to one of the groups {names}."
        column = roles.sensitive_columns[0]
        findings.append(Finding("no-test-rows", "error", message, "Add rows of these groups.", column))
    if roles.label is not None and not test[roles.label].isna().any():
        found = matches(test[roles.label], str(roles.anomaly))[inside]
        if len(found) and (found.all() or not found.any()):
            kind = "anomalies" if found.all() else "normal"
            message = f"All {len(found)} test rows are {kind} by '{roles.label}': F1 and AUC are undefined."
            findings.append(Finding("one-test-label", "warning", message, "", roles.label, len(found)))
    return findings


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"
