"""Scores of people and of their twins: the same way for the audited people and for new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.basis import MethodScores
from cfad_core.audit.comparisons import Comparison, Plan, view_of
from cfad_core.audit.explanation import explain
from cfad_core.audit.judging import UNSEEN, draws_of
from cfad_core.audit.result import AuditResult, People
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.distinct import distinct_rows
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.core.states import Codes
from cfad_core.data.encoding import DecodedRows, Encoding
from cfad_core.detectors.protocol import BLOCK, AnyDetector, PeopleDetector, TrainingRows, score_people
from cfad_core.detectors.registry import METHODS

SLICE = 8_192  # rows between two looks at whether to stop
_ROWS = 131_072  # people and twins at once: more would only take memory


def in_slices(function: Callable[[Floats], Floats], x: Floats, progress: Progress, stage: str = "evaluation") -> Floats:
    """``function`` of x, slice by slice, so that it can be cancelled; it works row by row, so this changes nothing."""
    parts = []
    for start in range(0, max(1, len(x)), SLICE):
        progress.check(stage)
        parts.append(function(x[start : start + SLICE]))
    return np.concatenate(parts)


def shown_twins(model: CausalModel, people: Floats, plan: Plan, progress: Progress) -> Floats:
    """(moves, n, d), one twin of each of the people (n, d) for every move."""
    to = [plan.targets(plan.states.of_codes(people[:, 0]), move) for move in range(len(plan.moves))]
    parts = []
    for start in range(0, max(1, len(people)), SLICE):
        progress.check("evaluation")
        some = slice(start, start + SLICE)
        twins_of = model.possible_twins(people[some])
        parts.append(np.stack([twins_of(0, to=target[some]) for target in to]))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Scorer:
    """What every method says of people (n, d).

    Attributes
    ----------
    methods : to score with, in the order in which they are shown
    detectors : by name; those that others start from are among them, too
    """

    methods: tuple[str, ...]
    detectors: Mapping[str, AnyDetector]
    progress: Progress

    def __call__(self, people: Floats, whose: Rows | None = None) -> dict[str, Floats]:  # noqa: ARG002 - as any Score
        """Rows that look the same to detectors are scored once. Whose rows they are is all the same."""
        found: dict[str, Floats] = {}
        plain = [method for method in self.methods if not isinstance(self.detectors[method], PeopleDetector)]
        if plain:  # these see no group
            rows = distinct_rows(people[:, 1:])
            some = people[rows.first]
            found = {method: self.by(method, some)[rows.place] for method in plain}
        others = [method for method in self.methods if method not in found]
        found |= self._by_people(others, people, found) if others else {}
        return {method: found[method] for method in self.methods}

    def _by_people(self, methods: Sequence[str], people: Floats, known: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Slice by slice, all methods that see groups on one: what they share is made once."""
        parts = []
        for start in range(0, max(1, len(people)), SLICE):
            self.progress.check("evaluation")
            here = slice(start, start + SLICE)
            parts.append(self._slice(methods, people[here], {name: score[here] for name, score in known.items()}))
        return {method: np.concatenate([part[method] for part in parts]) for method in methods}

    def _slice(self, methods: Sequence[str], people: Floats, known: Mapping[str, Floats]) -> dict[str, Floats]:
        found = dict(known)
        for method in methods:
            detector = self.detectors[method]
            assert isinstance(detector, PeopleDetector)
            base = detector.base
            score = next((score for name, score in found.items() if self.detectors[name] is base is not None), None)
            found[method] = detector.score_people(people, score)  # the base may have scored these people already
        return found

    def by(self, method: str, people: Floats) -> Floats:
        """Scores (n,) by one method."""
        detector = self.detectors[method]
        return in_slices(lambda some: score_people(detector, some), people, self.progress)

    def of_training(self, rows: TrainingRows) -> dict[str, Floats]:
        """By method, the scores that thresholds are quantiles of.

        A method that learned from people and their twins has its threshold from both.
        """
        found = self(rows.people)
        for method in self.methods:
            if method in METHODS and METHODS[method].learns_both:
                found[method] = np.concatenate([found[method], self.by(method, rows.twins)])
        return found

    def silent(self, progress: Progress) -> Scorer:
        """The same for work that is one step of another stage."""
        return replace(self, progress=progress)


