"""store: keep it tidy, back it up, restore it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cfad_core.apps.cli.opening import TOKEN, open_store
from cfad_core.apps.cli.options import Commands
from cfad_core.apps.cli.output import moment
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.formats import counted


def add_to(commands: Commands) -> None:
    store = commands.add_parser("store", help="the store of saved audits as a whole")
    actions = store.add_subparsers(dest="action", required=True, metavar="ACTION")
    tidy = actions.add_parser("tidy", help="delete the audits that were kept for CFAD_KEEP_DAYS days")
    tidy.set_defaults(run=_tidy)
    backing = actions.add_parser("backup", help="write all of it to one file, also while it is in use")
    backing.add_argument("file", type=Path, metavar="FILE")
    backing.set_defaults(run=_back_up)
    restoring = actions.add_parser("restore", help="fill an empty store with a backup")
    restoring.add_argument("file", type=Path, metavar="FILE")
    restoring.add_argument("--into", type=Path, metavar="HOME", help="folder of the store; by default CFAD_HOME")
    restoring.set_defaults(run=_restore)


def _tidy(_: argparse.Namespace) -> None:
    with open_store() as store:
        gone = store.tidy()
        if store.keep_days is None:
            print("Nothing is deleted: audits are kept for ever, as CFAD_KEEP_DAYS is not set.")
            return
    print(f"{counted(len(gone), 'audit')} deleted, kept for {counted(store.keep_days, 'day')} after the end.")


def _back_up(options: argparse.Namespace) -> None:
    from cfad_core.runs.backup import back_up

    with open_store() as store:
        found = back_up(store, options.file)
    print(f"The store is in {options.file}: {found.words}. It holds everything, also people's tables: keep it safe.")


def _restore(options: argparse.Namespace) -> None:
    from cfad_core.runs.backup import restore

    if os.environ.get(TOKEN) is not None:
        raise InvalidConfigError(f"Whoever runs the program restores a store, and no token does: unset {TOKEN}.")
    found = restore(options.file, options.into)
    print(f"The store is as it was backed up {moment(found.made)}: {found.words}.")
