"""How scores are spread, as a person would draw it: a smooth curve for each group and one for its twins.

Few different scores, such as the flags of a detector from outside, are bars: how many people have each. On demand the
curves are exact counts in even bins instead. Everything comes from tallies, so counts of people who are too many to
keep their scores are drawn in the same way, and a picture holds a few hundred numbers however many the people are.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent
from cfad_core.evaluation.densities import COUNTERFACTUAL, Densities
from cfad_core.evaluation.smoothing import bandwidth, silverman, smoothed
from cfad_core.evaluation.tally import Tally

Kind = Literal["smooth", "steps", "bars"]

_CELLS = 2048
_DETAIL = 200  # the narrowest kernel is this part of the picture's width
_FEW_SCORES = 25  # different ones: they are bars
_MOST_BINS = 60
_ROOM = 0.5  # beside the scores while they are smoothed, as a share of their range
_REACH = 3.5  # of a kernel, in its widths: beyond that it is nothing
_TAIL = 0.0005  # of the people on either side, whom a picture may leave out where they would squeeze all others
_FAR = 0.4  # how far beyond the others they must be for that, as a share of the others' range
_SKEWED = 4.0


@dataclass(frozen=True)
class BothWorlds:
    """The scores of a group.

    Attributes
    ----------
    people, twins : as they are, and had they belonged to another group; each may have several twins
    """

    people: Tally
    twins: Tally

    @property
    def sets(self) -> list[Tally]:
        """Those of the two that there are."""
        return [one for one in (self.people, self.twins) if one.n]


@dataclass(frozen=True)
class GroupShape:
    """How the scores of one group are spread.

    Attributes
    ----------
    n : people; None where only densities were kept
    people, twins : heights, where ``Shapes.scores`` says; None of fewer than ten people, and where there is nobody
    flagged, twins_flagged : shares above the threshold; None where the heights are
    spread : how far each person is spread, on the scale; None where nothing is smoothed
    """

    name: str
    n: int | None
    people: Floats | None
    twins: Floats | None
    flagged: float | None
    twins_flagged: float | None
    spread: float | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether there are too few people to show anything about them."""
        return self.n is not None and 0 < self.n < SMALLEST_GROUP


@dataclass(frozen=True)
class Shapes:
    """How the scores of all groups are spread.

    Attributes
    ----------
    kind : "smooth", heights at points; "steps", heights between edges; "bars", shares of people with each score
    scores : (p,), the points, the edges (p = heights + 1), or the different scores
    log : whether the scale is logarithmic. Heights are per unit of the scale (its logarithm to the base 10): the area
        below a curve, as it is drawn, is the share of the people
    beyond : the largest share of a group that lies outside the picture
    """

    kind: Kind
    scores: Floats
    log: bool
    threshold: float
    groups: tuple[GroupShape, ...]
    beyond: float = 0.0

    @property
    def top(self) -> float:
        """The highest height; 0 if there is none."""
        drawn = [line for group in self.groups for line in (group.people, group.twins) if line is not None]
        return max((float(line.max(initial=0.0)) for line in drawn), default=0.0)

    @property
    def to_take(self) -> Shapes:
        """Without groups of fewer than ten people, not even their names."""
        return dataclasses.replace(self, groups=tuple(group for group in self.groups if not group.is_hidden))

    @property
    def place_of_threshold(self) -> float | None:
        """Where on the axis the threshold is: of bars, which stand at 0, 1, 2, ..., between two; None if outside."""
        if self.kind == "bars":
            return float((self.scores <= self.threshold).sum()) - 0.5
        return self.threshold if self.scores[0] <= self.threshold <= self.scores[-1] else None


def score_shapes(
    groups: Mapping[str, BothWorlds], threshold: float, *, log: bool = False, exact: bool = False
) -> Shapes:
    """The shapes of several groups, on one scale that covers all of them.

    Parameters
    ----------
    groups : by name
    log : needs scores above 0; without any the scale is not logarithmic
    exact : counts in even bins, not smooth curves
    """
    shown = {name: both for name, both in groups.items() if both.people.n >= SMALLEST_GROUP}
    sets = [one for both in shown.values() for one in both.sets]
    values = _few_scores(sets, sum(both.people.n for both in shown.values()))
    if values is not None:  # nobody has none
        drawn = _bars(shown, values)
    else:
        scale = _Scale(log and min(_lowest(one) for one in sets) > 0.0)
        ends = _ends(sets, threshold, scale)
        drawn = _steps(shown, threshold, scale, ends) if exact else _curves(shown, scale, ends)
    found = tuple(_group(name, both, drawn.heights.get(name), threshold) for name, both in groups.items())
    return Shapes(drawn.kind, drawn.scores, drawn.log, threshold, found, drawn.beyond)


def suits_log(groups: Mapping[str, BothWorlds]) -> bool:
    """Whether a logarithmic scale shows the scores better: all are above 0, and the high ones reach far."""
    sets = [one for both in groups.values() for one in both.sets]
    if not sets or min(_lowest(one) for one in sets) <= 0.0:
        return False
    low, middle, high = np.mean([one.quantile(np.array([0.01, 0.5, 0.99])) for one in sets], axis=0).tolist()
    return bool(high - middle > _SKEWED * (middle - low))


