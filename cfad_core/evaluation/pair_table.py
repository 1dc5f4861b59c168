"""What happens at a threshold between each two groups: the table, its worst pair, and a sentence about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, counted, percent, percent_range, share_of_people
from cfad_core.evaluation.bounds import REFUTING_ERRORS, Bounds
from cfad_core.evaluation.intervals import Interval


@dataclass(frozen=True)
class Pair:
    """People of one group, had they belonged to another one.

    Attributes
    ----------
    source, target : positions of the two groups
    n : people of the source; None if that is suppressed
    ratio : share of them whose outcome changes; None without people
    newly_flagged, newly_cleared : its two directions: only the twin is flagged, only the person
    interval : of the ratio, looked at alone
    simultaneous : of the ratio, such that those of all compared pairs hold together; never narrower
    bounds : what the flag rates of the two groups alone allow
    """

    source: int
    target: int
    n: int | None
    ratio: float | None = None
    newly_flagged: float | None = None
    newly_cleared: float | None = None
    interval: Interval | None = None
    simultaneous: Interval | None = None
    bounds: Bounds | None = None

    @property
    def is_impossible(self) -> bool:
        """Whether the flag rates of the two groups contradict the ratio: the causal model is wrong here."""
        if self.ratio is None or self.bounds is None:
            return False
        return self.bounds.with_sampling(REFUTING_ERRORS).excludes(Interval(self.ratio, self.ratio))


@dataclass(frozen=True)
class AnyOther:
    """People whose outcome changes in at least one of the other groups that theirs is compared with.

    Attributes
    ----------
    n : people; None if that is suppressed
    ratio : share of them; None without people, or if their group is compared with no other
    """

    n: int | None
    ratio: float | None = None
    interval: Interval | None = None
    bounds: Bounds | None = None


@dataclass(frozen=True)
class PairTable:
    """All compared pairs of groups at a threshold.

    Attributes
    ----------
    names : of the k groups
    n : people of each group; None where that is suppressed
    pairs : those that are compared, by source and then by target
    any_other : of all people whose group is compared with another one
    any_other_by_group : (k,), of the people of each group
    """

    threshold: float
    names: tuple[str, ...]
    n: tuple[int | None, ...]
    pairs: tuple[Pair, ...]
    any_other: AnyOther
    any_other_by_group: tuple[AnyOther, ...]

    def pair(self, source: int, target: int) -> Pair:
        """One of the pairs.

        Raises
        ------
        KeyError
            If the two groups are not compared.
        """
        for pair in self.pairs:
            if (pair.source, pair.target) == (source, target):
                return pair
        raise KeyError(f"People of group {source} are not compared with their twins in group {target}.")

    def ratios(self) -> Floats:
        """(k, k), rows are sources; nan where two groups are not compared, or a group has nobody."""
        found = np.full((len(self.names), len(self.names)), np.nan)
        for pair in self.pairs:
            if pair.ratio is not None:
                found[pair.source, pair.target] = pair.ratio
        return found

    @property
    def looked_at(self) -> int:
        """How many pairs the simultaneous intervals allow for."""
        return sum(pair.n != 0 for pair in self.pairs)

    @property
    def worst(self) -> Pair | None:
        """The pair with the highest ratio, of several the first; None without people."""
        known = [pair for pair in self.pairs if pair.ratio is not None]
        return max(known, key=lambda pair: pair.ratio or 0.0, default=None)

    @property
    def rivals(self) -> tuple[Pair, ...]:
        """The other pairs that may be as high as the worst: their intervals reach the low end of its interval."""
        worst = self.worst
        if worst is None or worst.simultaneous is None:
            return ()
        low = worst.simultaneous.low
        return tuple(
            pair
            for pair in self.pairs
            if pair is not worst and pair.simultaneous is not None and pair.simultaneous.high >= low
        )

    def suppressed(self) -> PairTable:
        """The table as it may leave the program: nothing about groups of fewer than 10 people.

        Pairs that involve such a group say nothing, and neither do bounds that it is part of. If there are fewer than
        10 people in all such groups together, what is known of all people is left out as well: it would be what is
        known of the others and of these few. Groups without people have nothing to hide.
        """
        hidden = [n is None or 0 < n < SMALLEST_GROUP for n in self.n]
        if not any(hidden):
            return self
        few = 0 < sum(n or 0 for n, hide in zip(self.n, hidden, strict=True) if hide) < SMALLEST_GROUP
        nothing = AnyOther(None)
        return dataclasses.replace(
            self,
            n=tuple(None if hide else n for n, hide in zip(self.n, hidden, strict=True)),
            pairs=tuple(_suppressed(pair, hidden[pair.source], hidden[pair.target]) for pair in self.pairs),
            any_other=nothing if few else dataclasses.replace(self.any_other, bounds=None),
            any_other_by_group=tuple(
                nothing if hide else dataclasses.replace(one, bounds=None)
                for one, hide in zip(self.any_other_by_group, hidden, strict=True)
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """For files: plain numbers, groups by their names, None where something is undefined or suppressed."""
        worst = self.worst
        return {
            "threshold": self.threshold,
            "groups": [{"name": name, "n": n} for name, n in zip(self.names, self.n, strict=True)],
            "pairs": [self._named(pair) for pair in self.pairs],
            "worst": None if worst is None else {key: self._named(worst)[key] for key in ("source", "target")},
            "looked_at": self.looked_at,
            "any_other": {
                "people": dataclasses.asdict(self.any_other),
                "groups": {
                    name: dataclasses.asdict(one) for name, one in zip(self.names, self.any_other_by_group, strict=True)
                },
            },
        }

    def _named(self, pair: Pair) -> dict[str, Any]:
        names = {"source": self.names[pair.source], "target": self.names[pair.target]}
        return {**dataclasses.asdict(pair), **names}


def _suppressed(pair: Pair, hides_source: bool, hides_target: bool) -> Pair:
    if hides_source:
        return Pair(pair.source, pair.target, None)
    return Pair(pair.source, pair.target, pair.n) if hides_target else pair


def worst_line(table: PairTable, attribute: str) -> str:
    """A sentence or two about the pair of groups between which most outcomes change.

    ``Most outcomes change for people of race Black, had they been White: 6.1 % (4.0 % to 8.9 %, allowing for looking at
    20 pairs). 2 other pairs may be as high.``
    """
    worst, pairs = table.worst, counted(table.looked_at, "pair")
    if worst is None or worst.ratio is None:
        return "Nobody was judged."
    if worst.ratio == 0.0:
        tops = [pair.simultaneous.high for pair in table.pairs if pair.simultaneous is not None]
        possible = f" (up to {percent(max(tops))} is possible in one of them)" if tops else ""
        return f"Nobody's outcome changes between groups of {attribute}, in any of {pairs}{possible}."
    text = (
        f"Most outcomes change for people of {attribute} {table.names[worst.source]}, had they been "
        f"{table.names[worst.target]}: {share_of_people(worst.ratio)}"
    )
    if worst.simultaneous is None:
        return f"{text}; the uncertainty was not measured."
    allowing = f", allowing for looking at {pairs}" if table.looked_at > 1 else ""
    text = f"{text} ({percent_range(worst.simultaneous.low, worst.simultaneous.high)}{allowing})."
    if table.rivals:
        text = f"{text} {counted(len(table.rivals), 'other pair')} may be as high."
    if worst.is_impossible and worst.bounds is not None:
        most = worst.bounds.with_sampling(REFUTING_ERRORS)
        return f"{text} This is a guess: the flag rates of the two groups allow {percent_range(most.low, most.high)}."
    return text
