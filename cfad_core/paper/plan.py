"""The paper's whole experiment section: run it, resume it, keep what it found.

FOLDER/runs/NAME.json   what each run found, kept as soon as it is there; a second start does only what is missing
FOLDER/results.json     everything
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cfad_core import __version__
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_file
from cfad_core.core.progress import Progress
from cfad_core.paper.experiments import SENSITIVITY
from cfad_core.paper.methods import experimented, in_order
from cfad_core.paper.problems import JUDGED
from cfad_core.paper.published import PUBLISHED_SETS
from cfad_core.runs.tasks import Task, run_many

Row = dict[str, Any]

SCHEMA = 2
SEEDS = (0, 1, 2, 3, 4)
ORIGINALS = tuple(dataset for dataset in PUBLISHED_SETS if dataset != "synthetic-unfiltered")
"""Where DCFOD and FairOD are run as their own authors describe them."""

_LONGEST_FIRST = (
    "audit-synthetic",
    "audit-adult",
    "sensitivity",
    "generation",
    "original-synthetic",
    "audit-compas",
    "original-adult",
    "audit-synthetic-unfiltered",
    "original-compas",
)


@dataclass(frozen=True)
class Reproduction:
    """What the experiments found.

    Attributes
    ----------
    rows : one for each data set, seed and method, with the changing ratio by each judge; the baselines as the paper's
        authors ran them
    originals : the same for DCFOD and FairOD as their own authors describe them
    generation : distances from generated to true rows, one for each seed and model
    sensitivity : CFAD on the synthetic set, one for each seed, setting and value
    graphs, densities : of the first seed, by data set
    about : command, digest of the code, versions, machine, and the seconds of the last start
    """

    rows: list[Row]
    originals: list[Row]
    generation: list[Row]
    sensitivity: list[Row]
    graphs: dict[str, Any]
    densities: dict[str, Any]
    about: dict[str, Any]

    @property
    def datasets(self) -> list[str]:
        return [name for name in PUBLISHED_SETS if any(row["dataset"] == name for row in self.rows)]

    @property
    def methods(self) -> list[str]:
        """The methods that were run, in their usual order; an older record may have fewer than there are today."""
        return self.methods_on(*self.datasets)

    def methods_on(self, *datasets: str) -> list[str]:
        """The methods that were run on some of these data sets."""
        ran = {row["method"] for row in self.rows if row["dataset"] in datasets}
        return [method for method in in_order() if method in ran]

    def values(self, dataset: str, method: str, metric: str, *, original: bool = False) -> Floats:
        """A metric over the seeds."""
        rows = self.originals if original else self.rows
        found = [row[metric] for row in rows if row["dataset"] == dataset and row["method"] == method]
        return np.array([value for value in found if value is not None], dtype=np.float64)

    def mean_curve(self, dataset: str, method: str, judge: str | None = None) -> tuple[Floats, Floats]:
        """Mean changing ratio, by default by the leading judge, and Macro-F1 at each of the paper's quantiles, (9,)."""
        curves = [row["curve"] for row in self.rows if row["dataset"] == dataset and row["method"] == method]
        ratio, quality = (
            np.array([[point[name] for point in curve] for curve in curves], dtype=np.float64).mean(axis=0)
            for name in (judge or JUDGED[dataset], "macro_f1")
        )
        return ratio, quality

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **dataclasses.asdict(self)}

    @staticmethod
    def load(path: Path) -> Reproduction:
        """Read ``results.json``.

        Raises
        ------
        InvalidArtifactError
            If it is missing, damaged or of another version.
        """
        try:
            text = json.loads(path.read_text(encoding="utf-8"))
            if text.pop("schema") != SCHEMA:
                raise InvalidArtifactError(f"'{path}' is of another version of this program; run the benchmark again.")
            return Reproduction(**text)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArtifactError(f"Cannot read the benchmark in '{path}': {error}") from error


