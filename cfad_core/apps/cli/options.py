"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from cfad_core.apps.cli.sensitive import add_sensitive
from cfad_core.detectors.registry import METHODS, RANK, plain_methods

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_PORTS = range(1, 65536)


def add_table(parser: argparse.ArgumentParser, what: str = "CSV, TSV (also .gz), Parquet or Excel file") -> None:
    parser.add_argument("table", type=Path, metavar="TABLE", help=what)
    parser.add_argument("--sheet", metavar="NAME", help="of an Excel file; the largest one by default")
    parser.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="the first line is data: the columns are called 'column 1', 'column 2' and so on",
    )


def add_large(parser: argparse.ArgumentParser) -> None:
    """For tables that are too large for memory."""
    large = parser.add_argument_group(
        "tables beyond memory",
        "TABLE may be a folder of Parquet files, or a file of any size: some rows are drawn and audited, and all are "
        "scored, part by part, on a Dask cluster.",
    )
    large.add_argument("--scheduler", metavar="ADDRESS", help="of the cluster; by default it is this machine")
    large.add_argument("--workers", type=int, metavar="N", help="on this machine; one for each core by default")
    large.add_argument("--draw", type=int, metavar="ROWS", help="how many rows to draw; by default 100,000 or more")


def add_roles(parser: argparse.ArgumentParser) -> None:
    add_sensitive(parser)
    parser.add_argument("--label", metavar="COL", help="the column that says who is an anomaly")
    parser.add_argument("--anomaly", metavar="VALUE", help="the label's value that means anomaly")
    parser.add_argument(
        "--ignore", nargs="*", metavar="COL", help="columns to leave out; by default those that inspect suggests"
    )


def add_methods(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=list(METHODS),
        default=list(default),
        metavar="NAME",
        help=f"some of {', '.join(plain_methods())}, or any of them with {RANK} behind its name: the ranks of its "
        f"scores within each group; by default {', '.join(default)}",
    )


def add_settings(parser: argparse.ArgumentParser, seed: bool = True) -> None:
    parser.add_argument("--preset", choices=("fast", "paper"), default="fast")
    if seed:
        parser.add_argument("--seed", type=seed_number, default=0, metavar="N")


def date_seconds(text: str) -> float:
    """A date, as seconds since 1970 in universal time."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a date is a year, a month and a day: 2026-03-01; got '{text}'") from error


def seed_number(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 to {2**31 - 1}; got '{text}'")
    return int(text)


def port(text: str) -> int:
    """A number that a server can listen on."""
    if not text.isdecimal() or int(text) not in _PORTS:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not '{text}'")
    return int(text)
