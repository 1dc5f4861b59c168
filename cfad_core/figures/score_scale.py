"""Scores of one person and their twins on one line, with the threshold: as HTML, which stays readable on a phone.

Places are shares of the line's width. Whatever comes from a table passes through ``plain``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import counted, number
from cfad_core.figures.svg import Axis, plain

_WIDE = 10.0  # ratio of the largest to the smallest score from which a logarithmic line is easier to read
_DOT, _LEVELS, _STEP = 2.0, 5, 4  # width of a dot as a share of the line; heights that dots have, and pixels between
_ROOM = 0.06  # of the line, beyond the outermost score on either side


@dataclass(frozen=True)
class Scored:
    """One score on the line.

    Attributes
    ----------
    name : whose it is
    score : theirs
    is_twin : whether it is a twin's
    """

    name: str
    score: float
    is_twin: bool = False


def score_axis(shown: Sequence[float]) -> Axis:
    """A line from 0 to 100 that all these scores lie on, with some room; logarithmic where that is easier to read."""
    low, high = min(shown), max(shown)
    if low > 0.0 and high / low >= _WIDE:
        room = _ROOM * (math.log10(high) - math.log10(low))
        return Axis(low / 10.0**room, high * 10.0**room, 0.0, 100.0, log=True)
    room = _ROOM * (high - low) or abs(high) or 1.0
    return Axis(low - room, high + room, 0.0, 100.0)


def axis_ticks(axis: Axis) -> list[tuple[float, str]]:
    """Where ticks stand, and what they say."""
    return [(axis.at(tick), f"{tick:.4g}") for tick in axis.ticks()]


def score_scale(rows: Sequence[Scored], possible: Floats, threshold: float, axis: Axis, *, dots_are: str = "") -> str:
    """A bar for each of the rows and a dot for each possible twin (r,), against the threshold.

    Parameters
    ----------
    dots_are : what the dots are called; by default how many possible twins there are
    """
    at = axis.at(threshold)
    lanes = "".join(_lane(row, threshold, axis) for row in rows)
    if len(possible):
        above = int((possible > threshold).sum())
        words = f"{above} of {len(possible)} flagged" if len(possible) > 1 else _outcome(above > 0)
        lanes += _row(dots_are or counted(len(possible), "possible twin"), _dots(possible, threshold, axis), words)
    ticks = "".join(f'<span style="left:{place:.2f}%">{words}</span>' for place, words in axis_ticks(axis))
    said = "; ".join(f"{row.name}: score {number(row.score)}, {_outcome(row.score > threshold)}" for row in rows)
    mark = f'<i class="cf-threshold" style="left:{at:.2f}%"></i>'
    side = "cf-left" if at > 60.0 else ""
    label = f'<b class="{side}" style="left:{at:.2f}%">threshold {number(threshold)}</b>'
    kind = "score, on a scale where every step multiplies it" if axis.log else "score"
    return (
        f'<div class="cf-scale" role="img" aria-label="{plain(f"{said}; the threshold is {number(threshold)}", 400)}">'
        f"{_row('', label, '', 'cf-head')}{lanes}{_row('', ticks, '', 'cf-ticks')}"
        f'{_row("", mark, "", "cf-line")}<p class="cf-quiet">{kind}</p></div>'
    )


def _outcome(flagged: bool) -> str:
    return "flagged" if flagged else "not flagged"


def _row(name: str, inside: str, words: str, kind: str = "cf-lane") -> str:
    return (
        f'<div class="cf-row {kind}"><span class="cf-name">{plain(name, 40)}</span>'
        f'<span class="cf-track">{inside}</span><span class="cf-words">{words}</span></div>'
    )


def _lane(row: Scored, threshold: float, axis: Axis) -> str:
    at, flagged = axis.at(row.score), row.score > threshold
    kind = ("cf-twin" if row.is_twin else "cf-person") + (" cf-above" if flagged else "")
    bar = f'<i class="cf-bar {kind}" style="width:{at:.2f}%"></i><i class="cf-mark {kind}" style="left:{at:.2f}%"></i>'
    return _row(row.name, bar, f"<b>{number(row.score)}</b> {_outcome(flagged)}")


def _dots(possible: Floats, threshold: float, axis: Axis) -> str:
    """A dot for each possible twin (r,), exactly where it scores: those at about the same place at several heights."""
    parts, seen = [], dict[int, int]()
    for score in sorted(possible.tolist()):
        near = round(axis.at(score) / _DOT)
        seen[near] = seen.get(near, -1) + 1
        kind = "cf-above" if score > threshold else ""
        height = _STEP * (seen[near] % _LEVELS)
        parts.append(f'<i class="cf-dot {kind}" style="left:{axis.at(score):.2f}%;bottom:{height}px"></i>')
    return "".join(parts)
