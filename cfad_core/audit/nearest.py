"""The real people who are most like somebody's twin: is whom the twin stands for flagged, too?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfad_core.audit.explanation import columns_of, normal_people
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.formats import listed
from cfad_core.detectors.protocol import InputScaling, alike_by_range, alike_by_variance
from cfad_core.evaluation.plausibility import nearest_real

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult

MOST = 3


@dataclass(frozen=True)
class RealPerson:
    """Somebody of the twin's group, and how they differ from the twin.

    Attributes
    ----------
    row : position in the table that was judged, counted from 0
    person : position among the people of the audit
    distance : to the twin, all columns alike: as ``Plausibility`` measures it
    score, flagged : theirs
    cells : by column what they have there, in the table's own units
    differs : the columns in which they differ from the twin, the most different first
    """

    row: int
    person: int
    distance: float
    score: float
    flagged: bool
    cells: dict[str, object]
    differs: tuple[str, ...]

    @property
    def difference(self) -> str:
        """The columns in which they differ, in words."""
        return f"differs in {listed(self.differs)}" if self.differs else "the same in every column"


def inputs_of(result: AuditResult) -> InputScaling:
    """The scaling in which all columns count alike: that of the audit's networks, if it has any.

    They have it from the training rows; where there is none it comes from the normal people who were judged.
    """
    for detector in result.detectors.values():
        known = getattr(detector, "inputs", None)
        if isinstance(known, InputScaling):
            return known
    alike = alike_by_range if result.settings.inputs == "range" else alike_by_variance
    return alike(normal_people((result.whole or result).people)[:, 1:], result.encoding.column_variables[1:])


def nearest_people(result: AuditResult, twin: Floats, most: int = MOST) -> tuple[Rows, Floats]:
    """Of the people who were judged, those of the twin's group who are most like the twin (1, d).

    Returns
    -------
    Their positions among all people of the audit, and their distances: the nearest first, as many as there are.
    """
    everybody, inputs = (result.whole or result).people, inputs_of(result)
    same = np.flatnonzero(everybody.codes == twin[0, 0])
    found, distance = nearest_real(inputs(twin[:, 1:])[0], inputs(everybody.factual[same, 1:]), most)
    return same[found], distance


def how_they_differ(result: AuditResult, person: Floats, twin: Floats) -> tuple[str, ...]:
    """The columns in which a person (1, d) differs from a twin (1, d), the most different first."""
    inputs, encoding = inputs_of(result), result.encoding
    apart = (inputs(person[:, 1:]) - inputs(twin[:, 1:]))[0] ** 2
    sizes = {
        variable.name: float(apart[columns - 1].sum())
        for variable, columns in zip(encoding.variables, columns_of(encoding), strict=True)
        if (person[0, columns] != twin[0, columns]).any()
    }
    return tuple(sorted(sizes, key=lambda name: -sizes[name]))
