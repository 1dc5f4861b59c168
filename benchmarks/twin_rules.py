"""Mean, max or min of a person's and their twin's score: the measurements behind the default of twin scoring.

python benchmarks/twin_rules.py [--seeds 0 1 2 3 4]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core import ColumnRoles, generate_synthetic, preset, run_audit
from cfad_core.core.config import TwinRule
from cfad_core.detectors.protocol import score_people
from cfad_core.detectors.twin import twin_score
from cfad_core.evaluation.outcomes import PAPER_QUANTILES, Outcomes, ScoreCurve

RULES: tuple[TwinRule, ...] = ("mean", "max", "min")


def main() -> None:
    """Print, for each rule, the mean over seeds at each of the paper's quantiles, judged by the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    found: dict[str, list[tuple[float, Outcomes]]] = {rule: [] for rule in RULES}
    for seed in parser.parse_args().seeds:
        data = generate_synthetic(seed)
        result = run_audit(
            data.train,
            ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1"),
            preset("fast", seed=seed, subsamples=0),
            test=data.test,
            test_counterfactual=data.test_counterfactual,
        )
        base, scores = result.detectors["cfad"], result.scores["cfad"]
        here, there = np.split(scores.train, 2)
        truth = result.people.truth
        assert truth is not None
        truth_score, truth_twin = score_people(base, truth), score_people(base, result.model.twins(truth))
        for rule in RULES:
            factual = twin_score([scores.factual, scores.counterfactual], rule)
            judged = twin_score([truth_score, truth_twin], rule)
            thresholds = np.quantile(twin_score([here, there], rule), PAPER_QUANTILES)
            curve = ScoreCurve(factual, judged, result.people.is_anomaly)
            found[rule].append((curve.auc_pr or 0.0, curve.at(thresholds)))
    for rule in RULES:
        print(f"{rule}: AUC-PR {np.mean([pr for pr, _ in found[rule]]):.3f}")
        for k, quantile in enumerate(PAPER_QUANTILES):
            f1 = np.mean([at.macro_f1[k] for _, at in found[rule]])
            ratio = np.mean([at.changing_ratio[k] for _, at in found[rule]])
            print(f"  quantile {quantile:<6} Macro-F1 {f1:.3f}  changing ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
