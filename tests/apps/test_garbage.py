"""Garbage of pages goes while the server runs."""

from __future__ import annotations

import gc
import time
import weakref

import pytest

from cfad_core.apps.server import garbage


class Ring:
    """Something that only a collection frees."""

    def __init__(self) -> None:
        self.own = self


def test_what_pages_leave_behind_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_EVERY", 0.1)
    monkeypatch.setattr(garbage, "_WORTH_IT", 0)
    gc.disable()
    try:
        with garbage.collecting():
            left = weakref.ref(Ring())
            until = time.monotonic() + 10.0
            while left() is not None:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
