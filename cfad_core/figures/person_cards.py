"""The card of a person and their twin as HTML: outcome, columns with a small picture each, real people beside the twin.

The looks are in the dashboard's style sheet. Whatever comes from a table passes through ``plain``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfad_core.core.formats import number
from cfad_core.evaluation.spreads import Spread
from cfad_core.figures.spread_sketches import Marked, person_mark, spread_sketch, spread_words, twin_mark
from cfad_core.figures.svg import plain

_VALUE = 60  # letters of a cell
_NAME = 80


@dataclass(frozen=True)
class ColumnCard:
    """One column of a person and their twin.

    Attributes
    ----------
    column : its name
    values : what both have there, as text
    spread : of the column in the groups
    marked : the two values on it
    note : what else to know; empty if nothing
    """

    column: str
    values: tuple[str, str]
    spread: Spread
    marked: Marked
    note: str = ""


@dataclass(frozen=True)
class RealRow:
    """The twin, or a real person beside it.

    Attributes
    ----------
    name : who it is
    score, flagged : theirs
    cells : by column, as text
    differs : the columns in which they differ from the twin
    """

    name: str
    score: float
    flagged: bool
    cells: Mapping[str, str]
    differs: Sequence[str]


def outcome_card(headline: str, chance: str, scale: str) -> str:
    """What the detector does with both, how likely the outcome changes, and the scores on one line."""
    return (
        f'<div class="cf-card cf-outcome"><p class="cf-headline">{plain(headline, 300)}</p>'
        f'<p class="cf-chance">{plain(chance, 300)}</p>{scale}</div>'
    )


def column_cards(cards: Sequence[ColumnCard], groups: tuple[str, str]) -> str:
    """The columns side by side, and once what the marks mean."""
    marks = (
        f'<svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">{mark(0.0, 0.0)}</svg>'
        for mark in (person_mark, twin_mark)
    )
    names = (f"the person, among the group {groups[0]}", f"the twin, among the group {groups[1]}")
    legend = "".join(f"<span>{mark} {plain(name, 120)}</span>" for mark, name in zip(marks, names, strict=True))
    return f'<p class="cf-legend">{legend}</p><div class="cf-cards">{"".join(map(_column, cards))}</div>'


def _column(card: ColumnCard) -> str:
    here, there = (f"<bdi>{plain(value, _VALUE)}</bdi>" for value in card.values)
    values = f"<b>{here}</b> → <b>{there}</b>" if card.values[0] != card.values[1] else f"<b>{here}</b>"
    words = " ".join(filter(None, (spread_words(card.spread, card.marked), card.note)))
    return (
        f'<div class="cf-card"><p class="cf-column"><bdi>{plain(card.column, _NAME)}</bdi></p>'
        f'<p class="cf-values">{values}</p>{spread_sketch(card.column, card.spread, card.marked)}'
        f'<p class="cf-quiet">{plain(words, 400)}</p></div>'
    )


def real_people_table(columns: Sequence[str], rows: Sequence[RealRow]) -> str:
    """The twin, and below it real people; what differs from the twin is bold and marked."""
    heads = "".join(
        f'<th scope="col"><bdi>{plain(name, 40)}</bdi></th>' for name in ("who", "outcome", "score", *columns)
    )
    body = "".join(_real_row(row, columns) for row in rows)
    return (
        '<div class="cf-wide" tabindex="0" role="region" aria-label="The twin beside real people">'
        f'<table class="cf-real"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _real_row(row: RealRow, columns: Sequence[str]) -> str:
    cells = []
    for name in columns:
        words = f"<bdi>{plain(row.cells[name], _VALUE)}</bdi>"
        cells.append(f"<td>{f'<b>≠ {words}</b>' if name in row.differs else words}</td>")
    outcome = '<b class="cf-flag">flagged</b>' if row.flagged else "not flagged"
    first = f'<th scope="row">{plain(row.name, 40)}</th><td>{outcome}</td><td>{number(row.score)}</td>'
    return f"<tr>{first}{''.join(cells)}</tr>"