def shapes_of_bins(densities: Densities, threshold: float, *, log: bool) -> Shapes:
    """Curves through densities that were kept in bins: each person is spread over one bin more to either side.

    The density of the twins of group "g" is named "g (counterfactual)".
    """
    scale = _Scale(log)
    edges = scale.places(densities.edges)
    groups = []
    for name, kept in densities.density.items():
        if not name.endswith(COUNTERFACTUAL):
            twins = densities.density.get(f"{name}{COUNTERFACTUAL}")
            people, others = (
                None if one is None or np.isnan(one).any() else smoothed(one, 1.0) for one in (kept, twins)
            )
            groups.append(GroupShape(name, None, people, others, None, None, float(edges[1] - edges[0])))
    return Shapes("smooth", scale.scores((edges[1:] + edges[:-1]) / 2.0), log, threshold, tuple(groups))


def smoothing_line(*shapes: Shapes) -> str:
    """How much curves on one kind of scale were smoothed, or what is drawn instead, in a sentence."""
    kinds = {one.kind for one in shapes}
    if kinds == {"bars"}:
        return "There are few different scores: each has a bar."
    if kinds == {"steps"}:
        return "Exact counts: each step is the share of people between two scores."
    widths = [group.spread for one in shapes for group in one.groups if group.spread is not None]
    if not widths:
        return ""
    is_log = all(one.log for one in shapes)
    ends = [
        f"{100.0 * (10.0**width - 1.0):.2g} %" if is_log else f"{width:.2g}" for width in (min(widths), max(widths))
    ]
    words = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    few = "" if ends[0] == ends[1] else " (the fewer people, the more)"
    return f"The curves are smoothed: everybody counts as spread over scores about {words} lower and higher{few}."


def flagged_line(group: GroupShape, otherwise: str) -> str:
    """The shares that a panel shows, in a sentence; ``otherwise`` ends it: had they belonged to the other group."""
    if group.people is None:
        few = f"fewer than {SMALLEST_GROUP} people, not shown"
        return f"{group.name}: {few if group.is_hidden else 'nobody'}."
    words = f"{group.name}: {percent(group.flagged)} flagged"
    return f"{words}." if group.twins_flagged is None else f"{words}, {percent(group.twins_flagged)} {otherwise}."


@dataclass(frozen=True)
class _Scale:
    """What a picture is even on: scores, or their logarithms to the base 10."""

    log: bool

    def places(self, scores: Floats) -> Floats:
        found: Floats = np.log10(np.maximum(scores, np.finfo(np.float64).tiny)) if self.log else scores
        return found

    def scores(self, places: Floats) -> Floats:
        found: Floats = 10.0**places if self.log else places
        return found

    def place(self, threshold: float) -> float | None:
        """Where a threshold is; None if nowhere."""
        if not math.isfinite(threshold) or (self.log and threshold <= 0.0):
            return None
        return float(self.places(np.array(threshold)))

    def between(self, people: Tally, edges: Floats) -> Floats:
        """How many are between each two edges (of places); people of a bin are spread evenly over it."""
        if people.counts is None:
            below = people.below(self.scores(edges)).astype(np.float64)
            below[-1] = people.below(self.scores(edges[-1:]), "right")[0]
        else:
            below = np.interp(edges, self.places(people.ascending), np.cumsum(people.counts), left=0.0)
        return np.diff(below)


@dataclass(frozen=True)
class _Heights:
    """Of one group, as in ``GroupShape``."""

    people: Floats
    twins: Floats | None
    spread: float | None = None


@dataclass(frozen=True)
class _Drawn:
    """What is drawn, as in ``Shapes``; heights by the name of the group."""

    kind: Kind
    scores: Floats
    log: bool
    heights: Mapping[str, _Heights]
    beyond: float = 0.0


def _group(name: str, both: BothWorlds, heights: _Heights | None, threshold: float) -> GroupShape:
    if heights is None:
        return GroupShape(name, both.people.n, None, None, None, None)
    flagged, twins = (float(one.above(threshold)) / one.n if one.n else None for one in (both.people, both.twins))
    return GroupShape(name, both.people.n, heights.people, heights.twins, flagged, twins, heights.spread)


def _of_both(both: BothWorlds, of: Callable[[Tally], Floats], spread: float | None = None) -> _Heights:
    return _Heights(of(both.people), of(both.twins) if both.twins.n else None, spread)


def _lowest(people: Tally) -> float:
    return float(people.at_rank(np.array(0)))


