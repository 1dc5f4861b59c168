"""How much longer scoring takes with reasons, and whether a few typical values are enough.

python benchmarks/explanation_speed.py [--rows 20000] [--methods iforest ocsvm ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core import AuditConfig, AuditResult, ColumnRoles, run_audit, score_rows
from cfad_core.audit import explanation
from cfad_core.core.arrays import Floats
from cfad_core.detectors.registry import METHODS

LEARNED_FROM, ASKED, MANY = 8_000, 200, 64


def people_of(n: int) -> pd.DataFrame:
    """Invented people with seven numbers and three categories."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"group": rng.choice(["a", "b"], n)})
    sign, before = np.where(table["group"] == "b", 1.0, -1.0), np.zeros(n)
    for k in range(7):
        before = rng.normal(size=n) + 0.3 * sign * (k < 3) + 0.5 * before
        table[f"number {k}"] = before
    return table.assign(**{f"category {k}": rng.choice(list("abcd"), n) for k in range(3)})


def first_reasons(result: AuditResult, method: str, people: Floats, values: int) -> NDArray[np.intp]:
    """The variable with the largest part, by so many typical values, (n,)."""
    explanation._TYPICAL = values
    found = explanation.explain(result, method, people)
    assert found is not None
    first: NDArray[np.intp] = found.parts.argmax(axis=1)
    return first


def main() -> None:
    """Print seconds of the processor, and for each method how often the first reason is that of many values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["iforest", "ocsvm"])
    options = parser.parse_args()
    table = people_of(max(options.rows, LEARNED_FROM))
    config = AuditConfig(methods=tuple(options.methods), subsamples=0)
    result = run_audit(table.iloc[:LEARNED_FROM], ColumnRoles("group"), config)
    for reasons in (False, True):
        start = time.process_time()
        score_rows(result, table.iloc[: options.rows], reasons=reasons)
        print(f"{options.rows} rows {'with' if reasons else 'without'} reasons: {time.process_time() - start:.0f} s")
    for method in options.methods:
        highest = result.people.factual[np.argsort(-result.scores[method].factual)[:ASKED]]
        many = first_reasons(result, method, highest, MANY)
        for values in (1, 2, 4, 8):
            same = (first_reasons(result, method, highest, values) == many).mean()
            print(f"{method}: {values} typical values give the first reason of {MANY} to {100 * same:.0f} % of people")


if __name__ == "__main__":
    main()
