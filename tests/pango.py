"""A machine without Pango, which lays out PDFs."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest


def take_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let WeasyPrint fail as it does where its libraries are missing."""

    def missing(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("weasyprint"):
            raise OSError("cannot load library 'libpango-1.0-0': libpango-1.0-0: cannot open shared object file")
        return real(name, *arguments, **named)

    real = builtins.__import__
    for name in [name for name in sys.modules if name.startswith("weasyprint")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", missing)
