"""Columns that give the label or a group away, or say what others say: found on some rows, confirmed on the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.data.columns import as_numbers, as_texts, holds_numbers
from cfad_core.data.findings import Finding

_SAMPLE = 4000  # rows that are looked at first
_CONFIRMED = 200_000  # rows that a relation between columns is confirmed on, at most
_NEARLY = 0.98  # of those with the label, and of those without
_FEWEST = 10  # people with the label, and without it
_ROWS_A_VALUE = 20  # on average, for a column that determines another one to mean something
_MOST_LEVELS = 50
_FIRST_PAIRS = 300  # of rows that are alike
_NAMED = 2
_MIN_MINORITY = 30  # rows that do not have the usual value of a column, for others to determine it
_SAME_ORDER = 0.9995  # correlation of ranks
_EXPLAINED = 0.9999  # share of a column's variance
_ALONE = 0.9995  # that one of two columns may explain
_LIKELY = 0.97  # by correlations of pairs, which missing cells disturb
_MOST_PAIRS = 5  # of columns that are looked at for one
_CLOSE = 0.02  # of a column's standard deviation: rounding
_MOST_CLOSE = 0.99  # of the rows
_FEW_FOR_NUMBER = 12  # different values up to which a number says too little for a relation
_REMEDY = "Ignore it unless that is meant."


@dataclass(frozen=True)
class Target:
    """What a column must not give away.

    Attributes
    ----------
    holds : for each row, (n,)
    what, where : what it is, and when it holds, in a sentence
    code : of the finding
    """

    holds: Bools
    what: str
    where: str
    code: str


@dataclass(frozen=True)
class _Rule:
    """How one column says whether a target holds, and for which share of the rows it is right."""

    says: str
    right: float


def near_leaks(table: pd.DataFrame, features: Sequence[str], targets: Sequence[Target]) -> list[Finding]:
    """Attributes that say of nearly everybody whether a target holds, by their values, one number or missing cells."""
    found = []
    for target in targets:
        if min(target.holds.sum(), (~target.holds).sum()) < _FEWEST:
            continue
        places = _balanced(target.holds)
        for name in features:
            cells = table[name]
            if _rule(cells.iloc[places], target.holds[places]) and (rule := _rule(cells, target.holds)):
                where = f"exactly where {target.where}"
                if rule.right < 1.0:
                    where = f"where {target.where}, in {100.0 * rule.right:.1f} % of the rows"
                message = f"Column '{name}' gives {target.what} away: {rule.says} {where}."
                found.append(Finding(target.code, "warning", message, _REMEDY, name, len(table)))
    return found


def _balanced(holds: Bools) -> NDArray[np.intp]:
    """Places of up to so many rows of either kind, evenly spread."""
    sides = [np.flatnonzero(side) for side in (holds, ~holds)]
    return np.sort(np.concatenate([side[:: max(1, len(side) // (_SAMPLE // 2))] for side in sides]))


def _rule(cells: pd.Series[Any], holds: Bools) -> _Rule | None:
    missing = cells.isna().to_numpy(dtype=np.bool_)
    for chosen, words in ((missing, "its cells are missing"), (~missing, "its cells are filled")):
        if rule := _if_right(words, chosen, holds):
            return rule
    if holds_numbers(cells):
        return _number_rule(as_numbers(cells), holds)
    values, texts = pd.factorize(as_texts(cells))
    if len(texts) > _MOST_LEVELS or len(texts) * _ROWS_A_VALUE > len(cells):
        return None
    shares = np.bincount(values, weights=holds) / np.bincount(values)
    chosen = shares > holds.mean()
    named = " or ".join(f"'{text[:40]}'" for text in texts[chosen][:_NAMED])
    more = " or the like" if chosen.sum() > _NAMED else ""
    return _if_right(f"it is {named}{more}", chosen[values], holds)


def _number_rule(numbers: Floats, holds: Bools) -> _Rule | None:
    """Above or under one number."""
    known = np.isfinite(numbers)
    order = np.argsort(numbers[known], kind="stable")
    ordered, inside = numbers[known][order], holds[known][order]
    steps = np.flatnonzero(np.diff(ordered) > 0.0)
    if not len(steps):
        return None
    with_it, without = np.cumsum(inside)[steps] / holds.sum(), np.cumsum(~inside)[steps] / (~holds).sum()
    best = steps[int(np.argmax(np.abs(with_it - without)))]
    low, high = ordered[best], ordered[best + 1]
    above = _if_right(f"it is above {low:.6g}", numbers > low, holds)
    return above or _if_right(f"it is under {high:.6g}", numbers < high, holds)


def _if_right(says: str, chosen: Bools, holds: Bools) -> _Rule | None:
    """The rule, if it is right for nearly all with the target, and nearly all without."""
    if (chosen & holds).sum() < _NEARLY * holds.sum() or (~chosen & ~holds).sum() < _NEARLY * (~holds).sum():
        return None
    return _Rule(says, float((chosen == holds).mean()))


def redundant_columns(table: pd.DataFrame, features: Sequence[str]) -> list[Finding]:
    """Attributes that say what one or two earlier ones say: copies, logarithms, sums, products, combinations."""
    places = np.linspace(0, len(table) - 1, min(len(table), _SAMPLE)).astype(np.intp)
    numbers = {name: as_numbers(table[name]) for name in features if holds_numbers(table[name].head(_SAMPLE))}
    fine = {name: cells for name, cells in numbers.items() if _says_enough(cells[places])}
    levels = {name: codes for name in features if (codes := _codes(table[name], places)) is not None}
    found: dict[str, tuple[str, str]] = {}
    for name, message in (*_one_to_one(levels, table), *_same_order(fine, places)):
        found.setdefault(name, ("same-column", message))
    rest = {name: cells for name, cells in fine.items() if name not in found}
    for name, message in _fixed_numbers(rest, places):
        found.setdefault(name, ("fixed-column", message))
    few = {name: codes for name, codes in levels.items() if name not in found}
    for name, message in _fixed_levels(few, table):
        found.setdefault(name, ("fixed-column", message))
    return [Finding(code, "warning", message, "Ignore one of them.", name) for name, (code, message) in found.items()]


def _says_enough(cells: Floats) -> bool:
    known = cells[np.isfinite(cells)]
    return len(known) >= len(cells) / 2 and len(np.unique(known[:1000])) > _FEW_FOR_NUMBER


def _codes(cells: pd.Series[Any], places: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """A number for each value of a column of few, at the sampled places; None of other columns."""
    some = cells.iloc[places]
    codes, texts = pd.factorize(some if some.dtype != object else as_texts(some), use_na_sentinel=False)
    if not 2 <= len(texts) <= _MOST_LEVELS or len(texts) * _ROWS_A_VALUE > len(places):
        return None
    return codes if len(codes) - int(np.bincount(codes).max()) >= _MIN_MINORITY else None


def _all_codes(cells: pd.Series[Any]) -> NDArray[np.intp]:
    return pd.factorize(cells if cells.dtype != object else as_texts(cells), use_na_sentinel=False)[0]


def _fixed_by(values: NDArray[np.intp], codes: NDArray[np.intp]) -> bool:
    """Whether equal ``values`` always go with equal ``codes``."""
    order = np.argsort(values, kind="stable")
    ordered, targets = values[order], codes[order]
    return not bool(((ordered[1:] == ordered[:-1]) & (targets[1:] != targets[:-1])).any())


def _one_to_one(levels: dict[str, NDArray[np.intp]], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Columns of few values that are another one with other words."""
    known: dict[bytes, str] = {}
    for name, codes in levels.items():
        first = known.setdefault(codes.tobytes(), name)  # numbered by appearance: the same numbers are the same column
        if first != name and np.array_equal(_all_codes(table[first]), _all_codes(table[name])):
            yield name, f"Column '{name}' says the same as '{first}': each value of one goes with one of the other."


