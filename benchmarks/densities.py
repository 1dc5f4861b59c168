"""How well rules for the bandwidth draw densities that are known, and how long a picture of 1,000,000 people takes.

python benchmarks/densities.py [DRAWS]

Printed is the integrated squared error of each rule, over that of the best bandwidth there is for each sample: 1 is
perfect, and no rule can reach it. The mean over the draws.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.shapes import BothWorlds, score_shapes
from cfad_core.evaluation.smoothing import bandwidth, improved_sheather_jones, silverman, smoothed
from cfad_core.evaluation.tally import Tally

CELLS = 2048
SIZES = (30, 100, 1_000, 10_000)
World = tuple[Callable[[int], Floats], Callable[[Floats], Floats]]
RNG = np.random.default_rng(0)


def mixture(shares: list[float], means: list[float], deviations: list[float]) -> World:
    """Normal distributions, each with a share of the people."""

    def draw(n: int) -> Floats:
        part = RNG.choice(len(shares), n, p=shares)
        found: Floats = np.array(means)[part] + np.array(deviations)[part] * RNG.normal(size=n)
        return found

    def density(x: Floats) -> Floats:
        parts = zip(shares, means, deviations, strict=True)
        found: Floats = np.sum([share * norm.pdf(x, mean, deviation) for share, mean, deviation in parts], axis=0)
        return found

    return draw, density


WORLDS: dict[str, World] = {
    "normal, or log-normal on its log scale": mixture([1.0], [0.0], [1.0]),
    "two peaks": mixture([0.5, 0.5], [-2.0, 2.0], [0.6, 0.6]),
    "a small peak far away": mixture([0.9, 0.1], [0.0, 10.0], [1.0, 0.3]),
    "skewed": mixture([0.75, 0.25], [0.0, 1.5], [1.0, 1.0 / 3.0]),
    "narrow peaks on a wide one": mixture([0.5, 0.25, 0.25], [0.0, -1.0, 1.0], [1.0, 0.15, 0.15]),
    "one narrow peak on a wide one": mixture([0.1, 0.9], [0.0, 0.0], [1.0, 0.1]),
    "logarithm of an exponential": (lambda n: np.log(RNG.exponential(size=n)), lambda x: np.exp(x - np.exp(x))),
    "heavy tails (Student, 3)": (lambda n: RNG.standard_t(3, n), lambda x: student.pdf(x, 3)),
}


def main() -> None:
    """Print a row for each density and number of people."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{'density':40s} {'people':>7s} {'Silverman':>10s} {'improved':>9s} {'taken':>7s}")
    for name, world in WORLDS.items():
        for n in SIZES:
            errors = np.array([compare(*world, n) for _ in range(draws)])
            found = errors[:, :3].mean(axis=0) / errors[:, 3].mean()
            print(f"{name:40s} {n:7,} {found[0]:10.2f} {found[1]:9.2f} {found[2]:7.2f}")
    for n in (1_000, 1_000_000):
        print(f"a picture of two groups of {n:,} people and 20 twins each takes {1000.0 * picture(n):.0f} ms")


def compare(draw: Callable[[int], Floats], density: Callable[[Floats], Floats], n: int) -> list[float]:
    """The squared errors of Silverman's rule, the improved one, that which is taken, and the best bandwidth."""
    sample = draw(n)
    room = 0.25 * float(np.ptp(sample))
    edges = np.linspace(sample.min() - room, sample.max() + room, CELLS + 1)
    counts, step = np.histogram(sample, edges)[0].astype(np.float64), float(edges[1] - edges[0])
    true = density((edges[1:] + edges[:-1]) / 2.0)

    def error(width: float) -> float:
        return float((((smoothed(counts, width) / n / step) - true) ** 2).sum() * step)

    usual = silverman(counts, n)
    rules = [usual, improved_sheather_jones(counts, n) or usual, bandwidth(counts, n)]
    return [*map(error, rules), min(map(error, np.geomspace(usual / 30.0, 2.0 * usual, 40)))]


def picture(n: int) -> float:
    """Seconds for the shapes of two groups, whose scores are sorted already."""
    groups = {
        name: BothWorlds(Tally.of(np.exp(RNG.normal(size=n))), Tally.of(np.exp(RNG.normal(size=20 * min(n, 20_000)))))
        for name in ("a", "b")
    }
    start = time.perf_counter()
    score_shapes(groups, 5.0, log=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
