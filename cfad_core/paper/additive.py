"""CFAD and Twin as the former engine had them: they learn from additive twins, and Twin scores with them.

The model that makes these twins and the one that judges by additive twins share no row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cfad_core.audit.basis import MethodScores
from cfad_core.audit.judging import judge_people
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer, encode_people
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats
from cfad_core.core.progress import Progress, Silent
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.cfad import fine_tune
from cfad_core.detectors.protocol import AnyDetector
from cfad_core.detectors.twin import twin_score
from cfad_core.paper.judges import TRAINING, FormerModel, learn_former
from cfad_core.paper.methods import CFAD_ADDITIVE, TWIN_ADDITIVE

STAGE = "additive twins"  # of the clock


@dataclass(frozen=True)
class AdditiveTwin:
    """Twin scoring: the mean of the scores of a person and of their additive twin."""

    base: Autoencoder
    model: FormerModel

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:
        """Scores (n,) of people (n, d); ``base_score`` is the person's own, if it is known."""
        here = self.base.anomaly_score(people[:, 1:]) if base_score is None else base_score
        return twin_score([here, self.base.anomaly_score(self.model.twins(people)[:, 1:])], "mean")

    def explain_people(self, people: Floats) -> Floats | None:  # noqa: ARG002 - of no use in the experiments
        """Nothing: these scores are counted, and never shown."""
        return None


def with_additive(
    result: AuditResult, judges: Sequence[CausalModel], train: pd.DataFrame, progress: Progress
) -> AuditResult:
    """An audit with the two methods beside its own.

    Parameters
    ----------
    result : an audit with a plain autoencoder, which is fine-tuned
    judges : the causal models that judged it
    train : the table that it learned from, normal people alone
    """
    started, quiet = time.perf_counter(), Silent(progress, "evaluation")
    model = learn_former(result, train, quiet, which=TRAINING)
    normal = encode_people(result.encoding, train)
    detectors = _fit(result, normal, model, quiet)
    took = round(time.perf_counter() - started, 3)
    scores = _score(result, judges, detectors, (normal, model.twins(normal)), quiet)
    return replace(
        result,
        detectors=result.detectors | detectors,
        scores=result.scores | scores,
        provenance=replace(result.provenance, seconds=result.provenance.seconds | {STAGE: took}),
    )


def _fit(result: AuditResult, normal: Floats, model: FormerModel, progress: Progress) -> dict[str, AnyDetector]:
    """The paper's fine-tuning: one twin of everybody, and nothing that brings scores together."""
    plain, settings = result.detectors["ae"], result.settings.replace(closeness_weights=(), twins_learned=1)
    assert isinstance(plain, Autoencoder)
    twins = model.twins(normal)[None, :, 1:]
    fair = fine_tune(plain, normal[:, 1:], twins, settings, seed=result.config.seed, progress=progress)
    return {CFAD_ADDITIVE: fair, TWIN_ADDITIVE: AdditiveTwin(fair, model)}


def _score(
    result: AuditResult,
    judges: Sequence[CausalModel],
    detectors: Mapping[str, AnyDetector],
    learned: tuple[Floats, Floats],
    progress: Progress,
) -> dict[str, MethodScores]:
    """As an audit scores its own methods; CFAD has its threshold from the people and the twins that it learned from."""
    people, scorer = result.people, Scorer(tuple(detectors), detectors, progress)
    judgement = judge_people(judges, people.factual, result.plan, scorer, result.config.seed, progress)
    here, there = (scorer(world) for world in learned)
    factual, twins = scorer(people.factual), scorer(people.counterfactual)
    truth = None if people.truth is None else scorer(people.truth)
    nothing = np.zeros((0, 1, len(people.judged)))
    return {
        method: MethodScores(
            train=np.concatenate([here[method], there[method]]) if method == CFAD_ADDITIVE else here[method],
            factual=factual[method],
            twins=twins[method][None],
            truth=None if truth is None else truth[method],
            judged=judgement.twin_scores.get(method, nothing),
        )
        for method in detectors
    }
