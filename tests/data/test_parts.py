"""Tables in parts: all rows once, the same parts always, samples that do not depend on who reads what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.core.errors import InvalidDataError
from cfad_core.data import parts as parts_module
from cfad_core.data.drawing import Drawn, chances, draw_part, highest_chances, joined, sample_size, strata_of
from cfad_core.data.parts import PartedTable, digest_of, open_parts
from cfad_core.data.profile import Moments, profile_of
from cfad_core.data.roles import ColumnRoles
from tests.conftest import make_people

ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")


def write(folder: Path, table: pd.DataFrame, cuts: list[int], row_group: int) -> Path:
    """The table in files that are cut at these rows."""
    folder.mkdir(exist_ok=True)
    for k, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(table)], strict=True)):
        pq.write_table(pa.Table.from_pandas(table[start:stop]), folder / f"{k:03d}.parquet", row_group_size=row_group)
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 50 rows at most."""
    monkeypatch.setattr(parts_module, "MOST_CELLS", 250)
    monkeypatch.setattr(parts_module, "_LEAST_ROWS", 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row_group", [7, 50, 120, 1000])
def test_every_row_is_in_one_part_in_order(tmp_path: Path, row_group: int) -> None:
    table = make_people(400, seed=1).reset_index(drop=True)
    opened = open_parts(write(tmp_path / "t", table, [130, 131, 300], row_group))
    read = [opened.read(part) for part in opened.parts]
    pd.testing.assert_frame_equal(pd.concat(read, ignore_index=True), table)
    assert max(len(rows) for rows in read) <= 50
    assert [part.first for part in opened.parts] == np.cumsum([0, *(len(rows) for rows in read)])[:-1].tolist()
    assert [part.number for part in opened.parts] == list(range(len(read)))
    one = opened.read(opened.parts[2], ["fraud", "group"])
    pd.testing.assert_frame_equal(one, read[2][["fraud", "group"]])


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="there are none"):
        open_parts(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"no such thing")
    with pytest.raises(InvalidDataError, match="Cannot read .* as a Parquet file"):
        open_parts(tmp_path)
    table = make_people(10, seed=0)
    table.to_parquet(tmp_path / "a.parquet")
    table.drop(columns="debt").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidDataError, match=r"same columns; 'b.parquet' and 'a.parquet' differ in: debt"):
        open_parts(tmp_path)
    table.assign(debt="much").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidDataError, match=r"differ in a column's type: .*debt"):
        open_parts(tmp_path)
    table[:0].to_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(InvalidDataError, match="columns but no rows"):
        open_parts(tmp_path)


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    table = make_people(100, seed=0)
    opened = open_parts(write(tmp_path / "t", table, [], 1000))
    table[:50].to_parquet(opened.files[0])
    with pytest.raises(InvalidDataError, match="changed while it was read"):
        opened.read(opened.parts[0])


def test_the_digest_is_of_the_contents(tmp_path: Path) -> None:
    for name, content in (("a", b"12"), ("b", b"3"), ("c", b"123")):
        (tmp_path / name).write_bytes(content)
    assert digest_of([tmp_path / "a", tmp_path / "b"]) == digest_of([tmp_path / "c"])
    assert digest_of([tmp_path / "b", tmp_path / "a"]) != digest_of([tmp_path / "c"])


# Profiles


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.integers(0, 30))
def test_moments_of_parts_add_up(numbers: list[float], cut: int) -> None:
    values = np.array(numbers, dtype=np.float64)
    found = Moments.of(values[:cut]) + Moments.of(values[cut:])
    assert found.n == len(values)
    if len(values):
        assert found.mean == pytest.approx(values.mean(), abs=1e-6)
        assert found.deviation == pytest.approx(values.std(), abs=1e-4, rel=1e-6)
        assert (found.low, found.high) == (values.min(), values.max())


