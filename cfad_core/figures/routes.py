"""How the edges of a drawn graph run: curves that keep clear of what they pass, with gaps where they cannot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats

_TIMES, _FINE = np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 161)
_STEEPEST = 0.5  # radians from the horizontal at which an edge leaves and arrives, unless it has to go around something
# By how much the angles at its two ends may differ from that: (c, 2), of which one is taken
_BENDS = (0.0, 0.25, -0.25, 0.5, -0.5, 0.8, -0.8, 1.15, -1.15)
_TURNS = np.array([(first, last) for first in _BENDS for last in _BENDS])
_DETOURS = np.abs(_TURNS).sum(axis=1) + 0.3 * np.abs(_TURNS.sum(axis=1))  # a bow is calmer than a wave
_CELL = 5.0  # pixels; edges in the same cell can hardly be distinguished
_OVER = 3.0  # what a point over a node or a name counts for
_ENDS = 8  # points at both ends of an edge, where others are near of necessity
_WEIGHTS = np.where(np.abs(np.arange(41) - 20) > 20 - _ENDS, 3.0, 1.0)  # a gap in an end, or a head on a name, is worse


def routes(
    place: Floats, edges: Sequence[tuple[int, int]], boxes: Floats, rims: Sequence[tuple[float, float]]
) -> Floats:
    """The control points (e, 4, 2) of a cubic curve for each edge, from its cause to its effect on the right.

    Short edges come first and run straight; longer ones go around what there is already.

    Parameters
    ----------
    place : (v, 2), the middles of the nodes
    edges : cause and effect of each
    boxes : (b, 4), left, top, right and bottom of what edges should not cross; the first v are the nodes
    rims : how far from the middles of its two nodes each edge begins and ends
    """
    curves = np.zeros((len(edges), 4, 2))
    low, high = (end(place, axis=0, initial=0.0) for end in (np.min, np.max))
    corner = low - (high - low) - 20.0
    busy = np.zeros(_cells(high + (high - low) + 20.0, corner) + 1, dtype=np.bool_)  # cells that edges run through
    lengths = [float(np.hypot(*(place[i] - place[j]))) for j, i in edges]
    for k in sorted(range(len(edges)), key=lambda k: (lengths[k], k)):
        ways = _ways(place[edges[k][0]], place[edges[k][1]], rims[k])
        along = points(ways)
        hits = inside(along, np.delete(boxes, edges[k], axis=0)) @ _WEIGHTS
        met = busy[_index(along[:, _ENDS:-_ENDS], corner, busy)].sum(axis=1)
        curves[k] = ways[int(np.argmin(_OVER * hits + 0.25 * met + 2.0 * _DETOURS))]
        busy[_index(points(curves[k], _FINE), corner, busy)] = True
    return curves


def _cells(places: Floats, corner: Floats) -> NDArray[np.int64]:
    cells: NDArray[np.int64] = np.floor((places - corner) / _CELL).astype(np.int64)
    return cells


def _index(places: Floats, corner: Floats, busy: Bools) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells of points (..., 2); of those beyond the cells, the nearest ones."""
    cells = np.clip(_cells(places, corner), 0, np.array(busy.shape) - 1)
    return cells[..., 0], cells[..., 1]


def _ways(start: Floats, end: Floats, rims: tuple[float, float]) -> Floats:
    """The control points (c, 4, 2) of all curves that an edge may take."""
    across, down = end - start
    straight = float(np.clip(math.atan2(down, across), -_STEEPEST, _STEEPEST))
    angles = np.clip(straight + _TURNS, -1.45, 1.45)
    pull = 0.4 * max(across, 0.7 * math.hypot(across, down))
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=-1)  # (c, 2 ends, 2)
    first, last = start + rims[0] * ways[:, 0], end - rims[1] * ways[:, 1]
    curves: Floats = np.stack([first, first + pull * ways[:, 0], last - pull * ways[:, 1], last], axis=1)
    return curves


def points(curves: Floats, times: Floats = _TIMES) -> Floats:
    """Points (..., p, 2) along curves of four control points (..., 4, 2) each, at times between 0 and 1."""
    t = times[:, None]
    weights = np.concatenate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)  # (p, 4)
    along: Floats = weights @ curves
    return along


def inside(places: Floats, boxes: Floats) -> Bools:
    """Which points (..., 2) lie in any of the boxes (b, 4)."""
    x, y = places[..., :1], places[..., 1:]
    left, top, right, bottom = boxes.T
    within: Bools = ((x > left) & (x < right) & (y > top) & (y < bottom)).any(axis=-1)
    return within


def drawn(curve: Floats, boxes: Floats) -> str:
    """The path of a curve (4, 2), with gaps where it crosses a box: names stay readable on any background."""
    free = ~inside(points(curve, _FINE), boxes)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int64)))
    parts = []
    for first, after in ends.reshape(-1, 2).tolist():
        if after - first > 1:
            a, b, c, d = (f"{x:.1f} {y:.1f}" for x, y in _piece(curve, _FINE[first], _FINE[after - 1]))
            parts.append(f"M{a}C{b} {c} {d}")
    return "".join(parts)


def _piece(curve: Floats, start: float, end: float) -> list[Floats]:
    """The control points of a part of a curve: its polar form at the part's two ends."""

    def polar(*times: float) -> Floats:
        left = curve
        for time in times:
            left = (1.0 - time) * left[:-1] + time * left[1:]
        whole: Floats = left[0]
        return whole

    return [polar(*[start] * (3 - k), *[end] * k) for k in range(4)]
