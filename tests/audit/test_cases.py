"""Tables that people really bring: each ends in a usable audit, or in a clear sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from cfad_core import (
    AuditConfig,
    AuditResult,
    ColumnRoles,
    Knowledge,
    run_audit,
    score_rows,
    twin_rows,
)
from cfad_core.core.arrays import Bools
from cfad_core.core.errors import InvalidDataError

ROLES = ColumnRoles("g", groups=("p", "q"))
QUICK = AuditConfig(methods=("pca",), subsamples=0)
Add = Callable[[np.random.Generator, Bools, pd.DataFrame], None]


def people(add: Add | None = None, n: int = 800, share: float = 0.4, seed: int = 0) -> pd.DataFrame:
    """G -> a -> b and c, and whatever is added, given the generator, who is of the first group, and the table."""
    rng = np.random.default_rng(seed)
    first: Bools = rng.random(n) < share
    a = rng.normal(size=n) + 1.5 * first
    table = pd.DataFrame({"g": np.where(first, "p", "q"), "a": 10.0 * a + 50.0, "b": 0.8 * a + rng.normal(size=n)})
    table["c"] = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-a)), "x", "y")
    if add is not None:
        add(rng, first, table)
    return table


def constant_in_one_group(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    table["k"] = np.where(first, 7.0, rng.normal(7.0, 3.0, len(table)))


def level_of_one_group(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    table["k"] = np.where(first, rng.choice(["u", "v"], len(table)), rng.choice(["u", "v", "w"], len(table)))


def thirty_levels(rng: np.random.Generator, _: Bools, table: pd.DataFrame) -> None:
    table["k"] = rng.choice([f"town {k}" for k in range(30)], len(table))


def heavy_tails(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    table["k"] = rng.standard_cauchy(len(table)) * 100.0 + 80.0 * first


def mostly_zero(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    gains = np.round(np.exp(rng.normal(7.0, 1.0, len(table))))
    table["k"] = np.where(rng.random(len(table)) < 0.95 - 0.2 * first, 0.0, gains)


def identifier(rng: np.random.Generator, _: Bools, table: pd.DataFrame) -> None:
    table["k"] = rng.permutation(len(table)) + 10**6


def the_group_again(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    table["k"] = np.where(first ^ (rng.random(len(table)) < 0.01), "F", "M")


def collinear(_: np.random.Generator, __: Bools, table: pd.DataFrame) -> None:
    table["twice"], table["sum"] = 2.0 * table["a"] + 1.0, table["a"] + table["b"]


def missing_by_group(rng: np.random.Generator, first: Bools, table: pd.DataFrame) -> None:
    wealth = np.exp(rng.normal(8.0, 1.0, len(table)))
    table["k"] = np.where(rng.random(len(table)) < np.where(first, 0.4, 0.1), np.nan, wealth)
    table.loc[rng.random(len(table)) < 0.1, "c"] = None


def many_columns(rng: np.random.Generator, _: Bools, table: pd.DataFrame) -> None:
    for k in range(16):
        table[f"k{k}"] = rng.normal(size=len(table)) if k % 2 else rng.choice(["u", "v", "w"], len(table))


def shown_is_scored(result: AuditResult, table: pd.DataFrame) -> None:
    """Twins put through ``score`` get the score that was shown for them, to the bit."""
    some = table.head(200)
    shown, again = score_rows(result, some), score_rows(result, twin_rows(result, some).rows)
    assert np.array_equal(shown["pca_score_counterfactual"], again["pca_score"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("add", "affected"),
    [
        (constant_in_one_group, {"k"}),
        (level_of_one_group, {"k"}),
        (thirty_levels, set()),
        (heavy_tails, {"k"}),
        (mostly_zero, {"k"}),
        (identifier, set()),
        (the_group_again, {"k"}),
        (collinear, {"twice", "sum"}),
        (missing_by_group, {"k"}),
    ],
)
def test_odd_columns_end_in_a_usable_audit(add: Add, affected: set[str]) -> None:
    table = people(add)
    result = run_audit(table, ROLES, QUICK)
    assert {"a", "b", "c"} | affected == set(result.model.affected_names)
    (checks,) = result.checks
    assert checks.unexplained == ()
    assert checks.twin_test is not None
    assert checks.twin_test.passes()
    shown_is_scored(result, table)


@pytest.mark.parametrize(
    ("add", "says"),
    [
        (constant_in_one_group, "everybody of group 'p' has the same 'k'"),
        (level_of_one_group, "nobody of group 'p' has 'k' = w"),
    ],
)
def test_where_groups_do_not_overlap_the_audit_says_so(add: Add, says: str) -> None:
    result = run_audit(people(add), ROLES, QUICK)
    (found,) = [finding for finding in result.findings if finding.code == "no-overlap"]
    assert says in found.text


def test_missing_cells_follow_the_group() -> None:
    """Of twins in the group where incomes are often missing, as many are; and known ones become missing, and back."""
    table = people(missing_by_group, n=3000)
    result = run_audit(table, ROLES, QUICK)
    twins = twin_rows(result, table).rows
    for group, share in (("p", 0.4), ("q", 0.1)):
        assert twins.loc[twins["g"] == group, "k"].isna().mean() == pytest.approx(share, abs=0.05)
    assert (table["k"].isna() & twins["k"].notna()).any()
    assert (table["k"].notna() & twins["k"].isna()).any()
    assert not (twins["k"].dropna() <= 0.0).any()


def test_few_rows_and_many_columns() -> None:
    table = people(many_columns, n=300)
    result = run_audit(table, ROLES, QUICK)
    assert "a" in result.model.affected_names
    shown_is_scored(result, table)


def test_a_group_of_three_percent() -> None:
    result = run_audit(people(n=3000, share=0.03), ROLES, QUICK)
    assert {"a", "b"} <= set(result.model.affected_names)
    assert "small-group" in {finding.code for finding in result.findings}
    with pytest.raises(InvalidDataError, match="Group 'p' of 'g' has 8 rows; at least 30 are needed"):
        run_audit(people(n=200, share=0.03), ROLES, QUICK)


def test_nothing_that_depends_on_the_group_moves_nobody() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"g": rng.choice(["p", "q"], 800), "a": rng.normal(size=800), "b": rng.exponential(size=800)})
    result = run_audit(table, ROLES, QUICK)
    assert result.model.affected_names == ()
    assert result.report("pca").metrics.changing_ratio == 0.0
    assert result.report("pca").verdict.startswith("No path from g")


def test_a_root_that_differs_is_kept_and_named() -> None:
    result = run_audit(people(), ROLES, QUICK.replace(knowledge=Knowledge(roots=("a",))))
    assert [checks.kept for checks in result.checks] == [("a",)]
    assert "Twins keep a, which differs between the groups" in result.report("pca").verdict
    assert np.array_equal(result.people.counterfactual[:, 1], result.people.factual[:, 1])
    assert result.report("pca").bounds_at(1.0) is None
