"""How long an audit will take, by what it is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.comparisons import plan_of
from cfad_core.audit.estimate import USUAL, Size, expected_seconds, size_of, stages
from cfad_core.audit.learned_rows import MOST_LEARNED
from cfad_core.audit.prepare import prepare
from cfad_core.core.config import AuditConfig, preset
from cfad_core.core.cost import Countdown
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from tests.audit.worlds import ROLES, make_crossed
from tests.conftest import make_people

FAST = AuditConfig()


def seconds(config: AuditConfig = FAST, **changes: int) -> float:
    return expected_seconds(config, replace(USUAL, **changes), knows_truth=False)


def mixed(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=rows)
    return make_people(rows, seed=0).assign(
        often_missing=np.where(rng.random(rows) < 0.2, np.nan, numbers),
        yes_no=rng.choice(["y", "n"], rows),
        town=rng.choice(list("abcdefg"), rows),
        many=rng.integers(0, 200, rows).astype(str) + "x",
    )


@pytest.mark.parametrize(
    ("table", "roles"),
    [
        (mixed(400), ROLES),
        (
            make_crossed(500, seed=0),
            ColumnRoles((Attribute("sex", ("f", "m")), Attribute("region", ("north", "south", "west")))),
        ),
    ],
)
def test_the_size_is_what_the_audit_will_see(table: pd.DataFrame, roles: ColumnRoles) -> None:
    tables = Tables.of(table)
    rows, found = prepare(tables, roles, FAST), size_of(tables, roles, FAST)
    plan = plan_of(rows.encoding, rows.roles)
    assert found == Size(
        rows=len(table),
        learned=found.learned,
        people=found.people,
        columns=found.columns,
        variables=len(rows.encoding.variables),
        moves=len(plan.moves),
        states=plan.states.count,
        counts=found.counts,
    )
    assert (found.learned, found.people) == pytest.approx(
        (len(rows.train), len(rows.test)), abs=2
    )  # each group's share
    assert found.columns == pytest.approx(rows.train.shape[1] - 1, abs=2)  # rare levels are taken together


def test_a_table_to_judge_and_a_table_beyond_what_is_learned() -> None:
    table = make_people(300, seed=0)
    given = size_of(Tables.of(table, make_people(80, seed=1)), ROLES, FAST)
    assert (given.rows, given.learned, given.people) == (380, 300, 80)
    large = size_of(Tables.of(pd.concat([table] * 400, ignore_index=True)), ROLES, FAST)
    assert large.learned == MOST_LEARNED


def test_more_of_anything_takes_longer() -> None:
    usual = seconds()
    for change in (
        {"counts": 3},
        {"learned": 9_000},
        {"people": 3_000},
        {"columns": 40},
        {"variables": 20},
        {"moves": 3},
    ):
        assert seconds(FAST, **change) > usual
    assert seconds(FAST.replace(subsamples=40)) > usual > seconds(FAST.replace(subsamples=0))
    assert seconds(FAST.replace(methods=("ae", "dcfod"))) > seconds(FAST.replace(methods=("ae",)))
    assert seconds(preset("paper")) > 3.0 * usual


def test_the_stages_that_there_are_have_a_time() -> None:
    for config in (FAST, preset("paper"), FAST.replace(subsamples=0, methods=("pca",))):
        for knows_truth in (True, False):
            found = stages(config, knows_truth=knows_truth)
            assert all(seconds > 0.0 for seconds in found.values()) or knows_truth
            assert sum(found.values()) < expected_seconds(config, USUAL, knows_truth=knows_truth)
            assert Countdown(found).left == sum(found.values())
