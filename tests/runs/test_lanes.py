"""The queue is fair: short audits do not wait behind long ones, and nobody waits for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.runs.lanes import (
    SHORT,
    SHORT_CELLS,
    Outlook,
    Waiting,
    is_short,
    outlooks,
    reserved,
    seats,
    waits_since,
)

LONG = 45 * 60.0


def waiting(name: str, created: float, expected: float) -> Waiting:
    return Waiting(name, created, expected, is_short(expected, 0))


def simulate(arrivals: list[Waiting], workers: int) -> dict[str, tuple[float, float]]:
    """When each audit starts and ends, by a clock of our own; audits come while others run."""
    lanes, free, found = reserved(workers), [0.0] * workers, dict[str, tuple[float, float]]()
    left = sorted(arrivals, key=lambda one: one.created)
    while left:
        moments = []
        for place, short in enumerate(lanes):
            mine = [one for one in left if one.is_short or not short]
            if mine:
                moments.append((max(free[place], min(one.created for one in mine)), place))
        at, place = min(moments)
        here = [one for one in left if one.created <= at and (one.is_short or not lanes[place])]
        taken = min(here, key=lambda one: one.due)
        left.remove(taken)
        free[place] = at + taken.expected
        found[taken.id] = (at, free[place])
    return found


def test_what_came_before_the_clock_was_set_back_goes_first() -> None:
    assert waits_since(100.0, 100.0) == 100.0
    assert waits_since(130.0, 100.0) == 130.0  # by the clock of another machine
    ahead = waiting("ahead", waits_since(3_700.0, 100.0), 5.0)
    new = waiting("new", waits_since(90.0, 100.0), 5.0)
    assert min((ahead, new), key=lambda one: one.due).id == "ahead"


def test_what_is_short() -> None:
    assert is_short(SHORT, SHORT_CELLS)
    assert not is_short(SHORT + 1.0, 1)
    assert not is_short(1.0, SHORT_CELLS + 1)  # it would need much memory beside another one
    assert reserved(1) == [False]
    assert reserved(2) == [True, False]
    assert reserved(3) == [True, False, False]


def test_a_short_audit_does_not_wait_behind_a_long_one() -> None:
    arrivals = [waiting("long", 0.0, LONG), waiting("next", 1.0, LONG), waiting("short", 2.0, 20.0)]
    found = simulate(arrivals, workers=2)
    assert found["short"] == (2.0, 22.0)
    assert found["next"][0] == LONG  # long ones run one after the other: two of them would need twice the memory


def test_one_worker_takes_short_audits_first() -> None:
    found = simulate([waiting("runs", 0.0, 60.0), waiting("long", 1.0, LONG), waiting("short", 2.0, 20.0)], workers=1)
    assert found["short"][0] == 60.0
    assert found["long"][0] == 80.0


def test_a_flood_of_short_audits_does_not_starve_a_long_one() -> None:
    """With one worker that is always busy: it is overtaken for as long as it takes itself, and then it runs."""
    flood = [waiting(f"s{k}", 20.0 * k, 20.0) for k in range(1_000)]
    found = simulate([*flood, waiting("long", 0.0, 600.0)], workers=1)
    assert 580.0 <= found["long"][0] <= 640.0
    assert simulate([*flood, waiting("long", 0.0, 600.0)], workers=2)["long"][0] <= 20.0


AUDITS = st.lists(st.tuples(st.floats(0.0, 5_000.0), st.floats(1.0, 3_000.0)), min_size=1, max_size=25)


@given(AUDITS, st.integers(1, 3))
def test_nobody_waits_longer_than_for_those_who_are_due_before(
    given_audits: list[tuple[float, float]], workers: int
) -> None:
    arrivals = [waiting(f"a{k:02d}", *one) for k, one in enumerate(given_audits)]
    found = simulate(arrivals, workers)
    assert set(found) == {one.id for one in arrivals}
    lanes = reserved(workers)
    for one in arrivals:
        before = [other for other in arrivals if other.due < one.due]
        running = max(other.expected for other in arrivals)  # one that had begun when it came
        assert found[one.id][0] - one.created <= sum(other.expected for other in before) + running + 1e-6
        if one.is_short and any(lanes):
            short = [other for other in before if other.is_short]
            longest = max([other.expected for other in arrivals if other.is_short])
            assert found[one.id][0] - one.created <= sum(other.expected for other in short) + longest + 1e-6


@given(AUDITS, st.integers(1, 3))
def test_the_outlook_is_what_happens_if_nobody_else_comes(
    given_audits: list[tuple[float, float]], workers: int
) -> None:
    queue = [waiting(f"a{k:02d}", *one) for k, one in enumerate(given_audits)]
    there = [replace(one, created=0.0) for one in queue]  # all at once
    again = outlooks(there, {}, workers, 1.0)
    assert sorted(one.place for one in again.values()) == list(range(1, len(queue) + 1))
    found = simulate(there, workers)
    for name, one in again.items():
        assert (one.starts_in, one.done_in) == pytest.approx(found[name])


def test_the_outlook_counts_what_runs() -> None:
    queue = [waiting("long", 0.0, LONG), waiting("short", 1.0, 20.0)]
    busy = seats([(False, 300.0), (True, 10.0)], workers=2)
    assert busy == {0: 10.0, 1: 300.0}
    found = outlooks(queue, busy, workers=2, factor=2.0)
    assert found == {"short": Outlook(1, 10.0, 50.0), "long": Outlook(2, 300.0, 300.0 + 2.0 * LONG)}
    assert seats([(True, 10.0), (True, 20.0)], workers=2) == {0: 20.0, 1: 10.0}
    assert seats([(False, 5.0), (False, 6.0)], workers=2) == {1: 6.0}  # by the command line; nobody waits for both
