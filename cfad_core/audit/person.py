"""One person of an audit: the outcome, their twins, and what each column has to do with the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cfad_core.audit.explanation import Kind, explain
from cfad_core.audit.nearest import RealPerson, how_they_differ, nearest_people
from cfad_core.audit.notebook import leading_method, named, page, tile, view_of
from cfad_core.audit.walk import Walk, walk
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.formats import cell_text, cells_differ, counted, listed, number, percent
from cfad_core.figures.sketches import plain

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult

_MOST_TWINS = 3  # that a sentence names
_MOST_ROWS = 40  # of the table in a notebook


@dataclass(frozen=True)
class ColumnExplanation:
    """One column of a person.

    Attributes
    ----------
    column : its name
    value : what the person has there; None if it is missing
    twins : by other group, what the twin has there
    part : what the column has to do with the person's score; None of a sensitive attribute, or if that is not known
    is_sensitive : whether it is a sensitive attribute
    clipped : the groups whose twin has a number beyond all that was seen, and is shown at the end of that
    """

    column: str
    value: object
    twins: dict[str, object]
    part: float | None
    is_sensitive: bool
    clipped: tuple[str, ...] = ()

    @property
    def moved(self) -> bool:
        """Whether any twin has another value."""
        return any(cells_differ(self.value, twin) for twin in self.twins.values())


@dataclass(frozen=True)
class PersonExplanation:
    """What an audit says about one person and one method.

    Attributes
    ----------
    row : position of the person in the table that was judged, counted from 0
    method, label : its name, and what people call it
    attribute, group : what is compared, and the group of the person
    score, threshold : people who score higher are flagged
    twin_scores : by other group, the score of the twin that is shown
    true_twin_score : of the true twin, where it is known
    change_probability : the share of all their possible twins with another outcome, in any of the other groups; by the
        true twin where it is known, and None if no other causal model judged the person
    columns : the sensitive attributes first, then the others as the table has them
    reasons : the columns that raised the score most: ``income 62 %, age 21 %``; empty if none stands out
    parts_are : whether the parts of columns add up to the score, ``sum``, or each is how much the score falls if that
        column alone is made typical, ``perturbation``; None if the detector is not at hand
    walks : by other group, the way to the twin, one column after the other
    nearest : by other group, the real people who are most like the twin
    """

    row: int
    method: str
    label: str
    attribute: str
    group: str
    score: float
    threshold: float
    twin_scores: dict[str, float]
    true_twin_score: float | None
    change_probability: float | None
    columns: tuple[ColumnExplanation, ...]
    reasons: str
    parts_are: Kind | None
    walks: dict[str, Walk]
    nearest: dict[str, tuple[RealPerson, ...]]

    @property
    def flagged(self) -> bool:
        """Whether the person is flagged."""
        return self.score > self.threshold

    @property
    def twins_flagged(self) -> dict[str, bool]:
        """By other group, whether the twin that is shown is flagged."""
        return {group: score > self.threshold for group, score in self.twin_scores.items()}

    @property
    def text(self) -> str:
        """The person in three sentences."""
        than = f"{'above' if self.flagged else 'not above'} the threshold of {number(self.threshold)}"
        first = (
            f"The person in row {self.row} (counted from 0; {self.attribute}: {self.group}) scores "
            f"{number(self.score)} with {self.label}, {than}: {_outcome(self.flagged)}."
        )
        return " ".join([first, self._twins_text(), self._columns_text()])

    def _twins_text(self) -> str:
        each = [
            f"{group}, they would score {number(score)} ({_outcome(self.twins_flagged[group])})"
            for group, score in self.twin_scores.items()
        ]
        more = f"; and {counted(len(each) - _MOST_TWINS, 'more group')}" if len(each) > _MOST_TWINS else ""
        said = f"Had they been {'; had they been '.join(each[:_MOST_TWINS])}{more}"
        likely = self.change_probability
        if likely is None:
            return f"{said}; how likely the outcome changes was not measured."
        if self.true_twin_score is not None:
            return f"{said}; by their true twin, the outcome {'changes' if likely else 'does not change'}."
        return f"{said}; over all their possible twins, the outcome changes with a probability of {percent(likely, 0)}."

    def _columns_text(self) -> str:
        moved = [one.column for one in self.columns if one.moved and not one.is_sensitive]
        twins = f"the twin differs in {listed(moved)}" if moved else "the twin differs in nothing else"
        if len(self.twin_scores) > 1:
            twins = f"twins differ in {listed(moved)}" if moved else "twins differ in nothing else"
        if self.parts_are is None:
            return f"Why the score is as it is cannot be said, as the detector is not saved with the audit; {twins}."
        raised = f"is raised most by {self.reasons}" if self.reasons else "is raised by no column in particular"
        return f"The score {raised}; {twins}."

    def to_frame(self) -> pd.DataFrame:
        """A row for each column: ``value``, ``if GROUP`` for the twin in each other group, ``part`` and ``moved``."""
        rows = [
            {"value": one.value}
            | {f"if {group}": twin for group, twin in one.twins.items()}
            | {"part": one.part, "moved": one.moved}
            for one in self.columns
        ]
        index = pd.Index([one.column for one in self.columns], name="column")
        return pd.DataFrame(rows, index=index).astype({"part": np.float64})

    def _repr_html_(self) -> str:
        likely = self.change_probability
        tiles = [tile(number(self.score), _score_as(self.group), _outcome(self.flagged))]
        tiles += [
            tile(number(score), _score_as(group), _outcome(self.twins_flagged[group]))
            for group, score in self.twin_scores.items()
        ]
        tiles.append(tile(number(self.threshold), "threshold", self.label))
        tiles.append(tile("n/a" if likely is None else percent(likely, 0), "outcome changes"))
        said = f"<p>{plain(self.text, 900)}</p>"
        return page([said, f'<div class="tiles">{"".join(tiles)}</div>', self._table(), *self._walks(), *self._real()])

    def _walks(self) -> Iterator[str]:
        """From the person to each twin that is named, step by step."""
        for group, way in list(self.walks.items())[:_MOST_TWINS]:
            steps = "".join(f"<li>{plain(sentence, 400)}</li>" for sentence in way.sentences)
            yield f"<h4>Step by step to the twin: {named(group)}</h4><ol>{steps}</ol>"

    def _real(self) -> Iterator[str]:
        """Of each of these twins, the real people who are most like it."""
        for group, people in list(self.nearest.items())[:_MOST_TWINS]:
            if people:
                rows = "".join(
                    f"<li>row {one.row}: {_outcome(one.flagged)}, score {number(one.score)}; "
                    f"{plain(one.difference, 300)}</li>"
                    for one in people
                )
                yield f"<h4>Real people most like the twin: {named(group)}</h4><ul>{rows}</ul>"

    def _table(self) -> str:
        groups = list(self.twin_scores)
        heads = ["column", "here", *(f"if {group}" for group in groups), "part in the score"]
        order = sorted(self.columns, key=lambda one: (one.part is not None, not one.moved, -abs(one.part or 0.0)))
        largest = max((abs(one.part) for one in self.columns if one.part is not None), default=0.0)
        rows = "".join(_table_row(one, groups, largest) for one in order[:_MOST_ROWS])
        head = "".join(f"<th>{named(text)}</th>" for text in heads)
        more = (
            f"<p>and {len(order) - _MOST_ROWS} more columns: <code>to_frame()</code></p>" if order[_MOST_ROWS:] else ""
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _score_as(group: str) -> str:
    return f"score as {group if len(group) <= 30 else group[:29] + '…'}"


def _table_row(one: ColumnExplanation, groups: list[str], largest: float) -> str:
    here = cell_text(one.value)
    cells = [f"<td>{named(one.column)}</td><td>{named(here)}</td>"]
    for group in groups:
        moved = cells_differ(one.value, one.twins[group])
        words = named(cell_text(one.twins[group], one.value))
        cells.append(f"<td>{f'<b>≠ {words}</b>' if moved else words}</td>")
    width = 0.0 if one.part is None or not largest else 80.0 * abs(one.part) / largest
    bar = f'<svg width="84" height="9" aria-hidden="true"><rect width="{width:.1f}" height="9" fill="currentColor" '
    bar += f'fill-opacity="{".55" if (one.part or 0.0) >= 0.0 else ".2"}"/></svg>'
    cells.append("<td></td>" if one.part is None else f'<td class="number">{number(one.part)} {bar}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def explain_person(
    result: AuditResult,
    row: int,
    method: str | None = None,
    table: pd.DataFrame | None = None,
    threshold: float | None = None,
) -> PersonExplanation:
    """See ``AuditResult.explain``."""
    seen = result.seen() if result.view is None else result
    name = _method(seen, method)
    person = _place(result, seen, row)
    report, scores = seen.reports[name], seen.scores[name]
    limit = report.threshold if threshold is None else threshold
    x, own, twins, places = _twins_by_group(seen, person)
    likely = float(report.change_probability(limit)[person])
    found = explain(result, name, x)
    parts = {} if found is None else dict(zip(found.variables, found.parts[0].tolist(), strict=True))
    columns, score = _columns(seen, row, x, twins, (table, parts)), float(scores.factual[person])
    twin_scores = {group: float(scores.twins[k, person]) for group, k in places.items()}
    cells = {group: {one.column: (one.value, one.twins[group]) for one in columns} for group in twins}
    return PersonExplanation(
        row=int(seen.people.row[person]),
        method=name,
        label=report.label,
        attribute=view_of(seen).comparison.name,
        group=own,
        score=score,
        threshold=limit,
        twin_scores=twin_scores,
        true_twin_score=None if scores.truth is None else float(scores.truth[person]),
        change_probability=None if np.isnan(likely) else likely,
        columns=columns,
        reasons="" if found is None else found.reasons()[0],
        parts_are=None if found is None else found.kind,
        walks={
            group: walk(seen, name, (x, twin), (score, twin_scores[group]), (own, group, cells[group]), limit)
            for group, twin in twins.items()
        },
        nearest={group: _nearest(seen, name, twin, limit, table) for group, twin in twins.items()},
    )


def _method(seen: AuditResult, method: str | None) -> str:
    """The method that is asked for; by default the leading one."""
    name = leading_method(seen) if method is None else method
    if name not in seen.scores:
        raise InvalidConfigError(f"The audit has no method '{name}'; it has: {', '.join(seen.scores)}.")
    return name


def _twins_by_group(seen: AuditResult, person: int) -> tuple[Floats, str, dict[str, Floats], dict[str, int]]:
    """The encoded row (1, d) of a person, their group, and by other group the twin's row and its place among moves."""
    rows, view = seen.people.encoded.some(np.array([person])), view_of(seen)
    x, twins = rows.factual, rows.twins[:, 0]
    state = seen.plan.states.of_codes(np.concatenate([x, twins])[:, 0])
    own, *others = (view.comparison.groups[k] for k in seen.plan.groups_of(state, view.comparison))
    places = dict(zip(others, range(len(others)), strict=True))  # some have a twin more than once
    return x, own, {group: twins[[k]] for group, k in places.items()}, places


