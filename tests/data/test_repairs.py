from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.repairs import repair_findings, rows_of_totals, written_numbers


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12 %", "7%", "100 %"], [12.0, 7.0, 100.0]),
        (["€ 1.200,50", "€ 30", "€ 2,5"], [1200.5, 30.0, 2.5]),
        (["1,234", "12,345,678", "9"], [1234.0, 12345678.0, 9.0]),
        (["1.234.567", "$3.50", "2"], [1234567.0, 3.5, 2.0]),
        (["3,5", "4,25", "-1,0"], [3.5, 4.25, -1.0]),
        (["1 200", "3 400", None], [1200.0, 3400.0, np.nan]),
    ],
)
def test_numbers_that_are_written_with_signs(cells: list[str | None], numbers: list[float]) -> None:
    found = written_numbers(pd.Series(cells))
    assert found is not None
    np.testing.assert_array_equal(found, numbers)


@pytest.mark.parametrize("cells", [["a", "b"], [1, 2], ["1", "2", "?1"], ["<20%", "50%-60%"], [None, None]])
def test_other_columns_are_left_alone(cells: list[object]) -> None:
    assert written_numbers(pd.Series(cells)) is None


def test_totals_at_the_end() -> None:
    table = pd.DataFrame({"town": ["A", "B", "Total"], "pay": [1, 2, 3]})
    assert rows_of_totals(table).tolist() == [False, False, True]
    assert not rows_of_totals(table.head(2)).any()
    (finding,) = repair_findings(table, ["town", "pay"])
    assert finding.text == "The last rows hold totals and not people: row 3 says 'Total'. Leave them out."
