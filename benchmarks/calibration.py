"""Does the 90 % interval hold the truth in 90 % of the cases? On worlds whose counterfactuals are known.

    python benchmarks/calibration.py --worlds 30 --out calibration.json

Each world is a random structural model with a root S: 6 to 12 variables, mean degree 1 to 4, noise of unequal spread,
500 to 12,000 rows (a quarter of them held out, as in any audit without a test table), mechanisms cos, tanh, linear, and
"mixed": numbers in units of their own, yes/no columns and categories of three, both cut from a latent number whose
noise the counterfactual keeps. An audit sees the table alone; the truth about its detectors, at their thresholds, is
counted on 20,000 new people in both worlds.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.apps.cli.output import TerminalProgress, aligned
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import encode_people
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.progress import Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.densities import distances
from cfad_core.runs.tasks import Task, run_many

MECHANISMS = ("cos", "tanh", "linear", "mixed")
METHODS = ("pca", "iforest", "ae", "cfad", "twin")
SIZES = (500, 12_000)
_JUDGES = 20_000  # new people that the truth is counted on
_LEVELS = np.array(["low", "middle", "high"])


@dataclass(frozen=True)
class World:
    """``x_i = sum_j weights[j, i] f(x_j) + u_i``, in the order of the variables; S is the first.

    Attributes
    ----------
    kinds : ``number``, ``binary`` (is x_i > 0?) or ``category`` (three levels); the last two act by their level
    units : that numbers are written in
    """

    mechanism: str
    weights: Floats
    spread: Floats
    share: float
    kinds: tuple[str, ...]
    units: Floats

    @staticmethod
    def draw(mechanism: str, rng: np.random.Generator) -> World:
        """A random one."""
        d, degree = int(rng.integers(6, 13)), float(rng.uniform(1.0, 4.0))
        sizes = (
            rng.uniform(0.5, 1.0, (d, d)) * rng.choice([-1.0, 1.0], (d, d)) * (0.8 if mechanism == "linear" else 1.0)
        )
        weights = np.triu(rng.random((d, d)) < degree / (d - 1), k=1) * sizes
        weights[0, 3::3] = sizes[0, 3::3]  # S acts on every third variable at least
        kinds, units = ("number",) * d, np.ones(d)
        if mechanism == "mixed":
            kinds = ("number", *(("number", "binary", "number", "category")[i % 4] for i in range(1, d)))
            units = 10.0 ** rng.uniform(-1.0, 3.0, d)
        return World(mechanism, weights, rng.uniform(0.8, 1.2, d), float(rng.uniform(0.35, 0.65)), kinds, units)

    def people(self, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """People, and their twins."""
        s = np.where(rng.random(n) < self.share, 1.0, -1.0)
        noise = rng.standard_normal((n, len(self.weights))) * self.spread
        return self._table(self._solve(s, noise)), self._table(self._solve(-s, noise))

    def _solve(self, s: Floats, noise: Floats) -> Floats:
        x, sent = noise.copy(), np.zeros_like(noise)
        x[:, 0] = sent[:, 0] = s
        for i in range(1, x.shape[1]):
            latent = sent @ self.weights[:, i] + noise[:, i]
            if self.kinds[i] == "number":
                x[:, i], sent[:, i] = latent, self._f(latent)
            else:
                level = np.sign(latent) if self.kinds[i] == "binary" else np.digitize(latent, [-0.7, 0.7]) - 1.0
                x[:, i] = sent[:, i] = level
        return x

    def _f(self, x: Floats) -> Floats:
        if self.mechanism == "linear":
            return x
        return 3.0 * np.cos(x + 1.0) if self.mechanism == "cos" else 2.0 * np.tanh(x)

    def _table(self, x: Floats) -> pd.DataFrame:
        columns: dict[str, Any] = {"S": np.where(x[:, 0] > 0.0, "b", "a")}
        for i in range(1, x.shape[1]):
            if self.kinds[i] == "number":
                columns[f"X{i}"] = x[:, i] * self.units[i]
            elif self.kinds[i] == "binary":
                columns[f"X{i}"] = np.where(x[:, i] > 0.0, "yes", "no")
            else:
                columns[f"X{i}"] = _LEVELS[(x[:, i] + 1.0).astype(np.intp)]
        return pd.DataFrame(columns)


def measure(progress: Progress, number: int, worlds: int, graphs: int) -> list[dict[str, Any]]:
    """Audit one world; a row for each method with the truth and its interval."""
    rng = np.random.default_rng([number, 2026])
    mechanism = MECHANISMS[number % len(MECHANISMS)]
    place = (number * 7 % worlds + rng.random()) / worlds  # every size in turn, whatever the mechanism
    n = round(SIZES[0] * (SIZES[1] / SIZES[0]) ** place)
    world = World.draw(mechanism, rng)
    table, _ = world.people(n, rng)
    config = AuditConfig(methods=METHODS, seed=number, subsamples=graphs)
    result = run_audit(table, ColumnRoles("S", groups=("a", "b")), config, progress)
    here, there = (encode_people(result.encoding, people) for people in world.people(_JUDGES, rng))
    about = {"world": number, "mechanism": mechanism, "rows": n, "variables": len(world.weights)}
    return [about | _row(result, method, here, there) for method in METHODS]


def _row(result: AuditResult, method: str, here: Floats, there: Floats) -> dict[str, Any]:
    report, detector = result.report(method), result.detectors[method]
    threshold = report.threshold
    score, score_there = score_people(detector, here), score_people(detector, there)
    flagged, flagged_there = score > threshold, score_there > threshold
    groups = (here[:, 0] < 0.0, here[:, 0] > 0.0)
    truth = {
        "changing_ratio": float((flagged != flagged_there).mean()),
        "flag_rate_shift": float(flagged_there.mean() - flagged.mean()),
        "flag_rate_difference": float(abs(flagged[groups[0]].mean() - flagged[groups[1]].mean())),
        "distance": max(distances(score[rows], score_there[rows]).kolmogorov_smirnov for rows in groups),
    }
    found = report.intervals
    assert found is not None
    intervals = {name: getattr(found, name) for name in truth}
    return {
        "method": method,
        "truth": truth,
        "low": {name: one.low for name, one in intervals.items()},
        "high": {name: one.high for name, one in intervals.items()},
        "ratio": report.metrics.changing_ratio,
        "model_error": report.model_error(threshold),
    }


def table_of(rows: list[dict[str, Any]], name: str = "changing_ratio") -> str:
    """Coverage by mechanism and size, for each method and for all."""
    kinds = {
        "all worlds": rows,
        **{mechanism: [row for row in rows if row["mechanism"] == mechanism] for mechanism in MECHANISMS},
        "under 1,500 rows": [row for row in rows if row["rows"] < 1500],
        "1,500 to 5,000 rows": [row for row in rows if 1500 <= row["rows"] < 5000],
        "5,000 rows and more": [row for row in rows if row["rows"] >= 5000],
    }
    lines = [[name, "worlds", *METHODS, "all methods", "too low", "too high", "mean width"]]
    for kind, chosen in kinds.items():
        if not chosen:
            continue
        below = [row["truth"][name] > row["high"][name] for row in chosen]
        above = [row["truth"][name] < row["low"][name] for row in chosen]
        held = ~(np.array(below) | np.array(above))
        own = [held[[row["method"] == method for row in chosen]] for method in METHODS]
        width = np.mean([row["high"][name] - row["low"][name] for row in chosen])
        counts = [len(own[0]), *(f"{part.sum()} of {len(part)}" for part in own), f"{held.mean():.1%}"]
        lines.append([kind, *map(str, [*counts, sum(below), sum(above)]), f"{width:.3f}"])
    return aligned(lines)


def main() -> None:
    """Measure, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="number of the first world; others are other worlds")
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.worlds)
    tasks = [
        Task("benchmarks.calibration:measure", {"number": k, "worlds": options.worlds, "graphs": options.graphs})
        for k in numbers
    ]
    with TerminalProgress() as progress:
        rows = [row for found in run_many(tasks, options.workers, progress=progress) for row in found]
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for name in ("changing_ratio", "flag_rate_shift", "flag_rate_difference", "distance"):
        print(table_of(rows, name), end="\n\n")


if __name__ == "__main__":
    main()
