"""Signing a report: a copy of all its files that is never changed again."""

from __future__ import annotations

from cfad_core.audit.statements import Statements
from cfad_core.report.document import SignedBy
from cfad_core.report.making import FORMATS, make_document, write
from cfad_core.report.moments import moment
from cfad_core.report.subject import Subject
from cfad_core.report.template import Template
from cfad_core.runs.signed import Files, Signature, checked_signer
from cfad_core.runs.store import Store


def sign_report(
    store: Store, audit: Subject, statements: Statements, template: Template | None, signer: str, role: str = ""
) -> Signature:
    """Keep a signed copy of the report of a saved audit: every format, and ``audit.json``.

    Raises
    ------
    CfadError
        If there is no signer, or the copy cannot be made or written.
    """
    signer, role = checked_signer(signer, role)

    def files(version: int, at: float) -> Files:
        signed = SignedBy(signer, role, version, moment(at))
        document = make_document(audit, statements, template, at=at, signed=signed)
        return {**write(document, FORMATS, audit.content), "audit.json": audit.content}

    return store.sign(audit.id, files, signer, role)
