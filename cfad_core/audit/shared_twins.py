"""Twins that several detectors ask for are made once."""

from __future__ import annotations

from cfad_core.core.arrays import Floats
from cfad_core.detectors.protocol import Causes


class SharedTwins:
    """A causal model that remembers the twins of the rows that it was last asked about.

    Rows are recognised by being the same array, which nobody changes: a look at its content would cost as much as half
    a twin. Two threads that ask at the same time make some twins twice, and get the same ones.
    """

    def __init__(self, model: Causes) -> None:
        self._model = model
        self._last: tuple[Floats | None, dict[int, Floats]] = (None, {})

    @property
    def draws(self) -> bool:
        """Whether a person has several possible twins."""
        return self._model.draws

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        """One of the possible twins of each of the people x (n, d)."""
        rows, known = self._last
        if rows is not x:
            known = {}
            self._last = (x, known)
        if draw not in known:
            known[draw] = self._model.twins(x, draw)
        return known[draw]

    def oddness(self, x: Floats, /) -> tuple[Floats, Floats]:
        """What is unusual about people x (n, d)."""
        return self._model.oddness(x)
