"""How well an audit finds a known causal graph, beside the methods of gcastle and causal-learn on the same rows.

    python benchmarks/graph_recovery.py --make-venv DIR [--out results.json]
    python benchmarks/graph_recovery.py --peers-python DIR/bin/python [--rows 500 2000] [--methods cfad notears ...]

The other libraries are no requirement of this project: ``--make-venv`` installs them into a virtual environment of
their own (pinned), ``--peers-python`` uses one made before. Every graph is learned in a process of its own, on one
thread and within ``--seconds`` of processor time; what fails or does not end is shown as such. What was found:
docs/GRAPH_RECOVERY.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core.causal.graph import structural_hamming_distance
from cfad_core.core.arrays import Bools, Floats
from cfad_core.data.sets.synthetic import simulate

RUNNER = Path(__file__).resolve().parent / "peers.py"
PINS = (
    "gcastle==1.0.4",
    "causal-learn==0.1.4.8",
    "torch==2.13.0",  # an open range would fetch gigabytes of GPU libraries
    "pygam==0.9.1",  # of CAM-UV; it is what needs the older NumPy and SciPy
    "numpy==1.26.4",
    "scipy==1.11.4",
    "pandas==2.2.3",
    "scikit-learn==1.9.1",
)
VARIABLES = 10  # S and nine more
DEGREE = 2.5  # expected number of neighbours
HALF_RANGE = 3.0  # of an audit's columns that do not share a scale
COMMON_SPREAD = 3.0  # root mean square of the standard deviations of those that do
WORLDS = ("linear", "cos", "tanh", "mixed")
SCALES = ("raw", "range", "common")


class Reach(NamedTuple):
    """What a method is run on, for its cost: the largest table, and how many seeds (of tables beyond 2,000 rows)."""

    rows: int = 12_000
    seeds: int = 1_000_000
    seeds_of_large: int = 1_000_000


METHODS = {
    "cfad": Reach(),
    "notears": Reach(),
    "notears-sob": Reach(seeds_of_large=1),
    "notears-mlp": Reach(rows=500, seeds=1),
    "pc-fisherz": Reach(),
    "pc-rcit": Reach(seeds_of_large=1),
    "ges": Reach(),
    "boss": Reach(),
    "lingam": Reach(),
    "cam-uv": Reach(rows=500),
    "gae": Reach(rows=0),  # only with --full
}


@dataclass(frozen=True)
class Task:
    """Rows to learn a graph from."""

    world: str
    scale: str
    rows: int
    seed: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.world}-{self.scale}-{self.rows}-{self.seed}"


def draw_world(kind: str, rows: int, seed: int) -> tuple[Floats, Bools]:
    """Rows (n, d), S first, and the true edges; a seed's graph is the same for every kind and size.

    ``linear``, ``cos`` and ``tanh`` have one mechanism for all edges and noise of variance 1, which the search on a
    shared scale assumes. ``mixed`` is not like that: each edge has one of three mechanisms, each variable noise of its
    own size (0.5 to 2).
    """
    rng = np.random.default_rng(seed)
    weights, order = draw_graph(rng)
    edges = weights != 0.0
    which, size = rng.integers(0, 3, weights.shape), rng.uniform(0.5, 2.0, VARIABLES)
    noise = rng.standard_normal((VARIABLES, rows))
    s = rng.choice([-1.0, 1.0], rows)
    if kind == "cos":
        return np.asarray(simulate(weights, order, s, noise).T, dtype=np.float64), edges
    mechanisms: tuple[Callable[[Floats], Floats], ...] = (_same, _tanh, _cos)
    if kind == "mixed":
        noise *= size[:, None]
    else:
        which[:] = 0 if kind == "linear" else 1
    x = noise
    x[0] = s
    for i in order[1:]:
        for j in np.flatnonzero(edges[:, i]):
            x[i] += weights[j, i] * mechanisms[which[j, i]](x[j])
    return np.ascontiguousarray(x.T), edges


def _same(x: Floats) -> Floats:
    return x


def _tanh(x: Floats) -> Floats:
    return np.asarray(3.0 * np.tanh(x), dtype=np.float64)


def _cos(x: Floats) -> Floats:
    return np.asarray(3.0 * np.cos(x + 1.0), dtype=np.float64)


def draw_graph(rng: np.random.Generator) -> tuple[Floats, list[int]]:
    """Weights of an Erdos-Renyi graph whose first variable, S, is a root that causes something; and its order."""
    shape = (VARIABLES, VARIABLES)
    while True:
        order = np.concatenate([[0], 1 + rng.permutation(VARIABLES - 1)])
        edges = np.triu(rng.random(shape) < DEGREE / (VARIABLES - 1), k=1)
        values = rng.uniform(0.5, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
        if edges[0].any():
            weights = np.zeros(shape)
            weights[np.ix_(order, order)] = np.where(edges, values, 0.0)
            return weights, [int(i) for i in order]


def rescale(x: Floats, scale: str) -> Floats:
    """Columns but S as they are (``raw``), mapped to [-3, 3] each (``range``), or divided by one factor (``common``).

    In ``range``, units are not comparable; in the others they are.
    """
    if scale == "raw":
        return x
    low, high, spread = x.min(axis=0), x.max(axis=0), np.sqrt(x[:, 1:].var(axis=0).mean())
    mapped = x * (COMMON_SPREAD / spread)
    if scale == "range":
        mapped = (x - (low + high) / 2.0) / ((high - low) / (2.0 * HALF_RANGE))
    mapped[:, 0] = x[:, 0]
    return np.asarray(mapped, dtype=np.float64)


def rising(x: Floats, truth: Bools) -> float:
    """Share of true edges whose effect varies more than its cause: 1 gives the order away, 0.5 says nothing."""
    spread = x.var(axis=0)
    return float(np.mean([spread[i] > spread[j] for j, i in np.argwhere(truth)]))


def judge(found: dict[str, Any], truth: Bools) -> dict[str, int]:
    """Pairs of variables: joined as in truth, the other way round, joined or not joined wrongly.

    Arrows into S are removed from every method's graph. An undirected edge is right if the truth has it in either
    direction.
    """
    arrows, lines = np.zeros_like(truth), np.zeros_like(truth)
    for edges, key in ((arrows, "directed"), (lines, "undirected")):
        for j, i in found[key]:
            edges[j, i] = True
    lines |= lines.T
    joined_in_truth = truth | truth.T
    guess = arrows | (lines & (truth | ~joined_in_truth))
    guess[:, 0] = False
    joined = guess | guess.T
    same = (guess == truth) & (guess == truth).T
    counts = {
        "right": joined_in_truth & same,
        "reversed": joined & joined_in_truth & ~same,
        "extra": joined & ~joined_in_truth,
        "missing": joined_in_truth & ~joined,
    }
    result = {name: int(np.count_nonzero(np.triu(pairs, k=1))) for name, pairs in counts.items()}
    return result | {"shd": structural_hamming_distance(guess, truth)}


def make_venv(folder: Path) -> Path:
    """An environment with the other libraries, and its python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINS], check=True)
    return python


