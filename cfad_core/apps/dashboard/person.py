"""One person beside their twin: outcome, the way from the one to the other, columns, reasons, and real people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.markup import show_markup
from cfad_core.apps.dashboard.people import both_rows, pair_file, parts_caption, raised_by, reasons_of, twin_warning
from cfad_core.apps.dashboard.person_choice import open_person
from cfad_core.apps.dashboard.services import people_table
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.views import view_of
from cfad_core.apps.dashboard.walk_view import show_walk
from cfad_core.audit.person import ColumnExplanation, PersonExplanation
from cfad_core.audit.result import AuditResult
from cfad_core.audit.spreads import spread_of, value_in
from cfad_core.core.arrays import Floats
from cfad_core.core.formats import cell_text, counted
from cfad_core.core.markdown import as_text
from cfad_core.figures import contributions_figure
from cfad_core.figures.person_cards import ColumnCard, RealRow, column_cards, outcome_card, real_people_table
from cfad_core.figures.score_scale import Scored, score_axis, score_scale
from cfad_core.figures.spread_sketches import Marked
from cfad_core.figures.svg import Axis
from cfad_core.runs.model import AuditRecord

_MOST_DIFFER = 5  # columns in which real people differ that have a column of their own


def show_person(record: AuditRecord, result: AuditResult, method: str, threshold: float, person: int) -> None:
    """The person and the one twin that they have in this view of the audit."""
    table = people_table(record)
    found = result.explain(int(result.people.row[person]), method, table=table, threshold=threshold)
    (other,) = found.walks
    possible = possible_scores(result, method, person)
    axis = _axis(result, found, possible)
    _show_outcome(result, found, other, possible, axis)
    warning = twin_warning(result, person)
    if warning:
        st.warning(warning)
    st.subheader("Step by step from the person to the twin", anchor=False, help=HELP["step by step"])
    show_walk(found.walks[other], found.label, axis, f"walk-{record.id}")
    _show_columns(result, found, other, person)
    st.subheader("What raised the score, in both worlds", anchor=False)
    _show_reasons(result, found, other, person)
    _show_real(record, result, found, other)
    offer_file(
        "Download this person and their twin (CSV)",
        partial(pair_file, result, table, person),
        record.file(f"row-{int(result.row_numbers[person])}.csv"),
        "text/csv",
        audit=record.id,
        key=f"pair-{record.id}",
    )


def possible_scores(result: AuditResult, method: str, person: int) -> Floats:
    """(r,), the scores of a person's possible twins; of the true one where it is known; empty if nobody made any."""
    scores, judged = result.scores[method], result.people.judged
    if scores.truth is not None:
        return scores.truth[[person]]
    place = np.flatnonzero(judged == person)
    return np.asarray(scores.judged[:, :, place].reshape(-1), dtype=np.float64)


@dataclass(frozen=True)
class Otherwise:
    """What the possible twins differ in: ``had they been male`` and ``as male``.

    Where two attributes change at once, possible twins belong to different groups.
    """

    had: str
    instead: str

    @staticmethod
    def of(result: AuditResult, other: str) -> Otherwise:
        """Of all possible twins of a person; ``other`` is the group of the one that is shown."""
        comparison = view_of(result).comparison
        if comparison.is_joint:
            return Otherwise(f"Had both {comparison.name} been different", "with both different")
        return Otherwise(f"Had they been {other}", f"as {other}")


def outcome_words(found: PersonExplanation, other: str, otherwise: Otherwise, possible: Floats) -> str:
    """What the detector does with the person, and what it would do with most of their possible twins."""
    chance = _chance(found, other, possible)
    is_likely, surely = chance >= 0.5, chance in (0.0, 1.0)
    first = f"This person is {'flagged' if found.flagged else 'not flagged'}"
    if is_likely:
        would = "would" if surely else "would probably"
        return f"{first}. {otherwise.had}, they {would} {'not be flagged' if found.flagged else 'be flagged'}."
    would = "would" if surely else "probably would"
    if found.flagged:
        return f"{first}, and {would} be flagged {otherwise.instead}, too."
    return f"{first}, and {would} not be flagged {otherwise.instead} either."


