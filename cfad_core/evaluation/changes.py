"""For whom outcomes change, and in which direction: what happens to each group at a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfad_core.core.formats import percent
from cfad_core.evaluation.outcomes import ScoreCurve


@dataclass(frozen=True)
class GroupChanges:
    """The people of a group by what would become of them, as shares of the group.

    Attributes
    ----------
    name, n : of the group, and how many people it has
    either_way : flagged, and so is their twin
    only_person : flagged, and their twin is not
    only_twin : not flagged, but their twin is
    """

    name: str
    n: int
    either_way: float
    only_person: float
    only_twin: float

    @property
    def flag_rate(self) -> float:
        return self.either_way + self.only_person


def group_changes(groups: Mapping[str, ScoreCurve], threshold: float) -> list[GroupChanges]:
    """Every group that has people with twins.

    The first two shares make up the group's flag rate; where twins were made of some of the people only, they are
    estimates from these.
    """
    found = []
    for name, curve in groups.items():
        if curve.n and curve.n_twins:
            at = curve.at(threshold)
            flagged, only_twin = float(at.flag_rate), float(at.newly_flagged)
            only_person = min(flagged, float(at.newly_cleared))
            found.append(GroupChanges(name, curve.n, flagged - only_person, only_person, only_twin))
    return found


def changes_line(found: GroupChanges, otherwise: str) -> str:
    """``Women (n = 612): 4.1 % are flagged and would not be, 1.2 % are not flagged and would be, had they ...``"""
    return (
        f"{found.name} (n = {found.n:,}): {percent(found.only_person)} are flagged and would not be, "
        f"{percent(found.only_twin)} are not flagged and would be, {otherwise}."
    )