def _same_order(fine: dict[str, Floats], places: NDArray[np.intp]) -> Iterator[tuple[str, str]]:
    """Numbers that rise or fall with another column, such as its logarithm."""
    if len(fine) < 2:
        return
    ranks = pd.DataFrame({name: cells[places] for name, cells in fine.items()}).rank()
    related = ranks.corr().to_numpy()
    for first, second in combinations(range(len(fine)), 2):
        if abs(related[first, second]) < _SAME_ORDER:
            continue
        names = list(fine)
        one, other = (fine[names[place]][:_CONFIRMED] for place in (first, second))
        both = np.isfinite(one) & np.isfinite(other)
        if both.sum() < len(one) / 2:
            continue
        whole = _by_ranks(one[both], other[both])
        if abs(whole) >= _SAME_ORDER:
            way = "rises" if whole > 0.0 else "falls"
            how = _how(one[both], other[both])
            yield names[second], f"Column '{names[second]}' {way} with '{names[first]}'{how}: they say the same."


def _how(one: Floats, other: Floats) -> str:
    if np.corrcoef(one, other)[0, 1] ** 2 > _EXPLAINED:
        return " in proportion"
    if one.min() > 0.0 and np.corrcoef(np.log(one), other)[0, 1] ** 2 > _EXPLAINED:
        return " as its logarithm"
    return ", its logarithm" if other.min() > 0.0 and np.corrcoef(one, np.log(other))[0, 1] ** 2 > _EXPLAINED else ""


def _fixed_numbers(fine: dict[str, Floats], places: NDArray[np.intp]) -> Iterator[tuple[str, str]]:
    """Numbers that two others add or multiply up to."""
    done: set[frozenset[str]] = set()
    positive = {name: np.log(cells) for name, cells in fine.items() if np.nanmin(cells) > 0.0}
    for some, sign in ((fine, "plus"), (positive, "times")):
        for name, *others in _fixed_triples(some, places):
            trio = frozenset((name, *others))
            if trio not in done:
                done.add(trio)
                how = "a sum or difference" if sign == "plus" else "a product or ratio"
                yield name, f"Column '{name}' is {how} of '{others[0]}' and '{others[1]}'."


