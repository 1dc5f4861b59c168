"""From an audit and a person's statements to a document, and from that to files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from cfad_core.audit.statements import Statements
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.files import staged_folder
from cfad_core.report.cards import data_sheet, model_card
from cfad_core.report.document import Document, SignedBy, one_line
from cfad_core.report.html import html_report
from cfad_core.report.moments import moment
from cfad_core.report.pdf import pdf_report
from cfad_core.report.sections import SECTIONS
from cfad_core.report.sections.summary import slides
from cfad_core.report.subject import Subject, subject_of_folder
from cfad_core.report.template import Template

Format = Literal["html", "pdf", "json", "model-card", "data-sheet"]
FORMATS: tuple[Format, ...] = get_args(Format)
FILES: dict[Format, str] = {
    "html": "report.html",
    "pdf": "report.pdf",
    "json": "report.json",
    "model-card": "model_card.md",
    "data-sheet": "data_sheet.md",
}


def make_document(
    audit: Subject,
    statements: Statements,
    template: Template | None = None,
    *,
    at: float | None = None,
    signed: SignedBy | None = None,
) -> Document:
    """The report of an audit.

    Parameters
    ----------
    at : when it is made, in seconds since 1970; now, by default
    """
    template = template or Template()
    sections = tuple(section(audit, statements) for name, section in SECTIONS.items() if name not in template.left_out)
    left_out = tuple(SECTIONS[name](audit, statements).title for name in template.left_out)
    name = one_line(template.title or statements.system or audit.name)
    return Document(
        title=f"Audit report: {name}",
        audit=f"{one_line(audit.name)} ({audit.id})" if audit.id else one_line(audit.name),
        made=moment(time.time() if at is None else at),
        sections=sections,
        slides=slides(audit, statements),
        organisation=one_line(template.name),
        left_out=left_out,
        signed=signed,
        logo=template.logo,
    )


def write(document: Document, formats: Iterable[Format], audit_json: bytes) -> dict[str, bytes]:
    """The files of a report by name.

    Parameters
    ----------
    audit_json : what is attached to the PDF

    Raises
    ------
    InvalidConfigError
        If there is no such format.
    CfadError
        If a PDF is asked for and cannot be made here.
    """
    makers = _makers(audit_json)
    wanted = list(dict.fromkeys(formats))
    unknown = [name for name in wanted if name not in makers]
    if unknown:
        raise InvalidConfigError(f"There is no format '{unknown[0]}'; choose some of: {', '.join(FORMATS)}.")
    return {FILES[name]: makers[name](document) for name in wanted}


def write_report(
    folder: Path,
    out: Path,
    formats: Iterable[Format] = ("html", "pdf", "json"),
    statements: Statements | None = None,
    template: Template | None = None,
    method: str | None = None,
) -> list[Path]:
    """Write the report of an audit folder; returns the files.

    Parameters
    ----------
    folder : that ``save_audit`` wrote
    out : folder for the files, which come all or none
    method : the detector that it is about; by default your own, if there is one, else the first of the audit

    Raises
    ------
    CfadError
        If there is no audit or no such method, or the files cannot be made or written.
    """
    audit = subject_of_folder(folder, method)
    return save_files(write(make_document(audit, statements or Statements(), template), formats, audit.content), out)


def save_files(files: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write files into a folder, all or none."""
    with staged_folder(out) as stage:
        for name, content in files.items():
            (stage / name).write_bytes(content)
    return [out / name for name in files]


def _makers(audit_json: bytes) -> Mapping[Format, Callable[[Document], bytes]]:
    return {
        "html": lambda document: html_report(document).encode(),
        "pdf": lambda document: pdf_report(document, audit_json),
        "json": lambda document: document.json,
        "model-card": lambda document: model_card(document).encode(),
        "data-sheet": lambda document: data_sheet(document).encode(),
    }
