"""Moments as a report writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float | None) -> str:
    """``2026-03-01 14:05 UTC``: the same wherever it is read."""
    return "not known" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
