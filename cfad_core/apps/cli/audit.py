"""inspect | audit: look at a table, audit it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.asked import add_asked, ask_for_folder, ask_for_saved, asked_by, finish_audit
from cfad_core.apps.cli.first_lines import about_first_lines
from cfad_core.apps.cli.jobs import run_job
from cfad_core.apps.cli.large import audit_large, is_large, rows_to_inspect
from cfad_core.apps.cli.opening import open_store
from cfad_core.apps.cli.options import Commands, add_large, add_methods, add_roles, add_settings, add_table
from cfad_core.apps.cli.output import TerminalProgress, aligned
from cfad_core.apps.cli.plans import add_plan, check_plan, plan_audit
from cfad_core.apps.cli.table_settings import roles_from, settings_of
from cfad_core.core.config import DEFAULT_METHODS, AuditConfig

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.result import AuditResult
    from cfad_core.core.progress import Progress
    from cfad_core.data.roles import ColumnRoles


def add_to(commands: Commands) -> None:
    inspect = commands.add_parser("inspect", help="suggested roles of the columns, and everything found about a table")
    inspect.set_defaults(run=_inspect)
    add_table(inspect)
    add_roles(inspect)

    audit = commands.add_parser("audit", help="audit a table; write the audit folder and print a summary")
    audit.set_defaults(run=_audit, refuse=audit.error)
    add_table(audit)
    add_roles(audit)
    add_asked(audit)
    audit.add_argument("--test", type=Path, metavar="TABLE", help="people to judge; else a share of TABLE is held out")
    audit.add_argument(
        "--test-counterfactual", type=Path, metavar="TABLE", help="the true twins of --test, where they are known"
    )
    _add_graph(audit)
    audit.add_argument(
        "--categories",
        choices=("levels", "most-frequent"),
        default="levels",
        help="distinguish all values of a category (default), or only the most frequent one from the others",
    )
    add_methods(audit, DEFAULT_METHODS)
    add_settings(audit)
    target = audit.add_mutually_exclusive_group()
    target.add_argument("--out", type=Path, metavar="DIR", help="folder to write the audit to")
    target.add_argument("--save", metavar="NAME", help="keep it among the saved audits instead, under this name")
    add_large(audit)
    add_plan(audit)


def _add_graph(audit: argparse.ArgumentParser) -> None:
    """What is known of the causal graph, and how many more to learn."""
    known = audit.add_mutually_exclusive_group()
    known.add_argument("--knowledge", type=Path, metavar="FILE", help="domain knowledge about the causal graph (JSON)")
    known.add_argument(
        "--graph",
        type=Path,
        metavar="FILE",
        help="a ready causal graph instead of a learned one (GraphML, DOT, JSON or adjacency CSV)",
    )
    usual = AuditConfig().subsamples
    audit.add_argument(
        "--subsamples",
        type=int,
        default=usual,
        metavar="N",
        help=f"random halves of the rows that measure the uncertainty: an even number, 0 for none; {usual} by default",
    )
    audit.add_argument("--bootstrap", type=int, dest="subsamples", help=argparse.SUPPRESS)  # its name in version 0.1
    audit.add_argument(
        "--roots",
        nargs="*",
        metavar="COL",
        help="columns without causes in the table; by default those named like age, sex, race or birth",
    )
    audit.add_argument(
        "--from-sensitive", nargs="+", default=[], metavar="COL", help="columns that nothing but --sensitive may cause"
    )
    audit.add_argument(
        "--tier",
        nargs="+",
        action="append",
        default=[],
        metavar="COL",
        help="columns that came about at the same time; repeated, the earliest first: later ones cause no earlier ones",
    )


def _inspect(options: argparse.Namespace) -> None:
    from cfad_core.data.suggestions import suggest_roles
    from cfad_core.data.validation import validate

    table, total = rows_to_inspect(options)
    suggestion = suggest_roles(table, options.sensitive, options.label)
    drawn = f" Looked at are {len(table)} of them, drawn at random." if len(table) < total else ""
    print(f"{total} rows, {table.shape[1]} columns.{drawn}\n")
    rows = [[entry.column, entry.kind, entry.role, entry.reason] for entry in suggestion.columns]
    for remark in about_first_lines(options):
        print(f"{remark}\n")
    print(aligned([["column", "holds", "suggested role", "because it"], *rows]))
    roles = roles_from(options, suggestion.ignored) if options.sensitive else suggestion.roles
    if roles is None:
        print("\nNo column looks sensitive; name one with --sensitive.")
        return
    validation = validate(table, roles)
    if validation.roles is not None:
        said = [f"Groups of '{groups.column}': {_listed(groups.names)}." for groups in validation.roles.groupings]
        print("\n" + "\n".join(said), end=" ")
        print(f"Anomaly: '{roles.label}' is '{roles.anomaly}'." if roles.label else "No label.")
    print("\n".join(["", *(f"{finding.severity}: {finding.text}" for finding in validation.findings)]))


def _listed(names: Sequence[str]) -> str:
    """``'a' and 'b'``, ``'a', 'b' and 'c'``."""
    return " and ".join([", ".join(f"'{name}'" for name in names[:-1]), f"'{names[-1]}'"])


def _audit(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary

    check_plan(options)
    if options.scores is not None:
        with TerminalProgress() as progress:
            result, place = finish_audit(options, progress)
        print(f"{summary(result)}\n\nThe audit is {place}.")
        return
    if not options.sensitive:
        options.refuse("the following arguments are required: --sensitive")
    if options.out is None and options.save is None:
        options.refuse("one of the arguments --out --save is required")
    _audit_table(options)


def _audit_table(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary
    from cfad_core.core.files import check_folder
    from cfad_core.data.readers import read_table

    asked = asked_by(options)
    if options.out is not None:
        check_folder(options.out)
    if is_large(options):
        with TerminalProgress() as progress:
            large, place, remarks = audit_large(options, asked, progress)
        print("\n".join([summary(large), *remarks, f"\nThe audit is {place}."]))
        return
    others = (options.test, options.test_counterfactual)
    test, truth = (None if path is None else read_table(path, header=options.header) for path in others)
    table = read_table(options.table, sheet=options.sheet, header=options.header)
    roles, config, remarks = settings_of(options, table, asked)
    remarks = [*about_first_lines(options), *remarks]
    with TerminalProgress() as progress:
        result, place = _run(options, (table, test, truth), roles, config, progress)
    if result is not None:
        print(summary(result))
    if options.ignore is None and roles.ignore:
        print(f"info: Left out, as suggested (--ignore says otherwise): {', '.join(roles.ignore)}.")
    for remark in remarks:
        print(remark)
    print(f"\nThe audit is {place}." if result is not None else f"\n{place}")


def _run(
    options: argparse.Namespace,
    given: tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None],
    roles: ColumnRoles,
    config: AuditConfig,
    progress: Progress,
) -> tuple[AuditResult | None, str]:
    """The audit, and where it is; or what to do, if it waits for a detector's answers or is planned."""
    from cfad_core.audit.folder import save_audit
    from cfad_core.audit.run import run_audit
    from cfad_core.data.findings import refuse_errors
    from cfad_core.data.tables import Tables
    from cfad_core.data.validation import validate

    table, test, truth = given
    if options.save is None and config.asked is None:
        result = run_audit(table, roles, config, progress, test=test, test_counterfactual=truth)
        save_audit(result, options.out)
        return result, f"in {options.out}"
    refuse_errors(validate(table, roles, test).findings)
    tables = Tables.of(*given)
    if options.save is None:
        return ask_for_folder(options, tables, roles, config, progress)

    with open_store() as store:
        if options.plan:
            return None, plan_audit(options, store, tables, roles, config)
        audit = store.create(tables, roles, config, name=options.save, source=options.table.name)
        run_job(store, audit, progress)
        if config.asked is not None:
            return ask_for_saved(options, store, audit, progress)
        return store.result(audit), f"saved as {audit}"
