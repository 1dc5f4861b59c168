"""One detector through every door: as a function, by files, by a command and as an ONNX model, the audit says the same.

    OMP_NUM_THREADS=1 python benchmarks/doors.py

Needs pyod and skl2onnx besides what the project installs: pip install pyod skl2onnx.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline

from cfad_core.apps.cli.doors import ask_command, write_batch
from cfad_core.audit.answering import answer_audit, scored
from cfad_core.audit.answers import Answers, match_answers, read_answers
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AskedDetector, Knowledge, preset
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.adapter import Meaning
from cfad_core.runs.onnx_model import read_form, score_with_model
from cfad_core.runs.onnx_use import OnnxUse, suggest_use

SAMPLE = Path(__file__).resolve().parents[1] / "assets" / "sample.csv"
ROLES = ColumnRoles(
    "gender", groups=("female", "male"), label="fraud", anomaly="yes", ignore=("claim_id", "reported_on", "remark")
)
NUMBERS = ["age", "working_hours", "monthly_income", "customer_years", "claims_last_year", "insured_value"]
NUMBERS += ["claim_amount"]
COMMAND = """
import pickle, sys
import pandas as pd
score, columns = pickle.load(open(sys.argv[1], "rb"))
rows = pd.read_csv(sys.argv[2])
found = score(rows[columns].to_numpy(dtype=float))
rows[["row_id"]].assign(score=found[:, 1] if found.ndim == 2 else found).to_csv(sys.argv[3], index=False)
"""


class Scorer:
    """A fitted pipeline, and how it scores."""

    def __init__(self, pipeline: Any, how: str) -> None:
        self.pipeline, self.how = pipeline, how

    def __call__(self, rows: pd.DataFrame) -> Floats:
        """The scores (n,) of rows."""
        found = getattr(self.pipeline, self.how)(rows[NUMBERS].to_numpy(dtype=np.float64))
        return np.asarray(found[:, 1] if found.ndim == 2 else found, dtype=np.float64)


def fitted(table: pd.DataFrame, trees: int = 100) -> dict[str, tuple[Scorer, Meaning]]:
    """Every detector by its name, and what a high score of it means."""
    x, y = table[NUMBERS].to_numpy(dtype=np.float64), (table["fraud"] == "yes").to_numpy()
    ecod = _ecod()
    made: dict[str, tuple[Any, str, Meaning]] = {
        "isolation forest": (IsolationForest(n_estimators=trees, random_state=0), "score_samples", "normal"),
        "LOF": (LocalOutlierFactor(novelty=True), "score_samples", "normal"),
        "ECOD": (ecod, "decision_function", "anomalous"),
        "gradient boosting": (GradientBoostingClassifier(random_state=0), "predict_proba", "anomalous"),
    }
    return {
        name: (Scorer(make_pipeline(SimpleImputer(), one).fit(x, y if how == "predict_proba" else None), how), meaning)
        for name, (one, how, meaning) in made.items()
        if one is not None
    }


def _ecod() -> Any:
    try:
        from pyod.models.ecod import ECOD
    except ImportError:
        print("pyod is not installed: ECOD is left out.")
        return None
    return ECOD()


def as_onnx(scorer: Scorer) -> bytes | None:
    """The pipeline as an ONNX file; None if there is no converter for it."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    for kind in (DoubleTensorType, FloatTensorType):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                last = scorer.pipeline.steps[-1][1]
                options = {id(last): {"zipmap": False}} if hasattr(last, "predict_proba") else None
                model = to_onnx(
                    scorer.pipeline,
                    initial_types=[("x", kind([None, len(NUMBERS)]))],
                    options=options,
                    target_opset={"": 17, "ai.onnx.ml": 3},
                ).SerializeToString()
            _try(model)
        except Exception:  # a converter that does not know it, in whatever way it says so
            continue
        return bytes(model)
    return None


def _try(model: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model)
        read_form(path)


# Doors: questions and a detector to answers


def by_function(pending: PendingAudit, scorer: Scorer, meaning: Meaning) -> Answers:
    """In this process."""
    return match_answers(pending.questions, scored(pending.questions, scorer), meaning, door="function")


def by_files(pending: PendingAudit, scorer: Scorer, meaning: Meaning, suffix: str = "csv") -> Answers:
    """One file out, one file in."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / f"to_score.{suffix}", Path(folder) / "scores.csv"
        write_batch(pending.questions, asked)
        rows = pd.read_csv(asked) if suffix == "csv" else pd.read_parquet(asked)
        rows[["row_id"]].assign(score=scorer(rows)).to_csv(answered, index=False)
        return read_answers(pending.questions, read_table(answered), meaning)


def by_parquet(pending: PendingAudit, scorer: Scorer, meaning: Meaning) -> Answers:
    """The same in another format."""
    return by_files(pending, scorer, meaning, "parquet")


def by_command(pending: PendingAudit, scorer: Scorer, meaning: Meaning) -> Answers:
    """A process of its own."""
    import pickle

    with tempfile.TemporaryDirectory() as folder:
        script, model = Path(folder) / "score.py", Path(folder) / "detector.pkl"
        script.write_text(COMMAND)
        model.write_bytes(pickle.dumps((getattr(scorer.pipeline, scorer.how), NUMBERS)))
        given = ask_command(pending.questions, f"{sys.executable} {script} {model} {{in}} {{out}}", "csv", 600.0)
        return read_answers(pending.questions, given, meaning, door="command")


def by_onnx(pending: PendingAudit, scorer: Scorer, meaning: Meaning) -> Answers | None:
    """A model in a process under limits; None if it cannot be exported."""
    model = as_onnx(scorer)
    if model is None:
        return None
    rows = pending.questions.batch.drop(columns=pending.questions.id_column)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model)
        form = read_form(path)
        use = suggest_use(form, rows, NUMBERS)
        lines = score_with_model(path, OnnxUse({form.inputs[0].name: tuple(NUMBERS)}, use.output, use.column), rows)
    return match_answers(pending.questions, lines, meaning, door="onnx")


DOORS: dict[str, Callable[[PendingAudit, Scorer, Meaning], Answers | None]] = {
    "function": by_function,
    "CSV files": by_files,
    "Parquet files": by_parquet,
    "command": by_command,
    "ONNX": by_onnx,
}


def main() -> None:
    """Print the changing ratio of every detector through every door."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    table = read_table(SAMPLE)
    print(f"{'detector':20}{'door':15}{'seed':>5}{'ratio':>20}{'difference':>12}{'largest score diff.':>21}{'s':>7}")
    for seed in parser.parse_args().seeds:
        known, asked = Knowledge(roots=("age",)), AskedDetector()
        pending = ask_audit(
            Tables.of(table), ROLES, preset("fast", methods=(), seed=seed, knowledge=known, asked=asked)
        )
        for name, (scorer, meaning) in fitted(table).items():
            first: tuple[float, Floats] | None = None
            for door, answer in DOORS.items():
                begin = time.perf_counter()
                answers = answer(pending, scorer, meaning)
                if answers is None:
                    print(f"{name:20}{door:15}{seed:5}{'not exportable':>20}")
                    continue
                ratio = answer_audit(pending, answers).report("detector").metrics.changing_ratio or 0.0
                first = first or (ratio, answers.scores)
                apart = float(np.abs(answers.scores - first[1]).max())
                took = time.perf_counter() - begin
                print(f"{name:20}{door:15}{seed:5}{ratio:20.15f}{ratio - first[0]:12.1e}{apart:21.1e}{took:7.1f}")


if __name__ == "__main__":
    main()