def test_profiles_of_parts_add_up_and_name_what_prevents_an_audit() -> None:
    table = make_people(200, seed=2)
    table.loc[150:, "income"] = np.inf
    table.loc[3, "fraud"] = None
    whole, added = profile_of(table), profile_of(table[:90]) + profile_of(table[90:])
    assert added.rows == whole.rows == 200
    assert added.columns["group"] == whole.columns["group"]
    assert added.columns["fraud"].missing == 1
    codes = {finding.code: finding for finding in added.findings(["schooling", "income", "debt"], "fraud")}
    assert set(codes) == {"infinite", "label-missing"}
    assert "50 infinite cells" in codes["infinite"].text


def test_a_biased_sample_is_noticed_and_a_fair_one_is_not() -> None:
    table = make_people(20_000, seed=3)
    whole, rng = profile_of(table), np.random.default_rng(0)
    fair = whole.furthest(profile_of(table.iloc[rng.choice(20_000, 2_000, replace=False)]))
    biased = whole.furthest(profile_of(table[table["group"] == "a"]))
    assert fair is not None
    assert biased is not None
    assert fair[1] < 4.0
    assert biased[1] > 20.0


# Samples


def drawn(table: PartedTable, wanted: int, seed: int = 0) -> Drawn:
    pilot = pd.concat([table.read(part)[chances(part, seed + 1) < 0.3] for part in table.parts])
    highest = highest_chances(strata_of(pilot, ROLES), table.rows, wanted, 4)
    return joined([draw_part(table, part, ROLES, highest, seed) for part in table.parts], wanted)


@pytest.mark.usefixtures("small")
def test_a_sample_has_the_shares_of_the_table_and_its_own_rows(tmp_path: Path) -> None:
    table = make_people(4_000, seed=4)
    table.loc[:199, "group"] = "c"  # belongs to no group
    table = table.sample(frac=1.0, random_state=0).reset_index(drop=True)
    opened = open_parts(write(tmp_path / "t", table, [1_000], 80))
    sample = drawn(opened, 1_000)
    pd.testing.assert_frame_equal(sample.rows, table.iloc[sample.position].reset_index(drop=True))
    assert sample.outside == 200
    strata = strata_of(table, ROLES)
    counts = np.bincount(strata[strata >= 0], minlength=4)
    assert (sample.counts == counts).all()
    assert np.bincount(sample.stratum, minlength=4) == pytest.approx(counts * 1_000 / 3_800, abs=0.51)
    again, other = drawn(opened, 1_000), drawn(opened, 1_000, seed=5)
    assert (again.position == sample.position).all()
    assert len(np.intersect1d(other.position, sample.position)) < 500


@pytest.mark.slow
def test_every_row_is_as_likely_to_be_drawn(tmp_path: Path) -> None:
    opened, often, seeds = open_parts(write(tmp_path / "t", make_people(600, seed=5), [200], 100)), np.zeros(600), 100
    for seed in range(seeds):
        often[drawn(opened, 120, seed).position] += 1
    assert np.abs(often / seeds - 0.2).max() < 5.0 * np.sqrt(0.2 * 0.8 / seeds)
    assert abs(often[:200].mean() - often[200:].mean()) / seeds < 0.02  # neither file is


def test_small_tables_are_taken_whole_and_small_groups_get_more_rows() -> None:
    assert sample_size(np.array([300, 700])) == 1_000
    assert sample_size(np.array([5_000_000, 5_000_000])) == 100_000
    assert sample_size(np.array([9_900_000, 100_000])) == 200_000
    assert sample_size(np.array([9_999_000, 1_000])) == 400_000
    assert sample_size(np.array([5_000_000, 5_000_000]), rows=7_000) == 7_000


def test_nobody_to_compare_is_an_error(tmp_path: Path) -> None:
    table = make_people(100, seed=0).assign(group="c")
    opened = open_parts(write(tmp_path / "t", table, [], 100))
    part = draw_part(opened, opened.parts[0], ROLES, np.ones(4), 0)
    with pytest.raises(InvalidDataError, match="No row belongs"):
        joined([part], 10)
