"""The columns that an audit's people are sliced by, from their encoded rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.slicing import slice_columns
from cfad_core.core.config import Scaling
from cfad_core.data.encoding import fit_encoding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.validation import validate


@pytest.mark.parametrize("scaling", ["own", "range"])
def test_everybody_is_in_the_cells_of_their_table(scaling: Scaling) -> None:
    rng, n = np.random.default_rng(0), 1000
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "owner": rng.choice(["yes", "no"], n, p=[0.3, 0.7]),
            "region": rng.choice(["north", "south", "west"], n),
            "age": rng.integers(20, 70, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.lognormal(8.0, 1.0, n), 2)),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    roles = validate(table, ColumnRoles(sensitive="sex")).roles
    assert roles is not None
    encoding = fit_encoding(table, roles, scaling)
    columns = {column.name: column for column in slice_columns(encoding, encoding.encode(table))}
    assert list(columns) == ["owner", "region", "age", "income"]  # neither what is sensitive nor dates
    for name in ("owner", "region"):
        labels = np.array(columns[name].labels)[columns[name].cells]
        np.testing.assert_array_equal(labels, table[name])
    ages = columns["age"]
    assert ages.labels[0].startswith("under ")
    youngest = table["age"][ages.cells == 0]
    assert youngest.max() == int(ages.labels[0].removeprefix("under ")) - 1
    missing = columns["income"].cells == columns["income"].labels.index("missing")
    np.testing.assert_array_equal(missing, table["income"].isna())
