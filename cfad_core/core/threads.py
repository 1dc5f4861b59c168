"""How many threads networks and linear algebra get: one.

Several audits, Dask workers and tests run beside each other, each in a process of its own. Measured on two cores
(``benchmarks/threads.py``; docs/PERFORMANCE.md has the table): alone, a second thread makes training up to a width of
128 slower, and larger work up to 1.9 times faster; beside a single busy neighbour it makes every network 1.5 to 5 times
slower, as its threads wait for each other. There is no size from which on it is safe.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread: for small matrices more gain nothing, and wait for each other on a busy machine."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Networks on one thread, in training and in scoring."""
    import torch

    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1:
            torch.set_num_threads(before)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - the libraries to control must be loaded, and scipy has one of its own

    return ThreadpoolController()