def chance_words(found: PersonExplanation, other: str, possible: Floats) -> str:
    """How likely the outcome changes, in plain words, and where the twin that is shown is none of the many."""
    count, changes = len(possible), int(((possible > found.threshold) != found.flagged).sum())
    if not count:
        return "How likely that is was not measured for this person."
    shown = found.twins_flagged[other] != found.flagged
    if found.true_twin_score is not None:
        known = f"Their true twin is known here: with it, the outcome {'changes' if changes else 'does not change'}."
        return known if shown == bool(changes) else f"{known} The causal model's twin, shown in detail, says otherwise."
    if count == 1:
        return f"With a second causal model's twin the outcome {'changes' if changes else 'does not change'}."
    words = {0: "none", count: "all"}.get(changes, str(changes))
    said = f"In {words} of their {count} possible twins the outcome changes."
    if shown == (_chance(found, other, possible) >= 0.5):
        return said
    return f"{said} The twin that is shown in detail is one with which it {'does' if shown else 'does not'}."


def _chance(found: PersonExplanation, other: str, possible: Floats) -> float:
    """The share of the possible twins with another outcome; of the one that is shown, where there are no others."""
    scores = possible if len(possible) else np.array([found.twin_scores[other]])
    return float(((scores > found.threshold) != found.flagged).mean())


def _axis(result: AuditResult, found: PersonExplanation, possible: Floats) -> Axis:
    """A line for all scores that the card shows, and for those of most people who score higher than usual."""
    usual = np.quantile(result.scores[found.method].factual, [0.5, 0.98]).tolist()
    on_the_way = [step.score for way in found.walks.values() for step in way.steps if step.score is not None]
    shown = [found.score, found.threshold, *found.twin_scores.values(), *on_the_way, *possible.tolist(), *usual]
    return score_axis(shown)


def _show_outcome(result: AuditResult, found: PersonExplanation, other: str, possible: Floats, axis: Axis) -> None:
    """The outcome in both worlds, and how likely it changes."""
    twin = found.twin_scores[other]
    rows = [Scored(f"as {found.group}", found.score), Scored(f"as {other}, the twin", twin, is_twin=True)]
    known_truth = found.true_twin_score is not None
    dots = possible if len(possible) > 1 or known_truth else possible[:0]
    scale = score_scale(rows, dots, found.threshold, axis, dots_are="the true twin" if known_truth else "")
    headline, chance = (
        outcome_words(found, other, Otherwise.of(result, other), possible),
        chance_words(found, other, possible),
    )
    st.html(outcome_card(headline, chance, scale))
    if result.people.truth is None and len(possible) > 1:
        st.caption(
            "A person has several possible twins, each made by another causal model. The one that is shown in detail "
            "is one more, by the audit's own causal model.",
            help=HELP["probability of change"],
        )


# Columns


def _show_columns(result: AuditResult, found: PersonExplanation, other: str, person: int) -> None:
    """A card for each column that moved; on demand one for all others, or a table."""
    moved = [one for one in found.columns if one.moved and not one.is_sensitive]
    still = [one for one in found.columns if not one.moved and not one.is_sensitive]
    st.subheader(f"What is different: {counted(len(moved), 'column')}" if moved else "What is different", anchor=False)
    ends = both_rows(result, person)
    if moved:
        order = [move.column for step in found.walks[other].steps for move in step.moves]
        moved.sort(key=lambda one: order.index(one.column))
        show_markup(_cards(result, found, other, moved, ends), "columns-moved")
    else:
        st.info(
            f"Nothing else: in the causal graph nothing of this person follows from {as_text(found.attribute)}, so the "
            "twin has the same in every other column."
        )
    stays = "stays" if len(still) == 1 else "stay"
    if still and st.toggle(f"Also show the {counted(len(still), 'column')} that {stays} the same", key="person-still"):
        show_markup(_cards(result, found, other, still, ends), "columns-still")
    with st.expander("All columns as a table"):
        st.dataframe(columns_table(found, other, [*moved, *still]), hide_index=True, width="stretch")
        st.caption(
            "The person's row in the table's own units, and one of their possible twins: the same person, had they "
            f"been {as_text(other, 60)}. Put through the command *score*, this row gets the score above."
        )


