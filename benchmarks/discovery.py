"""How well and how fast the order search finds known graphs, called directly: no twins, no detectors.

    OMP_NUM_THREADS=1 python benchmarks/discovery.py recovery --seeds 5 --rows 2000 12000
    OMP_NUM_THREADS=1 python benchmarks/discovery.py worlds --first 0 --worlds 60 --least-rows 2000
    OMP_NUM_THREADS=1 python benchmarks/discovery.py speed

``recovery``: the worlds of ``graph_recovery.py``, each column on a scale of its own. ``worlds``: the harsher ones of
``worlds.py``, those that audits can know. ``speed``: one graph, and 20 more from halves of the rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.graph_recovery import WORLDS, rescale
from benchmarks.graph_recovery import draw_world as draw_plain_world
from benchmarks.worlds import FAMILIES, LABEL, SENSITIVE, World, draw_world
from cfad_core.causal.discovery.order_search import LearnedGraph, OrderSearch, VariableKind
from cfad_core.causal.graph import descendants, structural_hamming_distance
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.progress import Progress

HALVES = 20


def search_of(cells: Floats, kinds: Sequence[VariableKind]) -> OrderSearch:
    """A search that knows that the first variable is a root, and nothing else."""
    v = cells.shape[1]
    allowed = ~np.eye(v, dtype=np.bool_)
    allowed[:, 0] = False
    return OrderSearch.prepare(cells, kinds, allowed, np.zeros((v, v), dtype=np.bool_), Progress())


def cells_of(table: pd.DataFrame) -> tuple[Floats, list[VariableKind]]:
    """Cells (n, v) and kinds: text and numbers with two values are categories."""
    columns: list[Floats] = []
    kinds: list[VariableKind] = []
    for name in table:
        column = table[name]
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if is_number and column.nunique() > 2:
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
            kinds.append("number")
        else:
            codes = pd.factorize(column, sort=True, use_na_sentinel=False)[0]
            columns.append(codes.astype(np.float64))
            kinds.append("category")
    return np.column_stack(columns), kinds


def recovery(options: argparse.Namespace) -> None:
    """Mean structural Hamming distance in the worlds of ``graph_recovery.py``."""
    print("world   rows  SHD  open  skeleton  reach  seconds")
    for world in options.kinds:
        for rows in options.rows:
            found = [_recover(world, rows, seed) for seed in range(options.seeds)]
            print(f"{world:7} {rows:5}", *(f"{mean:5.2f}" for mean in np.mean(found, axis=0)), flush=True)


def _recover(world: str, rows: int, seed: int) -> tuple[float, ...]:
    """Distance; the same not counting directions that the data leave open; of skeletons; errors in what S reaches."""
    x, truth = draw_plain_world(world, rows, seed)
    x = rescale(x, "range")
    kinds: list[VariableKind] = ["number" if len(np.unique(column)) > 2 else "category" for column in x.T]
    x[:, 0] = x[:, 0] > 0.0
    start = time.process_time()
    graph = search_of(x, kinds).learn(None, seed, Progress())
    seconds = time.process_time() - start
    is_open = (np.minimum(graph.direction, graph.direction.T) > 0.1) & (truth | truth.T)
    settled = np.where(is_open, truth, graph.edges)
    both = (truth | truth.T, graph.edges | graph.edges.T)
    reach = descendants(truth, 0) ^ descendants(graph.edges, 0)
    return (
        structural_hamming_distance(graph.edges, truth),
        structural_hamming_distance(settled, truth),
        structural_hamming_distance(*both),
        len(reach),
        seconds,
    )


def worlds(options: argparse.Namespace) -> None:
    """Precision and recall of edges, skeletons and what S reaches, by family."""
    records: list[dict[str, Any]] = []
    for number in range(options.first, options.first + options.worlds):
        family = options.families[number % len(options.families)]
        world = draw_world(number, family)
        if not world.identified or world.rows < options.least_rows:
            continue
        records.append(_known(world, number, options.verbose))
    print("family        worlds  edges        skeleton     reach        seconds")
    names = [*dict.fromkeys(record["family"] for record in records), "all"]
    for name in names:
        some = [record for record in records if name in (record["family"], "all")]
        print(f"{name:12} {len(some):7} ", *(_shares(some, part) for part in ("edges", "skeleton", "reach")), end=" ")
        print(f"{np.mean([record['seconds'] for record in some]):7.2f}", flush=True)


def _known(world: World, number: int, verbose: bool) -> dict[str, Any]:
    names = list(world.graph.columns)
    cells, kinds = cells_of(world.table.drop(columns=LABEL)[names])
    start = time.process_time()
    graph = search_of(cells, kinds).learn(None, number, Progress())
    seconds = time.process_time() - start
    truth = world.graph.to_numpy()
    reached: Bools = np.isin(np.array(names), list(world.reached))
    found = np.zeros(len(names), dtype=np.bool_)
    found[list(descendants(graph.edges, 0))] = True
    record = {
        "family": world.family,
        "edges": _counts(truth, graph.edges),
        "skeleton": _counts(np.triu(truth | truth.T), np.triu(graph.edges | graph.edges.T)),
        "reach": _counts(reached, found),
        "seconds": seconds,
    }
    if verbose:
        _tell(world, graph, record)
    return record


def _tell(world: World, graph: LearnedGraph, record: dict[str, Any]) -> None:
    names, truth = list(world.graph.columns), world.graph.to_numpy()
    kinds = {SENSITIVE: "group", **world.kinds}
    print(f"world {world.number} {world.family} {world.rows} rows, {record['seconds']:.1f} s")
    for j, i in np.argwhere(truth | graph.edges):
        if truth[j, i] != graph.edges[j, i]:
            what = "reversed" if truth[i, j] else ("extra" if graph.edges[j, i] else "missing")
            if what == "missing" and graph.edges[i, j]:
                continue
            gain, share = graph.gains[j, i], graph.direction[j, i]
            print(f"  {what:9} {names[j]} ({kinds[names[j]]}) -> {names[i]} ({kinds[names[i]]})", end=" ")
            print(f"gain {gain:.4f} direction {share:.2f}" if graph.edges[j, i] else "")


def _counts(true: Bools, found: Bools) -> tuple[int, int, int]:
    return int(true.sum()), int(found.sum()), int((true & found).sum())


def _shares(records: Iterable[dict[str, Any]], part: str) -> str:
    true, found, both = np.sum([record[part] for record in records], axis=0)
    return f"{both / max(found, 1):.3f} {both / max(true, 1):.3f} "


def speed(options: argparse.Namespace) -> None:
    """Seconds of processor time: bases, one graph, 20 halves."""
    for rows, v in ((12_000, 12), (12_000, 20), (2_000, 55), (300, 20)):
        cells, kinds = _draw_large(rows, v, options.first)
        _time(f"{v} variables, {rows} rows", cells, kinds)
    _time("14 variables, 12000 rows, 8 categories of up to 41 levels", *_draw_adult_like(12_000, options.first))


def _time(name: str, cells: Floats, kinds: Sequence[VariableKind]) -> None:
    times = [time.process_time()]
    search = search_of(cells, kinds)
    times.append(time.process_time())
    graph = search.learn(None, 0, Progress())
    times.append(time.process_time())
    rng = np.random.default_rng(0)
    for seed in range(HALVES):
        half = np.sort(rng.choice(len(cells), len(cells) // 2, replace=False))
        search.learn(half, seed, Progress(), graph)
    times.append(time.process_time())
    bases, one, halves = np.diff(times)
    print(f"{name}: bases {bases:.2f} s, graph {one:.2f} s, {HALVES} halves {halves:.2f} s", end=" ")
    print(f"({halves / (bases + one):.1f} times one), {int(graph.edges.sum())} edges", flush=True)


def _draw_large(rows: int, v: int, seed: int) -> tuple[Floats, list[VariableKind]]:
    """About 1.3 edges a variable; one in four is a category, one in four skewed."""
    rng = np.random.default_rng([seed, v])
    kinds: list[VariableKind] = ["category"]
    signals = [rng.choice([-1.0, 1.0], rows)]
    columns = [(signals[0] > 0.0).astype(np.float64)]
    for k in range(1, v):
        causes = rng.choice(k, size=min(k, int(rng.integers(1, 3))), replace=False)
        shape = (np.tanh, np.sin, np.asarray)[rng.integers(3)]
        latent = sum(rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0]) * shape(signals[j]) for j in causes)
        latent = latent + rng.uniform(0.5, 1.5) * rng.standard_normal(rows)
        latent = (latent - latent.mean()) / latent.std()
        if k % 4 == 0:
            cells = np.digitize(latent, np.sort(rng.uniform(-1.2, 1.2, int(rng.integers(1, 6))))).astype(np.float64)
            kinds.append("category")
            signals.append((cells - cells.mean()) / max(float(cells.std()), 1e-9))
        else:
            cells = np.exp(latent) if k % 4 == 1 else latent
            kinds.append("number")
            signals.append(latent)
        columns.append(cells)
    return np.column_stack(columns), kinds


def _draw_adult_like(rows: int, seed: int) -> tuple[Floats, list[VariableKind]]:
    cells, kinds = _draw_large(rows, 14, seed)
    rng = np.random.default_rng(seed)
    for k, levels in ((3, 7), (4, 16), (5, 7), (6, 14), (7, 6), (8, 5), (9, 41)):
        latent = (cells[:, k] - cells[:, k].mean()) / cells[:, k].std() + 0.5 * rng.standard_normal(rows)
        shares = np.sort(rng.dirichlet(np.full(levels, 0.5)))
        cuts = np.quantile(latent, np.cumsum(shares)[:-1])
        cells[:, k], kinds[k] = np.digitize(latent, cuts), "category"
    cells[:, 10] = np.where(cells[:, 10] > np.quantile(cells[:, 10], 0.9), cells[:, 10], 0.0)
    return cells, kinds


def main() -> None:
    """Measure one thing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["recovery", "worlds", "speed"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 12_000])
    parser.add_argument("--kinds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--least-rows", type=int, default=2_000)
    parser.add_argument("--verbose", action="store_true", help="name each edge that is wrong")
    options = parser.parse_args()
    {"recovery": recovery, "worlds": worlds, "speed": speed}[options.what](options)


if __name__ == "__main__":
    main()
