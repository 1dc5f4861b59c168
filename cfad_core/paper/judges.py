"""Three judges of the same detectors: the paper's additive twins, legal twins of other causal models, and the truth.

A changing ratio measures the twins as much as the detector. So every method is judged by each kind of twin, at the same
thresholds; none of the judges' models trained the detectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer, encode_people
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import learn_model
from cfad_core.core.arrays import Floats
from cfad_core.core.progress import Progress, Silent
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.kinds import kind_named
from cfad_core.data.split import stratified_split

ADDITIVE, TWINS, TRUTH = "changing_ratio_additive", "changing_ratio_twins", "changing_ratio_truth"
JUDGES = {ADDITIVE: "additive twins", TWINS: "judges", TRUTH: "truth"}
"""What people call the judges, by the key of their changing ratio."""

TRAINING, JUDGING = 0, 1  # the halves of the rows that additive models learn from
_STAGE = "evaluation"


@dataclass(frozen=True)
class Units:
    """From the columns of one encoding to those of another of the same table: column = (given - offset) / scale.

    Attributes
    ----------
    offset, scale : (d,)
    """

    offset: Floats
    scale: Floats

    @staticmethod
    def between(given: Encoding, wanted: Encoding) -> Units:
        """Encodings whose variables have the same levels and marks: they differ in offset and scale of numbers."""
        offset, scale = [0.0], [1.0]  # S is -1 and +1 in either
        for here, there in zip(given.variables, wanted.variables, strict=True):
            others = len(here.columns)
            if kind_named(here.kind).holds == "number":
                unit = there.seconds / here.seconds  # dates may count in days or in seconds
                offset.append((there.offset * unit - here.offset) / here.scale)
                scale.append(there.scale * unit / here.scale)
                others -= 1  # the mark of missing cells, if there is one
            offset += [0.0] * others
            scale += [1.0] * others
        return Units(np.array(offset), np.array(scale))

    def convert(self, x: Floats) -> Floats:
        """Rows (n, d) of the given encoding in the units of the wanted one."""
        return (x - self.offset) / self.scale

    def convert_back(self, x: Floats) -> Floats:
        """Rows (n, d) of the wanted encoding in the units of the given one."""
        return x * self.scale + self.offset


@dataclass(frozen=True)
class Judged:
    """One method's scores of people and of their twins.

    Attributes
    ----------
    twins : by judge, the scores of m people (m,) and of R twins of each (R, m); a judge that is unknown is not in it
    """

    twins: Mapping[str, tuple[Floats, Floats]]

    def ratios_at(self, threshold: float) -> dict[str, float | None]:
        """The changing ratio by every judge, None by one that is unknown."""
        found: dict[str, float | None] = dict.fromkeys(JUDGES)
        for judge, (here, there) in self.twins.items():
            found[judge] = float(((there > threshold) != (here > threshold)).mean())
        return found


def judge_methods(
    result: AuditResult, train: pd.DataFrame, truth: pd.DataFrame | None, progress: Progress
) -> dict[str, Judged]:
    """Every method of an audit by every judge.

    Parameters
    ----------
    train : the table that the audit learned from
    truth : the true twins of its test table, row by row, where they are known
    """
    people, quiet = result.people, Silent(progress, _STAGE)
    scorer = Scorer(tuple(result.scores), result.detectors, quiet)
    made = {ADDITIVE: learn_former(result, train, quiet).twins(people.factual)}
    if truth is not None:
        made[TRUTH] = encode_people(result.encoding, truth.iloc[people.row])
    scored = {judge: scorer(twins) for judge, twins in made.items()}
    found = {}
    for method, scores in result.scores.items():
        twins = {judge: (scores.factual, by_method[method][None]) for judge, by_method in scored.items()}
        if len(scores.judged):
            twins[TWINS] = scores.factual[people.judged], scores.judged[:, 0]
        found[method] = Judged(twins)
    return found


@dataclass(frozen=True)
class FormerModel:
    """An additive model, and the units of its columns. People come and go in the audit's own units."""

    model: AdditiveModel
    units: Units

    def twins(self, x: Floats) -> Floats:
        """Twins of people x (n, d). They may lie between levels, as the paper's do.

        What the sensitive attribute does not reach keeps every bit: detectors that know the causal model look at it.
        """
        people = self.units.convert(x)
        twins = self.model.twins(people)
        return np.where(twins == people, x, self.units.convert_back(twins))


def learn_former(result: AuditResult, train: pd.DataFrame, progress: Progress, *, which: int = JUDGING) -> FormerModel:
    """A causal model as the former engine had it: additive, of columns of a comparable size.

    It learns from a random half of the rows. Of all of them it would be the model that trained the detectors where rows
    were chosen by their label and columns share a scale: there today's engine has the same equations.

    Parameters
    ----------
    which : of the two halves, ``JUDGING`` or ``TRAINING``: the models of both share no row
    """
    own, seed, made_from = result.encoding, result.config.seed, result.provenance
    former = fit_encoding(train, result.roles, "auto", result.config.categories)
    units = Units.between(own, former)
    rows = units.convert(encode_people(own, train))
    half = stratified_split(rows[:, 0], 0.5, np.random.default_rng([seed, 1]))[which]
    columns = Columns(
        own.names,
        own.sensitive,
        own.column_variables,
        comparable_units=former.scaling == "raw",
        rows_were_selected=result.roles.label is not None and made_from.n_train == made_from.n_train_normal,
    )
    knowledge = result.config.knowledge
    model = learn_model(rows[half], columns, knowledge=knowledge, seed=seed + which, progress=progress)
    return FormerModel(model, units)
