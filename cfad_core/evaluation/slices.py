"""Slices that nobody asked for: the subgroups of up to two columns that are flagged most, or change most often.

Whoever looks at thousands of subgroups finds some that stand out by chance. So people are split at random in two
halves: one is searched (``slice_search``), and the few slices that are found there are tested in the other one, which
took no part in the search. All numbers that are reported are of that other half: the worst of many looks worse than it
is where it was found, and only there.

**The test.** One-sided, of "no higher than all other people". Flags are 0 or 1, often few: their test is the exact one
of Fisher, whose error is at most 5 % however small the counts. Probabilities have no such test for their mean; theirs
is Welch's t, as slices may spread less or more than others, with two unknown people more in the slice and in the rest,
a 0 and a 1, without which a slice whose people all agree would look certain. Holm's correction is over the slices that
were found: with 95 % probability none of those confirmed is there by chance.

**The interval** of the difference is that of Agresti and Caffo, Welch's t with the same two people, all intervals
together at 90 % (Bonferroni over the slices found). A confirmed slice also has its interval above 0: so no sentence
says both "more often" and "perhaps less".

The scores and the causal models are taken as they are: intervals and tests are about which people are at hand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.formats import counted, percent
from cfad_core.core.progress import Progress
from cfad_core.evaluation.intervals import CONFIDENCE, Interval
from cfad_core.evaluation.slice_columns import FEWEST, SliceColumn
from cfad_core.evaluation.slice_search import STAGE, Cells, Sums, apart, choose_slices, count_slices

Kind = Literal["flagged", "changes"]
LEVEL = 0.05  # probability that any slice is confirmed by chance
MOST = 200_000  # people who are looked at; of more, so many are drawn

_NONE: dict[Kind, str] = {
    "flagged": "none is flagged clearly more often than the others",
    "changes": "there is none whose outcomes change clearly more often than those of the others",
}


@dataclass(frozen=True)
class Slice:
    """A subgroup that stood out in one half of the people, as the other half sees it.

    Attributes
    ----------
    cells : one or two, of different columns: ``("age: 25 to 39", "region: north")``
    people : of the subgroup, in both halves
    n : of them, those of the other half, whom all other numbers are about
    rate : mean value of the n, a share of them
    rest : mean of all other people of that half
    gap : rate minus rest
    interval : of the gap; all slices' together at 90 %
    p_value : one-sided, after Holm's correction
    confirmed : whether the p-value is below 5 %, and the interval above 0
    """

    cells: tuple[str, ...]
    people: int
    n: int
    rate: float
    rest: float
    gap: float
    interval: Interval
    p_value: float
    confirmed: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {**dataclasses.asdict(self), "cells": list(self.cells)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Slice:
        ends = values["interval"]
        return Slice(
            cells=tuple(str(cell) for cell in values["cells"]),
            people=int(values["people"]),
            n=int(values["n"]),
            rate=float(values["rate"]),
            rest=float(values["rest"]),
            gap=float(values["gap"]),
            interval=Interval(float(ends["low"]), float(ends["high"])),
            p_value=float(values["p_value"]),
            confirmed=bool(values["confirmed"]),
        )


@dataclass(frozen=True)
class Slices:
    """The worst subgroups.

    Attributes
    ----------
    kind : whether people are flagged, or their outcome changes
    people : whose value is known, and who were looked at
    looked_at : subgroups that are large enough
    found : those that stood out in one half of the people, the worst there first
    """

    kind: Kind
    people: int
    looked_at: int
    found: tuple[Slice, ...] = ()

    @property
    def confirmed(self) -> tuple[Slice, ...]:
        """Those that stand out in the other half as well."""
        return tuple(one for one in self.found if one.confirmed)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {**dataclasses.asdict(self), "found": [one.to_dict() for one in self.found]}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Slices:
        found = tuple(Slice.from_dict(one) for one in values["found"])
        return Slices(values["kind"], int(values["people"]), int(values["looked_at"]), found)


def find_slices(
    values: Floats, columns: Sequence[SliceColumn], seed: int, kind: Kind = "flagged", progress: Progress | None = None
) -> Slices:
    """The subgroups of at least 50 people whose values are highest above those of all others.

    Parameters
    ----------
    values : (n,), flags (0 or 1) or probabilities; nan where that is not known of a person, who is then left out
    columns : of the same n people, in any order
    seed : of the halves
    kind : what the values are, for sentences

    Raises
    ------
    ValueError
        If a column has another length or the name of another one, or values are not between 0 and 1.
    """
    _check(values, columns)
    progress = progress or Progress()
    progress.check(STAGE)
    first, second = _halves(values, seed)
    people = np.concatenate([first, second])
    if len(people) < 2 * FEWEST or not any(column.labels for column in columns):
        return Slices(kind, len(people), 0)
    cells = Cells(columns, people)
    subgroups = count_slices(cells, values[people], len(first), progress)
    chosen = choose_slices(subgroups, cells)
    progress.check(STAGE)
    return Slices(kind, len(people), len(subgroups), _tested(chosen, cells, values[second]))


def slice_lines(slices: Slices) -> list[str]:
    """What was found, in a sentence; and below it a line for each slice that was confirmed, the worst first.

    ``2 of 214 subgroups are flagged clearly more often than others: they were found in one half of the people, and
    confirmed and counted in the other.``
    ``age: 25 to 39 and region: north: 14.2 % of 312 people, others 5.1 % (difference 9.1 points, 4.0 to 14.2)``
    """
    subgroups, found = counted(slices.looked_at, "subgroup"), len(slices.confirmed)
    if not slices.looked_at:
        return [f"No subgroup of at least {FEWEST} people could be looked at."]
    if not found:
        return [f"Of {subgroups} {_NONE[slices.kind]}, once looked at in people it was not found in."]
    are, they = ("is", "it was") if found == 1 else ("are", "they were")
    what = f"{are} flagged" if slices.kind == "flagged" else f"{'has' if found == 1 else 'have'} outcomes that change"
    return [
        f"{found:,} of {subgroups} {what} clearly more often than others: {they} found in one half of the people, and "
        "confirmed and counted in the other.",
        *(
            f"{' and '.join(one.cells)}: {percent(one.rate)} of {one.n:,} people, others {percent(one.rest)} "
            f"(difference {100.0 * one.gap:.1f} points, {100.0 * one.interval.low:.1f} to "
            f"{100.0 * one.interval.high:.1f})"
            for one in slices.confirmed
        ),
    ]


def _check(values: Floats, columns: Sequence[SliceColumn]) -> None:
    known = values[~np.isnan(values)]
    if len(known) and not 0.0 <= known.min() <= known.max() <= 1.0:
        raise ValueError(
            f"Expected values from 0 to 1, or nan; got {known.min():g} to {known.max():g}. Give flags or probabilities."
        )
    for column in columns:
        if column.cells.shape != values.shape:
            raise ValueError(
                f"Expected the cells of '{column.name}' for all {len(values)} people; got shape {column.cells.shape}."
            )
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"Expected columns of different names; got {', '.join(names)}.")


def _halves(values: Floats, seed: int) -> tuple[Rows, Rows]:
    """The positions of the people whose value is known, in two random halves, each in its order."""
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(values)))[:MOST]
    half = len(drawn) // 2
    return np.sort(drawn[:half]), np.sort(drawn[half:])


def _tested(chosen: list[tuple[int, ...]], cells: Cells, values: Floats) -> tuple[Slice, ...]:
    """The chosen slices by the values (m,) of the second half."""
    if not chosen:
        return ()
    members = [cells.members(numbers) for numbers in chosen]
    inside = [some[-len(values) :] for some in members]
    is_flag = bool(np.isin(values, (0.0, 1.0)).all())
    sums = [(Sums.of(values[some]), Sums.of(values[~some])) for some in inside]
    p_values = _holm(np.array([_exact(*both) if is_flag else _welch(*both) for both in sums]))
    found = []
    for numbers, some, (part, rest), p_value in zip(chosen, members, sums, p_values, strict=True):
        interval = _interval(part, rest, len(chosen))
        found.append(
            Slice(
                cells=tuple(cells.texts[number] for number in numbers),
                people=int(some.sum()),
                n=int(part.n),
                rate=float(part.mean),
                rest=float(rest.mean),
                gap=float(part.mean - rest.mean),
                interval=interval,
                p_value=float(p_value),
                confirmed=bool(p_value < LEVEL and interval.low > 0.0),
            )
        )
    return tuple(found)


def _exact(part: Sums, rest: Sums) -> float:
    """How likely so many flags, or more, are in the part if all flags are given out by lot (Fisher)."""
    from scipy.stats import hypergeom

    flags = part.total + rest.total
    return float(hypergeom.sf(part.total - 1.0, part.n + rest.n, flags, part.n))


def _welch(part: Sums, rest: Sums) -> float:
    from scipy.special import stdtr

    gap, error = apart(part, rest)
    return float(stdtr(_freedom(part, rest), -gap / error))


def _freedom(part: Sums, rest: Sums) -> float:
    """Degrees of freedom, by Welch and Satterthwaite, with the unknown people."""
    total = np.square(part.variance + rest.variance)
    return float(total / (np.square(part.variance) / (part.n + 1.0) + np.square(rest.variance) / (rest.n + 1.0)))


def _interval(part: Sums, rest: Sums, intervals: int) -> Interval:
    """Of the gap, one of so many. It holds the gap with and without the unknown people."""
    from scipy.special import stdtrit

    gap, error = apart(part, rest)
    with_unknown = part.mean_with_unknown - rest.mean_with_unknown
    width = float(stdtrit(_freedom(part, rest), 1.0 - (1.0 - CONFIDENCE) / (2.0 * intervals))) * error
    low, high = np.minimum(gap, with_unknown) - width, np.maximum(gap, with_unknown) + width
    return Interval(max(-1.0, float(low)), min(1.0, float(high)))


def _holm(p_values: Floats) -> Floats:
    """P-values (k,) that allow for all k of them."""
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted
