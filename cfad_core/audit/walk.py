"""From a person to their twin, one step after the other, causes before effects: where on the way does the score turn?

First the sensitive attribute changes, then each column that follows from it takes the twin's value. The rows on the way
are no possible people: they show what carries the change, not who anybody could have been.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from cfad_core.audit.explanation import columns_of
from cfad_core.core.arrays import Floats
from cfad_core.core.formats import cell_text, listed, number
from cfad_core.data.encoding import Encoding
from cfad_core.detectors.protocol import PeopleDetector, score_people

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult

_MOST_CAUSES = 3  # that a sentence names


@dataclass(frozen=True)
class Move:
    """One column that takes the twin's value, in the table's own units; None stands for a missing one."""

    column: str
    before: object
    after: object

    @property
    def text(self) -> str:
        """``occupation clerk → engineer``."""
        before, after = cell_text(self.before, self.after), cell_text(self.after, self.before)
        if before == after:  # an additive twin's category may move without reaching another one
            return f"{self.column} moves, and {after} is still the nearest value"
        return f"{self.column} {before} → {after}"


@dataclass(frozen=True)
class Step:
    """What changes at once on the way to the twin.

    Attributes
    ----------
    moves : columns; more than one where two attributes change at once, or where columns cause each other
    because : what has changed before and causes them, with what it is now; nothing of the first step
    score : of the row that there is after the step; None if the detector is not at hand
    """

    moves: tuple[Move, ...]
    because: tuple[tuple[str, object], ...]
    score: float | None

    @property
    def name(self) -> str:
        """The columns that move."""
        return listed([move.column for move in self.moves])


@dataclass(frozen=True)
class Walk:
    """The way from a person to one of their twins.

    Attributes
    ----------
    group, other : of the person, and of the twin
    score, twin_score : as the audit has them
    threshold : people who score higher are flagged
    sees_group : whether the detector sees the sensitive attribute; None if it is not at hand
    steps : causes before effects; the first changes what is compared
    """

    group: str
    other: str
    score: float
    twin_score: float
    threshold: float
    sees_group: bool | None
    steps: tuple[Step, ...]

    @property
    def is_scored(self) -> bool:
        """Whether the rows on the way could be scored."""
        return self.sees_group is not None

    @property
    def turns(self) -> tuple[int, ...]:
        """The steps, from 0, at which the outcome changes; empty if the way is not scored."""
        if not self.is_scored:
            return ()
        above = [score > self.threshold for score in self._scores]
        return tuple(k for k in range(len(self.steps)) if above[k] != above[k + 1])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What happens in each step: ``Because sex is male: hours 38 → 42; score 0.41 → 0.62, now above ...``."""
        return tuple(f"{self._what(k)}; {self._score_words(k)}." for k in range(len(self.steps)))

    @property
    def _scores(self) -> list[float]:
        """Of the person, and after each step."""
        return [self.score, *(step.score for step in self.steps if step.score is not None)]

    def _what(self, k: int) -> str:
        step = self.steps[k]
        moves = listed([move.text for move in step.moves], len(step.moves))
        if not step.because:
            return f"Suppose nothing but this were different: {moves}" if k == 0 else f"Then {moves}"
        causes = listed([f"{column} is {cell_text(value)}" for column, value in step.because], _MOST_CAUSES)
        return f"Because {causes}: {moves}"

    def _score_words(self, k: int) -> str:
        if not self.is_scored:
            return "its score is not known"
        before, after = self._scores[k : k + 2]
        if k == 0 and before == after and not self.sees_group:
            return f"the detector does not see it, so the score stays {number(after)}"
        if before == after:
            return f"the score stays {number(after)}"
        side = "now above the threshold" if after > self.threshold else "no longer above the threshold"
        stays = "still above the threshold" if after > self.threshold else "still not above the threshold"
        return f"score {number(before)} → {number(after)}, {side if k in self.turns else stays}"


