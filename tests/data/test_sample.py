from __future__ import annotations

from pathlib import Path

import pandas as pd

from cfad_core.data.readers import read_table
from cfad_core.data.sets.sample import generate_sample
from cfad_core.data.suggestions import suggest_roles
from cfad_core.data.validation import validate

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "sample.csv"


def test_the_shipped_table_is_what_the_generator_draws(tmp_path: Path) -> None:
    generate_sample().to_csv(tmp_path / "sample.csv", index=False)
    assert (tmp_path / "sample.csv").read_text() == SHIPPED.read_text()


def test_it_can_be_audited_as_suggested() -> None:
    table = read_table(SHIPPED)
    assert len(table) == 800
    roles = suggest_roles(table).roles
    assert roles is not None
    assert roles.ignore == ("claim_id", "reported_on", "remark")
    assert validate(table, roles).is_usable


def test_another_seed_draws_another_table() -> None:
    assert not generate_sample(1).equals(generate_sample(2))
    pd.testing.assert_frame_equal(generate_sample(1), generate_sample(1))
