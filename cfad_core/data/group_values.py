"""Real values of a sensitive column for people who were moved to another group.

A group may have several values, and bands of numbers have many: where nobody but us reads a twin's row, the name of the
group will do. A detector outside this program must see a value that the column really holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.states import Codes
from cfad_core.data.columns import as_numbers
from cfad_core.data.groups import Groups


def stand_ins(groups: Groups, column: pd.Series[Any]) -> dict[str, Any]:
    """By group, the most frequent cell of it in a column; nothing of bands of numbers."""
    if groups.cuts:
        return {}
    codes = groups.codes(column)
    held = {name: column[codes == k] for k, name in enumerate(groups.names)}
    return {name: cells.mode().iloc[0] for name, cells in held.items() if len(cells)}


def moved_cells(groups: Groups, before: pd.Series[Any], codes: Codes, column: pd.Series[Any]) -> pd.Series[Any]:
    """The cells of people who are moved to the groups of these codes (n,), as a column really holds them.

    Cells that are in their group already stay. Else it is the most frequent cell of the new group; or, of bands of
    numbers, the one with the same rank among the numbers of its band as the cell before had among those of its own.

    Parameters
    ----------
    before : (n,), the cells as they were
    column : cells of all groups, to take values from
    """
    own = groups.codes(before)
    changed = codes != own
    if not changed.any():
        return before
    cells = before.astype(object)
    if groups.cuts:
        cells[changed] = _by_rank(groups, before, own, codes, column)[changed]
    else:
        values = stand_ins(groups, column)
        cells[changed] = [values[groups.names[k]] for k in codes[changed]]
    try:
        return cells.astype(column.dtype)
    except (TypeError, ValueError):  # the cells before are of another type
        return cells.infer_objects()


def _by_rank(
    groups: Groups, before: pd.Series[Any], own: Codes, codes: Codes, column: pd.Series[Any]
) -> np.ndarray[Any, Any]:
    """For each person, the cell of their new band that has their rank, (n,); None for who has no number."""
    numbers, mine = as_numbers(before), groups.codes(column)
    bands = [column[mine == k] for k in range(len(groups.names))]
    bands = [band.iloc[np.argsort(as_numbers(band), kind="stable")] for band in bands]
    found = np.full(len(before), None, dtype=object)
    for k, band in enumerate(bands):
        known = as_numbers(band)
        rank = (np.searchsorted(known, numbers, "left") + np.searchsorted(known, numbers, "right")) / 2.0
        share = np.clip(rank / max(1, len(known)), 0.0, 1.0)
        for other, target in enumerate(bands):
            there = (own == k) & (codes == other) & (k != other)
            if there.any():
                place = np.rint(share[there] * (len(target) - 1)).astype(np.intp)
                found[there] = target.to_numpy(dtype=object)[place]
    return found
