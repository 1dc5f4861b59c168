"""A function of every part of a table, on the workers of a Dask cluster: this machine's own, or one that is there.

Each worker holds a part at a time, so what a machine needs does not grow with the table. If a worker dies, its part
goes to another one; only if a part ends several workers does it end the work.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from cfad_core.core.errors import CfadError, WorkerDied
from cfad_core.core.progress import Progress

WORKER_MEMORY = 2 * 10**9  # bytes that a worker of this machine may use
_AHEAD = 2  # parts for each worker that are given out at once: more would pile up
_LOOK = 0.2  # seconds between two looks at whether to stop


def connect_cluster(address: str) -> Any:
    """A client of the cluster whose scheduler is at this address.

    Raises
    ------
    CfadError
        If it cannot be reached.
    """
    from distributed import Client

    try:
        return Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise CfadError(f"Cannot reach the Dask scheduler at '{address}': {error}") from error


@contextmanager
def cluster(scheduler: str | None, workers: int | None = None) -> Iterator[Any]:
    """A client of the cluster at an address; without one, of workers on this machine that end with the block.

    Parameters
    ----------
    workers : on this machine; one for each core by default
    """
    if scheduler is not None:
        client = connect_cluster(scheduler)
        try:
            yield client
        finally:
            client.close()
        return
    from distributed import Client, LocalCluster

    count = workers or os.cpu_count() or 1
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=count,
            threads_per_worker=1,
            memory_limit=WORKER_MEMORY,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as local,
        Client(local, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


def over_parts(
    client: Any,
    function: Callable[..., Any],
    parts: Sequence[Any],
    progress: Progress,
    stage: str,
    *shared: Any,
) -> Iterator[tuple[int, Any]]:
    """``function(part, stop, *shared)`` of every part, in whatever order they are done, each with its place.

    Parameters
    ----------
    function : of a module; ``stop`` is the name of an event that is set when it should end early
    shared : the same for all parts

    Raises
    ------
    AuditCancelled
        If ``progress`` asks to stop.
    CfadError
        Whatever the function raised; ``WorkerDied`` if a part ended several workers.
    """
    from distributed import CancelledError, Event, KilledWorker

    stop = f"stop-{secrets.token_hex(6)}"
    event = Event(stop, client=client)  # type: ignore[no-untyped-call]
    at_once = _AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    waiting, given = list(enumerate(parts))[::-1], dict[Any, int]()
    progress.tick(stage, 0, len(parts))
    try:
        while waiting or given:
            while waiting and len(given) < at_once:
                place, part = waiting.pop()
                given[client.submit(function, part, stop, *shared, pure=False)] = place
            for future in [future for future in given if future.done()]:
                result, place = future.result(), given.pop(future)
                yield place, result
            progress.tick(stage, len(parts) - len(waiting) - len(given), len(parts))
            time.sleep(_LOOK if given else 0.0)
    except (KilledWorker, CancelledError) as error:
        raise WorkerDied(
            "A part of the table ended several workers, most likely because it needs more memory than each has. Give "
            "the workers more memory, or write the table in smaller row groups."
        ) from error
    except (OSError, TimeoutError) as error:
        raise CfadError(f"The cluster cannot be reached any more: {error}") from error
    finally:
        if given:  # tell those that run to end, and forget those that wait
            with suppress(Exception):  # the cluster is gone, and its tasks with it
                event.set()  # type: ignore[no-untyped-call]
                client.cancel(list(given))


class Stoppable(Progress):
    """In a worker: looks now and then whether to stop."""

    def __init__(self, stop: str) -> None:
        self._stop, self._asked, self._is_set = stop, time.monotonic(), False

    def stop_requested(self) -> bool:
        from distributed import Event

        now = time.monotonic()
        if not self._is_set and now - self._asked > 1.0:
            self._asked, self._is_set = now, bool(Event(self._stop).is_set())  # type: ignore[no-untyped-call]
        return self._is_set
