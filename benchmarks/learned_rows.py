"""From how many rows on it changes nothing to learn from more: causal models by size, on worlds with known twins.

    OMP_NUM_THREADS=1 python benchmarks/learned_rows.py [WORLDS] [MOST]

For every size, the two halves of that many rows give two causal models, as the judges of an audit are. One simple
detector (the distance to principal components) is judged by both: how far their changing ratios are apart, and how far
their mean is from the truth, which is counted on 20,000 new people. A larger cap is worth its time as long as the error
falls by more than the halves are apart.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.truth import ROLES  # noqa: E402
from benchmarks.worlds import FAMILIES, draw_world  # noqa: E402
from cfad_core.audit.phase_one import columns_of  # noqa: E402
from cfad_core.audit.prepare import prepare  # noqa: E402
from cfad_core.audit.scoring import encode_people  # noqa: E402
from cfad_core.causal.learning import Learner  # noqa: E402
from cfad_core.core.arrays import Floats  # noqa: E402
from cfad_core.core.config import AuditConfig  # noqa: E402
from cfad_core.core.progress import Progress  # noqa: E402
from cfad_core.data.split import stratified_split  # noqa: E402
from cfad_core.data.tables import Tables  # noqa: E402

_JUDGED, _DRAWS = 20_000, 4
_IDENTIFIED = [name for name, family in FAMILIES.items() if family.identified]


def score_of(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Centre, scale and the principal directions that hold 90 % of the variance of rows (n, m)."""
    centre, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-9)
    values, vectors = np.linalg.eigh(np.cov(((rows - centre) / scale).T))
    kept = np.cumsum(values[::-1]) / values.sum() <= 0.9
    return centre, scale, vectors[:, ::-1][:, kept]


def measure(number: int, sizes: list[int]) -> list[tuple[int, float, float, float]]:
    """By size: how far two halves are apart, how far their mean is from the truth, and seconds a model takes."""
    world = draw_world(number, _IDENTIFIED[number % len(_IDENTIFIED)])
    table, _ = world.people(max(sizes), seed=1)
    people, twins = world.people(_JUDGED, seed=0)
    config = AuditConfig(test_share=0.05, seed=number)
    found = []
    for size in sizes:
        data = prepare(Tables.of(table.head(size)), ROLES, config)
        here, there = (encode_people(data.encoding, some) for some in (people, twins))
        centre, scale, directions = score_of(data.normal[:, 1:])

        def score(rows: Floats, parts: tuple[Floats, Floats, Floats] = (centre, scale, directions)) -> Floats:
            z = (rows[:, 1:] - parts[0]) / parts[1]
            total: Floats = ((z - z @ parts[2] @ parts[2].T) ** 2).sum(axis=1)
            return total

        threshold = np.quantile(score(data.normal), 0.95)
        flagged = score(here) > threshold
        truth = float((flagged != (score(there) > threshold)).mean())
        learner = Learner.prepare(data.train, columns_of(data), config.discovery, config.knowledge, Progress())
        start = learner.learn(None, number, Progress())[1]
        began, ratios = time.process_time(), []
        for half in stratified_split(data.train[:, 0], 0.5, np.random.default_rng(number)):
            model = learner.learn(half, number, Progress(), start)[0]
            moved = [score(model.twins(here, draw)) > threshold for draw in range(_DRAWS)]
            ratios.append(float(np.mean([flagged != one for one in moved])))
        took = (time.process_time() - began) / 2.0
        found.append((size, abs(ratios[0] - ratios[1]), abs(float(np.mean(ratios)) - truth), took))
    return found


def main() -> None:
    """Print the means over worlds."""
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    sizes = [size for size in (6_250, 12_500, 25_000, 50_000, 100_000, 200_000) if size <= most]
    every = np.array([measure(300 + number, sizes) for number in range(worlds)])  # (worlds, sizes, 4)
    print("| rows | halves apart | error of their mean | seconds a half |\n|---|---|---|---|")
    for size, apart, error, seconds in every.mean(axis=0):
        print(f"| {size:,.0f} | {apart:.4f} | {error:.4f} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
