"""Chance that belongs to a row: the same row and seed always draw the same numbers, whichever rows stand beside it."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

Keys: TypeAlias = NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64


def row_keys(x: Floats, seed: int) -> Keys:
    """One key for each row of x (n, d): a hash of its numbers and the seed, (n,)."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)  # -0.0 and 0.0 are the same number
    keys = np.full(len(x), _mixed_number(seed), dtype=np.uint64)
    for column in bits.T:
        keys = _mixed(keys ^ column)
    return keys


def uniforms(keys: Keys, *stream: int) -> Floats:
    """A number strictly between 0 and 1 for each key; other streams give numbers that are independent of it."""
    number = 0
    for part in stream:
        number = _mixed_number(number + part)
    bits = _mixed(keys + np.uint64(number)) >> np.uint64(11)
    inside: Floats = (bits.astype(np.float64) + 0.5) * 2.0**-53
    return inside


def _mixed(keys: Keys) -> Keys:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the key."""
    keys = keys + np.uint64(_GOLDEN)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _mixed_number(number: int) -> int:
    return int(_mixed(np.array([number % _WORD], dtype=np.uint64))[0])
