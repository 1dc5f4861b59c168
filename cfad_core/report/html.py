"""A report as one HTML file: nothing is loaded from anywhere, and no script runs but ours and plotly's.

Pictures are there as SVG; plotly's code is packed into the page and unpacked where the browser can. The page's own
policy names the two scripts by their digests: whatever a name or a statement holds, a browser would not run it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from cfad_core.figures.writing import plotly_code
from cfad_core.report.document import FORMAT, Document

_TEMPLATES = Path(__file__).parent / "templates"
_FIRST_PAGE = 8.8  # points, of the type of the summary in print
_LONG = 24  # letters of a word that may be broken anywhere, so that it does not widen its table


def html_report(document: Document, *, interactive: bool = True) -> str:
    """The page for the screen; without interactive pictures it is small."""
    script = report_script()
    allowed = [_digest(script), *([_digest(plotly_code())] if interactive else [])]
    policy = (
        f"default-src 'none'; script-src {' '.join(allowed)}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _page(
        document,
        on_screen=True,
        interactive=interactive,
        policy=policy,
        style=_read("report.css"),
        script=script,
        plotly=_packed_plotly() if interactive else "",
        packed_json=base64.b64encode(document.json).decode(),
    )


def print_page(document: Document, fit: float = 1.0) -> str:
    """The page that a PDF is made of.

    Parameters
    ----------
    fit : size of the type of the first page, of the usual one
    """
    style = _read("print.css").replace("DIGEST", document.digest).replace("FIRST", f"{_FIRST_PAGE * fit:.2f}")
    style = _read("report.css") + style
    return _page(document, on_screen=False, interactive=False, policy="", style=style)


def signed_line(document: Document) -> str:
    """Whether it was signed, by whom and when."""
    if document.signed is None:
        return "not signed"
    role = f", {document.signed.role}" if document.signed.role else ""
    return f"signed by {document.signed.signer}{role}, {document.signed.at}, version {document.signed.version}"


def _page(document: Document, **values: object) -> str:
    known = {"document": document, "format": FORMAT, "signed_line": signed_line(document)}
    return _environment().get_template("report.html.j2").render(**known, **values)


@cache
def _environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found.filters["script_json"] = _script_json
    found.filters["has_long_words"] = lambda text: any(len(word) > _LONG for word in text.split())
    return found


def _script_json(text: str) -> Markup:
    """JSON that may stand in a script element: it holds nothing that could end it."""
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(safe)  # noqa: S704 - what could end the element was replaced


@cache
def report_script() -> str:
    """The script inside every report, word for word; a page that shows a report has to allow it."""
    return _read("report.js")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _packed_plotly() -> str:
    return base64.b64encode(gzip.compress(plotly_code().encode(), 9, mtime=0)).decode()


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