def _nearest(
    seen: AuditResult, method: str, twin: Floats, threshold: float, table: pd.DataFrame | None
) -> tuple[RealPerson, ...]:
    """The real people who are most like a twin (1, d), with what they have in the table."""
    whole = seen.whole or seen
    places, distances = nearest_people(seen, twin)
    found = []
    for place, distance in zip(places.tolist(), distances.tolist(), strict=True):
        row, encoded = int(whole.people.row[place]), whole.people.encoded.some(np.array([place])).factual
        cells = seen.encoding.recall(encoded) if table is None else table.iloc[[row]]
        score = float(whole.scores[method].factual[place])
        names = [*seen.encoding.attribute_names, *(variable.name for variable in seen.encoding.variables)]
        found.append(
            RealPerson(
                row=row,
                person=place,
                distance=distance,
                score=score,
                flagged=score > threshold,
                cells={name: _cell(cells, name) for name in names},
                differs=how_they_differ(seen, encoded, twin),
            )
        )
    return tuple(found)


def _place(result: AuditResult, seen: AuditResult, row: int) -> int:
    """Where the person of a row is among those seen.

    Raises
    ------
    InvalidDataError
        If they are not.
    """
    places = np.flatnonzero(seen.people.row == row)
    if len(places):
        return int(places[0])
    rows = np.sort(seen.people.row)
    some = ", ".join(str(one) for one in rows[:3]) + (", ..." if len(rows) > 3 else "")
    if (result.people.row == row).any():
        what = f"Row {row} was judged, but belongs to no group that is compared here"
    elif result.view is not None:
        what = f"Row {row} is not among the {counted(len(rows), 'row')} of this view"
    else:
        what = f"Row {row} was not judged: an audit judges {counted(len(rows), 'row')}, which no detector learned from"
    raise InvalidDataError(
        f"{what}. Choose one of result.people.row, counted from 0 ({some or 'there are none'}), or score any rows with "
        "score_rows and explain_rows."
    )


