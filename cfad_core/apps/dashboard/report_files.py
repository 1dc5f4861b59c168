"""The files of a report: made when they are asked for, and kept when somebody signs them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from cfad_core.apps.dashboard.rights import refusal, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.markdown import as_text
from cfad_core.report.document import Document
from cfad_core.report.making import FILES, Format, write
from cfad_core.report.moments import moment
from cfad_core.report.pdf import check_pdf
from cfad_core.report.signing import sign_report
from cfad_core.report.subject import Subject
from cfad_core.report.template import FILE, Template, read_template
from cfad_core.runs.model import AuditRecord
from cfad_core.runs.signed import Signature, altered, copy_folder

LABELS: dict[Format, tuple[str, str]] = {
    "html": ("HTML", "text/html"),
    "pdf": ("PDF", "application/pdf"),
    "json": ("JSON", "application/json"),
    "model-card": ("Model card", "text/markdown"),
    "data-sheet": ("Data sheet", "text/markdown"),
}
_MIMES = {".html": "text/html", ".pdf": "application/pdf", ".json": "application/json", ".md": "text/markdown"}


def team_template() -> Template | None:
    """The template in the store's home folder; one that cannot be read is explained, and not used."""
    path = store().home / FILE
    if not path.is_file():
        return None
    try:
        return read_template(path)
    except CfadError as error:
        st.warning(f"The template of reports is not used. {as_text(error, 400)}")
        return None


def offer_files(audit: Subject, document: Document, record: AuditRecord) -> None:
    """A button for each format; that of the PDF is grey where none can be made."""
    missing = _why_no_pdf()
    for place, (form, (label, mime)) in zip(st.columns(len(LABELS)), LABELS.items(), strict=True):
        with place:
            offer_file(
                label,
                _maker(document, form, audit.content),
                record.file(FILES[form]),
                mime,
                audit=record.id,
                key=f"report-{audit.id}-{form}",
                width="stretch",
                disabled=form == "pdf" and bool(missing),
            )
    if missing:
        st.caption(as_text(missing, 400))


def _why_no_pdf() -> str:
    try:
        check_pdf()
    except CfadError as error:
        return str(error)
    return ""


def _maker(document: Document, form: Format, content: bytes) -> Callable[[], bytes]:
    return lambda: write(document, [form], content)[FILES[form]]


def offer_to_sign(audit: Subject, statements: Statements, template: Template | None, *, saved: bool) -> None:
    """Who signs, and the button that freezes a copy; for those who may tune the audit."""
    if why := refusal(store().get(audit.id), "tune"):
        st.caption(why)
        return
    st.caption(
        "Signing keeps a copy of all formats with the audit, with the date, its digest and your name. It is never "
        "changed: what is said or chosen later goes into a new version, and both are kept."
    )
    name, role, action = st.columns([2, 2, 1], vertical_alignment="bottom")
    signer = name.text_input("Your name", key=f"signer-{audit.id}", max_chars=200)
    as_what = role.text_input("Your role", key=f"signer-role-{audit.id}", max_chars=200)
    if action.button("Sign", type="primary", disabled=not saved, key=f"sign-{audit.id}", width="stretch"):
        with refusals_in_words():
            with st.spinner("Writing the signed copy ..."):
                signature = sign_report(store(), audit, statements, template, signer, as_what)
            st.success(f"Signed as version {signature.version}.")
    if not saved:
        st.caption("Save the statements first: a signed copy holds what is saved.")


def show_signed(record: AuditRecord) -> None:
    """Every signed copy, whether it is intact, and its files."""
    found = store().signatures(record.id)
    if not found:
        st.caption("Nobody signed a report of this audit yet.")
        return
    folder = store().folder(record.id)
    for signature in reversed(found):
        words, files = st.columns([2, 3], vertical_alignment="center")
        if signature.damage:
            words.markdown(f"**Version {signature.version}**")
            words.error(as_text(signature.damage, 400))
            continue
        who = f"{as_text(signature.signer)}{f', {as_text(signature.role)}' if signature.role else ''}"
        words.markdown(f"**Version {signature.version}** · {who} · {moment(signature.at)}")
        words.caption(f"sha256 {signature.digest[:16]}…", help=signature.digest)
        if wrong := altered(folder, signature):
            words.error(f"Not as it was signed: {as_text(', '.join(wrong))}")
            continue
        with files:
            _offer_copy(folder, record, signature)


def _offer_copy(folder: Path, record: AuditRecord, signature: Signature) -> None:
    copy = copy_folder(folder, signature.version)
    names = [name for name in FILES.values() if name in signature.files]
    for place, name in zip(st.columns(len(names)), names, strict=True):
        suffix = Path(name).suffix
        with place:
            offer_file(
                name.partition(".")[0].replace("_", " ").capitalize() if suffix == ".md" else suffix[1:].upper(),
                partial(_unaltered, copy / name, signature.files[name]),
                record.file(f"v{signature.version}-{name}"),
                _MIMES[suffix],
                audit=record.id,
                key=f"signed-{record.id}-{signature.version}-{name}",
                width="stretch",
            )


def _unaltered(path: Path, sha256: str) -> bytes:
    """A file of a signed copy, if it is still as it was signed."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidArtifactError(f"'{path.name}' is not as it was signed.")
    return content
