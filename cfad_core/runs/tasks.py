"""Many independent tasks, each in a process of its own, here or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress
from cfad_core.runs.child import run_in_child

_LOOK = 0.2  # seconds between two looks at what has ended


@dataclass(frozen=True)
class Task:
    """A function by name (``module:name``) with JSON-able arguments, for ``run_many``."""

    function: str
    arguments: Mapping[str, Any]


def run_many(
    tasks: Sequence[Task],
    workers: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    keep: Callable[[int, Any], None] | None = None,
) -> list[Any]:
    """Run independent tasks, each in a process of its own, and return their results in order.

    Parameters
    ----------
    workers : at once on this machine; each gets its share of the cores
    scheduler : address of a Dask cluster to run on instead
    keep : called with the place of each task and its result as soon as it has one
    """
    progress = progress or Progress()
    if workers < 1:
        raise InvalidConfigError(f"At least one worker is needed; got {workers}.")
    stop = threading.Event()
    with _pool(workers, scheduler, stop) as submit:
        futures = [submit(task) for task in tasks]
        waiting = {future: place for place, future in enumerate(futures)}
        try:
            while waiting:
                for future in [future for future in waiting if future.done()]:
                    result, place = future.result(), waiting.pop(future)  # one failure ends them all
                    if keep is not None:
                        keep(place, result)
                progress.tick("runs", len(futures) - len(waiting), len(futures))
                time.sleep(_LOOK if waiting else 0.0)
            return [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()


@contextmanager
def _pool(workers: int, scheduler: str | None, stop: threading.Event) -> Iterator[Callable[[Task], Any]]:
    """What starts tasks, here or on a cluster."""
    if scheduler is not None:
        from cfad_core.runs.cluster import connect_cluster

        client = connect_cluster(scheduler)
        try:
            yield lambda task: client.submit(run_in_child, task.function, dict(task.arguments), pure=False)
        finally:
            client.close()
        return
    threads = max(1, (os.cpu_count() or 1) // workers)
    with ThreadPoolExecutor(workers) as pool:
        yield lambda task: pool.submit(run_in_child, task.function, task.arguments, _Stoppable(stop), threads=threads)


class _Stoppable(Progress):
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def stop_requested(self) -> bool:
        return self._stop.is_set()
