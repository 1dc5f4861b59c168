"""audit, of a table that is too large for memory."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.jobs import run_job
from cfad_core.apps.cli.opening import open_store
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.apps.cli.table_settings import settings_of
from cfad_core.core.errors import InvalidConfigError

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.result import AuditResult
    from cfad_core.core.config import AskedDetector
    from cfad_core.core.progress import Progress
    from cfad_core.data.parts import PartedTable


def is_large(options: argparse.Namespace) -> bool:
    """Whether the table is to be read part by part: it is a folder or beyond what is read whole, or that was asked."""
    asked = options.scheduler is not None or options.workers is not None or options.draw is not None
    return asked or _is_beyond_memory(options.table)


def _is_beyond_memory(path: Path) -> bool:
    from cfad_core.data.readers import beyond_limits

    return path.is_dir() or beyond_limits(path)


def rows_to_inspect(options: argparse.Namespace) -> tuple[pd.DataFrame, int]:
    """The table, or some rows of one that is too large for memory; and how many it has."""
    from cfad_core.data.readers import read_table

    if not _is_beyond_memory(options.table):
        table = read_table(options.table, sheet=options.sheet, header=options.header)
        return table, len(table)
    from cfad_core.runs.cluster import cluster
    from cfad_core.runs.index import home_folder
    from cfad_core.runs.large import in_parts, look

    with (
        TerminalProgress() as progress,
        in_parts(options.table, home_folder(), progress, header=options.header) as parts,
        cluster(None) as client,
    ):
        return look(client, parts, 0, progress).pilot, parts.rows


def audit_large(
    options: argparse.Namespace, asked: AskedDetector | None, progress: Progress
) -> tuple[AuditResult, str, list[str]]:
    """The audit, where it is, and what to tell whoever typed the options."""
    from cfad_core.runs.index import home_folder
    from cfad_core.runs.large import in_parts

    _refuse(options, asked)
    place = home_folder() if options.out is None else options.out.absolute().parent
    with in_parts(options.table, place, progress, header=options.header) as table:
        return _audit(options, asked, table, progress)


def _audit(
    options: argparse.Namespace, asked: AskedDetector | None, table: PartedTable, progress: Progress
) -> tuple[AuditResult, str, list[str]]:
    from cfad_core.data.tables import Tables
    from cfad_core.runs.cluster import cluster
    from cfad_core.runs.large import draw, look, request_of

    with cluster(options.scheduler, options.workers) as client:
        looked = look(client, table, options.seed, progress)
        roles, config, remarks = settings_of(options, looked.pilot, asked)
        roles, sample = draw(client, looked, roles, config, progress, options.draw)
    request = request_of(looked, sample, options.table, options.scheduler, options.workers)
    tables, positions = Tables.of(sample.rows), sample.position
    if options.save is None:
        from cfad_core.audit.folder import save_audit
        from cfad_core.audit.run import audit_tables
        from cfad_core.runs.large import score_everybody

        result = audit_tables(tables, roles, config, progress)
        result = score_everybody(result, request, positions, options.out, progress)
        save_audit(result, options.out)
        return result, f"in {options.out}", remarks

    with open_store() as store:
        named = {"name": options.save, "source": options.table.name}
        audit = store.create(tables, roles, config, **named, prepare=partial(request.save, positions=positions))
        run_job(store, audit, progress)
        return store.result(audit), f"saved as {audit}", remarks


def _refuse(options: argparse.Namespace, asked: AskedDetector | None) -> None:
    """What cannot be done part by part."""
    wrong = {
        "--test": options.test is not None,
        "--test-counterfactual": options.test_counterfactual is not None,
        "--plan": options.plan,
        "a detector of your own": asked is not None,
        "--preset paper": options.preset == "paper",
    }
    named = [name for name, given in wrong.items() if given]
    if named:
        raise InvalidConfigError(
            f"A table that is read part by part cannot be audited with {' and '.join(named)}: audit a sample of it "
            "that fits into memory instead."
        )
    if options.draw is not None and options.draw < 1_000:
        raise InvalidConfigError(f"--draw takes at least 1,000 rows; got {options.draw:,}.")
