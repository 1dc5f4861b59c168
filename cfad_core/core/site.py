"""Where the pages and what they need are: beside the package in a clone, in it once it is installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
SITE = _PACKAGE / "site" if (_PACKAGE / "site").is_dir() else _PACKAGE.parent
ENTRY = SITE / "app.py"
