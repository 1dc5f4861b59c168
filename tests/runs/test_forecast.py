"""How long audits take here, and when those in the queue start."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from cfad_core.audit.estimate import size_of
from cfad_core.core.formats import about, remaining
from cfad_core.runs.forecast import (
    Pace,
    estimate,
    outlook_words,
    outlooks_of,
    pace_here,
    pace_of,
    stages_of,
)
from cfad_core.runs.lanes import Outlook, Waiting
from cfad_core.runs.model import AUDITS, Report
from cfad_core.runs.store import Store
from tests.runs.conftest import QUICK, ROLES, TABLES, claim, put


def set_row(store: Store, audit: str, **values: object) -> None:
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(**values))


def took(store: Store, ratio: float) -> str:
    """A finished audit that took so many times as long as expected."""
    audit = put(store)
    claim(store, audit=audit)
    store.finish(audit, {})
    set_row(store, audit, started=1_000.0, finished=1_000.0 + ratio * (store.get(audit).expected or 0.0))
    return audit


def test_the_index_keeps_what_is_expected(store: Store) -> None:
    record = store.get(put(store))
    assert record.expected is not None
    assert record.expected_stages is not None
    assert record.expected > sum(record.expected_stages.values())
    assert record.is_short is True
    assert list(stages_of(record))[:2] == ["preparation", "discovery"]


def test_the_pace_is_learned_from_audits_that_are_done(store: Store) -> None:
    assert pace_here(store) == Pace(1.0, 0.6, 2.5)
    for ratio in (4.0, 5.0, 6.0, 40.0):
        took(store, ratio)
    asked = took(store, 99.0)
    config = store.get(asked).config_text.replace('"asked": null', '"asked": {"name": "x"}')
    set_row(store, asked, config=config)
    found = pace_here(store)
    assert found.factor == pytest.approx(
        5.0
    )  # one that slept, and the computer where costs were measured, do not count much
    assert found.low <= 4.0
    assert found.high >= 6.5
    guess = estimate(store, size_of(TABLES, ROLES, QUICK), QUICK, knows_truth=False)
    assert guess.seconds == pytest.approx(5.0 * (store.get(put(store)).expected or 0.0))
    assert guess.low < guess.seconds < guess.high


def test_few_audits_say_little() -> None:
    assert pace_of([3.0]) == Pace(2.0, 1.2, 5.0)
    assert pace_of([1.0, 1.0, 1.0]).high == pytest.approx(1.3)


def test_the_queue_says_when_it_is_ones_turn(store: Store) -> None:
    running, first, second = put(store), put(store), put(store)
    for audit in (running, first, second):
        set_row(store, audit, expected=30.0)
    claim(store, audit=running)
    store.report(running, Report("discovery", 1, 2), 0.5, seconds_left=12.0)
    found = outlooks_of(store, workers=1)
    assert found == {first: Outlook(1, 12.0, 42.0), second: Outlook(2, 42.0, 72.0)}
    assert outlook_words(found[second]) == "starts in about 40 seconds, done in about 1 minute"
    late = Waiting("mine", time.time() + 5.0, 10.0, is_short=True)
    assert outlooks_of(store, workers=1, more=late)["mine"].place == 1  # it is due before both
    store.report(running, Report("discovery", 1, 2), 0.5)
    set_row(store, running, started=time.time() - 10.0)
    assert outlooks_of(store, workers=1)[first].starts_in == pytest.approx(20.0, abs=2.0)
    assert outlooks_of(store, workers=2)[first].starts_in == 0.0
    assert outlook_words(Outlook(1, 0.0, 3.0)) == "starts at once, done in a few seconds"


def test_short_audits_have_a_lane_of_their_own(store: Store) -> None:
    long, short = put(store), put(store)
    set_row(store, long, expected=2_700.0, is_short=False, created=1.0)
    assert claim(store, "kept free", None).id == long  # a worker that takes all, by when they are due
    store.stop(long, "cancelled")
    store.requeue(long)
    taken = store.claim("kept free", only_short=True)
    assert taken is not None
    assert taken.id == short
    assert store.claim("kept free", only_short=True) is None  # it does not take the long one
    assert claim(store).id == long


def test_a_short_audit_goes_before_a_long_one_that_came_a_little_earlier(store: Store) -> None:
    long, short, later = put(store), put(store), put(store)
    for audit, created, expected in ((long, 100.0, 600.0), (short, 200.0, 10.0), (later, 650.0, 100.0)):
        set_row(store, audit, created=created, expected=expected)
    assert [claim(store).id for _ in range(3)] == [short, long, later]


def test_words() -> None:
    assert about(118.0, 70.0, 230.0) == "about 2 minutes (1 to 4)"
    assert about(60.0, 31.0, 100.0) == "about 60 seconds (30 to 100)"
    assert about(2_700.0, 2_000.0, 4_000.0) == "about 45 minutes (30 to 70)"
    assert about(7_200.0, 5_000.0, 11_000.0) == "about 2 hours (1 to 4)"
    assert about(3_600.0 * 1.0 + 2_000.0, 3_600.0, 7_300.0) == "about 2 hours (1 to 3)"
    assert [remaining(s) for s in (3.0, 24.0, 56.0, 58.0, 130.0, 3_700.0)] == [
        *("a few seconds", "about 25 seconds", "about 55 seconds", "about 1 minute", "about 2 minutes"),
        "about 1 hour and 2 minutes",
    ]


def test_the_words_never_climb_as_time_passes() -> None:
    order = list(dict.fromkeys(remaining(seconds) for seconds in range(10_000)))
    said = [order.index(remaining(seconds)) for seconds in range(10_000)]
    assert said == sorted(said)
