"""Numbers: what the causes make of them, plus noise that person and twin share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from cfad_core.causal.mechanisms.protocol import Messages
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats


@dataclass(frozen=True)
class Number:
    """One column with ``x_i = sum_j A[j, i] m_j + b_i + u_i``, where ``m_j`` is what its cause j sends."""

    model: StructuralModel
    column: int

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    @staticmethod
    def claims(model: StructuralModel, x: Floats, left: tuple[int, ...]) -> list[tuple[int, ...]]:  # noqa: ARG004
        """Every column that the sensitive attribute reaches, one by one."""
        return [(i,) for i in left if i in model.affected]

    @classmethod
    def fit(cls, model: StructuralModel, columns: tuple[int, ...], everybody: Floats, sample: Floats) -> Self:  # noqa: ARG003
        """The model's own equation: there is nothing left to fit."""
        (column,) = columns
        return cls(model, column)

    def twins(self, x: Floats, before: Messages, after: Messages, rng: np.random.Generator) -> Floats:  # noqa: ARG002
        """Moved by what the causes send more or less; the noise stays."""
        i, n = self.column, len(x)
        moved: Floats = x[:, i] + (self.model.expected(after, i, n) - self.model.expected(before, i, n))
        return moved[:, None]

    def snapped(self, x: Floats) -> Floats:
        """As it is: every number exists."""
        return x[:, [self.column]]
