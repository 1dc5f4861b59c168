"""The arrays that walk through the rooms, by what they hold."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]
"""Positions of rows."""
