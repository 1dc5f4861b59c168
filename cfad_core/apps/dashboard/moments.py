"""Moments in tables, in the time of this server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig


def seconds_as_moments(seconds: Iterable[float | None]) -> pd.Series[pd.Timestamp]:
    """Seconds since 1970 as a column of a table; empty cells where there are none."""
    return pd.Series([None if at is None else datetime.fromtimestamp(at) for at in seconds], dtype="datetime64[ns]")


def moment_columns(*names: str) -> dict[str, ColumnConfig]:
    """How such columns are shown."""
    return {name: st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm") for name in names}
