"""inspect | audit: look at a table, audit it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.options import Commands, add_methods, add_roles, add_settings, add_table
from cfad_core.apps.cli.output import TerminalProgress, aligned, summary_table
from cfad_core.core.config import OURS, AuditConfig, Knowledge, preset
from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.core.files import read_bytes

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.result import AuditResult
    from cfad_core.data.roles import ColumnRoles


def add_to(commands: Commands) -> None:
    inspect = commands.add_parser("inspect", help="what each column is taken for, and every problem of a table")
    inspect.set_defaults(run=_inspect)
    add_table(inspect)
    add_roles(inspect)

    audit = commands.add_parser("audit", help="audit a table; write the audit folder and print a summary")
    audit.set_defaults(run=_audit)
    add_table(audit)
    add_roles(audit)
    audit.add_argument("--test", type=Path, metavar="TABLE", help="people to judge; else a share of TABLE is held out")
    audit.add_argument(
        "--test-counterfactual", type=Path, metavar="TABLE", help="true counterfactuals of --test, where they are known"
    )
    known = audit.add_mutually_exclusive_group()
    known.add_argument("--knowledge", type=Path, metavar="FILE", help="domain knowledge about the causal graph (JSON)")
    known.add_argument(
        "--graph",
        type=Path,
        metavar="FILE",
        help="a ready causal graph instead of a learned one (GraphML, DOT, JSON or adjacency CSV)",
    )
    audit.add_argument(
        "--bootstrap",
        type=int,
        default=AuditConfig().bootstrap,
        metavar="N",
        help="graphs learned beside the audit's own to tell how sure it is: an even number, 0 for none; 20 by default",
    )
    audit.add_argument(
        "--roots",
        nargs="*",
        metavar="COL",
        help="columns without causes in the table; by default those named like age, sex, race or birth",
    )
    audit.add_argument(
        "--categories",
        choices=("levels", "most-frequent"),
        default="levels",
        help="tell all values of a category apart (default), or the most frequent one from the others",
    )
    add_methods(audit, OURS)
    add_settings(audit)
    target = audit.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", type=Path, metavar="DIR", help="folder to write the audit to")
    target.add_argument("--save", metavar="NAME", help="keep it among the saved audits instead, under this name")


def _inspect(options: argparse.Namespace) -> None:
    from cfad_core.data.readers import read_table
    from cfad_core.data.roles import resolve_roles, role_problems
    from cfad_core.data.suggestions import suggest_roles
    from cfad_core.data.validation import validate

    table = read_table(options.table, sheet=options.sheet)
    suggestion = suggest_roles(table, options.sensitive, options.label)
    print(f"{len(table)} rows, {table.shape[1]} columns.\n")
    rows = [[entry.column, entry.kind, entry.role, entry.reason] for entry in suggestion.columns]
    print(aligned([["column", "holds", "suggested role", "because it"], *rows]))
    roles = _roles(options, suggestion.ignored) if options.sensitive else suggestion.roles
    if roles is None:
        print("\nNo column looks sensitive; name one with --sensitive.")
        return
    if not role_problems(table, roles):
        roles = resolve_roles(table, roles)
        first, second = roles.grouping.names
        print(f"\nGroups of '{roles.sensitive}': '{first}' and '{second}'.", end=" ")
        print(f"Anomaly: '{roles.label}' is '{roles.anomaly}'." if roles.label else "No label.")
    print("\n".join(["", *(f"{problem.severity}: {problem.text}" for problem in validate(table, roles))]))


def _roles(options: argparse.Namespace, ignored: Sequence[str]) -> ColumnRoles:
    from cfad_core.data.roles import ColumnRoles

    return ColumnRoles(
        sensitive=options.sensitive,
        groups=tuple(options.groups) if options.groups else None,
        cut=options.cut,
        label=options.label,
        anomaly=options.anomaly,
        ignore=tuple(ignored if options.ignore is None else options.ignore),
    )


def _audit(options: argparse.Namespace) -> None:
    from cfad_core.audit.run import run_audit
    from cfad_core.core.files import check_folder
    from cfad_core.data.readers import read_table
    from cfad_core.data.suggestions import suggest_roles

    if options.out is not None:
        check_folder(options.out)
    tables = [None if path is None else read_table(path) for path in (options.test, options.test_counterfactual)]
    table = read_table(options.table, sheet=options.sheet)
    suggestion = suggest_roles(table, options.sensitive, options.label)
    roles = _roles(options, suggestion.ignored)
    suggested = [name for name in suggestion.roots if name in roles.features(table)]
    knowledge, remarks = _knowledge(options, [roles.sensitive, *roles.features(table)], suggested)
    config = preset(
        options.preset,
        methods=tuple(dict.fromkeys(options.methods)),
        seed=options.seed,
        categories=options.categories,
        bootstrap=options.bootstrap,
        knowledge=knowledge,
    )
    if options.save is not None:
        result, place = _audit_in_store(options, table, roles, config, tables)
    else:
        with TerminalProgress() as progress:
            result = run_audit(table, roles, config, progress, test=tables[0], test_counterfactual=tables[1])
        result.save(options.out)
        place = f"in {options.out}"
    print(summary_table(result))
    if options.ignore is None and roles.ignore:
        print(f"info: Left out, as suggested (--ignore says otherwise): {', '.join(roles.ignore)}.")
    for remark in remarks:
        print(remark)
    print(f"\nThe audit is {place}.")


def _knowledge(
    options: argparse.Namespace, variables: Sequence[str], suggested_roots: Sequence[str]
) -> tuple[Knowledge, list[str]]:
    """What is known of the causal graph, and what to tell about it; the first variable is the sensitive one."""
    from cfad_core.causal.exchange import MOST_BYTES, knowledge_from_json, read_graph
    from cfad_core.causal.graph import allowed_edges

    remarks = []
    if options.graph is not None:
        if options.roots:
            raise InvalidConfigError("A ready graph says all about causes: give --graph or --roots, not both.")
        graph = read_graph(read_bytes(options.graph, MOST_BYTES), options.graph.name)
        knowledge = graph.knowledge(variables, variables[0])
        if missing := graph.missing(variables):
            remarks.append(f"warning: Not in the graph, so without causes and effects: {', '.join(missing)}.")
    elif options.knowledge is not None:
        knowledge = knowledge_from_json(read_bytes(options.knowledge, MOST_BYTES), options.knowledge.name)
        left_out = [name for name in suggested_roots if name not in (*knowledge.roots, *(options.roots or ()))]
        if left_out:
            remarks.append(
                f"info: Not taken for columns without causes, as the file does not say so: {', '.join(left_out)}."
            )
        if options.roots:
            knowledge = replace(knowledge, roots=tuple(dict.fromkeys([*knowledge.roots, *options.roots])))
    else:
        roots = suggested_roots if options.roots is None else options.roots
        if options.roots is None and roots:
            remarks.append(f"info: Taken to have no causes in the table (--roots says otherwise): {', '.join(roots)}.")
        knowledge = Knowledge(roots=tuple(roots))
    allowed_edges(variables, variables[0], knowledge)  # refuses what cannot be, before anything long begins
    return knowledge, remarks


def _audit_in_store(
    options: argparse.Namespace,
    table: pd.DataFrame,
    roles: ColumnRoles,
    config: AuditConfig,
    tests: Sequence[pd.DataFrame | None],
) -> tuple[AuditResult, str]:
    """Run the audit as a job, in a process of its own."""
    from cfad_core.data.findings import refuse_errors
    from cfad_core.data.tables import Tables
    from cfad_core.data.validation import validate
    from cfad_core.runs.child import Child
    from cfad_core.runs.executor import wait_for, work_on, worker_name
    from cfad_core.runs.store import Store

    refuse_errors(validate(table, roles, tests[0]))
    with Store() as store, TerminalProgress() as progress:
        tables = Tables.of(table, *tests)
        audit = store.create(tables, roles, config, name=options.save, source=options.table.name)
        claimed = store.claim(worker_name(), audit)
        if claimed is not None:
            work_on(store, claimed, Child(), also=progress)
        record = wait_for(store, audit)  # another program may have taken it
        if record.status == "failed":
            raise CfadError(record.error)
        return store.result(audit), f"saved as {audit}"
