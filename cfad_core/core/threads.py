"""How many threads computing gets: one, unless a single step of it is large.

The one rule for networks and linear algebra. Several audits, Dask workers and tests run beside each other, each in a
process of its own: what a second thread gains on an idle machine, it takes from a neighbour on a busy one, and threads
that share small work mostly wait for each other. So what decides is the size of the work (``benchmarks/threads.py``
measures it), never the number of cores; and a process never has more threads than it was started with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

LARGE = 4_000_000_000  # multiplications of one step of a network, from which on a second thread is worth it


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread: for small matrices more gain nothing, and wait for each other on a busy machine."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def torch_threads(multiplications: int = 0) -> Iterator[None]:
    """Torch on one thread, unless a step of so many multiplications is large; then on those that the process has."""
    import torch

    before = torch.get_num_threads()
    if multiplications < LARGE and before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - the libraries to control must be loaded, and scipy has one of its own

    return ThreadpoolController()
