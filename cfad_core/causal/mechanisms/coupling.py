"""From a person's level to their twin's: ways to get from probabilities p here to q there.

Whatever the way, the twins' levels have the probabilities q. Which one is true cannot be seen in data; with two levels
all agree but ``independent`` ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

Levels = NDArray[np.intp]


def along_order(level: Levels, p: Floats, q: Floats, chance: Floats) -> Levels:
    """One latent number, cut into levels: it keeps its place among all people.

    Parameters
    ----------
    level : (n,), 0, 1, ... in their order
    p, q : (n, levels)
    chance : (n,), where inside the level's share the latent number lies
    """
    everybody = np.arange(len(level))
    upper = np.cumsum(p, axis=1)[everybody, level]
    latent = upper - (1.0 - chance) * p[everybody, level]
    found: Levels = (np.cumsum(q, axis=1)[:, :-1] < latent[:, None]).sum(axis=1)
    return found


def by_gumbel(level: Levels, p: Floats, q: Floats, chance: Callable[[int], Floats]) -> Levels:
    """The Gumbel noise behind each level, given that this one won, chooses again (Oberst and Sontag, 2019)."""
    everybody = np.arange(len(level))
    top = -np.log(-np.log(chance(0)))  # the largest of all: log p sums to probability 1
    noise = np.empty_like(p)
    for k in range(p.shape[1]):
        below = -np.log(np.exp(-top) - np.log(chance(k + 1)) / p[:, k])  # of those that did not win
        noise[:, k] = below - np.log(p[:, k])
    noise[everybody, level] = top - np.log(p[everybody, level])
    found: Levels = (noise + np.log(q)).argmax(axis=1)
    return found


def fewest_moves(level: Levels, p: Floats, q: Floats, chance: Callable[[int], Floats]) -> Levels:
    """Everybody stays who can: no way from p to q moves fewer people."""
    everybody = np.arange(len(level))
    stays = chance(0) * p[everybody, level] < q[everybody, level]
    gains = np.cumsum(np.maximum(q - p, 0.0), axis=1)
    chosen = (gains[:, :-1] <= chance(1)[:, None] * gains[:, -1:]).sum(axis=1)
    return np.where(stays | (gains[:, -1] <= 0.0), level, chosen)
