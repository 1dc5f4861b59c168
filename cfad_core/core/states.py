"""Which groups a person belongs to, of all sensitive attributes together: one number a person.

An audit may have several sensitive attributes, each with two groups or more. A *state* is one group of each of them.
Encoded rows hold a person's state in their first column, as its code: -1 and +1 where there are two states (one
attribute with two groups), else 0, 1, 2, ...; the groups of the last attribute change fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class States:
    """All combinations of groups.

    Attributes
    ----------
    sizes : how many groups each attribute has
    """

    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.levels)

    @property
    def attributes(self) -> int:
        return len(self.sizes)

    @property
    def others(self) -> int:
        """How many other states a person could be in."""
        return self.count - 1

    @cached_property
    def levels(self) -> Codes:
        """(states, attributes), the group of each attribute, from 0."""
        return np.array(list(product(*map(range, self.sizes))), dtype=np.intp).reshape(-1, len(self.sizes))

    @cached_property
    def codes(self) -> Floats:
        """(states,), what the first column of a row holds."""
        return np.array([-1.0, 1.0]) if self.count == 2 else np.arange(self.count, dtype=np.float64)

    def of_codes(self, column: Floats) -> Codes:
        """The state (n,) of each row whose first column (n,) holds these codes."""
        if self.count == 2:
            return (column > 0.0).astype(np.intp)
        return column.astype(np.intp)

    def of_levels(self, levels: Sequence[Codes]) -> Codes:
        """The state (n,) of people who belong to these groups, (n,) of each attribute."""
        state = np.zeros(len(levels[0]), dtype=np.intp)
        for size, level in zip(self.sizes, levels, strict=True):
            state = state * size + level
        return state

    def other(self, state: Codes, number: int) -> Codes:
        """Of all other states, the one with this number (from 0) for each person (n,)."""
        return number + (number >= state).astype(np.intp)

    def moved(self, state: Codes, groups: Mapping[int, Codes | int]) -> Codes:
        """The state (n,) of people who were moved to other groups, by attribute; all others stay."""
        levels = [self.levels[state, j] for j in range(self.attributes)]
        for attribute, group in groups.items():
            levels[attribute] = np.broadcast_to(np.asarray(group, dtype=np.intp), state.shape)
        return self.of_levels(levels)


TWO_GROUPS = States((2,))