def _columns(
    seen: AuditResult,
    row: int,
    x: Floats,
    twins: dict[str, Floats],
    known: tuple[pd.DataFrame | None, dict[str, float]],
) -> tuple[ColumnExplanation, ...]:
    """Every column of the person and of twins (1, d) by group; known are the table, and the parts of columns."""
    encoding, (table, parts) = seen.encoding, known
    clipped: dict[str, dict[str, int]] = {}
    if table is None:
        here, there = encoding.recall(x), {group: encoding.recall(twin) for group, twin in twins.items()}
    else:
        here = _row_of(seen, table, row, x)
        decoded = {group: encoding.decode(twin, x, here) for group, twin in twins.items()}
        there = {group: one.rows for group, one in decoded.items()}
        clipped = {group: one.clipped for group, one in decoded.items()}
    columns = [*encoding.attribute_names, *(variable.name for variable in encoding.variables)]
    return tuple(
        ColumnExplanation(
            column=name,
            value=_cell(here, name),
            twins={group: _cell(rows, name) for group, rows in there.items()},
            part=parts.get(name),
            is_sensitive=name in encoding.attribute_names,
            clipped=tuple(group for group, names in clipped.items() if name in names),
        )
        for name in columns
    )


def _row_of(seen: AuditResult, table: pd.DataFrame, row: int, x: Floats) -> pd.DataFrame:
    """The row of the table, which must be the one that was judged.

    Raises
    ------
    InvalidDataError
        If it is another one.
    """
    if row < len(table):
        cells = table.iloc[[row]].reset_index(drop=True)
        if np.allclose(seen.encoding.encode(cells), x, equal_nan=True):
            return cells
    raise InvalidDataError(
        f"Row {row} of this table is not the row that was judged; give the table that the audit was made from (its "
        "test table, if it had one), with all rows in their order, or none."
    )


def _cell(rows: pd.DataFrame, name: str) -> object:
    cell: object = rows[name].iloc[0]
    if pd.isna(cell):  # type: ignore[call-overload]
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def _outcome(flagged: bool) -> str:
    return "flagged" if flagged else "not flagged"
