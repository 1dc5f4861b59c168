"""report: a finished audit as HTML, PDF, JSON, model card and data sheet; signed copies, and a check of them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.options import Commands
from cfad_core.core.errors import InvalidConfigError

if TYPE_CHECKING:
    from cfad_core.audit.statements import Statements
    from cfad_core.report.subject import Subject
    from cfad_core.report.template import Template

_FORMATS = ("html", "pdf", "json", "model-card", "data-sheet")
_ALTERED = 1


def add_to(commands: Commands) -> None:
    report = commands.add_parser("report", help="write the report of a finished audit; sign it, or check signed copies")
    report.set_defaults(run=_report)
    report.add_argument("audit", metavar="AUDIT", help="audit folder, or the id of a saved audit")
    report.add_argument(
        "--format",
        nargs="+",
        choices=_FORMATS,
        default=["html", "pdf", "json"],
        metavar="FORMAT",
        help=f"some of {', '.join(_FORMATS)}; by default html, pdf and json",
    )
    report.add_argument("--out", type=Path, metavar="DIR", help="folder to write the files to")
    report.add_argument(
        "--statements",
        type=Path,
        metavar="FILE",
        help="what only a person can say (TOML or JSON), instead of what is saved",
    )
    report.add_argument(
        "--template", type=Path, metavar="FILE", help="name, logo and sections (TOML); else report.toml of the store"
    )
    report.add_argument("--method", metavar="NAME", help="the detector that it is about; by default as on its page")
    report.add_argument(
        "--sign", metavar="NAME", help="keep a signed copy with a saved audit; --out gets its files, too"
    )
    report.add_argument("--role", default="", metavar="ROLE", help="of who signs")
    report.add_argument(
        "--check", action="store_true", help="only check that the signed copies are as they were signed"
    )


def _report(options: argparse.Namespace) -> int:
    from cfad_core.core.files import check_folder

    if options.role and options.sign is None:
        raise InvalidConfigError("--role is the role of who signs: say who that is, with --sign NAME.")
    if options.check:
        _check_alone(options)
        return _check(options.audit)
    if options.out is None and options.sign is None:
        raise InvalidConfigError("Say where to write the report to, with --out DIR, or who signs it, with --sign NAME.")
    if options.sign is not None and Path(options.audit).exists():
        raise InvalidConfigError("A signed copy is kept with a saved audit; this is a folder. Save the audit first.")
    if options.out is not None:
        check_folder(options.out)
    audit, statements, template = _subject(options)
    if options.sign is not None:
        _sign(options, audit, statements, template)
    else:
        _write(options, audit, statements, template)
    return 0


def _check_alone(options: argparse.Namespace) -> None:
    """Refuse to check and to write at once: a check changes nothing."""
    more = {"--out": options.out, "--sign": options.sign, "--statements": options.statements}
    more |= {"--template": options.template, "--method": options.method}
    given = next((name for name, value in more.items() if value is not None), None)
    if given is not None:
        raise InvalidConfigError(f"--check only looks at signed copies; leave out {given}, or --check.")


def _subject(options: argparse.Namespace) -> tuple[Subject, Statements, Template | None]:
    """The audit, what is stated about it, and how its report looks."""
    from cfad_core.apps.cli.opening import open_store, record_named
    from cfad_core.audit.statements import MOST_BYTES, Statements, read_statements
    from cfad_core.core.files import read_bytes
    from cfad_core.report.subject import subject_of_folder, subject_of_saved
    from cfad_core.report.template import FILE, read_template

    template = None if options.template is None else read_template(options.template)
    given = None
    if options.statements is not None:
        given = read_statements(read_bytes(options.statements, MOST_BYTES), options.statements.name)
    if Path(options.audit).exists():
        return subject_of_folder(Path(options.audit), options.method), given or Statements(), template
    with open_store() as store:
        record = record_named(store, options.audit)
        store.note("downloaded", options.audit, "report")
        if given is not None:  # what is saved is not needed, and may be damaged
            record = dataclasses.replace(record, statements_entry=None)
        audit, saved = subject_of_saved(store, options.audit, options.method, record=record)
        if template is None and (store.home / FILE).is_file():
            template = read_template(store.home / FILE)
    return audit, saved if given is None else given, template


def _write(options: argparse.Namespace, audit: Subject, statements: Statements, template: Template | None) -> None:
    from cfad_core.report.making import make_document, write

    document = make_document(audit, statements, template)
    _keep(options.out, write(document, options.format, audit.content))
    print(f"Digest of the report (sha256 of its report.json): {document.digest}")


def _keep(folder: Path, files: Mapping[str, bytes]) -> None:
    from cfad_core.report.making import save_files

    for path in save_files(files, folder):
        print(path)


def _sign(options: argparse.Namespace, audit: Subject, statements: Statements, template: Template | None) -> None:
    """Keep a signed copy; what is written elsewhere, too, are files of that copy."""
    from cfad_core.apps.cli.opening import open_store
    from cfad_core.report.making import FILES
    from cfad_core.report.signing import sign_report
    from cfad_core.runs.signed import copy_folder

    with open_store() as store:
        signature = sign_report(store, audit, statements, template, options.sign, options.role)
        copy = copy_folder(store.folder(audit.id), signature.version)
    if options.out is not None:
        names = dict.fromkeys(FILES[name] for name in options.format)
        _keep(options.out, {name: (copy / name).read_bytes() for name in names})
    print(f"Signed by {signature.signer} as version {signature.version}: {signature.digest}")


def _check(name: str) -> int:
    """Say of every signed copy whether it is as it was signed."""
    from cfad_core.apps.cli.opening import audit_folder
    from cfad_core.core.errors import InvalidArtifactError
    from cfad_core.report.moments import moment
    from cfad_core.runs.signed import altered, signatures

    folder, code = audit_folder(name), 0
    if not (folder / "audit.json").is_file():
        raise InvalidArtifactError(f"There is no audit in '{folder}'.")
    found = signatures(folder)
    if not found:
        print("No report of this audit was signed.")
    for signature in found:
        wrong = altered(folder, signature)
        code = _ALTERED if wrong else code
        state = f"ALTERED: {signature.damage or ', '.join(wrong)}" if wrong else "as it was signed"
        who = f" ({signature.signer}, {moment(signature.at)}, sha256 {signature.digest})" if signature.signer else ""
        print(f"version {signature.version}: {state}{who}")
    return code