def walk(
    result: AuditResult,
    method: str,
    ends: tuple[Floats, Floats],
    scores: tuple[float, float],
    words: tuple[str, str, Mapping[str, tuple[object, object]]],
    threshold: float,
) -> Walk:
    """The way from a person to a twin, scored by a method.

    Parameters
    ----------
    ends : both encoded rows, (1, d) each
    scores : of both, as the audit has them: those of the rows on the way are the detector's
    words : the group of the person, that of the twin, and by column what both have there
    """
    encoding, detector = result.encoding, result.detectors.get(method)
    first = _compared(result, ends)
    moved = columns_that_move(encoding, ends)
    edges = result.model.edges()
    names = [*encoding.attribute_names, *(variable.name for variable in encoding.variables)]
    parts = [first, *causal_order(edges, moved - set(first), names)] if first else causal_order(edges, moved, names)
    rows = rows_on_the_way(encoding, ends, parts)
    found = [None] * len(parts) if detector is None else [*score_people(detector, rows[1:-1]).tolist(), scores[1]]
    group, other, cells = words
    steps, done = [], set[str]()
    for part, score in zip(parts, found, strict=True):
        causes = [cause for cause in names if cause in done and any((cause, effect) in edges for effect in part)]
        because = tuple((cause, cells[cause][1]) for cause in causes)
        steps.append(Step(tuple(Move(name, *cells[name]) for name in part), because, score))
        done |= set(part)
    sees = None if detector is None else isinstance(detector, PeopleDetector)
    return Walk(group, other, *scores, threshold, sees, tuple(steps))


def _compared(result: AuditResult, ends: tuple[Floats, Floats]) -> tuple[str, ...]:
    """The sensitive attributes that are compared, in which the two differ: what changes first."""
    assert result.view is not None
    names = result.encoding.attribute_names
    moved = columns_that_move(result.encoding, ends)
    return tuple(names[s] for s in result.view.comparison.attributes if names[s] in moved)


def columns_that_move(encoding: Encoding, ends: tuple[Floats, Floats]) -> set[str]:
    """The columns of the table in which two encoded rows (1, d) differ."""
    before, after = (row[0] for row in ends)
    state, to = (int(encoding.states.of_codes(row[:1])[0]) for row in (before, after))
    levels = encoding.states.levels
    moved = {name for s, name in enumerate(encoding.attribute_names) if levels[state, s] != levels[to, s]}
    for variable, columns in zip(encoding.variables, columns_of(encoding), strict=True):
        if (before[columns] != after[columns]).any():
            moved.add(variable.name)
    return moved


def causal_order(
    edges: Iterable[tuple[str, str]], moved: Collection[str], names: Sequence[str]
) -> list[tuple[str, ...]]:
    """The columns that moved, causes before effects; those that cause each other together.

    Of two that could both be next it is the one that the table has first, in whatever order edges are listed. The whole
    graph orders them, also through columns that did not move.

    Parameters
    ----------
    names : of all columns, as the table has them
    """
    place = {name: k for k, name in enumerate(names)}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((cause, effect) for cause, effect in edges if cause in place and effect in place)
    loops = nx.condensation(graph)  # paths of encoded columns may lead there and back between two columns of the table
    members = {node: sorted(data["members"], key=place.__getitem__) for node, data in loops.nodes(data=True)}
    order = nx.lexicographical_topological_sort(loops, key=lambda node: place[members[node][0]])
    parts = (tuple(name for name in members[node] if name in moved) for node in order)
    return [part for part in parts if part]


def rows_on_the_way(encoding: Encoding, ends: tuple[Floats, Floats], parts: Sequence[tuple[str, ...]]) -> Floats:
    """The person, and the encoded row after each part of the columns took the twin's values, (1 + parts, d)."""
    person, twin = ends
    states, attributes = encoding.states, encoding.attribute_names
    to = states.levels[states.of_codes(twin[:, 0])[0]]
    columns = {variable.name: found for variable, found in zip(encoding.variables, columns_of(encoding), strict=True)}
    rows = np.repeat(person, 1 + len(parts), axis=0)
    for k, part in enumerate(parts):
        for name in part:
            if name in attributes:
                s = attributes.index(name)
                moved = states.moved(states.of_codes(rows[k + 1 :, 0]), {s: int(to[s])})
                rows[k + 1 :, 0] = states.codes[moved]
            else:
                rows[k + 1 :, columns[name]] = twin[0, columns[name]]
    return rows
