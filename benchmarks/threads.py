"""What a second thread brings: training, scoring and linear algebra by size, on an idle machine and beside a neighbour.

python benchmarks/threads.py [SECONDS]

Every piece of work runs with one and with two threads in turn, alone and beside a process that keeps one core busy. The
table has milliseconds of wall time, the median of the turns, and how many milliseconds of all cores they took.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from cfad_core.core.arrays import Floats
from cfad_core.core.training import adam, dense_network, scoring_network

COLUMNS, CODE, BATCH, BLOCK = 20, 14, 256, 1024
WIDTHS = (64, 128, 160, 256, 512)
DCFOD = (500, 500, 2000)
Work = Callable[[], object]


def network(widths: list[int]) -> torch.nn.Sequential:
    """An autoencoder with these hidden layers on each side."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return dense_network([COLUMNS, *widths, CODE, *reversed(widths), COLUMNS], torch.nn.ReLU)


def training(widths: list[int], batch: int = BATCH) -> Work:
    """One step of Adam."""
    model, rows = network(widths), torch.from_numpy(numbers(batch, COLUMNS).astype(np.float32))
    optimiser = adam(model.parameters(), 1e-3)

    def step() -> None:
        loss = ((rows - model(rows)) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def scoring(widths: list[int]) -> Work:
    """One block of rows through the network."""
    run, rows = scoring_network(network(widths)), torch.from_numpy(numbers(BLOCK, COLUMNS).astype(np.float32))

    def score() -> None:
        with torch.inference_mode():
            run(rows)

    return score


def numbers(rows: int, columns: int) -> Floats:
    """Normal ones, always the same."""
    return np.random.default_rng(0).normal(size=(rows, columns))


def works() -> dict[str, Work]:
    """What is measured, by what it is called."""
    found: dict[str, Work] = {}
    for width in WIDTHS:
        found[f"training step, width {width}"] = training([width, width])
    found["training step, width 256, batch 2,048"] = training([256, 256], 2048)
    found["training step, DCFOD 500-500-2000"] = training(list(DCFOD))
    for width in WIDTHS:
        found[f"scoring 1,024 rows, width {width}"] = scoring([width, width])
    found["scoring 1,024 rows, DCFOD"] = scoring(list(DCFOD))
    small, large = numbers(20_000, 200), numbers(60, 60)
    found["covariance of 20,000 x 200"] = lambda: small.T @ small
    found["solving 60 x 60"] = lambda: np.linalg.solve(large, large)
    return found


def busy(stop: multiprocessing.synchronize.Event) -> None:
    """A neighbour: one thread that trains a network until it is told to stop."""
    torch.set_num_threads(1)
    step = training([128, 128])
    while not stop.is_set():
        for _ in range(20):
            step()


def turn(work: Work, threads: int, seconds: float) -> tuple[float, float]:
    """Milliseconds of wall time and of processor time that it takes once."""
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        work()
        count, start, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - start < seconds:
            work()
            count += 1
        return (time.perf_counter() - start) * 1e3 / count, (time.process_time() - used) * 1e3 / count


def measured(work: Work, seconds: float) -> list[tuple[float, float]]:
    """With one and with two threads, five turns of each."""
    turns: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(5):
        for threads, found in turns.items():
            found.append(turn(work, threads, seconds / 10.0))
    return [
        (statistics.median(t[0] for t in found), statistics.median(t[1] for t in found)) for found in turns.values()
    ]


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print("| ms wall (ms of all cores) | alone, 1 | alone, 2 | gain | beside a neighbour, 1 | 2 | gain |")
    print(f"|{'---|' * 7}")
    context = multiprocessing.get_context("spawn")
    for name, work in works().items():
        alone = measured(work, seconds)
        stop = context.Event()
        neighbour = context.Process(target=busy, args=(stop,))
        neighbour.start()
        time.sleep(5.0)  # until it has imported what it needs
        beside = measured(work, seconds)
        stop.set()
        neighbour.join()
        cells = []
        for found in (alone, beside):
            cells += [f"{wall:.2f} ({used:.2f})" for wall, used in found] + [f"{found[0][0] / found[1][0]:.2f} x"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
