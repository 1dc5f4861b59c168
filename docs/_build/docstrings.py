"""Docstrings as the reference's maker reads them: ``name : what it is`` has no type, for the signature has it."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises)\n-+$", re.MULTILINE)
_ENTRY = re.compile(r"^([\w*][\w*, ]*) : (.+)$", re.MULTILINE)


class MeaningsWithoutTypes(Extension):
    """Puts what a name means onto a line of its own below it, where it is taken for words and not for a type."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of anything that has one."""
        if obj.docstring is not None:
            text = obj.docstring.value
            start = _SECTION.search(text)
            if start is not None:
                obj.docstring.value = text[: start.start()] + _ENTRY.sub(r"\1\n    \2", text[start.start() :])
