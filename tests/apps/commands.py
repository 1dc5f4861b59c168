"""Commands as a user types them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cfad_core.apps import cli

ROOT = Path(__file__).resolve().parents[2]


def exit_code(arguments: Sequence[str]) -> int | str | None:
    """Of a command, also where argparse ends the program itself."""
    try:
        return cli.main(arguments)
    except SystemExit as stopped:
        return stopped.code


def audit_arguments(table: Path, out: Path, *more: str) -> list[str]:
    """An audit of what the ``table`` fixture wrote, into a folder."""
    labels = ["--label", "fraud", "--anomaly", "yes"]
    return ["audit", str(table), "--sensitive", "group", *labels, "--ignore", "id", "--out", str(out), *more]
