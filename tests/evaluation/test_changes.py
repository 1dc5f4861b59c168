"""What becomes of each group's people, had they belonged to the other one: counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.evaluation.changes import GroupChanges, changes_line, group_changes
from cfad_core.evaluation.outcomes import ScoreCurve

NOBODY = ScoreCurve(np.zeros(0), np.zeros(0))


def test_four_people_counted_by_hand() -> None:
    people = np.array([3.0, 3.0, 1.0, 1.0])  # above 2 they are flagged
    twins = np.array([3.0, 1.0, 3.0, 1.0])
    (found,) = group_changes({"women": ScoreCurve(people, twins), "nobody": NOBODY}, 2.0)
    assert found == GroupChanges("women", 4, either_way=0.25, only_person=0.25, only_twin=0.25)
    assert found.flag_rate == 0.5


def test_several_possible_twins_are_shares_of_a_person() -> None:
    people, twins = np.array([3.0, 1.0]), np.array([[1.0, 1.0], [3.0, 3.0]])  # (2 possible twins, 2 people)
    (found,) = group_changes({"men": ScoreCurve(people, twins)}, 2.0)
    assert (found.only_person, found.only_twin, found.either_way) == (0.25, 0.25, 0.25)


SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


@given(SCORES, st.integers(-1, 6))
def test_the_parts_make_up_flag_and_changing_rates(pairs: list[tuple[int, int]], threshold: int) -> None:
    people, twins = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    (found,) = group_changes({"a": ScoreCurve(people, twins)}, float(threshold))
    assert found.flag_rate == pytest.approx((people > threshold).mean())
    assert found.either_way == pytest.approx(((people > threshold) & (twins > threshold)).mean())
    assert found.only_person + found.only_twin == pytest.approx(((people > threshold) != (twins > threshold)).mean())


def test_the_line() -> None:
    found = GroupChanges("women", 1612, 0.03, 0.0411, 0.012)
    assert changes_line(found, "had they belonged to the other group") == (
        "women (n = 1,612): 4.1 % are flagged and would not be, 1.2 % are not flagged and would be, had they belonged "
        "to the other group."
    )
