"""In which order audits are taken from the queue, and when each of them will be.

An audit is due when it would be done, had it been started at once. Workers take the one that is due first: a short
audit goes before a long one, but an audit that takes ten minutes is overtaken only by those that come in the ten
minutes after it. Where there are several workers, one is kept free for short audits: they never wait behind long ones.

Where several people share the workers, they take turns: whoever has fewer audits running and before this one in the
queue goes first, so that nobody waits behind another person's fifty.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

_NOBODY: Mapping[str, int] = MappingProxyType({})
SHORT = 120.0  # seconds that a short audit is expected to take at most
_AHEAD = 60.0  # seconds that the clocks of machines with one store may differ
SHORT_CELLS = 5_000_000  # of its tables, so that one beside a long one needs little memory


@dataclass(frozen=True)
class Waiting:
    """An audit in the queue.

    Attributes
    ----------
    created : seconds since 1970
    expected : seconds that it takes where costs were measured
    owner : whose it is; empty where nobody signs in
    """

    id: str
    created: float
    expected: float
    is_short: bool
    owner: str = ""

    @property
    def due(self) -> tuple[float, str]:
        """What the queue is ordered by."""
        return self.created + self.expected, self.id


@dataclass(frozen=True)
class Outlook:
    """What somebody in the queue can look forward to.

    Attributes
    ----------
    place : in the order in which audits will start; 1 is the next one
    starts_in, done_in : seconds
    """

    place: int
    starts_in: float
    done_in: float


def in_turn(queue: Iterable[Waiting], running: Mapping[str, int]) -> list[Waiting]:
    """The queue in the order in which its audits are taken.

    Parameters
    ----------
    running : by owner, how many audits run already
    """
    turns, found = Counter(running), list[tuple[int, Waiting]]()
    for one in sorted(queue, key=lambda one: one.due):
        found.append((turns[one.owner], one))
        turns[one.owner] += 1
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].due))]


def waits_since(created: float, now: float) -> float:
    """When an audit came, by its own account; whichever came later than now came before the clock was set back.

    Those have waited longer than anybody, and go first.
    """
    return created if created <= now + _AHEAD else 0.0


def is_short(expected: float, cells: int) -> bool:
    """Whether an audit counts as short: in time, and in what it needs beside another one."""
    return expected <= SHORT and cells <= SHORT_CELLS


def reserved(workers: int) -> list[bool]:
    """By worker, whether it is kept free for short audits: one of several is."""
    return [workers > 1 and place == 0 for place in range(workers)]


def outlooks(
    queue: Iterable[Waiting],
    busy: Mapping[int, float],
    workers: int,
    factor: float,
    running: Mapping[str, int] = _NOBODY,
) -> dict[str, Outlook]:
    """When each audit of the queue will start and be done, if no other one comes.

    Parameters
    ----------
    busy : seconds until a worker is free, by its place among ``reserved(workers)``; others are free
    factor : seconds here for one where costs were measured
    running : by owner, how many audits run already
    """
    lanes = reserved(workers)
    free = [(busy.get(place, 0.0), place) for place in range(workers)]
    heapq.heapify(free)
    left, found = in_turn(queue, running), dict[str, Outlook]()
    while left and free:
        at, place = heapq.heappop(free)
        chosen = next((one for one in left if one.is_short or not lanes[place]), None)
        if chosen is None:
            continue  # only long audits are left, which this worker does not take
        left.remove(chosen)
        done = at + chosen.expected * factor
        found[chosen.id] = Outlook(len(found) + 1, at, done)
        heapq.heappush(free, (done, place))
    return found


def seats(running: Sequence[tuple[bool, float]], workers: int) -> dict[int, float]:
    """Seconds until each worker that is busy is free, by its place, from what runs: whether it is short, seconds left.

    Which worker has which audit is not known; a short one is taken to be with a worker that is kept for it.
    """
    lanes, found = reserved(workers), dict[int, float]()
    for short, left in sorted(running, reverse=True):
        places = [place for place in range(workers) if place not in found and (short or not lanes[place])]
        if places:
            found[places[0]] = left
    return found
