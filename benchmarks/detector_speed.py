"""How long each detector takes to learn and to score, by the number of rows.

python benchmarks/detector_speed.py [--rows 12000 48000] [--methods ocsvm dcfod ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.progress import Progress
from cfad_core.core.states import TWO_GROUPS
from cfad_core.detectors.protocol import AnyDetector, Fitting, TrainingRows, alike_by_variance, score_people
from cfad_core.detectors.registry import METHODS, RANK, module_of, needed, plain_methods

COLUMNS = 19


def rows_of(n: int) -> TrainingRows:
    """Invented people in a curved region, with twins a little to the side."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 8))
    x = np.cos(hidden @ rng.normal(size=(8, COLUMNS))) + 0.3 * rng.normal(size=(n, COLUMNS))
    names = [str(k) for k in range(COLUMNS)]
    group = rng.choice([-1.0, 1.0], n)
    return TrainingRows(x, np.column_stack([-group, x + 0.2]), group, alike_by_variance(x, names))


class Sideways:
    """A causal model that takes no time: twins are a little to the side, and all that people have is noise."""

    draws = True
    states = TWO_GROUPS

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        """A little to the side, and back from there; every draw a little further."""
        twins = x + 0.2 * (1 + draw) * np.sign(-x[:, :1])
        twins[:, 0] = -x[:, 0]
        return twins

    @property
    def drawn_columns(self) -> Bools:
        """Nowhere."""
        return np.zeros(0, dtype=np.bool_)

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:  # noqa: ARG002
        """The attributes themselves, and no levels."""
        return x[:, 1:].copy(), np.zeros((len(x), x.shape[1] - 1))


def main() -> None:
    """Print a line for each method and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[12_000, 48_000])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=[*plain_methods(), f"ae{RANK}"])
    options = parser.parse_args()
    for n in options.rows:
        rows, fitted = rows_of(n), dict[str, AnyDetector]()
        people = rows.people
        causes = Sideways()
        task = Fitting(AuditConfig(), {}, causes, rows, Progress(), causes.twins)
        for method in needed(options.methods):
            start = time.perf_counter()
            fitted[method] = module_of(method).fit(task.after(fitted))
            learned = time.perf_counter()
            score_people(fitted[method], people)
            print(
                f"{n:8} rows  {method:8} learns {learned - start:6.1f} s, scores {time.perf_counter() - learned:6.1f} s"
            )


if __name__ == "__main__":
    main()
