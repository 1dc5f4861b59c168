"""score | counterfactuals: use a finished audit on new rows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.opening import audit_folder, open_audit
from cfad_core.apps.cli.options import Commands, add_table, date_seconds
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.core.errors import CfadError, InvalidConfigError

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.result import AuditResult


def add_to(commands: Commands) -> None:
    score = commands.add_parser("score", help="score new rows with a finished audit")
    score.set_defaults(run=_score)
    score.add_argument("--no-reasons", action="store_true", help="leave out the columns that raised each score: faster")
    score.add_argument(
        "--no-history",
        action="store_true",
        help="do not measure the rows as a batch, and keep nothing of them in the audit's history: faster",
    )
    score.add_argument(
        "--date", type=date_seconds, metavar="YYYY-MM-DD", help="of the batch in the history; today by default"
    )
    counterfactuals = commands.add_parser(
        "counterfactuals", help="each person's twin, in the table's own columns and units"
    )
    counterfactuals.set_defaults(run=_counterfactuals)
    for command in (score, counterfactuals):
        command.add_argument("audit", metavar="AUDIT", help="audit folder, or id of a saved audit")
        add_table(command)
        command.add_argument("--out", type=Path, required=True, metavar="FILE", help="CSV file to write")
    counterfactuals.add_argument(
        "--to",
        nargs="+",
        default=[],
        metavar="GROUP",
        help="the group that everybody is moved to, where there are more than two; with several sensitive columns "
        "COL=GROUP, and more of them to change several",
    )


def _score(options: argparse.Namespace) -> None:
    from cfad_core.audit.folder import load_audit
    from cfad_core.audit.scoring import score_rows
    from cfad_core.data.readers import read_table
    from cfad_core.data.tables import safe_for_spreadsheets, write_table

    table = read_table(options.table, sheet=options.sheet)
    folder = audit_folder(options.audit)
    result = load_audit(folder)
    scored = score_rows(result, table, reasons=not options.no_reasons)
    write_table(
        safe_for_spreadsheets(scored), options.out
    )  # reasons begin with names of columns, which may be anything
    for method in result.scores:
        if f"{method}_score" not in scored:
            print(f"info: {method} is not part of this program, nor saved with the audit: it scores nothing here.")
    _report_unknown(result, table)
    if not options.no_history:
        _keep_batch(options, folder, result, table)


def _keep_batch(options: argparse.Namespace, folder: Path, result: AuditResult, table: pd.DataFrame) -> None:
    """Measure the rows as a batch, say what was found, and keep it; the scores are written already."""
    from cfad_core.apps.cli.batches import batch_line
    from cfad_core.audit.batches import measure_batch
    from cfad_core.audit.history import append_batch, read_history, scored_before

    if not len(table):
        return
    with TerminalProgress() as progress:
        batch = measure_batch(result, table, source=options.table.name, at=options.date, progress=progress)
    print(batch_line(batch))
    for remark in batch.remarks:
        print(f"info: {remark}")
    if batch.alarm is not None:
        print(f"warning: {batch.alarm}")
    try:
        before = scored_before(read_history(folder), batch)
        append_batch(folder, batch)
    except CfadError as error:
        print(f"warning: {error} The scores are written all the same.", file=sys.stderr)
        return
    if before:
        print(f"info: This table was scored before, with the date {before[-1].date}; it is in the history once more.")


def _counterfactuals(options: argparse.Namespace) -> None:
    from cfad_core.audit.scoring import twin_rows
    from cfad_core.data.readers import read_table
    from cfad_core.data.tables import write_table

    table = read_table(options.table, sheet=options.sheet)
    result = open_audit(options.audit)
    found = twin_rows(result, table, to=_targets(options.to, result))
    write_table(found.rows, options.out)
    _report_unknown(result, table)
    for name, count in found.clipped.items():
        print(f"info: {count} of {len(table)} values of '{name}' were clipped to the range seen in training.")


def _targets(words: Sequence[str], result: AuditResult) -> dict[str, str]:
    """By sensitive column, the group that ``--to`` names."""
    columns = result.encoding.attribute_names
    found: dict[str, str] = {}
    for word in words:
        named = [name for name in columns if word.startswith(f"{name}=")]
        if len(columns) == 1 and (not named or word in result.encoding.group_names(0)):
            column, group = columns[0], word
        elif named:
            column, group = named[0], word.removeprefix(f"{named[0]}=")
        else:
            raise InvalidConfigError(
                f"--to takes COL=GROUP where there are several sensitive columns ({', '.join(columns)}); got '{word}'."
            )
        if column in found:
            raise InvalidConfigError(f"--to names two groups of '{column}': {found[column]} and {group}. Name one.")
        found[column] = group
    return found


def _report_unknown(result: AuditResult, table: pd.DataFrame) -> None:
    for name, count in result.encoding.unknown(table).items():
        print(
            f"warning: {count} of {len(table)} rows have an unknown '{name}'; it is treated as the most frequent value."
        )