def score_methods(
    scorer: Scorer, rows: TrainingRows, people: People, twin_scores: Mapping[str, Floats]
) -> dict[str, MethodScores]:
    """Scores of every method: of the training rows, the people, the twins that are shown, and the true ones.

    Parameters
    ----------
    twin_scores : those of other causal models' twins, (R, moves, m) by method
    """
    nothing = np.zeros((0, len(people.twins), len(people.judged)))
    train = scorer.of_training(rows)
    scorer.progress.tick("evaluation", 1, 4)
    factual = scorer(people.factual)
    scorer.progress.tick("evaluation", 2, 4)
    twins = [scorer(some) for some in people.twins]
    scorer.progress.tick("evaluation", 3, 4)
    truth = None if people.truth is None else scorer(people.truth)
    scorer.progress.tick("evaluation", 4, 4)
    return {
        method: MethodScores(
            train=train[method],
            factual=factual[method],
            twins=np.stack([some[method] for some in twins]),
            truth=None if truth is None else truth[method],
            judged=twin_scores.get(method, nothing),
        )
        for method in scorer.methods
    }


def score_rows(result: AuditResult, table: pd.DataFrame, *, reasons: bool = True) -> pd.DataFrame:
    """Score new rows with every method whose detector is here: one of another library is not saved with an audit.

    Parameters
    ----------
    reasons : whether to say why; where a score is no sum over columns, this takes longer than the scores

    Returns
    -------
    DataFrame
        Aligned with the table's rows; for each method ``_score``, ``_flag``, ``_score_counterfactual`` (of the twin
        that ``twin_rows`` writes), ``_change`` (how likely the outcome changes: the share of 16 possible twins), and
        ``_reasons`` (the columns that raised the score most, with their shares: ``income 62 %, age 21 %``). Where there
        are more than two groups, or several attributes, instead of the twin's score ``_score_if_ATTRIBUTE_GROUP`` for
        every group, and ``_change_ATTRIBUTE`` for every comparison: whether the outcome changes in any other group (nan
        if the person's is compared with none).
    """
    return score_encoded(result, encode_people(result.encoding, table), reasons=reasons).set_index(table.index)


