"""Rows that are the same need to be worked on once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats, Rows

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Distinct:
    """Which rows of an array are the same, bit by bit.

    Attributes
    ----------
    first : (k,), positions of the rows that are unlike all before them
    place : (n,), for each row, which of these it is like
    """

    first: Rows
    place: Rows


def distinct_rows(x: Floats) -> Distinct:
    """Of x (n, d). Rows are compared by a hash, and those with the same hash cell by cell."""
    from pandas import factorize

    bits = np.ascontiguousarray(x).view(np.uint64)
    keys = np.zeros(len(x), dtype=np.uint64)
    for column in bits.T:
        keys = (keys ^ column) * _ODD
        keys ^= keys >> _SHIFT
    place, found = factorize(keys)
    first = np.empty(len(found), dtype=np.intp)
    first[place[::-1]] = np.arange(len(x) - 1, -1, -1)
    # one hash of two different rows: the second stands for itself
    repeated = np.flatnonzero(first[place] != np.arange(len(x)))
    unlike = repeated[(bits[repeated] != bits[first[place[repeated]]]).any(axis=1)]
    place[unlike] = len(first) + np.arange(len(unlike))
    return Distinct(np.concatenate([first, unlike]), place)
