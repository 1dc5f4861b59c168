"""What the commands show: tables of text, and a bar while they work."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cfad_core.core.progress import Progress

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult
    from cfad_core.evaluation.intervals import Interval


def shown(value: float | None, n: int | None = None) -> str:
    if value is None:
        return "n/a" if n is None else f"n/a (n = {n})"
    return f"{value:.3f}"


def span(found: Interval | None) -> str:
    return "n/a" if found is None else f"{found.low:.3f} to {found.high:.3f}"


def interval_kind(result: AuditResult) -> str:
    """What the bounds are: few subsamples have no 90 % interval."""
    from cfad_core.evaluation.intervals import bounds_name

    graphs = 0 if result.stability is None else len(result.stability.graphs)
    return bounds_name(graphs)


def aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def moment(seconds: float) -> str:
    """A time, given in seconds since 1970, as people here write it: ``2025-06-30 14:05``."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


class TerminalProgress(Progress):
    """A bar for each stage on a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        if not sys.stderr.isatty():
            return
        from tqdm import tqdm

        if self._bar is None or stage != self._stage or step < self._bar.n:
            if self._bar is not None:
                self._bar.close()
            form = "{desc:17}|{bar:30}| {percentage:3.0f}% {postfix}"
            self._bar = tqdm(total=total, desc=stage, leave=False, bar_format=form, file=sys.stderr)
            self._stage = stage
        self._bar.n = step
        self._bar.set_postfix({name: f"{value:.3g}" for name, value in values.items()})
