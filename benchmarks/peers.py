"""One method learns the causal graphs of given rows; ``graph_recovery.py`` runs this.

    PYTHON benchmarks/peers.py METHOD FOLDER SECONDS NAME [NAME ...]

Reads ``FOLDER/NAME.npz`` (``x``, its first column a root; ``comparable``), writes ``FOLDER/NAME.METHOD.json``. PYTHON
is that of the method's library: this file needs NumPy and nothing else. The library is imported once; every graph is
learned in a forked process that may use SECONDS of processor time.
"""

from __future__ import annotations

import importlib
import json
import logging
import multiprocessing
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Matrix = Any  # NumPy arrays, of whichever version the library needs
Edges = tuple[Matrix, Matrix]  # directed [cause, effect], and undirected (symmetric)
Learner = Callable[[Matrix, bool], Edges]

ROOT = 0  # column that has no causes
HANGING = 6.0  # times the limit, in wall time, after which a process that does not compute is ended
PC_LEVEL = 0.05  # the library's default
CAM_LEVEL, CAM_CAUSES = 0.01, 3  # the library has no defaults; these are of its documentation


def cfad() -> Learner:
    """The graph of an audit's causal model, with its defaults."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    learning = importlib.import_module("cfad_core.causal.learning")
    columns = importlib.import_module("cfad_core.causal.discovery.columns")
    config = importlib.import_module("cfad_core.core.config")
    progress = importlib.import_module("cfad_core.core.progress").Progress()

    def learn(x: Matrix, comparable: bool) -> Edges:
        names = tuple(str(k) for k in range(x.shape[1]))
        about = columns.Columns(names, names[ROOT], comparable_units=comparable)
        learner = learning.Learner.prepare(x, about, config.DiscoveryConfig(), config.Knowledge(), progress)
        return directed(learner.learn(None, 0, progress)[0].graph.edges)

    return learn


def gcastle(name: str, **settings: object) -> Callable[[], Learner]:
    """A gradient-based learner of gcastle, with its defaults but for ``settings``; it takes no knowledge."""

    def prepare() -> Learner:
        algorithms, torch = importlib.import_module("castle.algorithms"), importlib.import_module("torch")

        def learn(x: Matrix, _: bool) -> Edges:
            torch.set_num_threads(1)
            torch.manual_seed(0)
            learner = getattr(algorithms, name)(**settings)
            learner.learn(x)
            return directed(np.asarray(learner.causal_matrix))

        return learn

    return prepare


def pc(test: str) -> Callable[[], Learner]:
    """PC of causal-learn; it is given that nothing causes the root."""

    def prepare() -> Learner:
        search = importlib.import_module("causallearn.search.ConstraintBased.PC")
        knowledge = importlib.import_module("causallearn.utils.PCUtils.BackgroundKnowledge")
        node = importlib.import_module("causallearn.graph.GraphNode").GraphNode

        def learn(x: Matrix, _: bool) -> Edges:
            names = [f"V{k}" for k in range(x.shape[1])]
            known = knowledge.BackgroundKnowledge()
            for k, name in enumerate(names):
                if k != ROOT:
                    known.add_forbidden_by_node(node(name), node(names[ROOT]))
            found = search.pc(x, PC_LEVEL, test, background_knowledge=known, node_names=names, show_progress=False)
            return partly_directed(found.G.graph)

        return learn

    return prepare


def ges() -> Learner:
    """GES of causal-learn, with the Gaussian BIC; it takes no knowledge."""
    search = importlib.import_module("causallearn.search.ScoreBased.GES")
    return lambda x, _: partly_directed(search.ges(x)["G"].graph)


def boss() -> Learner:
    """BOSS of causal-learn, with the Gaussian BIC; it takes no knowledge."""
    search = importlib.import_module("causallearn.search.PermutationBased.BOSS")
    return lambda x, _: partly_directed(search.boss(x, verbose=False).graph)


def direct_lingam() -> Learner:
    """DirectLiNGAM of causal-learn; it is given that nothing causes the root."""
    lingam = importlib.import_module("causallearn.search.FCMBased.lingam")

    def learn(x: Matrix, _: bool) -> Edges:
        known = np.full((x.shape[1], x.shape[1]), -1)
        known[ROOT] = 0  # rows are effects here, whatever its documentation says
        found = lingam.DirectLiNGAM(prior_knowledge=known)
        found.fit(x)
        return directed(found.adjacency_matrix_.T)

    return learn


def cam_uv() -> Learner:
    """CAM-UV of causal-learn: additive models and tests of independence; it takes no knowledge."""
    camuv = importlib.import_module("causallearn.search.FCMBased.lingam.CAMUV")

    def learn(x: Matrix, _: bool) -> Edges:
        causes, _confounded = camuv.execute(x, CAM_LEVEL, CAM_CAUSES)
        weights = np.zeros((x.shape[1], x.shape[1]))
        for effect, found in enumerate(causes):
            weights[list(found), effect] = 1.0
        return directed(weights)

    return learn


METHODS: dict[str, Callable[[], Learner]] = {
    "cfad": cfad,
    "notears": gcastle("Notears"),
    "notears-sob": gcastle("NotearsNonlinear", model_type="sob"),
    "notears-mlp": gcastle("NotearsNonlinear"),
    "gae": gcastle("GAE"),
    "pc-fisherz": pc("fisherz"),
    "pc-rcit": pc("rcit"),
    "ges": ges,
    "boss": boss,
    "lingam": direct_lingam,
    "cam-uv": cam_uv,
}


def directed(weights: Matrix) -> Edges:
    """Edges where a weight is not zero."""
    edges = np.asarray(weights) != 0
    return edges, np.zeros_like(edges)


def partly_directed(marks: Matrix) -> Edges:
    """Edges of causal-learn's matrix: -1 is a tail at the row's variable, 1 an arrowhead there.

    An edge with two arrowheads (a conflict of PC) is as good as undirected: it names no cause.
    """
    tail, head = marks == -1, marks == 1
    return tail & head.T, (tail & tail.T) | (head & head.T)


def learn_one(learner: Learner, source: Path, target: Path, seconds: int) -> None:
    """In a process of its own: learn, and write the edges or what went wrong."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what the libraries draw from
    with np.load(source) as data:
        x, comparable = data["x"], bool(data["comparable"])
    start = time.process_time()
    try:
        arrows, lines = learner(x, comparable)
    except Exception as error:  # whatever a library raises is a result
        write(target, state="failed", reason=f"{type(error).__name__}: {error}"[:300])
        return
    used = time.process_time() - start
    write(target, state="done", seconds=used, directed=pairs(arrows), undirected=pairs(np.triu(lines)))


def pairs(edges: Matrix) -> list[list[int]]:
    """Positions of the edges."""
    return [[int(j), int(i)] for j, i in np.argwhere(edges)]


def write(target: Path, **result: object) -> None:
    """One result as JSON."""
    target.write_text(json.dumps(result), encoding="utf-8")


def main() -> None:
    """Learn every graph asked for."""
    method, folder, seconds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    logging.disable(logging.CRITICAL)
    learner = METHODS[method]()
    fork = multiprocessing.get_context("fork")
    for name in sys.argv[4:]:
        target = folder / f"{name}.{method}.json"
        process = fork.Process(target=learn_one, args=(learner, folder / f"{name}.npz", target, seconds))
        process.start()
        process.join(HANGING * seconds)
        if process.is_alive():
            process.kill()
            process.join()
            write(target, state="timed out", reason=f"{HANGING * seconds:.0f} s on the clock")
        elif process.exitcode == -signal.SIGXCPU:
            write(target, state="timed out", reason=f"{seconds} s of processor time")
        elif not target.exists():
            write(target, state="failed", reason=f"the process ended with code {process.exitcode}")


if __name__ == "__main__":
    main()
