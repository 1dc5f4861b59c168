"""Phase One: the audit's own causal model, and those that judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.audit.fitting import known_methods
from cfad_core.audit.prepare import AuditRows
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.order_search import LearnedGraph
from cfad_core.causal.learning import STAGE as MECHANISMS
from cfad_core.causal.learning import CausalModel, Learner, learn_additive
from cfad_core.causal.subsampling import learn_from_halves
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.progress import Progress, Renamed, Silent
from cfad_core.data.split import stratified_split
from cfad_core.detectors.registry import needed

JUDGE = "judge: "  # before the stages of the paper's independent causal model
LEAST_JUDGES = 2  # where uncertainty is not measured: the two halves of one split


@dataclass(frozen=True)
class PhaseOne:
    """The audit's own causal model, and how others are learned.

    Attributes
    ----------
    learner : None in the paper's way
    found : the graph that searches on parts of the rows start from
    judge : in the paper's way, the model of the rows that the own one did not learn from
    knows_truth : whether the true twins are known
    """

    model: CausalModel
    learner: Learner | None
    found: LearnedGraph | None
    judge: AdditiveModel | None
    knows_truth: bool

    def tuning_model(self, config: AuditConfig, progress: Progress) -> CausalModel | None:
        """A model of half of the rows, which a detector may choose its settings by, if one does; it judges nobody."""
        if self.learner is None or not config.detector.closeness_weights or "cfad" not in needed(known_methods(config)):
            return None
        rows, _ = stratified_split(self.learner.x[:, 0], 0.5, np.random.default_rng([config.seed, 9]))
        return self.learner.learn(rows, config.seed, Silent(progress, MECHANISMS), self.found)[0]

    def judges(self, config: AuditConfig, progress: Progress) -> list[CausalModel]:
        """Models that the detectors do not know, to judge them by."""
        if self.learner is None:
            return [] if self.judge is None else [self.judge]
        wanted = config.subsamples or (0 if self.knows_truth else LEAST_JUDGES)
        sensitive, seed = self.learner.x[:, 0], config.seed
        splits = [stratified_split(sensitive, 0.5, np.random.default_rng([seed, 2, k])) for k in range(wanted // 2)]
        return list(learn_from_halves(self.learner, self.found, splits, seed, progress))


def learn_causes(data: AuditRows, config: AuditConfig, progress: Progress) -> PhaseOne:
    """The own model, from all training rows; in the paper's way from half of them, unless the truth is known."""
    columns, knows_truth = columns_of(data), data.truth is not None
    if config.discovery.mode == "joint":
        learner = Learner.prepare(data.train, columns, config.discovery, config.knowledge, progress)
        model, found = learner.learn(None, config.seed, progress)
        return PhaseOne(model, learner, found, None, knows_truth)

    def learn(rows: Floats, seed: int, progress: Progress) -> AdditiveModel:
        return learn_additive(rows, columns, config.discovery, config.knowledge, seed, progress)

    if knows_truth:
        return PhaseOne(learn(data.train, config.seed, progress), None, None, None, knows_truth)
    own, other = stratified_split(data.train[:, 0], 0.5, np.random.default_rng([config.seed, 1]))
    mine = learn(data.train[own], config.seed, progress)
    judge = learn(data.train[other], config.seed + 1, Renamed(progress, JUDGE))
    return PhaseOne(mine, None, None, judge, knows_truth)


def columns_of(data: AuditRows) -> Columns:
    """What the causal model may know of the columns."""
    encoding = data.encoding
    attributes = dict(zip(encoding.attribute_names, encoding.states.sizes, strict=True))
    return Columns(
        encoding.names,
        encoding.sensitive,
        encoding.column_variables,
        encoding.variable_kinds,
        encoding.marks,
        comparable_units=data.comparable_units,
        rows_were_selected=data.rows_were_selected,
        attributes=attributes if encoding.states.count > 2 else {},
    )
