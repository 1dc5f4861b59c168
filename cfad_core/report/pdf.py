"""A report as a tagged PDF (PDF/UA-1) with page numbers, its digest on every page, and the numbers attached."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from cfad_core.core.errors import CfadError
from cfad_core.report.document import Document
from cfad_core.report.html import print_page

_FITS = (1.0, 0.93, 0.86, 0.8, 0.74)  # of the usual size of type; smaller could not be read
_TWO = 2  # pages of a report of the summary alone: the summary, then contents and signature


def check_pdf() -> None:
    """Fail before the work rather than after it, if no PDF can be made here.

    Raises
    ------
    CfadError
        If the libraries that lay out text are not there.
    """
    try:
        import weasyprint  # type: ignore[import-untyped]  # noqa: F401
    except OSError as error:
        raise CfadError(
            "A PDF is laid out by Pango, which is not installed here. Install it (Debian: apt-get install "
            "libpango-1.0-0 libpangoft2-1.0-0; macOS: brew install pango), or make the report as HTML and print it."
        ) from error


def pdf_report(document: Document, audit_json: bytes) -> bytes:
    """The file; ``audit.json`` and ``report.json`` are attached.

    Raises
    ------
    CfadError
        If the libraries that lay out text are not there.
    """
    check_pdf()
    from weasyprint import HTML, Attachment
    from weasyprint.urls import URLFetcher  # type: ignore[import-untyped]

    fetcher = URLFetcher(allowed_protocols=("data",))  # a logo; nothing else is ever loaded
    attached = [
        Attachment(string=content, name=name, description=about, relationship="Data")
        for name, content, about in (
            ("audit.json", audit_json, "The audit, with unrounded numbers"),
            ("report.json", document.json, "The numbers of this report"),
        )
    ]

    def page(shown: Document, fit: float) -> HTML:
        return HTML(string=print_page(shown, fit), base_url="about:blank", url_fetcher=fetcher)

    found: bytes = page(document, _fit(document, page)).write_pdf(
        pdf_variant="pdf/ua-1",
        attachments=attached,
        pdf_identifier=document.digest.encode(),
        custom_metadata=True,
        optimize_images=True,
    )
    return found


def _fit(document: Document, page: Callable[[Document, float], Any]) -> float:
    """The largest size of type with which the summary is on the first page; the smallest if it is with none."""
    alone = dataclasses.replace(document, sections=document.sections[:1], left_out=())
    return next((fit for fit in _FITS[:-1] if len(page(alone, fit).render().pages) == _TWO), _FITS[-1])
