"""audits share | unshare | give, tokens, log: what people of a team do with one store."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.opening import open_store
from cfad_core.apps.cli.options import Commands
from cfad_core.apps.cli.output import aligned, moment
from cfad_core.core.errors import InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.runs.access import Share, Sharing
    from cfad_core.runs.team import Token

_SHOWN = 50  # lines of the log
_DAYS = 90  # that a token is good for
_STDOUT = Path("-")


def add_to(commands: Commands) -> None:
    _add_tokens(commands)
    log = commands.add_parser("log", help="who did what with the saved audits")
    log.set_defaults(run=_show_log)
    log.add_argument("--audit", metavar="ID", help="only what was done with this one")
    log.add_argument("--who", metavar="NAME", help="only what this person did")
    log.add_argument(
        "--limit", type=int, default=_SHOWN, metavar="N", help=f"how many lines to show; by default {_SHOWN}"
    )
    log.add_argument(
        "--json", type=Path, metavar="FILE", help="write all of it as lines of JSON, the latest first; - prints them"
    )


def add_actions(actions: Commands) -> None:
    """To the actions of ``audits``."""
    for action, run, about in (
        ("share", _share, "let others read it, or tune it"),
        ("unshare", _unshare, "share it with them no more"),
    ):
        one = actions.add_parser(action, help=about)
        one.add_argument("id", metavar="ID")
        whom = one.add_mutually_exclusive_group(required=True)
        whom.add_argument("--with", dest="person", metavar="NAME", help="a person, by the name of the sign-in")
        whom.add_argument("--group", metavar="NAME", help="a group of the sign-in")
        whom.add_argument("--everybody", action="store_true", help="everybody who is signed in")
        if action == "share":
            one.add_argument(
                "--tune",
                action="store_true",
                help="let them change its note, threshold and statements, and sign reports",
            )
        one.set_defaults(run=run, tune=False)
    give = actions.add_parser("give", help="make somebody else its owner")
    give.add_argument("id", metavar="ID")
    give.add_argument("name", metavar="NAME", help="by the name of the sign-in")
    give.set_defaults(run=_give)


def _add_tokens(commands: Commands) -> None:
    tokens = commands.add_parser("tokens", help="what programs show to act for a person")
    actions = tokens.add_subparsers(dest="action", required=True, metavar="ACTION")
    make = actions.add_parser("make", help="make one; it is printed once")
    make.add_argument("--label", required=True, metavar="TEXT", help="what it is for")
    make.add_argument(
        "--role", default="viewer", metavar="ROLE", help="what it may at most: viewer (by default), auditor or admin"
    )
    make.add_argument("--days", type=int, default=_DAYS, metavar="N", help=f"until it expires; by default {_DAYS}")
    make.add_argument("--for", dest="owner", metavar="NAME", help="whom it acts for, where people sign in")
    make.set_defaults(run=_make_token)
    actions.add_parser("list", help="all that there are").set_defaults(run=_list_tokens)
    revoke = actions.add_parser("revoke", help="make one worthless")
    revoke.add_argument("token", metavar="TOKEN-ID", help="as 'tokens list' shows it")
    revoke.set_defaults(run=_revoke_token)


def _meant(options: argparse.Namespace) -> Share:
    from cfad_core.runs.access import Share

    may: Sharing = "tune" if options.tune else "read"
    if options.everybody:
        return Share("everybody", "", may)
    return Share("group", options.group, may) if options.group is not None else Share("person", options.person, may)


def _share(options: argparse.Namespace) -> None:
    share = _meant(options)
    with open_store() as store:
        store.share(options.id, share)
    print(f"Audit {options.id} is shared with {share.words}, to {share.may}.")


def _unshare(options: argparse.Namespace) -> None:
    share = _meant(options)
    with open_store() as store:
        store.unshare(options.id, share)
    print(f"Audit {options.id} is not shared with {share.words}.")


def _give(options: argparse.Namespace) -> None:
    from cfad_core.runs.access import folded

    with open_store() as store:
        store.give(options.id, options.name)
    print(f"Audit {options.id} belongs to {folded(options.name)}.")


def _make_token(options: argparse.Namespace) -> None:
    from cfad_core.apps.server.sign_in import SignIn

    with open_store() as store:
        if SignIn.from_environment().is_team and store.viewer.is_operator and options.owner is None:
            raise InvalidConfigError("People sign in here: say for whom the token acts, with --for NAME.")
        token = store.make_token(options.label, options.role, options.days, options.owner)
    print(token)
    print("It is not shown again. Commands take it from CFAD_TOKEN.", file=sys.stderr)


def _list_tokens(_: argparse.Namespace) -> None:
    with open_store() as store:
        tokens = store.tokens()
    if not tokens:
        print("There are no tokens.")
        return
    rows = [
        [one.id, one.owner, one.label, one.role, moment(one.created), _last_use(one), _state(one)] for one in tokens
    ]
    print(aligned([["id", "owner", "label", "role", "made", "last used", "state"], *rows]))


def _last_use(token: Token) -> str:
    return "never" if token.used is None else moment(token.used)


def _state(token: Token) -> str:
    if token.revoked is not None:
        return f"revoked {moment(token.revoked)}"
    return f"{'good until' if token.is_good else 'expired'} {moment(token.expires)}"


def _revoke_token(options: argparse.Namespace) -> None:
    with open_store() as store:
        store.revoke(options.token)
    print(f"Token {options.token} is worthless.")


def _show_log(options: argparse.Namespace) -> None:
    from cfad_core.core.files import staged_file
    from cfad_core.runs.log import json_line

    limit = None if options.json is not None else max(1, options.limit)
    with open_store() as store:
        found = store.log(audit=options.audit, who=options.who, limit=limit)
        if options.json == _STDOUT:
            for one in found:
                print(json_line(one))
        elif options.json is not None:
            with staged_file(options.json) as path, path.open("w", encoding="utf-8") as stream:
                stream.writelines(f"{json_line(one)}\n" for one in found)
            print(f"The log is in {options.json}.")
        else:
            rows = [
                [moment(one.at), one.who or "operator", one.via, one.deed, one.audit or "", one.about] for one in found
            ]
            print(aligned([["when", "who", "by", "what", "audit", "about"], *rows]))
