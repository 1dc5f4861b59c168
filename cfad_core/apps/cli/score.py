"""score | counterfactuals: use a finished audit on new rows."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.opening import Opened, find_audit, open_audit, open_store
from cfad_core.apps.cli.options import Commands, add_table, date_seconds
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.core.errors import CfadError, InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult
    from cfad_core.audit.streaming import Stream
    from cfad_core.data.chunk_files import TableWriter


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
        add_table(command, "CSV, TSV (also .gz), Parquet or Excel file, or a folder of Parquet files")
        command.add_argument("--out", type=Path, required=True, metavar="FILE", help="CSV or Parquet file to write")
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
    from cfad_core.audit.scoring import score_encoded

    found = find_audit(options.audit, options.out.name)
    result = load_audit(found.folder)
    is_batch, reasons = not options.no_history, not options.no_reasons
    start = time.perf_counter()
    # reasons begin with names of columns, which may be anything
    with _streamed(options, result, is_batch=is_batch, for_spreadsheets=True) as (stream, writer):
        for _, people in stream:
            writer.add(score_encoded(result, people, reasons=reasons))
    seconds = time.perf_counter() - start
    for method in result.scores:
        if method not in result.detectors:
            print(f"info: {method} is not part of this program, nor saved with the audit: it scores nothing here.")
    _report_unknown(stream)
    if is_batch:
        _keep_batch(options, found, result, stream)
    _report_speed(stream.rows, seconds)


@contextmanager
def _streamed(
    options: argparse.Namespace, result: AuditResult, *, is_batch: bool = False, for_spreadsheets: bool = False
) -> Iterator[tuple[Stream, TableWriter]]:
    """The table to read and the file to write, both chunk by chunk."""
    from cfad_core.audit.streaming import Stream
    from cfad_core.core.files import check_file
    from cfad_core.data.chunk_files import chunk_writer
    from cfad_core.data.chunks import open_chunks

    check_file(options.out)
    with TerminalProgress() as progress:
        chunks = open_chunks(options.table, sheet=options.sheet, header=options.header, progress=progress)
        stream = Stream(result, chunks, chunks.rows, progress, is_batch=is_batch)
        with chunk_writer(options.out, for_spreadsheets=for_spreadsheets) as writer:
            yield stream, writer


def _keep_batch(options: argparse.Namespace, found: Opened, result: AuditResult, stream: Stream) -> None:
    """Measure the rows as a batch, say what was found, and keep it; the scores are written already."""
    from cfad_core.apps.cli.batches import batch_line
    from cfad_core.audit.batches import measure_batch
    from cfad_core.audit.history import append_batch, read_history, scored_before

    named = {"source": options.table.name, "at": options.date, "counted": stream.counted}
    with TerminalProgress() as progress:
        batch = measure_batch(result, stream.measured, **named, progress=progress)
    print(batch_line(batch))
    for remark in batch.remarks:
        print(f"info: {remark}")
    if batch.alarm is not None:
        print(f"warning: {batch.alarm}")
    if not found.may_tune:
        print("info: You may read this audit, and not tune it: the batch is not kept in its history.")
        return
    try:
        before = scored_before(read_history(found.folder), batch)
        if found.record is None:
            append_batch(found.folder, batch)
        else:
            with open_store() as store:
                store.keep_batch(found.record.id, batch)
    except CfadError as error:
        print(f"warning: {error} The scores are written all the same.", file=sys.stderr)
        return
    if before:
        print(f"info: This table was scored before, with the date {before[-1].date}; it is in the history once more.")


def _counterfactuals(options: argparse.Namespace) -> None:
    from cfad_core.audit.scoring import twins_of_encoded

    result = open_audit(options.audit, options.out.name)
    to, clipped, start = _targets(options.to, result), Counter[str](), time.perf_counter()
    with _streamed(options, result) as (stream, writer):
        for chunk, people in stream:
            found = twins_of_encoded(result, people, chunk, to)
            writer.add(found.rows)
            clipped.update(found.clipped)
    seconds = time.perf_counter() - start
    _report_unknown(stream)
    for name, count in clipped.items():
        print(f"info: {count} of {stream.rows} values of '{name}' were clipped to the range seen in training.")
    _report_speed(stream.rows, seconds)


def _report_speed(rows: int, seconds: float) -> None:
    print(f"info: {rows:,} rows in {seconds:.1f} s: {rows / seconds:,.0f} rows a second.")


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


def _report_unknown(stream: Stream) -> None:
    for name, count in stream.counted.unknown.items():
        print(
            f"warning: {count} of {stream.rows} rows have an unknown '{name}'; it is treated as the most frequent "
            "value."
        )
