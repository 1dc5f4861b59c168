"""benchmark: data sets x methods x seeds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cfad_core.apps.cli.options import Commands, add_settings, seed_number
from cfad_core.apps.cli.output import TerminalProgress, aligned, shown
from cfad_core.core.config import DEFAULT_METHODS, preset
from cfad_core.core.errors import InvalidConfigError

_LEADING = "changing_ratio"  # by the leading judge of the data set


def add_to(commands: Commands) -> None:
    benchmark = commands.add_parser("benchmark", help="data sets x methods x seeds")
    benchmark.set_defaults(run=_benchmark)
    benchmark.add_argument("--datasets", nargs="+", metavar="NAME", help="synthetic by default")
    benchmark.add_argument("--methods", nargs="+", metavar="NAME", help=f"{', '.join(DEFAULT_METHODS)} by default")
    benchmark.add_argument("--seeds", nargs="+", type=seed_number, default=[0, 1, 2, 3, 4], metavar="N")
    add_settings(benchmark, seed=False)
    benchmark.add_argument("--workers", type=int, metavar="N", help="runs at once, on this machine")
    benchmark.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask cluster instead")
    benchmark.add_argument(
        "--all",
        action="store_true",
        help="the paper's whole experiment section, into the folder of --out; started again, it goes on",
    )
    benchmark.add_argument(
        "--document", type=Path, metavar="FILE", help="with --all: also put the tables between the marks of this file"
    )
    benchmark.add_argument("--no-images", action="store_true", help="with --all: figures as HTML alone, without SVG")
    benchmark.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="a JSON file, or with --all a folder"
    )


def _benchmark(options: argparse.Namespace) -> None:
    if options.all:
        _reproduce(options)
    else:
        _compare(options)


def _reproduce(options: argparse.Namespace) -> None:
    from cfad_core.core.files import check_folder
    from cfad_core.figures import check_images
    from cfad_core.paper.plan import reproduce
    from cfad_core.paper.report import markdown, read_from, write_into, write_report

    if options.datasets or options.methods or options.preset != "fast":
        raise InvalidConfigError(
            "The paper's experiments are fixed: --all cannot be combined with --datasets, --methods or --preset."
        )
    check_folder(options.out)
    if options.document is not None:
        read_from(options.document)  # refuses one without the marks now, rather than after hours
    if not options.no_images:
        check_images()
    with TerminalProgress() as progress:
        found = reproduce(
            options.out, options.seeds, workers=options.workers, scheduler=options.scheduler, progress=progress
        )
    write_report(found, options.out, images=not options.no_images)
    if options.document is not None:
        write_into(options.document, found)
    print(markdown(found))
    about = found.about
    print(f"{about['runs']} runs ({about['resumed']} of an earlier start) in {about['seconds'] / 60:.1f} minutes.")
    print(f"Tables and figures are in {options.out}.")


def _compare(options: argparse.Namespace) -> None:
    if options.document is not None:
        raise InvalidConfigError("--document takes the tables of the paper's experiments: give --all, too.")
    from cfad_core.core.files import check_file, staged_file
    from cfad_core.paper.problems import check_names, run_benchmark
    from cfad_core.runs.tasks import Task, run_many

    check_file(options.out)
    datasets, methods = options.datasets or ["synthetic"], options.methods or list(DEFAULT_METHODS)
    check_names(datasets, methods)
    config = preset(options.preset)
    workers = 1 if options.workers is None else options.workers
    with TerminalProgress() as progress:
        if workers == 1 and options.scheduler is None:
            rows = run_benchmark(datasets, methods, options.seeds, config, progress)
        else:
            shared = {"methods": methods, "config": config.to_dict()}
            runs = [{"dataset": name, "seed": seed} | shared for name in datasets for seed in options.seeds]
            tasks = [Task("cfad_core.paper.problems:benchmark_once", run) for run in runs]
            rows = [row for found in run_many(tasks, workers, options.scheduler, progress) for row in found]
    with staged_file(options.out) as path:
        path.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    columns = {
        "auc_pr": "AUC-PR",
        "auc_roc": "AUC-ROC",
        "macro_f1": "Macro-F1",
        _LEADING: "outcome changes",
        "fit_seconds": "seconds",
    }
    print(aligned([["dataset", "method", "seed", *columns.values()], *([*_cells(row, columns)] for row in rows)]))


def _cells(row: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    from cfad_core.paper.problems import JUDGED

    values = {**row, _LEADING: row[JUDGED[row["dataset"]]]}
    return [row["dataset"], row["method"], str(row["seed"]), *(shown(values[name]) for name in columns)]