def _few_scores(sets: Sequence[Tally], people: int) -> Floats | None:
    """The different scores, ascending, if they are few for so many people; None if they are many."""
    found = np.zeros(0)
    for one in sets:
        scores = one.ascending[one.weights > 0.0]
        if len(np.unique(scores[:: max(1, len(scores) // 1000)])) > _FEW_SCORES:
            return None
        found = np.union1d(found, scores)
    are_few = len(found) <= _FEW_SCORES and people >= 4 * len(found)
    return found if are_few or len(found) < 2 else None


def _bars(groups: Mapping[str, BothWorlds], values: Floats) -> _Drawn:
    """The share of people with each score."""

    def heights(one: Tally) -> Floats:
        return np.asarray((one.below(values, "right") - one.below(values)) / one.n)

    return _Drawn("bars", values, False, {name: _of_both(both, heights) for name, both in groups.items()})


def _ends(sets: Sequence[Tally], threshold: float, scale: _Scale) -> tuple[float, float]:
    """From where to where, in places: everybody, but for a few who are far from all others; and the threshold."""
    tails = [scale.places(one.quantile(np.array([0.0, _TAIL, 1.0 - _TAIL, 1.0]))) for one in sets]
    least, low, _, _ = np.min(tails, axis=0).tolist()
    _, _, high, most = np.max(tails, axis=0).tolist()
    far = _FAR * (high - low)
    least = low if low - least > far else least
    most = high if most - high > far else most
    place = scale.place(threshold)
    if place is not None and least - (most - least) < place < most + (most - least):  # else it flags nobody, or all
        least, most = min(least, place), max(most, place)
    return least, most


def _steps(groups: Mapping[str, BothWorlds], threshold: float, scale: _Scale, ends: tuple[float, float]) -> _Drawn:
    """Exact counts in even bins, as many as the people allow; the threshold is between two of them."""
    people = max(both.people.n for both in groups.values())
    bins = int(min(_MOST_BINS, max(12, 2.0 * people**0.5)))
    width, place = (ends[1] - ends[0]) / bins, scale.place(threshold)
    first = ends[0] - (0.0 if place is None else (ends[0] - place) % width)
    edges: Floats = first + width * np.arange(bins + 2, dtype=np.float64)

    def heights(one: Tally) -> Floats:
        return scale.between(one, edges) / one.n / width

    heights_of = {name: _of_both(both, heights) for name, both in groups.items()}
    return _Drawn("steps", scale.scores(edges), scale.log, heights_of, _beyond(groups, scale, edges[[0, -1]]))


def _curves(groups: Mapping[str, BothWorlds], scale: _Scale, ends: tuple[float, float]) -> _Drawn:
    """Smooth curves; a group and its twins are smoothed alike, as much as the people of the group allow."""
    edges: Floats = _cells([one for both in groups.values() for one in both.sets], scale, ends)
    step = float(edges[1] - edges[0])
    narrowest = (ends[1] - ends[0]) / step / _DETAIL
    widths = {name: max(narrowest, width) for name, width in _widths(groups, scale, edges).items()}
    reach = _REACH * step * max(widths.values())
    places: Floats = (edges[1:] + edges[:-1]) / 2.0
    inside = np.flatnonzero((places >= ends[0] - reach) & (places <= ends[1] + reach))
    outer = np.array([edges[inside[0]], edges[inside[-1] + 1]])
    seen = np.union1d(inside[:: max(1, int(min(widths.values()) / 2.5))], inside[-1:])
    places[[0, -1]] = edges[[0, -1]]  # curves are level at a natural bound

    def heights(both: BothWorlds, width: float) -> _Heights:
        return _of_both(both, lambda one: smoothed(scale.between(one, edges), width)[seen] / one.n / step, width * step)

    heights_of = {name: heights(both, widths[name]) for name, both in groups.items()}
    return _Drawn("smooth", scale.scores(places[seen]), scale.log, heights_of, _beyond(groups, scale, outer))


def _widths(groups: Mapping[str, BothWorlds], scale: _Scale, edges: Floats) -> dict[str, float]:
    """The bandwidth of each group, in cells.

    How much narrower it should be than for a bell is the same for all: the median over the groups and their twins, as
    all are of one detector. Equal scores, as alike people have, would make a single group's far too narrow.
    """
    usual: dict[str, float] = {}
    ratios: list[float] = []
    for name, both in groups.items():
        for one in both.sets:
            counts = scale.between(one, edges)
            bell = silverman(counts, both.people.n)
            usual.setdefault(name, bell)  # of the people
            ratios += [bandwidth(counts, both.people.n) / bell] if bell else []
    return {name: float(np.median(ratios)) * bell if ratios else bell for name, bell in usual.items()}


def _cells(sets: Sequence[Tally], scale: _Scale, ends: tuple[float, float]) -> Floats:
    """The edges of the cells that people are counted in, with room on both sides, but not beyond a natural bound.

    No score is below 0 where none was seen there, and a share is not above 1.
    """
    room = _ROOM * (ends[1] - ends[0])
    low, high = ends[0] - room, ends[1] + room
    if not scale.log and min(_lowest(one) for one in sets) >= 0.0:
        low = max(low, 0.0)
        if max(float(one.at_rank(np.array(one.n - 1))) for one in sets) <= 1.0:
            high = min(high, 1.0)
    found: Floats = np.linspace(low, high, _CELLS + 1)
    return found


def _beyond(groups: Mapping[str, BothWorlds], scale: _Scale, outer: Floats) -> float:
    """The largest share of people outside the picture; those at its very ends are inside."""
    return max(1.0 - float(scale.between(one, outer).sum()) / one.n for both in groups.values() for one in both.sets)
