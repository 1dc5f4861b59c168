from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.chunk_files import chunk_writer
from cfad_core.data.tables import safe_for_spreadsheets, save_parquet, write_table

WHOLE = pd.DataFrame({"n": [1.5, np.nan, 1e-7, 1e20], "k": range(4), "text": ["=1", None, "ü", 'a "b", c'], "=x": 1.0})


def in_pieces(table: pd.DataFrame, path: Path, size: int, *, for_spreadsheets: bool = False) -> None:
    with chunk_writer(path, for_spreadsheets=for_spreadsheets) as writer:
        for start in range(0, len(table), size):
            writer.add(table.iloc[start : start + size])


@pytest.mark.parametrize("size", [1, 3, 9])
def test_files_are_those_of_the_whole_table(tmp_path: Path, size: int) -> None:
    write_table(safe_for_spreadsheets(WHOLE), tmp_path / "whole.csv")
    in_pieces(WHOLE, tmp_path / "pieces.csv", size, for_spreadsheets=True)
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    save_parquet(WHOLE, tmp_path / "whole.parquet")
    in_pieces(WHOLE, tmp_path / "pieces.parquet", size)
    pieces, whole = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("pieces", "whole"))
    pd.testing.assert_frame_equal(pieces, whole)


def test_types_widen_when_a_later_chunk_needs_it(tmp_path: Path) -> None:
    """A column of twins is numbers until somebody's cell was changed to text."""
    parts = [
        pd.DataFrame({"code": [1, 2], "rate": [1, 2], "yes": [True, False], "none": [None, None], "x": [1.0, 2.5]}),
        pd.DataFrame({"code": ["3", None], "rate": [0.5, 2], "yes": ["no", "True"], "none": ["a", None], "x": "q"}),
        pd.DataFrame({"code": [4, 5], "rate": [7, 8], "yes": [True, True], "none": [None, None], "x": [3, 4]}),
    ]
    with chunk_writer(tmp_path / "some.parquet") as writer:
        for part in parts:
            writer.add(part)
    found = pd.read_parquet(tmp_path / "some.parquet")
    assert found["code"].tolist()[:3] == ["1", "2", "3"]
    assert found["code"].isna().tolist() == [False, False, False, True, False, False]
    assert found["rate"].tolist() == [1.0, 2.0, 0.5, 2.0, 7.0, 8.0]
    assert found["yes"].tolist() == ["True", "False", "no", "True", "True", "True"]
    assert found["x"].tolist() == ["1.0", "2.5", "q", "q", "3", "4"]
    assert found["none"].dropna().tolist() == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["some.parquet"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path: Path, ending: str) -> None:
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), chunk_writer(tmp_path / f"some.{ending}") as writer:
            writer.add(WHOLE)
            raise error
    assert list(tmp_path.iterdir()) == []
