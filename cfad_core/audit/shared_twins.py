"""Twins that several detectors ask for are made once."""

from __future__ import annotations

from collections.abc import Callable

from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.states import States


class SharedTwins:
    """A causal model that remembers the twins of the rows that it was last asked about.

    Rows are recognised by being the same array, which nobody changes: a look at its content would cost as much as half
    a twin. Two threads that ask at the same time make some twins twice, and get the same ones.
    """

    def __init__(self, model: CausalModel) -> None:
        self._model = model
        self._last: tuple[Floats, Callable[[int], Floats], dict[int, Floats]] | None = None

    @property
    def draws(self) -> bool:
        """Whether a person has several possible twins in one group."""
        return self._model.draws

    @property
    def states(self) -> States:
        """Which groups people may belong to."""
        return self._model.states

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        """One of the possible twins of each of the people x (n, d)."""
        last = self._last
        if last is None or last[0] is not x:
            last = self._last = (x, self._model.possible_twins(x), {})
        _, make, known = last
        if draw not in known:
            known[draw] = make(draw)
        return known[draw]

    @property
    def drawn_columns(self) -> Bools:
        """Where chance has a part in what twins have."""
        return self._model.drawn_columns

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        """What is unusual about people x (n, d)."""
        return self._model.oddness(x, drawn=drawn)
