"""What 20 more models cost, in models: processor time of those of subsamples against learning one from all rows.

    OMP_NUM_THREADS=1 python benchmarks/subsample_cost.py [--graphs 20]

Processor time of one thread, both in one run, best of two each: other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from cfad_core.apps.cli.output import aligned
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.learning import Learner
from cfad_core.causal.subsampling import learn_from_halves
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import fit_encoding
from cfad_core.data.groups import OUTSIDE
from cfad_core.data.roles import ColumnRoles, resolve_roles, state_codes
from cfad_core.data.sets.public import load_adult, load_compas, load_german
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.data.split import stratified_split
from cfad_core.data.suggestions import suggest_roles


def main() -> None:
    """Measure every table, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=20)
    graphs = parser.parse_args().graphs
    synthetic = generate_synthetic(0).train
    s = ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1")
    lines = [["table", "rows", "columns", "one model", f"{graphs} models", "ratio"]]
    for name, table, roles, selected in (
        ("synthetic, rows chosen by label", synthetic, s, True),
        ("synthetic", synthetic, s, False),
        ("synthetic, 1,000 rows", synthetic[:1000], s, False),
        ("Adult", *_public(load_adult(), "sex"), False),
        ("COMPAS", *_public(load_compas(), "race"), False),
        ("German credit", *_public(load_german(), "sex"), False),
    ):
        lines.append([name, *_compare(table, roles, selected, graphs)])
        print(" ".join(lines[-1]), flush=True)
    print(aligned(lines))


def _public(table: pd.DataFrame, sensitive: str) -> tuple[pd.DataFrame, ColumnRoles]:
    suggestion = suggest_roles(table, sensitive if sensitive in table else None, None)
    assert suggestion.roles is not None
    return table, suggestion.roles


def _compare(table: pd.DataFrame, roles: ColumnRoles, selected: bool, graphs: int) -> list[str]:
    roles = resolve_roles(table, roles)
    table = table[state_codes(table, roles.groupings) != OUTSIDE]
    encoding = fit_encoding(table, roles, "own")
    x = encoding.encode(table)
    attributes = dict(zip(encoding.attribute_names, encoding.states.sizes, strict=True))
    columns = Columns(
        names=encoding.names,
        sensitive=encoding.sensitive,
        variables=encoding.column_variables,
        kinds=encoding.variable_kinds,
        marks=encoding.marks,
        comparable_units=fit_encoding(table, roles, "auto").scaling == "raw",
        rows_were_selected=selected,
        attributes=attributes if encoding.states.count > 2 else {},
    )
    splits = [stratified_split(x[:, 0], 0.5, np.random.default_rng(k)) for k in range(graphs // 2)]

    learner = Learner.prepare(x, columns, DiscoveryConfig(), Knowledge(), Progress())
    _, start = learner.learn(None, 0, Progress())

    def one() -> object:
        return Learner.prepare(x, columns, DiscoveryConfig(), Knowledge(), Progress()).learn(None, 0, Progress())

    def many() -> object:
        return learn_from_halves(learner, start, splits, 0, Progress())

    single, all_of_them = _seconds(one), _seconds(many)
    measured = [f"{single:.2f} s", f"{all_of_them:.2f} s", f"{all_of_them / single:.2f}"]
    return [f"{len(x):,}", str(x.shape[1]), *measured]


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(2):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
