"""Between which groups outcomes change: every ordered pair of groups, at any threshold.

The people of a group are compared with their twins in each other group. Every causal model makes all twins of a person,
so what is wrong with a model is wrong in several pairs at once: intervals of all pairs together keep that.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.evaluation.bounds import Bounds, flag_rate_bounds, flag_rates_bounds
from cfad_core.evaluation.intervals import CONFIDENCE, Interval, draw_people, interval, with_unknown
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable
from cfad_core.evaluation.simultaneous import LEAST_MODELS, simultaneous_intervals

_SAMPLES = 10  # of the people by each model, for simultaneous intervals: more make them no more exact

Singles = NDArray[np.float32]
"""Small whole numbers, which are exact."""


@dataclass(frozen=True)
class FlagCounts:
    """Of all people, whether they have twins or not: how many each of the k groups has, and how many are flagged."""

    flagged: tuple[int, ...]
    people: tuple[int, ...]

    def rate(self, group: int) -> float:
        return self.flagged[group] / self.people[group]


def compared_with(groups: int, reference: int | None = None) -> Bools:
    """Which ordered pairs are compared, (k, k): all, or those that involve a reference group."""
    compared = ~np.eye(groups, dtype=np.bool_)
    if reference is not None:
        involved = np.arange(groups) == reference
        compared &= involved[:, None] | involved[None, :]
    return compared


@dataclass(frozen=True)
class _Samples:
    """How often each of n people is in each of S samples by each model, and the unknown person's changes in it.

    Attributes
    ----------
    counts : (B, S, n)
    unseen : (B, S)
    """

    counts: Singles
    unseen: Floats

    def shares(self, changes: Singles, draws: int) -> Floats:
        """(B, S, T), from how many of each person's draws change in each of T ways, (B, T, n)."""
        people = changes.shape[2]
        found = np.matmul(self.counts, changes.transpose(0, 2, 1)).astype(np.float64)
        return with_unknown(found / draws, people, self.unseen[:, :, None])


@dataclass(frozen=True)
class _Source:
    """The n people of one group who have twins.

    Attributes
    ----------
    targets : the T other groups that theirs is compared with
    here : (n,), their scores
    there : (B, K, T, n), their twins'
    lowest, highest : (B, K, n), of a person and all their twins
    samples : the first is that of single intervals, the others are those of simultaneous ones; None without intervals
    """

    targets: tuple[int, ...]
    here: Floats
    there: Floats
    lowest: Floats
    highest: Floats
    samples: _Samples | None

    def at(self, threshold: float) -> _Changes:
        models, draws, ways, people = self.there.shape
        flagged = self.here > threshold
        changes = np.empty((models, ways + 1, people), dtype=np.float32)
        np.sum((self.there > threshold) != flagged, axis=1, out=changes[:, :ways])
        np.sum((self.lowest <= threshold) & (threshold < self.highest), axis=1, out=changes[:, ways])
        by_person, total = changes.sum(axis=0, dtype=np.float64), float(models * draws * max(1, people))
        changed, cleared = by_person.sum(axis=1), by_person[:ways] @ flagged
        return _Changes(
            ratio=changed[:ways] / total,
            newly_flagged=(changed[:ways] - cleared) / total,
            newly_cleared=cleared / total,
            any_ratio=float(changed[ways] / total),
            any_other=changes[:, ways],
            shares=None if self.samples is None else self.samples.shares(changes, draws),
        )


@dataclass(frozen=True)
class _Changes:
    """Whose outcomes change at a threshold, of one group.

    Attributes
    ----------
    ratio, newly_flagged, newly_cleared : (T,)
    any_ratio : in at least one of the other groups
    any_other : (B, n), in how many draws
    shares : (B, S, T + 1), in samples of the people, the last one in at least one of the groups
    """

    ratio: Floats
    newly_flagged: Floats
    newly_cleared: Floats
    any_ratio: float
    any_other: Singles
    shares: Floats | None