def _fixed_triples(some: dict[str, Floats], places: NDArray[np.intp]) -> Iterator[tuple[str, str, str]]:
    """The last column of three, and the two that fix it: R2 from the correlations of pairs, then confirmed."""
    names = list(some)
    if len(names) < 3:
        return
    sampled = pd.DataFrame({name: cells[places] for name, cells in some.items()}).replace([np.inf, -np.inf], np.nan)
    related = sampled.corr().fillna(0.0).to_numpy()
    for c in range(2, len(names)):
        r_a, r_ab = related[c, :c], related[:c, :c]
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = (r_a[:, None] ** 2 + r_a[None, :] ** 2 - 2.0 * np.outer(r_a, r_a) * r_ab) / (1.0 - r_ab**2)
        alone = r_a**2 < _ALONE
        likely = np.triu((explained > _LIKELY) & (r_ab**2 < _ALONE) & alone[:, None] & alone[None, :], 1)
        pairs = np.argwhere(likely)
        best = np.argsort(-explained[likely], kind="stable")[:_MOST_PAIRS]
        for a, b in pairs[best]:
            trio = [some[names[place]] for place in (a, b, c)]
            if _add_up(*(cells[places] for cells in trio)) and _add_up(*(cells[:_CONFIRMED] for cells in trio)):
                yield names[c], names[a], names[b]
                break


def _add_up(one: Floats, other: Floats, total: Floats) -> bool:
    """Whether two columns and a constant give a third one but for rounding, in nearly all rows."""
    known = np.isfinite(one) & np.isfinite(other) & np.isfinite(total)
    if known.sum() < _MIN_MINORITY:
        return False
    design = np.column_stack([one[known], other[known], np.ones(int(known.sum()))])
    design, total = design / np.abs(design).max(axis=0), total[known]
    solved, *_ = np.linalg.lstsq(design, total, rcond=None)
    given = design @ solved
    close = np.abs(total - given) <= _CLOSE * max(float(total.std()), 1e-12)
    # also by ranks, and so not by a few that lie far out
    return bool(close.mean() >= _MOST_CLOSE and _by_ranks(total, given) >= _SAME_ORDER)


def _by_ranks(one: Floats, other: Floats) -> float:
    """The correlation of ranks; pandas' own would load all of scipy's statistics, which takes seconds."""
    return float(np.corrcoef(pd.Series(one).rank(), pd.Series(other).rank())[0, 1])


def _fixed_levels(levels: dict[str, NDArray[np.intp]], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Columns of few values that one other, or two together, determine."""
    whole: dict[str, NDArray[np.intp]] = {}
    done: set[frozenset[str]] = set()
    order = list(levels)
    for name, *others in sorted(_likely_fixed(levels), key=lambda found: (len(found), -order.index(found[0]))):
        if frozenset((name, *others)) in done:  # each of three may be fixed by the others: the last one is named
            continue
        for one in (name, *others):
            if one not in whole:
                whole[one] = _all_codes(table[one])
        first, second = whole[others[0]], whole[others[-1]]
        if _fixed_by(first * np.intp(second.max() + 1) + second, whole[name]):
            done.add(frozenset((name, *others)))
            named = f"'{others[0]}'" if len(others) == 1 else f"'{others[0]}' and '{others[1]}' together"
            yield name, f"Column '{name}' is fixed by {named}: whoever has the same there has the same here."


def _likely_fixed(levels: dict[str, NDArray[np.intp]]) -> Iterator[tuple[str, ...]]:
    """By the sample: a column, and the one or two that determine it."""
    names = list(levels)
    single = {(a, c) for a in names for c in names if a != c and _fixed_by(levels[a], levels[c])}
    yield from ((c, a) for a, c in sorted(single, key=lambda pair: (names.index(pair[1]), names.index(pair[0]))))
    fixed = {c for _, c in single}
    free = [name for name in names if name not in fixed]
    if len(free) < 3:
        return
    every = np.column_stack([levels[name] for name in free])  # (m, k)
    for a, b in combinations(range(len(free)), 2):
        pair = every[:, a] * _MOST_LEVELS + every[:, b]
        order = np.argsort(pair, kind="stable")
        same = np.flatnonzero(np.diff(pair[order]) == 0)
        if (len(pair) - len(same)) * _ROWS_A_VALUE > len(pair):  # so many combinations determine anything
            continue
        begin = same[:_FIRST_PAIRS]  # they show of most columns that they are not determined
        maybe = np.flatnonzero((every[order[begin]] == every[order[begin + 1]]).all(axis=0))
        for c in maybe:
            if c not in (a, b) and (every[order[same], c] == every[order[same + 1], c]).all():
                yield free[c], free[a], free[b]