def reproduce(
    folder: Path,
    seeds: Sequence[int] = SEEDS,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run whatever is missing in the folder, then write ``results.json``.

    Parameters
    ----------
    workers : runs at once on this machine; as many as there are cores by default
    scheduler : address of a Dask cluster to run on instead
    """
    started = time.time()
    workers = (os.cpu_count() or 1) if workers is None else workers
    tasks, code = plan(seeds), _code_digest()
    keys = {name: _key(task, code) for name, task in tasks.items()}
    kept = {name: _kept(folder, name, keys[name]) for name in tasks}
    missing = [name for name, result in kept.items() if result is None]

    def keep(index: int, result: Any) -> None:
        name = missing[index]
        kept[name] = record = {"key": keys[name], "result": result}
        _write(folder / "runs" / f"{name}.json", record)

    (folder / "runs").mkdir(parents=True, exist_ok=True)
    run_many([tasks[name] for name in missing], workers, scheduler, progress, keep)
    about = {
        "command": "python -m cfad_core benchmark --all",
        "code": code,
        "seeds": list(seeds),
        "workers": workers,
        "runs": len(tasks),
        "resumed": len(tasks) - len(missing),
        "seconds": round(time.time() - started, 1),
        "versions": _versions(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
    }
    found = _assembled({name: (record or {})["result"] for name, record in kept.items()}, seeds[0], about)
    _write(folder / "results.json", found.to_dict())
    return found


def plan(seeds: Sequence[int]) -> dict[str, Task]:
    """Every run by name, the longest first, so that workers end together."""
    kinds = _kinds()
    return {
        f"{kind}-{seed}": Task(f"cfad_core.paper.experiments:{function}", {"seed": seed, **given})
        for kind, (function, given) in sorted(kinds.items(), key=lambda item: _LONGEST_FIRST.index(item[0]))
        for seed in seeds
    }


def _kinds() -> dict[str, tuple[str, dict[str, Any]]]:
    """By kind of run, what is called and with what besides the seed."""
    values = {setting: list(values) for setting, values in SENSITIVITY.items()}
    audits = {
        f"audit-{dataset}": ("audit_all", {"dataset": dataset, "methods": list(experimented(dataset))})
        for dataset in PUBLISHED_SETS
    }
    originals = {f"original-{dataset}": ("audit_originals", {"dataset": dataset}) for dataset in ORIGINALS}
    others: dict[str, tuple[str, dict[str, Any]]] = {
        "generation": ("generation_errors", {}),
        "sensitivity": ("sensitivity", {"values": values}),
    }
    return {**audits, **originals, **others}


def _assembled(results: Mapping[str, Any], first_seed: int, about: dict[str, Any]) -> Reproduction:
    def of(kind: str) -> list[Any]:
        return [result for name, result in results.items() if name.startswith(f"{kind}-")]

    first = {dataset: results[f"audit-{dataset}-{first_seed}"] for dataset in PUBLISHED_SETS}
    return Reproduction(
        rows=[row for result in of("audit") for row in result["rows"]],
        originals=[row for result in of("original") for row in result],
        generation=[row for result in of("generation") for row in result],
        sensitivity=[row for result in of("sensitivity") for row in result],
        graphs={dataset: result["graph"] for dataset, result in first.items()},
        densities={dataset: result["densities"] for dataset, result in first.items()},
        about=about,
    )


def _kept(folder: Path, name: str, key: str) -> dict[str, Any] | None:
    """An earlier start's run, if it is whole and was the same."""
    try:
        record: dict[str, Any] = json.loads((folder / "runs" / f"{name}.json").read_text(encoding="utf-8"))
        return record if record["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _key(task: Task, code: str) -> str:
    """Of a run and the code that it runs on: what another version found does not count."""
    given = json.dumps([task.function, dict(task.arguments), _versions(), code], sort_keys=True)
    return hashlib.sha256(given.encode()).hexdigest()


def _code_digest() -> str:
    """Of all that computes results."""
    digest = hashlib.sha256()
    for path in computing_modules():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def computing_modules() -> list[Path]:
    """The files that results depend on, but for those that only put them into words."""
    package = Path(__file__).resolve().parents[1]
    rooms = ("core", "data", "causal", "detectors", "evaluation", "audit")
    words = {"core/formats.py", "evaluation/verdict.py", "audit/notices.py"}
    paths = [path for room in rooms for path in sorted((package / room).rglob("*.py"))]
    own = [
        package / "paper" / name for name in ("additive.py", "experiments.py", "judges.py", "methods.py", "problems.py")
    ]
    return [path for path in [*paths, *own] if path.relative_to(package).as_posix() not in words]


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("torch", "numpy", "scipy", "pandas", "scikit-learn")
    return {"cfad": __version__, "python": platform.python_version()} | {name: version(name) for name in packages}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with staged_file(path) as staged:
        staged.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
