"""How many threads small matrices get: one."""

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


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - the libraries to control must be loaded, and scipy has one of its own

    return ThreadpoolController()
