"""How many rows a second the commands score, beside the bare matrix products of the same networks, and in what memory.

python benchmarks/streaming.py [ROWS ...]

Everything runs on one thread, each command in a process of its own. The bare products are those of the two autoencoders
(float32, blocks of 1,024 rows, torch.mm alone): once for every row that the networks are really asked about, and once
as if all twins of everybody were scored, whether they differ or not.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # another benchmark's people are used
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402

from benchmarks.report_speed import COLUMNS, people  # noqa: E402
from cfad_core import AuditConfig, AuditResult, ColumnRoles, load_audit, run_audit, save_audit  # noqa: E402
from cfad_core.audit.scoring import SLICE, encode_people, score_encoded  # noqa: E402
from cfad_core.detectors import autoencoder  # noqa: E402
from cfad_core.detectors.protocol import BLOCK, twins_wanted  # noqa: E402

LEARNED = 4_000
COUNTED = 3 * SLICE  # rows by which it is counted how many the networks are asked about
DRAWS = 1 + 16  # twins of everybody: the one that is shown, and those by which outcomes change
FEW = 20_000  # rows where every twin is another row, which takes long
LARGE = 1_000_000  # rows of tables beyond which only what is fastest is shown
ROUNDS = 3  # of the products and the command in turn: the machine may be busy
_COMMAND = """
import sys
from cfad_core.apps.cli import main
code = main(sys.argv[1:])
print(open("/proc/self/status").read())  # its own peak: what the system says of a child begins with its parent's
sys.exit(code)
"""
COMMANDS = {
    "score, Parquet to Parquet, --no-reasons --no-history": ("score", "parquet", "--no-reasons", "--no-history"),
    "the same with reasons": ("score", "parquet", "--no-history"),
    "the same with reasons and history": ("score", "parquet"),
    "score, CSV to CSV, --no-reasons --no-history": ("score", "csv", "--no-reasons", "--no-history"),
    "counterfactuals, Parquet to Parquet": ("counterfactuals", "parquet"),
    "counterfactuals, CSV to CSV": ("counterfactuals", "csv"),
}


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    sizes = [int(text) for text in sys.argv[1:]] or [100_000, 1_000_000]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for world, table in (("few columns move", people), ("every number moves", all_move)):
            audit = folder / world.replace(" ", "_")
            result = make_audit(audit, table)
            asked, every = rows_asked(result, table(COUNTED, 1))
            print(f"\n{world}: a row means {asked:.2f} rows for the networks to score, of {every} if all were scored")
            rows = sizes[0] if table is people else min(sizes[0], FEW)
            compare(result, audit, write(folder, table, rows), rows, asked, every)
            if table is people:
                for rows in sizes:
                    show(audit, write(folder, table, rows), rows)


def make_audit(folder: Path, table: object) -> AuditResult:
    """A finished audit with the methods that are the default."""
    roles = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
    save_audit(run_audit(table(LEARNED, 0), roles, AuditConfig()), folder)  # type: ignore[operator]
    return load_audit(folder)


def all_move(n: int, seed: int) -> pd.DataFrame:
    """People whose every number the group moves; numbers repeat, so that all twins of a person differ."""
    table = people(n, seed)
    for k, name in enumerate(f"number_{k}" for k in range(COLUMNS - 4)):
        table[name] = np.round(table[name] + 0.3 * (1 + k % 3) * (table["group"] == "a"), 2)
    return table


def rows_asked(result: AuditResult, table: pd.DataFrame) -> tuple[float, int]:
    """How many rows the networks score for each row of a table, and how many if every twin counted."""
    counted, scored = [], autoencoder.squared_errors

    def counting(network: torch.nn.Sequential, inputs: np.ndarray) -> np.ndarray:
        counted.append(-(-len(inputs) // BLOCK) * BLOCK)
        return scored(network, inputs)

    autoencoder.squared_errors = counting
    score_encoded(result, encode_people(result.encoding, table), reasons=False)
    autoencoder.squared_errors = scored
    twins = twins_wanted(result.model, result.settings.twin_draws)
    return sum(counted) / len(table), (1 + DRAWS) * (2 + twins)


def compare(result: AuditResult, audit: Path, folder: Path, rows: int, asked: float, every: int) -> None:
    """The command and the products in turn."""
    products, command = [], []
    for _ in range(ROUNDS):
        products.append(bare_products(result))
        command.append(run(audit, folder, *COMMANDS["score, Parquet to Parquet, --no-reasons --no-history"])[0])
    bare, found = statistics.median(products), statistics.median(command)
    print(f"{'rows a second':>14}")
    print(f"{found:14,.0f}  score, Parquet to Parquet, without reasons and history ({rows:,} rows)")
    print(f"{bare / asked:14,.0f}  bare products of the rows that are asked about: ratio {found / (bare / asked):.2f}")
    print(f"{bare / every:14,.0f}  bare products of all twins: ratio {found / (bare / every):.2f}")


def bare_products(result: AuditResult) -> float:
    """Rows a second through the products of one autoencoder, as they are padded."""
    network = result.detectors["cfad"]
    assert isinstance(network, autoencoder.Autoencoder)
    layers = [layer for layer in (*network.encoder, *network.decoder) if isinstance(layer, torch.nn.Linear)]
    weights = [torch.rand(-(-one.in_features // 16) * 16, -(-one.out_features // 16) * 16) for one in layers]
    block, blocks, start = torch.rand(BLOCK, weights[0].shape[0]), 0, time.perf_counter()
    while time.perf_counter() - start < 3.0:
        values = block
        for weight in weights:
            values = torch.mm(values, weight)
        blocks += 1
    return blocks * BLOCK / (time.perf_counter() - start)


def write(folder: Path, table: object, rows: int) -> Path:
    """The same rows as CSV and as Parquet."""
    place = folder / f"{getattr(table, '__name__', '')}_{rows}"
    if not place.exists():
        place.mkdir()
        made = table(rows, 1)  # type: ignore[operator]
        made.to_parquet(place / "rows.parquet")
        if rows <= LARGE:
            made.to_csv(place / "rows.csv", index=False)
    return place


def show(audit: Path, folder: Path, rows: int) -> None:
    """Every command once."""
    print(f"\n{rows:,} rows x {COLUMNS} columns\n{'rows a second':>14}  {'peak memory':>12}")
    for label, typed in COMMANDS.items():
        if rows > LARGE and ("csv" in typed or "reasons" in label.split("--")[0]):
            continue
        speed, memory = run(audit, folder, *typed)
        print(f"{speed:14,.0f}  {memory / 1e6:9.2f} GB  {label}")


def run(audit: Path, folder: Path, command: str, ending: str, *options: str) -> tuple[float, int]:
    """Rows a second as the command says it, and its peak memory in kB."""
    given = [str(audit), str(folder / f"rows.{ending}"), "--out", str(folder / f"out.{ending}"), *options]
    printed = subprocess.run(
        [sys.executable, "-c", _COMMAND, command, *given], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    speed, memory = re.search(r"([\d,]+) rows a second", printed), re.search(r"VmHWM:\s+(\d+) kB", printed)
    assert speed is not None, printed
    assert memory is not None, printed
    return float(speed.group(1).replace(",", "")), int(memory.group(1))


if __name__ == "__main__":
    main()
