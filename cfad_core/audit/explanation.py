"""Why a score is high: what each variable has to do with it, for every detector.

Where the score is a sum over columns, a variable's part is what its columns add: a **sum**. Any other detector is asked
again, with one variable at a time made typical; the part is how much the score falls: a **perturbation**. All columns
of a variable are replaced together, by values that a normal person has, so that every row that is asked about is legal
in each variable. Its combination of variables may be unusual: parts of this kind can be negative, they do not add up to
the score, and what two variables do only together counts for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import percent
from cfad_core.data.encoding import Encoding
from cfad_core.detectors.protocol import AnyDetector, SharedExplanation, explain_people, score_people

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult, People

Kind = Literal["sum", "perturbation"]

NOTICEABLE = 0.05  # share from which on a variable is called a reason
_NAMED = 3  # reasons that a text has at most
_TYPICAL = 4  # values that stand for what is typical of a variable
_ROWS = 16_384  # changed rows that are scored at once


@dataclass(frozen=True)
class Explanation:
    """What each variable has to do with the scores of some people.

    Attributes
    ----------
    variables : their names, v of them
    parts : (n, v); of a sum, a row adds up to the score that it explains
    kind : what the parts are
    is_shared : whether the score that is explained is that of another detector, which this one's is made of
    """

    variables: tuple[str, ...]
    parts: Floats
    kind: Kind
    is_shared: bool = False

    @property
    def noticeable(self) -> Bools:
        """(n, v), the variables that carry a noticeable share of all parts of a person, raising or lowering."""
        size = np.abs(self.parts)
        found: Bools = size >= np.maximum(NOTICEABLE * size.sum(axis=1, keepdims=True), 1e-300)
        return found

    def reasons(self) -> list[str]:
        """For each person the variables that raised the score most: ``income 62 %, age 21 %``; empty if none did.

        The shares are those of all that raised it.
        """
        raised = np.maximum(self.parts, 0.0)
        shares = raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-300)
        order = np.argsort(-shares, axis=1, kind="stable")[:, :_NAMED]
        largest = np.take_along_axis(shares, order, axis=1)
        texts = np.array([[f"{name} {percent(k / 100.0, 0)}" for k in range(101)] for name in self.variables], object)
        found = np.full(len(shares), "", dtype=object)
        for k, one in enumerate(order.T):
            named = largest[:, k] >= NOTICEABLE  # the shares fall: whose second is too small has no third
            whole = np.rint(100.0 * largest[named, k]).astype(np.intp)
            found[named] += (", " if k else "") + texts[one[named], whole]
        return list(found)


def explain(result: AuditResult, method: str, people: Floats) -> Explanation | None:
    """Explain the scores of encoded people (n, d); None if the detector is not here, as it is not saved with an audit.

    The same before an audit is saved and after it was loaded: what is typical is taken from the people it judged.
    """
    detector = result.detectors.get(method)
    if detector is None:
        return None
    whose = _explained(detector)
    names = tuple(variable.name for variable in result.encoding.variables)
    by_column = explain_people(whose, people)
    if by_column is not None:
        parts = _by_variable(by_column, result.encoding)
        return Explanation(names, parts, "sum", whose is not detector)
    parts = perturbed_parts(lambda rows: score_people(whose, rows), people, typical_values(result))
    return Explanation(names, parts, "perturbation", whose is not detector)


@dataclass(frozen=True)
class TypicalValues:
    """What is typical of one variable.

    Attributes
    ----------
    columns : (c,), positions of its columns in people
    cells : (r, c), what normal people have there
    weights : (r,), how often; they sum to 1
    """

    columns: NDArray[np.intp]
    cells: Floats
    weights: Floats


def typical_values(result: AuditResult) -> list[TypicalValues]:
    """For each variable, values that normal people have: a few that are evenly spaced among all of them in order.

    One value, such as a median, may lie where nobody is; these are values of people, at the 1/8, 3/8, 5/8 and 7/8
    quantiles, so that extremes are none of them and a frequent level is there as often as it should.
    """
    normal = normal_people(result.people)
    places = ((np.arange(_TYPICAL) + 0.5) * len(normal) / _TYPICAL).astype(np.intp)
    found = []
    for columns in columns_of(result.encoding):
        every = normal[:, columns]
        order = np.lexsort(every.T[::-1])  # by the first column, then the others: equal levels lie side by side
        cells, counts = np.unique(every[order[places]], axis=0, return_counts=True)
        found.append(TypicalValues(columns, cells, counts / counts.sum()))
    return found


def normal_people(people: People) -> Floats:
    """The judged people (k, d) who are labelled normal; all of them, if nobody is."""
    if people.is_anomaly is None or people.is_anomaly.all():
        return people.factual
    return people.factual[~people.is_anomaly]


def perturbed_parts(score: Callable[[Floats], Floats], people: Floats, typical: list[TypicalValues]) -> Floats:
    """How much the scores of people (n, d) fall if one variable alone is made typical, in the mean, (n, v)."""
    changes = sum(len(variable.cells) for variable in typical)
    step = max(1, _ROWS // max(1, changes))
    slices = [people[start : start + step] for start in range(0, max(1, len(people)), step)]
    return np.concatenate([_parts_of_slice(score, some, typical) for some in slices])


def _parts_of_slice(score: Callable[[Floats], Floats], people: Floats, typical: list[TypicalValues]) -> Floats:
    changed, who, which, weight = [people], [], [], []
    for k, variable in enumerate(typical):
        for cell, share in zip(variable.cells, variable.weights, strict=True):
            differs = np.flatnonzero((people[:, variable.columns] != cell).any(axis=1))  # others keep their score
            rows = people[differs]
            rows[:, variable.columns] = cell
            changed.append(rows)
            who.append(differs)
            which.append(np.full(len(differs), k))
            weight.append(np.full(len(differs), share))
    parts: Floats = np.zeros((len(people), len(typical)))
    if not len(people) or not typical:
        return parts
    found = score(np.concatenate(changed))  # all at once: detectors score whole blocks of rows
    person = np.concatenate(who)
    falls = np.concatenate(weight) * (found[person] - found[len(people) :])
    np.add.at(parts, (person, np.concatenate(which)), falls)
    return parts


def _explained(detector: AnyDetector) -> AnyDetector:
    """The detector whose explanation holds for this one."""
    while isinstance(detector, SharedExplanation):
        detector = detector.explained_by
    return detector


def columns_of(encoding: Encoding) -> list[NDArray[np.intp]]:
    """For each variable, the positions of its columns in people."""
    ends = np.cumsum([1, *(len(variable.columns) for variable in encoding.variables)])
    return [np.arange(start, end) for start, end in pairwise(ends)]


def _by_variable(by_column: Floats, encoding: Encoding) -> Floats:
    """Parts of columns (n, m) summed for each variable, (n, v)."""
    summed = [by_column[:, columns - 1].sum(axis=1) for columns in columns_of(encoding)]
    return np.column_stack(summed) if summed else np.zeros((len(by_column), 0))
