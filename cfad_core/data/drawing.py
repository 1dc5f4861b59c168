"""A random sample of a table in parts, as many of each stratum as in the table, whoever reads which part.

Every row has a number between 0 and 1 by its part and the seed; of each stratum those with the smallest numbers are
drawn. So a sample of parts is one of the whole, and a part need not hold more rows than may still be among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.groups import OUTSIDE, matches
from cfad_core.data.parts import Part, PartedTable
from cfad_core.data.roles import ColumnRoles, state_codes
from cfad_core.data.validation import MIN_GROUP_ROWS

USUAL_ROWS = 100_000
MOST_ROWS = 400_000
_ROWS_OF_GROUP = 2_000  # that the smallest group should have in the sample
_SURE = 6.0  # standard deviations by which more rows are taken than are wanted


@dataclass(frozen=True)
class Drawn:
    """Rows of a table that were drawn.

    Attributes
    ----------
    rows : the rows themselves
    position : (n,), of each in the whole table
    chance : (n,), their random numbers
    stratum : (n,), of each
    counts : (strata,), how many rows of each stratum there are, drawn or not
    outside : rows that belong to no group
    """

    rows: pd.DataFrame
    position: NDArray[np.int64]
    chance: Floats
    stratum: NDArray[np.intp]
    counts: NDArray[np.int64]
    outside: int


def chances(part: Part, seed: int) -> Floats:
    """The random number (n,) of each row of a part."""
    return np.random.default_rng([seed, 11, part.number]).random(part.rows)


def strata_of(rows: pd.DataFrame, roles: ColumnRoles) -> NDArray[np.intp]:
    """(n,), state and label of each row as one number; ``OUTSIDE`` of those that belong to no group."""
    states = state_codes(rows, roles.groupings)
    if roles.label is None:
        return np.asarray(states, dtype=np.intp)
    labels = matches(rows[roles.label], str(roles.anomaly))
    return np.where(states == OUTSIDE, OUTSIDE, 2 * states + labels).astype(np.intp)


def strata_count(roles: ColumnRoles) -> int:
    """How many strata there may be."""
    states = int(np.prod([len(groups.names) for groups in roles.groupings]))
    return states if roles.label is None else 2 * states


def draw_part(table: PartedTable, part: Part, roles: ColumnRoles, highest: Floats, seed: int) -> Drawn:
    """Of a part, the rows whose number is below the highest of their stratum (strata,), and counts of all."""
    needed = [*roles.sensitive_columns, *([] if roles.label is None else [roles.label])]
    stratum, chance = strata_of(table.read(part, needed), roles), chances(part, seed)
    chosen: Bools = (stratum != OUTSIDE) & (chance < highest[stratum])
    rows = table.read(part)[chosen].reset_index(drop=True)
    inside = stratum[stratum != OUTSIDE]
    return Drawn(
        rows=rows,
        position=part.first + np.flatnonzero(chosen),
        chance=chance[chosen],
        stratum=stratum[chosen],
        counts=np.bincount(inside, minlength=len(highest)).astype(np.int64),
        outside=len(stratum) - len(inside),
    )


def highest_chances(pilot: NDArray[np.intp], rows: int, wanted: int, strata: int) -> Floats:
    """Numbers (strata,) below which there are almost surely enough rows of each stratum.

    Parameters
    ----------
    pilot : (p,), strata of rows that were drawn uniformly
    rows : of the table
    wanted : rows of the sample
    """
    share = (np.bincount(pilot[pilot != OUTSIDE], minlength=strata) + 1.0) / (len(pilot) + strata)
    few = np.maximum(1.0, share * wanted)
    least = share * (1.0 - np.minimum(0.5, _SURE / np.sqrt(share * len(pilot) + 1.0)))  # the pilot may be wrong, too
    found: Floats = np.minimum(1.0, (few + _SURE * np.sqrt(few)) / np.maximum(1.0, least * rows))
    return found


def sample_size(counts: NDArray[np.int64], rows: int | None = None) -> int:
    """How many rows are drawn: 100,000, or more if the smallest group would have fewer than 2,000 of them.

    Parameters
    ----------
    counts : (groups,), people of each group, or an estimate of them
    rows : as many instead
    """
    total = int(counts.sum())
    if rows is None:
        smallest = max(1, int(counts[counts > 0].min(initial=total)))
        rows = min(MOST_ROWS, max(USUAL_ROWS, -(-_ROWS_OF_GROUP * total // smallest)))
    return min(rows, total)


def joined(parts: Sequence[Drawn], wanted: int) -> Drawn:
    """The sample of all parts: of each stratum its share of the rows wanted, those with the smallest numbers.

    Raises
    ------
    InvalidDataError
        If nothing can be drawn.
    """
    counts = np.sum([part.counts for part in parts], axis=0)
    if not counts.sum():
        raise InvalidDataError("No row belongs to one of the groups that are compared.")
    rows = pd.concat([part.rows for part in parts], ignore_index=True)
    position = np.concatenate([part.position for part in parts])
    chance, stratum = (np.concatenate([getattr(part, name) for part in parts]) for name in ("chance", "stratum"))
    shares = _shares(counts, wanted)
    order = np.lexsort((chance, stratum))
    rank = np.arange(len(order)) - np.searchsorted(stratum[order], stratum[order])
    kept = np.sort(order[rank < shares[stratum[order]]])
    return Drawn(
        rows.iloc[kept].reset_index(drop=True),
        position[kept],
        chance[kept],
        stratum[kept],
        counts,
        sum(part.outside for part in parts),
    )


def _shares(counts: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """How many rows of each stratum (strata,) are wanted: in proportion, and at least one of whichever there are."""
    exact = counts * (wanted / counts.sum())
    found: NDArray[np.int64] = np.minimum(counts, np.maximum(np.round(exact), np.minimum(counts, 1))).astype(np.int64)
    return found


def check_groups(sample: Drawn, roles: ColumnRoles, test_share: float) -> None:
    """Refuse groups of which the sample has too few to learn from.

    Raises
    ------
    InvalidDataError
    """
    least = int(np.ceil(MIN_GROUP_ROWS / (1.0 - test_share)))
    for groups in roles.groupings:
        codes = groups.codes(sample.rows[groups.column])
        for k, name in enumerate(groups.names):
            rows = int((codes == k).sum())
            if rows < least:
                raise InvalidDataError(
                    f"Group '{name}' of '{groups.column}' has {rows} of the {len(sample.rows):,} rows that were drawn; "
                    f"at least {least} are needed to learn from. Draw more rows, or compare larger groups."
                )
