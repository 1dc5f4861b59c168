"""Start whatever works the queue off: processes on this machine, or a cluster."""

from __future__ import annotations

import os

from cfad_core.runs.dask import DaskExecutor
from cfad_core.runs.executor import Executor
from cfad_core.runs.store import Store


def start_executor(store: Store, workers: int = 1) -> Executor:
    """A Dask cluster if ``CFAD_DASK_SCHEDULER`` names one, else processes on this machine."""
    address = os.environ.get("CFAD_DASK_SCHEDULER")
    return DaskExecutor(store, address) if address else Executor(store, workers)
