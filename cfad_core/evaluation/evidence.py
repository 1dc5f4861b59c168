"""What a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass

from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.twin_test import TwinTest


@dataclass(frozen=True)
class Evidence:
    """What the verdict on one method is made of; None is what was not measured, or is undefined.

    Attributes
    ----------
    method, sensitive : what people call them
    otherwise : what people and their twins differ in
    has_path : whether the sensitive attribute affects anything in the audit's own graph
    ratio : the leading number, share of people whose outcome changes: the mean over all models
    flag_rate, auc_roc : of the detector
    interval : 90 % interval of the ratio, by the models of all subsamples
    graphs, graphs_without_path : of the subsamples, and in how many the sensitive attribute affects nothing
    halves_differ : median absolute difference of the ratio between two independent halves of the rows
    model_error : share whose outcome model error alone changes
    span : lowest and highest ratio over the assumptions that data cannot decide
    remaining : lowest and highest ratio that remains even if the causal model that the method scores with is right
    bounds : graph-free bounds of the ratio, up to sampling
    twin_test : twins against real people of the other group
    kept : columns that differ between the groups, but that twins keep, as the attribute may not cause them
    unexplained : columns that differ between the groups beyond chance, without a path to them in the graph
    better_fit : columns that a saturated model predicts clearly better
    carrier : the edge that carries the changing ratio, and its share of it
    was_given : whether the graph was given rather than learned
    known_truth : whether the ratio is by true twins; then no test of the model matters
    selected_rows : whether rows were chosen by their label; then the groups' columns and flag rates are not those of
        the population, and neither ``twin_test`` nor ``bounds`` nor ``unexplained`` means anything
    additive : whether twins are the paper's additive ones, which need not be possible people
    """

    method: str
    sensitive: str
    has_path: bool
    ratio: float | None
    otherwise: str = "had they belonged to the other group"
    flag_rate: float | None = None
    auc_roc: float | None = None
    interval: Interval | None = None
    graphs: int = 0
    graphs_without_path: int = 0
    halves_differ: float | None = None
    model_error: float | None = None
    span: tuple[float, float] | None = None
    remaining: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None
    twin_test: TwinTest | None = None
    kept: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    better_fit: tuple[str, ...] = ()
    carrier: tuple[tuple[str, str], float] | None = None
    was_given: bool = False
    known_truth: bool = False
    selected_rows: bool = False
    additive: bool = False

    @property
    def sees_path(self) -> bool:
        """Whether the sensitive attribute affects something: by the own graph, or by most of the others."""
        return self.has_path or 2 * self.graphs_without_path < self.graphs

    @property
    def can_be_tested(self) -> bool:
        """Whether twin test, bounds and columns without a path say anything about the model."""
        return not (self.known_truth or self.selected_rows)
