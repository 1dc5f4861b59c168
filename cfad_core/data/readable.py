"""Cells that cannot be read as what their column should hold: counted, also over several parts of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.kinds import kind_named


@dataclass(frozen=True)
class Unreadable:
    """Cells of a column that hold something else than they should.

    Attributes
    ----------
    kind : what the column should hold
    others : how many cells hold something else
    example : the first of them
    infinite : how many hold an infinite number
    """

    name: str
    kind: str
    others: int
    example: str
    infinite: int

    def __add__(self, later: Unreadable) -> Unreadable:
        """Of two parts of the column."""
        example = self.example if self.others else later.example
        return replace(
            self, others=self.others + later.others, example=example, infinite=self.infinite + later.infinite
        )

    @property
    def sentences(self) -> list[str]:
        """What is wrong."""
        found = []
        if self.others:
            what = f"found something else in {self.others} rows, such as '{self.example}'"
            found.append(f"Expected {self.kind}s in '{self.name}', {what}.")
        if self.infinite:
            found.append(f"Expected finite {self.kind}s in '{self.name}', found infinite ones in {self.infinite} rows.")
        return found


def unreadable_columns(table: pd.DataFrame, kinds: Mapping[str, str], skip: int = 0) -> list[Unreadable]:
    """The columns with text or infinity where numbers or dates are expected; the first ``skip`` rows do not count."""
    wrong = []
    for name, kind in kinds.items():
        cells, read = table[name], kind_named(kind)
        text, infinite = read.unreadable(cells)[skip:], read.too_large(cells)[skip:]
        if text.any() or infinite.any():
            example = str(cells.iloc[skip:][text].iloc[0]) if text.any() else ""
            wrong.append(Unreadable(name, kind, int(text.sum()), example, int(infinite.sum())))
    return wrong


def refuse_unreadable(wrong: Sequence[Unreadable]) -> None:
    """Refuse text and infinity where numbers or dates are expected.

    Raises
    ------
    InvalidDataError
        Naming every such column, and how many cells.
    """
    if wrong:
        sentences = [sentence for one in wrong for sentence in one.sentences]
        raise InvalidDataError("\n".join(f"{sentence} Correct these cells." for sentence in sentences))