def score_encoded(result: AuditResult, people: Floats, *, reasons: bool = True) -> pd.DataFrame:
    """The same of encoded people (n, d)."""
    methods = tuple(method for method in result.scores if method in result.detectors)
    scorer = Scorer(methods, result.detectors, Progress())
    draws = 1 if isinstance(result.model, AdditiveModel) else draws_of(1)
    size = int(np.clip(_ROWS // (1 + len(result.plan.moves) * (1 + draws)), BLOCK, SLICE))
    parts = [
        _columns(result, people[start : start + size], scorer, draws, reasons=reasons)
        for start in range(0, max(1, len(people)), size)
    ]
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _columns(
    result: AuditResult, people: Floats, scorer: Scorer, draws: int, *, reasons: bool
) -> dict[str, NDArray[Any]]:
    there = _TwinScores(result, people, scorer, draws)
    columns: dict[str, NDArray[Any]] = {}
    for method in scorer.methods:
        here = there.own[method]
        columns[f"{method}_score"] = here
        columns[f"{method}_flag"] = (here > result.report(method).threshold).astype(np.int64)
        columns |= there.columns(method, here)
        if reasons and (found := explain(result, method, people)) is not None:
            columns[f"{method}_reasons"] = np.array(found.reasons(), dtype=object)
    return columns


class _TwinScores:
    """What every method says of people (n, d) and of their twins, for every move.

    Many of a person's possible twins are the same, wherever nothing or little is drawn: every row is scored once.
    """

    def __init__(self, result: AuditResult, people: Floats, scorer: Scorer, draws: int) -> None:
        self.result, plan = result, result.plan
        self.state = plan.states.of_codes(people[:, 0])
        twins_of, moves = result.model.possible_twins(people), range(len(plan.moves))
        worlds = [twins_of(0, to=plan.targets(self.state, move)) for move in moves]
        if draws > 1:
            worlds += [
                twins_of(UNSEEN + draw, to=plan.targets(self.state, move, draw))
                for draw in range(draws)
                for move in moves
            ]
        every = np.concatenate([people, *worlds])
        rows = distinct_rows(_what_differs(every, 1 + len(worlds)))
        order = np.argsort(rows.first % max(1, len(people)), kind="stable")  # a person and their twins side by side
        scores = scorer(every[rows.first[order]])
        places = np.argsort(order)[rows.place].reshape(1 + len(worlds), len(people))
        found = [{method: score[place] for method, score in scores.items()} for place in places]
        count = len(plan.moves)
        self.own, self.shown = found[0], found[1 : 1 + count]
        self.drawn = [found[k : k + count] for k in range(1 + count, len(found), count)] if draws > 1 else [self.shown]

    def columns(self, method: str, own: Floats) -> dict[str, NDArray[Any]]:
        plan = self.result.plan
        if len(plan.moves) == 1:
            likely = self.changes(method, own, plan.comparisons[0])
            return {f"{method}_score_counterfactual": self.shown[0][method], f"{method}_change": likely}
        found: dict[str, NDArray[Any]] = {}
        for comparison in plan.comparisons:
            if not comparison.is_joint:
                found |= self.by_group(method, own, comparison)
            found[f"{method}_change_{comparison.name}"] = self.changes(method, own, comparison)
        return found

    def by_group(self, method: str, own: Floats, comparison: Comparison) -> dict[str, NDArray[Any]]:
        """By group, the score (n,) of everybody had they belonged to it."""
        group = self.result.plan.states.levels[self.state, comparison.attributes[0]]
        found: dict[str, NDArray[Any]] = {}
        for k, name in enumerate(comparison.groups):
            score = own.copy()
            for number, move in enumerate(comparison.moves):
                there = (number + (number >= group)) == k
                score[there] = self.shown[move][method][there]
            found[f"{method}_score_if_{comparison.name}_{name}"] = score
        return found

    def changes(self, method: str, own: Floats, comparison: Comparison) -> Floats:
        """How likely the outcome of each person changes, (n,), in any of the groups they are compared with.

        nan for people of a group that is compared with no other.
        """
        threshold, view = self.result.report(method).threshold, view_of(self.result.plan, self.state, comparison)
        flagged = own[view.rows] > threshold
        each = [
            (view.take(np.stack([some[method] for some in moves]) > threshold) != flagged).any(axis=0)
            for moves in self.drawn
        ]
        likely = np.full(len(own), np.nan)
        likely[view.rows] = np.mean(each, axis=0)
        return likely


def _what_differs(rows: Floats, worlds: int) -> Floats:
    """Enough to compare rows (worlds * n, d) by: whose they are, and the columns in which somebody's differ."""
    bits = rows.view(np.uint64).reshape(worlds, len(rows) // worlds, rows.shape[1])
    differ = np.any([(world != bits[0]).any(axis=0) for world in bits], axis=0)
    whose = np.tile(np.arange(bits.shape[1], dtype=np.float64), worlds)
    return np.column_stack([whose, rows[:, differ]])


def explain_rows(result: AuditResult, table: pd.DataFrame, method: str) -> pd.DataFrame:
    """What each column has to do with a method's scores of new rows: aligned with the table's rows, a column each.

    If the method's score is a sum over columns, a row adds up to its score. For any other method, a number is how much
    the score falls if that column alone is made typical of normal people; these may be negative, and add up to
    nothing.

    Raises
    ------
    InvalidConfigError
        If the audit has no such method, or its detector is another library's and was not saved with the audit.
    """
    if method not in result.scores:
        raise InvalidConfigError(f"The audit has no method '{method}'; it has: {', '.join(result.scores)}.")
    found = explain(result, method, encode_people(result.encoding, table))
    if found is None:
        raise InvalidConfigError(
            f"The detector of '{method}' is not saved with the audit, so its scores cannot be explained; run the audit "
            "again and explain them before it is loaded from its folder."
        )
    return pd.DataFrame(found.parts, index=table.index, columns=list(found.variables))


def twin_rows(
    result: AuditResult, table: pd.DataFrame, to: Mapping[str, str] | None = None, *, clip: bool = True
) -> DecodedRows:
    """Each row had its person belonged to another group, in the table's own columns and units.

    Put through ``score_rows``, a twin gets the score that its person's row calls counterfactual. Only the paper's
    additive twins may have numbers beyond what was seen in training: these are clipped, and counted, unless ``clip`` is
    False.

    Parameters
    ----------
    to : the group that everybody is moved to, by sensitive attribute: ``{"race": "White"}``; who belongs to it stays
        as they are. It may be left out if there is one other group

    Raises
    ------
    InvalidConfigError
        If there are several other groups and none is named, or one that does not exist.
    """
    return twins_of_encoded(result, encode_people(result.encoding, table), table, to, clip=clip)


def twins_of_encoded(
    result: AuditResult, people: Floats, table: pd.DataFrame, to: Mapping[str, str] | None = None, *, clip: bool = True
) -> DecodedRows:
    """The same of people (n, d), given as they are encoded and as rows of a table."""
    target = states_named(result, result.plan.states.of_codes(people[:, 0]), to or {})
    return result.encoding.decode(result.model.twins(people, to=target), people, table, clip=clip)


def states_named(result: AuditResult, state: Codes, to: Mapping[str, str]) -> Codes:
    """The states (n,) of people who are moved to groups that are named, by attribute; see ``twin_rows``."""
    states, single = result.plan.states, [one for one in result.plan.comparisons if not one.is_joint]
    if not to and states.count == 2:
        return states.other(state, 0)
    known = {one.name: one for one in single}
    wrong = [f"{name}={group}" for name, group in to.items() if name not in known or group not in known[name].groups]
    if not to or wrong:
        choices = "; ".join(f"{one.name}: {', '.join(one.groups)}" for one in single)
        problem = f"there is no {', '.join(wrong)}" if wrong else "there are several"
        raise InvalidConfigError(f"Say which group the twins belong to; {problem}. Choose from {choices}.")
    return states.moved(state, {known[name].attributes[0]: known[name].groups.index(g) for name, g in to.items()})


def encode_people(encoding: Encoding, table: pd.DataFrame) -> Floats:
    """Encode rows that must all belong to one of the groups of every sensitive attribute."""
    inside = encoding.in_groups(table)
    if not inside.all():
        raise outside_groups(encoding, int((~inside).sum()), len(table))
    return encoding.encode(table)


def outside_groups(encoding: Encoding, outside: int, rows: int) -> InvalidDataError:
    """What to say if some of the rows belong to no group."""
    if encoding.states.count == 2:
        first, second = encoding.group_names(0)
        what = f"a '{encoding.sensitive}' that is neither '{first}' nor '{second}'"
    else:
        names = [
            f"'{name}' other than {', '.join(encoding.group_names(s))}"
            for s, name in enumerate(encoding.attribute_names)
        ]
        what = f"a {' or a '.join(names)}"
    return InvalidDataError(f"{outside} of {rows} rows have {what}; remove these rows first.")
