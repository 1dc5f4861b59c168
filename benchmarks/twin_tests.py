"""How often the twin test's interval holds 0.5 for right twins, and which wrong twins it recognises.

OMP_NUM_THREADS=1 python benchmarks/twin_tests.py [--tables 200] [--worlds 3] [--first 400]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.worlds import FAMILIES, GROUPS, LABEL, SENSITIVE, draw_world
from cfad_core.core.arrays import Floats
from cfad_core.evaluation.twin_test import TwinTest, twin_test

CASES = ((200, 8, 0.3), (1000, 8, 0.5), (2000, 20, 0.03), (6000, 12, 0.5))  # people, columns, share of the first group
PEOPLE = 3_000  # of each world


def main() -> None:
    """Print coverage on simple tables, then worlds with known twins, then the time that a test takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--first", type=int, default=400)
    options = parser.parse_args()
    for case in CASES:
        coverage(*case, options.tables)
    for family in FAMILIES:
        worlds(family, range(options.first, options.first + options.worlds))
    rng = np.random.default_rng(0)
    people, start = draw_people(10_000, 20, 0.5, rng), time.perf_counter()
    compare(unchanged(people), people)
    print(f"10,000 people, 20 columns: {time.perf_counter() - start:.2f} s")


def coverage(n: int, columns: int, share: float, tables: int) -> None:
    """Nothing depends on the group: somebody's twin is the same person, or (independent) anybody else."""
    for name, independent in (("the same people", False), ("independent people", True)):
        found = []
        for seed in range(tables):
            rng = np.random.default_rng([n, seed])
            people = draw_people(n, columns, share, rng)
            others = draw_people(n, columns, share, rng) if independent else people
            found.append(compare(unchanged(others), people, seed))
        held = np.mean([one.low <= 0.5 <= one.high for one in found])
        aucs = [one.auc for one in found]
        failed, named = np.mean([not one.passes() for one in found]), np.mean([bool(one.columns) for one in found])
        print(
            f"{n} people, {columns} columns, group of {share:.0%}, {name}: interval holds 0.5 in {held:.1%}, ", end=""
        )
        print(f"AUC {np.mean(aucs):.3f} +- {np.std(aucs):.3f}, fails {failed:.1%}, a column named {named:.1%}")


def worlds(family: str, numbers: range) -> None:
    """AUCs of the true twins, and of three kinds of wrong ones."""
    kinds: dict[str, Callable[[Floats, Floats], Floats]] = {
        "true": lambda _, twins: twins,
        "people as they are": lambda people, _: unchanged(people),
        "each column by itself": lambda people, _: columnwise(people),
        "a tenth of the way back": lambda people, twins: np.column_stack(
            [twins[:, 0], 0.9 * twins[:, 1:] + 0.1 * people[:, 1:]]
        ),
    }
    found: dict[str, list[TwinTest]] = {name: [] for name in kinds}
    for number in numbers:
        people, twins, variables = encode(*draw_world(number, family).people(PEOPLE, seed=1))
        for name, kind in kinds.items():
            found[name].append(compare(kind(people, twins), people, number, variables))
    for name, tests in found.items():
        held = sum(one.low <= 0.5 <= one.high for one in tests)
        aucs, failed = " ".join(f"{one.auc:.3f}" for one in tests), sum(not one.passes() for one in tests)
        print(f"{family}, {name}: AUC {aucs}; holds 0.5 in {held}, fails in {failed} of {len(tests)}")


def compare(twins: Floats, people: Floats, seed: int = 0, variables: list[str] | None = None) -> TwinTest:
    """The twin test of a table that is large enough for it."""
    found = twin_test(twins, people, variables or [str(k) for k in range(people.shape[1])], seed)
    assert found is not None
    return found


def draw_people(n: int, columns: int, share: float, rng: np.random.Generator) -> Floats:
    """Numbers, some of them correlated, skewed, rounded or yes/no; none depends on the group."""
    group, rows = np.where(rng.random(n) < share, -1.0, 1.0), rng.normal(size=(n, columns))
    rows[:, 1] += 0.5 * rows[:, 0]
    rows[:, 2], rows[:, 3], rows[:, 4] = np.exp(rows[:, 2]), np.round(rows[:, 3]), rows[:, 4] > 1.0
    return np.column_stack([group, rows])


def unchanged(people: Floats) -> Floats:
    """The same rows in the other group."""
    return np.column_stack([-people[:, 0], people[:, 1:]])


def columnwise(people: Floats) -> Floats:
    """Each column takes the value of the same rank in the other group, whatever the other columns do."""
    twins = unchanged(people)
    for sign in (-1.0, 1.0):
        own, other = people[:, 0] == sign, people[:, 0] == -sign
        for column in range(1, people.shape[1]):
            values = people[own, column]
            rank = (np.argsort(np.argsort(values, kind="stable")) + 0.5) / len(values)
            twins[own, column] = np.quantile(people[other, column], rank, method="inverted_cdf")
    return twins


def encode(people: pd.DataFrame, twins: pd.DataFrame) -> tuple[Floats, Floats, list[str]]:
    """Groups as -1 and +1, numbers as they are, an indicator for each level of a category and for missing cells."""
    both = pd.concat([people, twins], ignore_index=True)
    columns, variables = [np.where(both[SENSITIVE] == GROUPS[0], -1.0, 1.0)], [SENSITIVE]
    for name in both.columns.drop([SENSITIVE, LABEL], errors="ignore"):
        values = both[name]
        blocks = [values.isna().to_numpy(np.float64)] if values.isna().any() else []
        if pd.api.types.is_numeric_dtype(values):
            blocks.append(values.fillna(values.median()).to_numpy(np.float64))
        else:
            blocks += [(values == level).to_numpy(np.float64) for level in sorted(values.dropna().unique())]
        columns += blocks
        variables += [name] * len(blocks)
    rows = np.column_stack(columns)
    return rows[: len(people)], rows[len(people) :], variables


if __name__ == "__main__":
    main()