def versions(python: Path) -> dict[str, str]:
    """Of the other libraries, as installed."""
    names = [pin.split("==")[0] for pin in PINS]
    code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names}}}))"
    done = subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def run_method(
    method: str, python: Path, folder: Path, tasks: Sequence[Task], seconds: int
) -> Iterator[dict[str, Any]]:
    """What the method found, or why it did not, for each task."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [str(python), str(RUNNER), method, str(folder), str(seconds), *(task.name for task in tasks)]
    done = subprocess.run(
        command, env=os.environ | threads, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    last = (done.stderr.strip().splitlines() or [""])[-1]
    for task in tasks:
        file = folder / f"{task.name}.{method}.json"
        if file.exists():
            yield json.loads(file.read_text(encoding="utf-8"))
        else:
            yield {"state": "failed", "reason": f"code {done.returncode}: {last}"[:300]}


def reached(reach: Reach, task: Task) -> bool:
    """Whether a method is run on this task without ``--full``."""
    return task.rows <= reach.rows and task.seed < (reach.seeds if task.rows <= 2_000 else reach.seeds_of_large)


def summary(records: Sequence[dict[str, Any]]) -> list[str]:
    """Lines of the table: means over the seeds."""
    head = (
        "world",
        "scale",
        "rows",
        "method",
        "runs",
        "edges",
        "SHD",
        "right",
        "reversed",
        "extra",
        "missing",
        "seconds",
    )
    lines: list[tuple[str, ...]] = [head]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in head[:4]), []).append(record)
    for key, runs in groups.items():
        done = [run for run in runs if run["state"] == "done"]
        ended = f"{len(done)}/{len(runs)}"
        means: list[str] = []
        if done:
            names = ("edges", "shd", "right", "reversed", "extra", "missing", "seconds")
            means = [f"{np.mean([run[name] for run in done]):.1f}" for name in names]
        reasons = sorted({f"{run['state']}: {run['reason']}" for run in runs if run["state"] != "done"})
        lines.append((*map(str, key), ended, *(means or ["-"] * 7), *reasons))
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if k < 4 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=False))
        )
        + "".join(f"  {reason}" for reason in line[len(head) :])
        for line in lines
    ]


def distances(records: Sequence[dict[str, Any]], methods: Sequence[str]) -> list[str]:
    """Mean distances only, a column for each method."""
    most = len({record["seed"] for record in records})
    lines = [["world", "scale", "rows", "edges", "rising", *methods]]
    for world, scale, rows in dict.fromkeys((r["world"], r["scale"], r["rows"]) for r in records):
        runs = [r for r in records if (r["world"], r["scale"], r["rows"]) == (world, scale, rows)]
        worlds = list({r["seed"]: r for r in runs}.values())
        line = [world, scale, str(rows), f"{np.mean([r['edges'] for r in worlds]):.1f}"]
        line.append(f"{np.mean([r['rising'] for r in worlds]):.2f}")
        for method in methods:
            tried = [r for r in runs if r["method"] == method]
            found = [r["shd"] for r in tried if r["state"] == "done"]
            mean = f"{np.mean(found):.1f}" if found else ("none" if tried else "-")
            line.append(mean + "*" * (0 < len(found) < most) + "!" * (len(found) < len(tried)))
        lines.append(line)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def main() -> None:
    """Learn all graphs, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make-venv", type=Path, metavar="DIR", help="install the other libraries there, and use them")
    parser.add_argument("--peers-python", type=Path, metavar="PATH", help="python of an environment made before")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=[name for name in METHODS if METHODS[name].rows]
    )
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=WORLDS)
    parser.add_argument("--scales", nargs="+", choices=SCALES, default=SCALES[:2])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2_000, 12_000])
    parser.add_argument("--seeds", type=int, default=3, help="worlds of each kind")
    parser.add_argument("--seconds", type=int, default=300, help="processor time that one graph may take")
    parser.add_argument("--full", action="store_true", help="the slow methods on all sizes and seeds, too (hours)")
    parser.add_argument("--out", type=Path, help="write every run as JSON")
    options = parser.parse_args()
    needs_peers = set(options.methods) != {"cfad"}
    python = make_venv(options.make_venv) if options.make_venv else options.peers_python
    if needs_peers and python is None:
        parser.error("name the other libraries' python (--peers-python PATH), or have it made (--make-venv DIR)")

    tasks = [
        Task(world, scale, rows, seed)
        for world in options.worlds
        for scale in options.scales
        for rows in options.rows
        for seed in range(options.seeds)
    ]
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder, truths, hints = Path(name), dict[str, Bools](), dict[str, float]()
        for task in tasks:
            x, truths[task.name] = draw_world(task.world, task.rows, task.seed)
            x = rescale(x, task.scale)
            hints[task.name] = rising(x, truths[task.name])
            np.savez(folder / f"{task.name}.npz", x=x, comparable=task.scale != "range")
        for method in options.methods:
            chosen = [task for task in tasks if options.full or reached(METHODS[method], task)]
            start = time.perf_counter()
            used = Path(sys.executable) if method == "cfad" else python.absolute()
            results = list(run_method(method, used, folder, chosen, options.seconds))
            for task, found in zip(chosen, results, strict=True):
                truth = truths[task.name]
                record = asdict(task) | {"method": method, "edges": int(np.count_nonzero(truth))} | found
                record["rising"] = hints[task.name]
                records.append(record | (judge(found, truth) if found["state"] == "done" else {}))
            done = sum(result["state"] == "done" for result in results)
            print(f"{method}: {done} of {len(chosen)} graphs in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    records.sort(key=lambda record: (WORLDS.index(record["world"]), SCALES.index(record["scale"]), record["rows"]))
    print("\n".join(summary(records)))
    print("\nSHD alone; - not run, * fewer seeds, ! not every run ended")
    print("\n".join(distances(records, options.methods)))
    if options.out:
        ours = {name: metadata.version(name) for name in ("numpy", "scipy")}
        made = {"project": ours, "peers": versions(python) if needs_peers else {}}
        options.out.write_text(json.dumps({"versions": made, "runs": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
