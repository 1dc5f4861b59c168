"""Model card and data sheet: parts of the report as Markdown, for the places where models and tables are kept."""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.core.markdown import as_text
from cfad_core.report.document import Block, Bullets, Cell, Code, Document, Fields, Picture, Section, Table, Text
from cfad_core.report.html import signed_line
from cfad_core.report.numbers import Number

_LONGEST = 4_000  # characters of one text
MODEL_CARD = ("system", "summary", "labels", "rates", "counterfactual", "turning", "threshold", "mitigation", "limits")
DATA_SHEET = ("data", "groups", "labels", "graph", "limits", "repeat")


def model_card(document: Document) -> str:
    """What users of the detector should know: the sections of the report that are about it."""
    return _card(document, "Model card", MODEL_CARD)


def data_sheet(document: Document) -> str:
    """What users of the table should know: the sections of the report that are about it."""
    return _card(document, "Data sheet", DATA_SHEET)


def _card(document: Document, kind: str, wanted: tuple[str, ...]) -> str:
    by_key = {section.key: section for section in document.sections}
    team = [as_text(document.organisation)] if document.organisation else []
    facts = [*team, f"audit {_text(document.audit)}", f"made {_text(document.made)}", _text(signed_line(document))]
    lines = [f"# {kind}: {_text(document.title.removeprefix('Audit report: '))}", "", " · ".join(facts), ""]
    for key in wanted:
        if key in by_key:
            lines += _section(by_key[key])
    lines += ["---", f"Part of the report with the digest `{document.digest}` (sha256 of its report.json).", ""]
    return "\n".join(lines)


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {_text(section.title)}", "")
    for text in section.plain:
        yield from (_text(text), "")
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    title = "" if isinstance(block, Text) else block.title
    if title and not isinstance(block, Picture):
        yield from (f"### {_text(title)}", "")
    if isinstance(block, Text):
        yield from (line for text in block.paragraphs for line in (_text(text), ""))
    elif isinstance(block, Bullets):
        yield from (*(f"- {_text(item)}" for item in block.items), "")
    elif isinstance(block, Fields):
        yield from (*(f"- **{_text(one.label)}**: {_cell(one.value)}" for one in block.entries), "")
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Code):
        fence = "`" * max(3, 1 + max((len(run) for run in block.text.split() if set(run) == {"`"}), default=0))
        yield from (fence, block.text, fence, "")


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(_text(label) for label in table.columns.values())} |"
    yield f"| {' | '.join('--:' if table.is_number(name) else '---' for name in table.columns)} |"
    for row in table.rows:
        yield f"| {' | '.join(_cell(row[name]) for name in table.columns)} |"
    yield ""
    if table.note:
        yield from (_text(table.note), "")


def _cell(cell: Cell) -> str:
    return _text(cell.shown if isinstance(cell, Number) else cell)


def _text(text: str) -> str:
    return as_text(text, _LONGEST)