def columns_table(found: PersonExplanation, other: str, columns: Sequence[ColumnExplanation]) -> pd.DataFrame:
    """Column by column, the sensitive attributes first."""
    rows = [*(one for one in found.columns if one.is_sensitive), *columns]
    shown = {
        "column": [one.column for one in rows],
        "the person": [_text(one.value, one.twins[other]) for one in rows],
        "the twin": [_text(one.twins[other], one.value) for one in rows],
    }
    if any(one.clipped for one in rows):
        shown["note"] = ["clipped to what was seen" if one.clipped else "" for one in rows]
    return pd.DataFrame(shown)


def _text(cell: object, unlike: object) -> str:
    return "" if cell is None else cell_text(cell, unlike)


def _cards(
    result: AuditResult,
    found: PersonExplanation,
    other: str,
    columns: Sequence[ColumnExplanation],
    ends: tuple[Floats, Floats],
) -> str:
    return column_cards([_card(result, found, other, one, ends) for one in columns], (found.group, other))


def _card(
    result: AuditResult, found: PersonExplanation, other: str, one: ColumnExplanation, ends: tuple[Floats, Floats]
) -> ColumnCard:
    """One column: what both have there, and where that lies in their groups."""
    person, twin = (value_in(result, one.column, row) for row in ends)
    here, there = cell_text(one.value, one.twins[other]), cell_text(one.twins[other], one.value)
    note = "The twin's number lies beyond all that was seen; shown is the nearest that was." if one.clipped else ""
    return ColumnCard(
        column=one.column,
        values=(here, there),
        spread=spread_of(result, one.column),
        marked=Marked((found.group, other), (person, twin)),
        note=note,
    )


# Reasons


def _show_reasons(result: AuditResult, found: PersonExplanation, other: str, person: int) -> None:
    """What raised the two scores."""
    reasons = reasons_of(result, found.method, person)
    if reasons is None:
        st.info(
            f"{as_text(found.label)} is not saved with this audit: its scores are here, but what raised them can "
            "not be said."
        )
        return
    explanation = reasons.explanation
    for place, group in enumerate((found.group, other)):
        st.markdown(f"**As {as_text(group, 60)}:** {raised_by(explanation, place)}", help=HELP["reason"])
    adds_up = explanation.kind == "sum"
    if adds_up or reasons.named.any():
        names = explanation.variables
        drawn = contributions_figure(names, *explanation.parts, named=reasons.named, adds_up=adds_up)
        show_chart(
            drawn,
            "contributions",
            "What each column has to do with the score, for the person and for their twin.",
            toolbar=False,
        )
        st.caption(parts_caption(found.method, explanation))


# Real people


def _show_real(record: AuditRecord, result: AuditResult, found: PersonExplanation, other: str) -> None:
    """The real people who are most like the twin: are they flagged?"""
    title = f"Real people most like the twin: {as_text(other, 60)}"
    st.subheader(title, anchor=False, help=HELP["real people like the twin"])
    people = found.nearest[other]
    if not people:
        st.info(f"Nobody of this group was judged, so there is nobody to compare the twin with: {as_text(other, 60)}.")
        return
    flagged = sum(one.flagged for one in people)
    st.markdown(
        f"**{'None' if not flagged else 'All' if flagged == len(people) else flagged} of the {len(people)} "
        f"{'is' if flagged == 1 and len(people) > 1 else 'are'} flagged.** "
        + ("So is the twin." if found.twins_flagged[other] else "The twin is not.")
    )
    differ = list(dict.fromkeys(name for one in people for name in one.differs[:3]))[:_MOST_DIFFER]
    twins = {one.column: one.twins[other] for one in found.columns}
    numbers = (result.whole or result).row_numbers
    rows = [RealRow("the twin", found.twin_scores[other], found.twins_flagged[other], _cells(twins, differ), ())]
    rows += [
        RealRow(f"row {int(numbers[one.person])}", one.score, one.flagged, _cells(one.cells, differ), one.differs)
        for one in people
    ]
    st.html(real_people_table(differ, rows))
    st.caption(
        f"Out of the people who were judged, those of the group {as_text(other, 60)} who are nearest to the twin, all "
        "columns alike. Shown are the columns in which they differ most; bold is what is not as in the twin."
    )
    for place, one in zip(st.columns(len(people)), people, strict=True):
        row = int(numbers[one.person])
        place.button(f"Open row {row}", key=f"open-{record.id}-{row}", on_click=open_person, args=(record.id, row))


def _cells(cells: Mapping[str, object], names: Sequence[str]) -> dict[str, str]:
    return {name: cell_text(cells[name]) for name in names}