class PairScores:
    """The scores of people and of their twins in all other groups; answers for any threshold.

    Parameters
    ----------
    score : (m,), of the people as they are
    twins : (B, K, k - 1, m), of K twins each by each of B models in each other group: in group t if t is below the
        person's own group, else in group t + 1; models 2 b and 2 b + 1 have no row in common
    group : (m,), from 0 to k - 1
    names : of the k groups
    compared : (k, k), which ordered pairs (rows are the people's own groups) are reported; by default all
    seed : of the samples of people; None for no intervals

    Raises
    ------
    ValueError
        If shapes do not fit, names occur twice, or there are too few models for intervals.
    """

    def __init__(
        self,
        score: Floats,
        twins: Floats,
        group: Rows,
        names: Sequence[str],
        compared: Bools | None = None,
        seed: int | None = None,
    ) -> None:
        _check(score, twins, group, names, compared)
        if seed is not None and (len(twins) < LEAST_MODELS or len(twins) % 2):
            raise ValueError(
                f"Intervals need an even number of models, {LEAST_MODELS} or more; there are {len(twins)}. "
                "Learn more models, or give no seed."
            )
        self.names = tuple(names)
        self.compared = compared_with(len(names)) if compared is None else compared & compared_with(len(names))
        members = [np.flatnonzero(group == u) for u in range(len(names))]
        self._sources = [self._source(u, members[u], score, twins, seed) for u in range(len(names))]
        self._draws = twins.shape[1]
        self._everybody: _Samples | None = None
        people = np.concatenate([np.zeros(0, dtype=np.intp), *(members[u] for u in self._compared)])
        if seed is not None and len(people):  # people stand by group from here on
            everybody = _one_sample(len(people), len(twins), seed)
            place = np.searchsorted(np.sort(people), people)
            self._everybody = _Samples(everybody.counts[:, :, place], everybody.unseen)

    @property
    def _compared(self) -> list[int]:
        """The groups that are compared with some other one."""
        found: list[int] = np.flatnonzero(self.compared.any(axis=1)).tolist()
        return found

    def _source(self, own: int, people: Rows, score: Floats, twins: Floats, seed: int | None) -> _Source:
        targets = np.flatnonzero(self.compared[own])
        here, there = score[people], twins[:, :, targets - (targets > own)][..., people]
        samples = None
        if seed is not None and len(people):
            one, more = (
                _one_sample(len(people), len(twins), seed),
                _more(len(people), len(twins), seed, self.names[own]),
            )
            samples = _Samples(np.hstack([one.counts, more.counts]), np.hstack([one.unseen, more.unseen]))
        return _Source(
            targets=tuple(targets.tolist()),
            here=here,
            there=there,
            lowest=np.minimum(here, there.min(axis=2, initial=np.inf)),
            highest=np.maximum(here, there.max(axis=2, initial=-np.inf)),
            samples=samples,
        )

    def at(self, threshold: float, counts: FlagCounts | None = None) -> PairTable:
        """All compared pairs at a threshold.

        Parameters
        ----------
        counts : of all people at this threshold, to keep intervals within what flag rates allow; None where bounds from
            flag rates do not hold
        """
        found = [source.at(threshold) for source in self._sources]
        n = tuple(len(source.here) for source in self._sources)
        limits = [self._limits(u, counts) for u in range(len(n))]
        groups = tuple(
            _any_other(size, one.any_ratio, _column(one.shares, -1), limit)
            if size and len(one.ratio)
            else AnyOther(size)
            for size, one, limit in zip(n, found, limits, strict=True)
        )
        return PairTable(
            threshold=float(threshold),
            names=self.names,
            n=n,
            pairs=tuple(self._pairs(found, counts)),
            any_other=self._of_everybody(found, limits),
            any_other_by_group=groups,
        )

    def _pairs(self, found: Sequence[_Changes], counts: FlagCounts | None) -> list[Pair]:
        together = iter(self._together(found))
        pairs = []
        for own, (source, one) in enumerate(zip(self._sources, found, strict=True)):
            people = len(source.here)
            for place, target in enumerate(source.targets):
                if not people:
                    pairs.append(Pair(own, target, 0))
                    continue
                ratio, bounds = float(one.ratio[place]), _pair_bounds(own, target, counts)
                alone = _bounded(_single(_column(one.shares, place)), ratio, bounds)
                wide = _bounded(next(together, None), ratio, None if bounds is None else self._family_bounds(bounds))
                rising, falling = float(one.newly_flagged[place]), float(one.newly_cleared[place])
                pairs.append(
                    Pair(own, target, people, ratio, rising, falling, alone, _union(wide, alone), bounds),
                )
        return pairs

    def _together(self, found: Sequence[_Changes]) -> list[Interval]:
        """The simultaneous intervals of all compared pairs whose source has people, in their order."""
        known = [(one, len(source.here)) for one, source in zip(found, self._sources, strict=True) if len(source.here)]
        shares = [one.shares[:, 1:, :-1] for one, _ in known if one.shares is not None]
        if not shares:
            return []
        people = np.concatenate([np.full(len(one.ratio), float(size)) for one, size in known])
        return simultaneous_intervals(np.concatenate([one.ratio for one, _ in known]), np.dstack(shares), people)

    def _family_bounds(self, bounds: Bounds) -> Bounds:
        """Moved outwards such that those of all compared pairs hold together, if each end is beyond by chance."""
        pairs = int(np.triu(self.compared | self.compared.T).sum())  # either direction has the same bounds
        return bounds.with_sampling(NormalDist().inv_cdf(1.0 - 0.5 * (1.0 - CONFIDENCE) / pairs))

    def _limits(self, own: int, counts: FlagCounts | None) -> Bounds | None:
        """Of a change in any of the groups that this one is compared with."""
        worlds = (own, *self._sources[own].targets)
        if counts is None or len(worlds) < 2 or not all(counts.people[world] for world in worlds):
            return None
        return flag_rates_bounds([counts.rate(world) for world in worlds], [counts.people[world] for world in worlds])

    def _of_everybody(self, found: Sequence[_Changes], limits: Sequence[Bounds | None]) -> AnyOther:
        sizes = [len(self._sources[u].here) for u in self._compared]
        people = sum(sizes)
        if not people:
            return AnyOther(0)
        changes = np.hstack([found[u].any_other for u in self._compared])
        ratio = float(changes.sum(dtype=np.float64)) / (changes.size * self._draws)
        shares = None if self._everybody is None else self._everybody.shares(changes[:, None, :], self._draws)
        return _any_other(people, ratio, _column(shares, 0), _mean([limits[u] for u in self._compared], sizes))


