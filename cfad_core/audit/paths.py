"""Which paths from the sensitive attribute carry the change, and what remains without those that are justified.

By the causal models that judged the audit: each has a graph of its own, in which a path may be or not be. Twins are
made with the same chance as the judges' were, so with all paths open they are the judged ones to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.comparisons import View
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer
from cfad_core.audit.stability import evenly
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.path_twins import ClosedPaths, Path, PathTwins, alone, direct, has_path, passed_on, without
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress, Silent
from cfad_core.core.states import Codes
from cfad_core.detectors.protocol import PeopleDetector
from cfad_core.evaluation.path_shares import ChangingRatios, PathShare, PathShares, RemainingRatio, sorted_rows

STAGE = "paths"
MOST_ASKED = 2_000  # people that every path is closed for
_MOST_FIRST = 10  # arrows out of the sensitive attributes that are listed by themselves
_MOST_AFTER = 6  # that go on from one path
_MOST_LISTED = 20
_LONGEST = 4  # arrows
_TWIN, _SCORE, _SCORE_WITH_TWINS = 1e-6, 3e-6, 4e-5  # seconds a column of a twin, and a score: docs/PATHS.md
_CLOSED = 40  # sets of paths that are closed in a search
_ROWS = 32_768  # twins at once: more would only take memory
_CARRIES = 0.05  # share of the change from which on it is looked at where a path goes on to

Closing = Callable[[StructuralModel], ClosedPaths]


def why_not(result: AuditResult, method: str) -> str:
    """Why paths cannot be measured, in a sentence; empty if they can be."""
    if not isinstance(result.model, StructuralModel):
        return "Paths need the causal models of this version; this audit has the paper's additive ones. Run it again."
    if not len(result.judge_models) and result.people.truth is not None:
        return (
            "Paths are measured by causal models, and this audit needed none to judge: its true twins are known. Run "
            "it again with subsamples."
        )
    if not len(result.judge_models):
        return "Paths are measured by the models that judged an audit, and this one has none saved. Run it again."
    if not len(result.people.judged):
        return "Nobody was judged in this comparison, so no path can be measured."
    if method not in result.detectors:
        return (
            f"The detector '{method}' is not saved with the audit, so it cannot be asked about other twins; choose "
            "another method."
        )
    return ""


def check_paths(result: AuditResult, method: str) -> None:
    """Refuse what cannot be measured.

    Raises
    ------
    InvalidConfigError
    """
    if found := why_not(result, method):
        raise InvalidConfigError(found)


@dataclass(frozen=True)
class Asked:
    """The judged people of a view who are asked, or some of them.

    Attributes
    ----------
    result : the view
    place : (p,), their positions among the judged who are seen
    among : (p,), the same among all who were judged
    rows : (p, d)
    columns : (p, w), the moves to the groups that they are compared with
    """

    result: AuditResult
    place: Rows
    among: NDArray[np.intp]
    rows: Floats
    columns: NDArray[np.intp]

    @staticmethod
    def of(result: AuditResult, most: int | None = None) -> Asked:
        """At most so many, at even distances; by default everybody who was judged."""
        view, whole = _view(result), result.whole or result
        among, seen = view.among(whole.people.judged)
        place = evenly(len(among), len(among) if most is None else most)
        among, seen = among[place], seen[place]
        rows = whole.people.encoded.some(whole.people.judged[among]).factual
        return Asked(result, place, among, rows, view.columns[seen])

    @property
    def moved(self) -> tuple[str, ...]:
        """The sensitive attributes that change."""
        return tuple(self.result.model.attributes[s] for s in _view(self.result).comparison.attributes)

    @property
    def draws(self) -> int:
        """Twins of each by every model."""
        return len(next(iter(self.result.scores.values())).judged) // self.result.judges

    def targets(self, turn: int) -> list[Codes]:
        """The states (p,) that they are moved to, for each of the w groups; as when they were judged."""
        plan, whole = self.result.plan, self.result.whole or self.result
        state = plan.states.of_codes(whole.people.codes[whole.people.judged])
        moves = {int(move): plan.targets(state, int(move), turn)[self.among] for move in np.unique(self.columns)}
        each = np.stack(list(moves.values()))  # (moves, p)
        index = np.searchsorted(list(moves), self.columns)
        return [each[index[:, k], np.arange(len(self.place))] for k in range(self.columns.shape[1])]

    def flagged(self, method: str, threshold: float) -> NDArray[np.bool_]:
        """(p,), as they are."""
        judged = self.result.people.judged[self.place]
        found: NDArray[np.bool_] = self.result.scores[method].factual[judged] > threshold
        return found

    def judged(self, method: str, threshold: float) -> Floats:
        """(B, p), how likely the outcome of each changes by each model with all paths: as it was judged."""
        scores = self.result.scores[method].judged[:, :, self.place]
        changes = ((scores > threshold) != self.flagged(method, threshold)).any(axis=1)
        found: Floats = changes.reshape(self.result.judges, self.draws, -1).mean(axis=1)
        return found


def _view(result: AuditResult) -> View:
    assert result.view is not None
    return result.view


def changes_without(
    asked: Asked, closings: Sequence[Closing], thresholds: Mapping[str, float], progress: Progress
) -> dict[str, Floats]:
    """By method, how likely each person's outcome changes by each model, with these paths closed: (C, B, p)."""
    result, draws, people = asked.result, asked.draws, len(asked.place)
    scorer = Scorer(tuple(thresholds), result.detectors, Silent(progress, STAGE))
    flagged = {method: asked.flagged(method, threshold) for method, threshold in thresholds.items()}
    found = {method: np.zeros((len(closings), result.judges, people)) for method in thresholds}
    for b, model in enumerate(result.judge_models):
        assert isinstance(model, StructuralModel)
        twins_of, closed = model.possible_twins(asked.rows), [closing(model) for closing in closings]
        for draw in range(draws):
            twins = [PathTwins(twins_of, to, draw) for to in asked.targets(b * draws + draw)]
            at_once = max(1, _ROWS // max(1, len(twins) * people))
            for start in range(0, len(closed), at_once):
                some = slice(start, start + at_once)
                made = np.concatenate([one(paths) for one in twins for paths in closed[some]])
                for method, scores in scorer(made).items():
                    there = (scores > thresholds[method]).reshape(len(twins), -1, people)  # (w, C, p)
                    found[method][some, b] += (there != flagged[method]).any(axis=0) / draws
            progress.tick(STAGE, b * draws + draw + 1, result.judges * draws)
    return found


def measure_remaining(
    result: AuditResult,
    thresholds: Mapping[str, float],
    paths: Sequence[Path],
    progress: Progress | None = None,
    *,
    most: int | None = None,
) -> dict[str, RemainingRatio]:
    """By method, the changing ratio of a view without these paths and without all that follows from them.

    Parameters
    ----------
    thresholds : by method, above which it flags
    most : people who are asked at most; by default everybody who was judged

    Raises
    ------
    InvalidConfigError
        If paths cannot be measured with this audit.
    """
    known = {method: known_remaining(result, method, limit, paths, most) for method, limit in thresholds.items()}
    missing = {method: limit for method, limit in thresholds.items() if known[method] is None}
    for method in missing:
        check_paths(result, method)
    found = _remaining(Asked.of(result, most), missing, paths, progress or Progress()) if missing else {}
    for method, one in found.items():
        _worked_out(result)[_remaining_key(result, method, missing[method], paths, most)] = one
    return {method: found.get(method) or one for method, one in known.items()}  # type: ignore[misc]


def _remaining(
    asked: Asked, thresholds: Mapping[str, float], paths: Sequence[Path], progress: Progress
) -> dict[str, RemainingRatio]:
    result, closed = asked.result, without(paths)
    changes = changes_without(asked, [lambda _: closed], thresholds, progress)
    graphs = tuple(times_in_graphs(result, path) for path in paths)
    found = {}
    for method, (after,) in changes.items():
        ratios = ChangingRatios(asked.judged(method, thresholds[method]), _seed(result))
        found[method] = RemainingRatio(
            people=len(asked.place),
            models=result.judges,
            whole=ratios.ratio(ratios.whole),
            remaining=ratios.ratio(after),
            gone=ratios.gone(after),
            graphs=graphs,
        )
    return found


def known_remaining(
    result: AuditResult, method: str, threshold: float, paths: Sequence[Path], most: int | None = None
) -> RemainingRatio | None:
    """What ``measure_remaining`` found already; None if it was not asked."""
    found: RemainingRatio | None = _worked_out(result).get(_remaining_key(result, method, threshold, paths, most))
    return found


def known_paths(result: AuditResult, method: str, threshold: float) -> PathShares | None:
    """What ``measure_paths`` found already; None if it was not asked."""
    found: PathShares | None = _worked_out(result).get(_key(result, method, threshold))
    return found


def _worked_out(result: AuditResult) -> dict[Hashable, Any]:
    return (result.whole or result).worked_out


def _key(result: AuditResult, method: str, threshold: float) -> tuple[Hashable, ...]:
    view = _view(result)
    return (STAGE, view.comparison.name, view.pair, method, threshold)


def _remaining_key(
    result: AuditResult, method: str, threshold: float, paths: Sequence[Path], most: int | None
) -> tuple[Hashable, ...]:
    return (*_key(result, method, threshold), frozenset(map(tuple, paths)), most)


def expected_seconds(result: AuditResult, methods: Sequence[str], *, remaining: bool) -> float:
    """About how long ``measure_remaining`` or ``measure_paths`` takes, from what they took elsewhere."""
    view, people = _view(result), len(result.people.judged)
    if not people or not result.judges:
        return 0.0
    twins = len(result.scores[methods[0]].judged) * view.others * (people if remaining else min(people, MOST_ASKED))
    told = [isinstance(result.detectors.get(method), PeopleDetector) for method in methods]
    reached = len(result.model.affected_names)
    each = reached * _TWIN + sum(_SCORE_WITH_TWINS if one else _SCORE for one in told)
    return twins * each * (1 if remaining else _CLOSED)


def _seed(result: AuditResult) -> int | None:
    return None if result.stability is None else result.stability.seed


def times_in_graphs(result: AuditResult, path: Path) -> int:
    """In how many of the judges' graphs a path is."""
    return sum(isinstance(model, StructuralModel) and has_path(model, path) for model in result.judge_models)


def measure_paths(result: AuditResult, method: str, threshold: float, progress: Progress | None = None) -> PathShares:
    """Every path out of what is compared, those that carry something followed further.

    Raises
    ------
    InvalidConfigError
        If paths cannot be measured with this audit.
    """
    found = known_paths(result, method, threshold)
    if found is None:
        check_paths(result, method)
        found = _Search(Asked.of(result, MOST_ASKED), method, threshold, progress or Progress()).found()
        _worked_out(result)[_key(result, method, threshold)] = found
    return found


class _Search:
    """Paths from the first arrows on: where a path carries something, those that go on from it are looked at."""

    def __init__(self, asked: Asked, method: str, threshold: float, progress: Progress) -> None:
        self._asked, self._method, self._thresholds, self._progress = asked, method, {method: threshold}, progress
        self._models = [model for model in asked.result.judge_models if isinstance(model, StructuralModel)]
        self._ratios = ChangingRatios(asked.judged(method, threshold), _seed(asked.result))
        self._without: dict[Path, Floats] = {}
        self._after: dict[Path, list[Path]] = {}

    def found(self) -> PathShares:
        asked, moved = self._asked, self._asked.moved
        first = self._following([(s,) for s in moved])
        listed, rest = first[:_MOST_FIRST], first[_MOST_FIRST:]
        special: list[Closing] = [
            lambda model: direct(model, moved),
            lambda model: passed_on(model, moved),
            lambda _: without(first),
            lambda _: without(rest),
            lambda _: without(listed),
        ]
        directly, further, nobody, others, only_others = self._measured(special)
        rows = self._follow(listed)
        each = self._measured([self._alone(path) for path in rows]) if rows else []
        shares = [self._share(path, self._without[path], one) for path, one in zip(rows, each, strict=True)]
        if rest:
            shares.append(self._share((), others, only_others))
        is_told = isinstance(asked.result.detectors[self._method], PeopleDetector)
        ratio = self._ratios.ratio
        return PathShares(
            people=len(asked.place),
            models=len(self._models),
            whole=ratio(self._ratios.whole),
            direct=ratio(directly),
            passed_on=ratio(further),
            told=ratio(nobody) if is_told else None,
            rows=sorted_rows(shares),
        )

    def _follow(self, listed: list[Path]) -> list[Path]:
        """These paths, and those that go on from whichever carries something."""
        rows, newest = list(listed), list(listed)
        while newest:
            found = self._measured([lambda _, path=path: without([path]) for path in newest])  # type: ignore[misc]
            self._without |= dict(zip(newest, found, strict=True))
            carrying = [path for path in newest if self._carried(path) >= _CARRIES and len(path) <= _LONGEST]
            carrying.sort(key=self._carried, reverse=True)
            newest = [after for path in carrying for after in self._following([path])[:_MOST_AFTER]]
            newest = newest[: max(0, _MOST_LISTED - len(rows))]
            rows += newest
        return rows

    def _carried(self, path: Path) -> float:
        """The share of the change that goes with a path, whichever way."""
        return abs(self._ratios.gone_share(self._without[path]).value or 0.0)

    def _following(self, paths: Sequence[Path]) -> list[Path]:
        """All paths that are one arrow longer in some graph; in many graphs and by strong arrows first."""
        weight: dict[Path, float] = {}
        for model in self._models:
            for path in paths:
                if len(path) == 1 or has_path(model, path):
                    j = model.variables.index(path[-1])
                    for i in np.flatnonzero(model.graph.edges[j]):
                        after = (*path, model.variables[int(i)])
                        weight[after] = weight.get(after, 0.0) + 1.0 + abs(float(model.graph.strengths[j, i]))
        return sorted(weight, key=lambda path: (-weight[path], path))

    def _alone(self, path: Path) -> Closing:
        return lambda model: alone(model, path, self._asked.moved)

    def _measured(self, closings: Sequence[Closing]) -> list[Floats]:
        """(B, p) of each."""
        changes = changes_without(self._asked, closings, self._thresholds, self._progress)
        return list(changes[self._method])

    def _share(self, path: Path, left: Floats, by_itself: Floats) -> PathShare:
        return PathShare(
            path=path,
            graphs=times_in_graphs(self._asked.result, path) if path else len(self._models),
            remaining=self._ratios.ratio(left),
            gone=self._ratios.gone_share(left),
            alone=self._ratios.ratio(by_itself),
        )
