"""audit --plan, audits start: an audit is sealed before any result is seen, and run later."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.asked import hand_out
from cfad_core.apps.cli.doors import check_batch_name
from cfad_core.apps.cli.jobs import run_job
from cfad_core.apps.cli.opening import open_store
from cfad_core.apps.cli.options import Commands
from cfad_core.apps.cli.output import TerminalProgress, moment
from cfad_core.core.errors import CfadError, InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.core.config import AuditConfig
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.tables import Tables
    from cfad_core.runs.model import AuditRecord
    from cfad_core.runs.store import Store


def add_plan(audit: argparse.ArgumentParser) -> None:
    group = audit.add_argument_group("a plan", "seal the audit before any result is seen, and start it later")
    group.add_argument("--plan", action="store_true", help="with --save: seal it, and do not run it yet")
    group.add_argument("--planned-by", metavar="NAME", help="who plans it")
    group.add_argument(
        "--expect", metavar="TEXT", help="which method and threshold it will be about, and what would be acceptable"
    )


def add_to(actions: Commands) -> None:
    """The action that starts a planned audit."""
    start = actions.add_parser("start", help="run one that was planned, and print a summary")
    start.add_argument("id", metavar="ID")
    start.add_argument(
        "--ask-scores", type=Path, metavar="FILE", help="if it asks a detector: where to write the rows to score"
    )
    start.set_defaults(run=_start_audit, save=True)  # if it is cancelled, it is kept


def check_plan(options: argparse.Namespace) -> None:
    """Refuse what cannot be planned, in one line."""
    if not options.plan:
        if options.planned_by is not None or options.expect is not None:
            options.refuse("--planned-by and --expect say something of a plan: give --plan, too")
        return
    if options.scores is not None:
        options.refuse("--plan is for an audit that is not begun yet; with --scores one is finished")
    if options.save is None:
        options.refuse("--plan needs --save NAME: a planned audit is kept among the saved ones")
    if any(way is not None for way in (options.score_command, options.score_address, options.onnx)):
        options.refuse("a planned audit asks a detector by files alone: give --ask-scores FILE")


def plan_audit(
    options: argparse.Namespace, store: Store, tables: Tables, roles: ColumnRoles, config: AuditConfig
) -> str:
    """Seal the audit; returns what to say about it."""
    audit = store.plan(
        tables,
        roles,
        config,
        name=options.save,
        by=options.planned_by or "",
        expectation=options.expect or "",
        source=options.table.name,
    )
    plan = store.get(audit).plan
    assert plan is not None
    asks = "" if config.asked is None else f" --ask-scores {options.ask_scores}"
    return (
        f"The audit is planned as {audit}, and not started.\n"
        f"Its seal is {plan.digest}\n"
        "Note the seal down, or send it to somebody: it shows later that this is what was planned. Then start it:\n"
        f"  python -m cfad_core audits start {audit}{asks}"
    )


def _start_audit(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary

    with open_store() as store:
        record = store.get(options.id)
        asks = record.status == "planned" and record.config.asked is not None
        if asks and options.ask_scores is None:
            raise InvalidConfigError(
                "This audit asks a detector: say where to write the rows that it must score, with --ask-scores FILE."
            )
        if options.ask_scores is not None:
            check_batch_name(options.ask_scores)
        store.start(options.id)
        with TerminalProgress() as progress:
            run_job(store, options.id, progress)
        if store.get(options.id).status == "waiting":
            print(hand_out(store.questions(options.id), options.ask_scores, options.id))
            return
        store.note("opened", options.id)
        print(f"{summary(store.result(options.id))}\n\nThe audit is saved as {options.id}.")


def plan_lines(record: AuditRecord) -> list[list[str]]:
    """What ``audits show`` says of a plan: when, by whom, the seal and whether it holds, what was expected."""
    from cfad_core.runs.plan import is_sealed

    try:
        plan = record.plan
    except CfadError as error:
        return [["planned", str(error)]]
    if plan is None:
        return []
    holds = "the audit is as it was sealed" if is_sealed(record) else "the audit is NOT what was sealed"
    expected = "".join(letter if letter.isprintable() else " " for letter in plan.expectation)
    return [
        ["planned", moment(plan.at) + (f" by {plan.by}" if plan.by else "")],
        ["seal", f"{plan.digest} ({holds})"],
        ["expected", " ".join(expected.split())],
    ]
