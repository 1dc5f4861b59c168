"""audits: the saved ones."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli import batches, plans, team
from cfad_core.apps.cli.opening import open_store
from cfad_core.apps.cli.options import Commands
from cfad_core.apps.cli.output import aligned, moment
from cfad_core.core.formats import counted

if TYPE_CHECKING:
    from cfad_core.runs.access import Share
    from cfad_core.runs.model import AuditRecord
    from cfad_core.runs.store import Store


def add_to(commands: Commands) -> None:
    audits = commands.add_parser("audits", help="the saved audits")
    actions = audits.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="all of them, the newest first")
    listing.add_argument("--status", metavar="STATUS", help="only those with this status: done, running, failed, ...")
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
    plans.add_to(actions)
    batches.add_to(actions)
    team.add_actions(actions)
    taking = actions.add_parser("import", help="take one out of a zip file")
    taking.add_argument("file", type=Path, metavar="FILE")
    taking.set_defaults(run=_import_audit)


def _list_audits(options: argparse.Namespace) -> None:

    with open_store() as store:
        records = store.find(status=options.status, text=options.text)
    if not records:
        print("No audit is saved here." if not (options.status or options.text) else "No saved audit matches.")
        return
    rows = [
        [
            record.id,
            moment(record.created),
            _status(record),
            f"{record.progress:.0%}",
            record.roles.sensitive_name,
            record.name,
        ]
        for record in records
    ]
    print(aligned([["id", "created", "status", "done", "sensitive", "name"], *rows]))


def _show_audit(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary

    with open_store() as store:
        record = store.get(options.id)
        lines = [
            ["name", record.name],
            ["status", record.status + (f" ({record.stage}, {record.progress:.0%})" if record.stage else "")],
            ["created", moment(record.created)],
            ["source", record.source],
            ["note", record.note],
            ["owner", record.owner],
            *(["shared", f"with {one.words}, to {one.may}"] for one in _shares(store, record.id)),
            ["folder", str(store.folder(record.id))],
            *plans.plan_lines(record),
            *(["signed", line] for line in _signed_lines(store, record.id)),
            ["error", record.error],
        ]
        store.note("opened", record.id)
        print(aligned([line for line in lines if line[1]]))
        if record.status == "done":
            print("\n" + summary(store.result(record.id)))


def _shares(store: Store, audit: str) -> tuple[Share, ...]:
    """With whom it is shared, for those who may know."""
    from cfad_core.runs.access import covers

    return store.shares(audit) if covers(store.right(audit), "own") else ()


def _signed_lines(store: Store, audit: str) -> list[str]:
    """A line about each signed report."""
    from cfad_core.runs.signed import altered

    lines = []
    for one in store.signatures(audit):
        role = f" ({one.role})" if one.role else ""
        said = one.damage or f"by {one.signer}{role}, {moment(one.at)}, sha256 {one.digest}"
        changed = () if one.damage else altered(store.folder(audit), one)
        lines.append(f"report {one.version}: {said}" + (f"; changed since: {', '.join(changed)}" if changed else ""))
    return lines


def _cancel_audit(options: argparse.Namespace) -> None:

    with open_store() as store:
        before = store.get(options.id).status
        store.request_cancel(options.id)
    said = {
        "planned": "is planned and was not started; delete it if nobody wants it",
        **{"queued": "is cancelled", "running": "is being stopped"},
    }.get(before, f"is {before} already")
    print(f"Audit {options.id} {said}.")


def _restart_audit(options: argparse.Namespace) -> None:

    with open_store() as store:
        store.requeue(options.id)
    print(f"Audit {options.id} is in the queue again; the dashboard works it off while it runs.")


def _delete_audit(options: argparse.Namespace) -> None:

    with open_store() as store:
        count = len(store.signatures(options.id))
        store.delete(options.id)
    also = f", and {counted(count, 'signed report')} with it" if count else ""
    print(f"Audit {options.id} is deleted{also}.")


def _export_audit(options: argparse.Namespace) -> None:
    from cfad_core.runs.archive import export_audit

    with open_store() as store:
        export_audit(store, options.id, options.file)
        store.note("downloaded", options.id, options.file.name)
    print(f"Audit {options.id} is in {options.file}.")


def _import_audit(options: argparse.Namespace) -> None:
    from cfad_core.runs.archive import import_audit

    with open_store() as store:
        print(f"The audit is saved as {import_audit(store, options.file)}.")


def _status(record: AuditRecord) -> str:
    if record.status == "waiting":
        return "waiting for scores"
    return f"{record.status}, older version" if record.is_of_older_engine else record.status
