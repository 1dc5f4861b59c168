"""How long the stages of an audit take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str | None) -> Iterator[None]:
        """Time a stage; one without a name takes none."""
        start = time.perf_counter()
        yield
        if stage is not None:
            self.seconds[stage] = round(time.perf_counter() - start, 3)
