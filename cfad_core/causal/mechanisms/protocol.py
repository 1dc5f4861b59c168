"""What every mechanism offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self

import numpy as np

from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats

Messages = Mapping[int, Floats]  # by column, what it sends to its effects: (n,)


class Mechanism(Protocol):
    """How some columns of one variable come from their causes: one class for each kind of variable."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it answers for."""

    @staticmethod
    def claims(model: StructuralModel, x: Floats, left: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Which of a variable's columns that are left this kind answers for; each group gets a mechanism of its own.

        Parameters
        ----------
        x : (n, d), the rows that the model was learned from
        """

    @classmethod
    def fit(cls, model: StructuralModel, columns: tuple[int, ...], everybody: Floats, sample: Floats) -> Self:
        """The mechanism of one such group; see ``fit_mechanisms``."""

    def twins(self, x: Floats, before: Messages, after: Messages, rng: np.random.Generator) -> Floats:
        """What the columns of the twins of people x (n, d) hold, shape (n, columns).

        Parameters
        ----------
        before, after : what the causes send to the people, and what they send to their twins
        rng : for what is drawn; the same generator draws the same
        """

    def snapped(self, x: Floats) -> Floats:
        """What the columns of x hold, moved to the nearest values that exist, shape (n, columns)."""