def _one_sample(people: int, models: int, seed: int) -> _Samples:
    """One of the people by each model: that of ``ResampledScores``."""
    drawn = [draw_people(people, seed, b) for b in range(models)]
    counts = np.array([np.bincount(rows, minlength=people) for rows, _ in drawn], dtype=np.float32)
    return _Samples(counts[:, None, :], np.array([[unseen] for _, unseen in drawn], dtype=np.float64))


def _more(people: int, models: int, seed: int, name: str) -> _Samples:
    """Several by each model, with chances of their own for each group, whatever its position is."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    counts = np.empty((models, _SAMPLES, people), dtype=np.float32)
    for b in range(models):
        for sample in counts[b]:
            sample[:] = np.bincount(rng.integers(0, people, people), minlength=people)
    return _Samples(counts, rng.poisson(0.5, (models, _SAMPLES)).astype(np.float64))


def _pair_bounds(own: int, target: int, counts: FlagCounts | None) -> Bounds | None:
    if counts is None or not counts.people[own] or not counts.people[target]:
        return None
    return flag_rate_bounds(counts.rate(own), counts.rate(target), counts.people[own], counts.people[target])


def _mean(limits: Sequence[Bounds | None], sizes: Sequence[int]) -> Bounds | None:
    """The bounds of a mean over groups of these sizes; None if those of a group are not known.

    The same flag rates are in the bounds of several groups: at worst their errors add up.
    """
    known = [(size / sum(sizes), limit) for size, limit in zip(sizes, limits, strict=True) if size]
    ends = [(share * one.low, share * one.high, share * one.error) for share, one in known if one is not None]
    if len(ends) < len(known):
        return None
    low, high, error = (float(end) for end in np.sum(ends, axis=0))
    return Bounds(low, high, error)


def _any_other(people: int, ratio: float, shares: Floats | None, bounds: Bounds | None) -> AnyOther:
    return AnyOther(people, ratio, _bounded(_single(shares), ratio, bounds), bounds)


def _column(shares: Floats | None, place: int) -> Floats | None:
    """What each model says with its first sample, (B,)."""
    return None if shares is None else shares[:, 0, place]


def _single(values: Floats | None) -> Interval | None:
    return None if values is None else interval(values)


def _bounded(found: Interval | None, ratio: float, bounds: Bounds | None) -> Interval | None:
    """The interval with the number itself, no further than the bounds allow."""
    if found is None:
        return None
    whole = Interval(min(found.low, ratio), max(found.high, ratio))
    return whole if bounds is None else bounds.clip(whole)


def _union(wide: Interval | None, alone: Interval | None) -> Interval | None:
    if wide is None or alone is None:
        return None
    return Interval(min(wide.low, alone.low), max(wide.high, alone.high))


def _check(score: Floats, twins: Floats, group: Rows, names: Sequence[str], compared: Bools | None) -> None:
    groups, people = len(names), len(score)
    if groups < 2 or len(set(names)) < groups:
        raise ValueError(f"Expected the names of at least two groups, each once; got {list(names)}.")
    if twins.ndim != 4 or twins.shape[2:] != (groups - 1, people) or not twins.shape[0] * twins.shape[1]:
        raise ValueError(
            f"Expected the scores of twins by model, draw, {groups - 1} other groups and {people} people; got shape "
            f"{twins.shape}."
        )
    if group.shape != (people,) or (people and not 0 <= group.min() <= group.max() < groups):
        raise ValueError(f"Expected a group from 0 to {groups - 1} for each of {people} people; got others.")
    if compared is not None and compared.shape != (groups, groups):
        raise ValueError(f"Expected which of {groups} x {groups} pairs are compared; got shape {compared.shape}.")
