"""One mechanism for each variable: how it comes from its causes, and what twins have.

A kind of variable is one class with the methods of ``Mechanism``, a function that fits it, and one entry in ``FITS``.
"""

from __future__ import annotations

from collections.abc import Callable

from cfad_core.causal.layout import VariableKind
from cfad_core.causal.mechanisms.category import Category, fit_category
from cfad_core.causal.mechanisms.number import Number, fit_number
from cfad_core.causal.mechanisms.protocol import Mechanism, Sample

FITS: dict[VariableKind, Callable[[Sample], Mechanism]] = {"category": fit_category, "number": fit_number}

__all__ = ["FITS", "Category", "Mechanism", "Number", "Sample"]
