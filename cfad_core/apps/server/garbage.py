"""Memory that pages leave behind is given back every few seconds, and not after each of their runs."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_EVERY = 5.0  # seconds
_WORTH_IT = 20  # collections of young objects since the last time: pages have run


@contextmanager
def collecting() -> Iterator[None]:
    """Collect garbage now and then until the block ends; what was there before is never looked at again."""
    over = threading.Event()
    gc.collect()
    gc.freeze()
    thread = threading.Thread(target=_collect, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        gc.unfreeze()


def _collect(over: threading.Event) -> None:
    before = _young()
    while not over.wait(_EVERY):
        if _young() - before >= _WORTH_IT:
            gc.collect()
            _give_back()
            before = _young()


def _young() -> int:
    return int(gc.get_stats()[0]["collections"])


def _give_back() -> None:
    """What the C library keeps for later goes back to the system, where it is asked for that."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
