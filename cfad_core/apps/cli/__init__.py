"""The commands: dashboard, inspect, audit, score, counterfactuals, graph, gate, report, audits, datasets, ..."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cfad_core.apps.cli import (
    audit,
    benchmark,
    dashboard,
    data_sets,
    demo,
    gate,
    graph,
    report,
    saved,
    score,
    serve,
    store_files,
    team,
)
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.core.errors import AuditCancelled, CfadError

__all__ = ["TerminalProgress", "main"]

_GROUPS = (
    dashboard,
    serve,
    audit,
    score,
    graph,
    gate,
    report,
    data_sets,
    benchmark,
    saved,
    team,
    store_files,
    demo,
)  # as --help lists them
_USAGE_ERROR = 2
_CANCELLED = 130
_BROKEN_PIPE = 141  # as the shell's for a signal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default the one that opens the dashboard; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = make_parser(_name()).parse_args(given or ["dashboard"])
    try:
        code: int | None = options.run(options)  # a gate's is 1 if a bound does not hold
        sys.stdout.flush()
    except (KeyboardInterrupt, AuditCancelled):
        kept = "nothing was written"
        if getattr(options, "save", None):
            kept = "it is kept as cancelled"
        elif getattr(options, "all", False):
            kept = f"the runs that were done are kept in {options.out}, and the same command goes on from there"
        print(f"Cancelled; {kept}.", file=sys.stderr)
        return _CANCELLED
    except BrokenPipeError:  # whoever reads the output, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (CfadError, OSError) as error:
        for line in str(error).splitlines() or [type(error).__name__]:
            print(f"error: {line}", file=sys.stderr)
        return _USAGE_ERROR
    except Exception as error:
        if not hasattr(error, "connection_invalidated"):  # it is not of the database, which few commands load
            raise
        print(
            f"error: The store cannot be used: {str(getattr(error, 'orig', error)).partition(chr(10))[0]}",
            file=sys.stderr,
        )
        return _USAGE_ERROR
    return code or 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE_ERROR, f"error: {message} (see: {self.prog} --help)\n")


def make_parser(name: str) -> argparse.ArgumentParser:
    """All commands; ``name`` is what is typed before them."""
    about = "Counterfactual-fairness audits of anomaly detection."
    parser: argparse.ArgumentParser = _Parser(prog=name, description=about)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in _GROUPS:
        group.add_to(commands)
    return parser


def _name() -> str:
    """What to type: the command that the package installs, or the module."""
    return "cfad" if Path(sys.argv[0]).stem == "cfad" else "python -m cfad_core"
