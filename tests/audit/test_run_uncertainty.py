from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cfad_core.audit.estimate import stages
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import DoneShare, Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.detectors.autoencoder import Autoencoder
from tests.audit.worlds import AUDITED, JOBS, PCA, ROLES, make_jobs
from tests.conftest import Recorder, make_people


def test_every_method_is_judged_by_every_graph(measured: AuditResult) -> None:
    sure = measured.stability
    assert sure is not None
    assert sure.graphs.shape == (4, 4, 4)
    assert sure.variables == ("group", "schooling", "income", "debt")
    assert sure.sensitive == ("group",)
    assert tuple(sure.returned) == tuple(sure.returned_by_same) == tuple(measured.scores) == AUDITED
    assert measured.judges == 4
    for method in AUDITED:
        assert measured.scores[method].judged.shape == (16, 1, 100)  # four twins by each model
        assert sure.returned[method].shape == sure.returned_by_same[method].shape == (2, 1, 100)
    assert sure.reach["income"] == 1.0
    assert sure.plausibility.distance.shape == (1, 100)
    assert ("group", "income") in sure.edge_cuts[0].edges
    assert "uncertainty" in measured.provenance.seconds


def test_graphs_score_with_the_audits_own_detectors(measured: AuditResult) -> None:
    detector = measured.detectors["ae"]
    assert isinstance(detector, Autoencoder)
    here = measured.scores["ae"].factual
    np.testing.assert_array_equal(detector.anomaly_score(measured.people.factual[:, 1:]), here)
    for twins in measured.scores["ae"].judged:
        assert not np.array_equal(twins[0], here)
        assert np.corrcoef(twins[0], measured.scores["ae"].counterfactual)[0, 1] > 0.8  # all found much the same graph


def test_the_same_seed_gives_the_same_uncertainty(mixed: AuditResult) -> None:
    again = run_audit(make_jobs(500, seed=3), ROLES, JOBS)
    assert again.stability is not None
    assert mixed.stability is not None
    assert np.array_equal(again.stability.graphs, mixed.stability.graphs)
    assert np.array_equal(again.scores["pca"].judged, mixed.scores["pca"].judged)
    assert np.array_equal(again.stability.returned["pca"], mixed.stability.returned["pca"])
    assert again.stability.to_dict() == mixed.stability.to_dict()
    assert again.report("pca").intervals == mixed.report("pca").intervals


@pytest.mark.slow
def test_what_is_known_holds_in_every_graph() -> None:
    knowledge = Knowledge(forbidden=(("group", "income"),), required=(("schooling", "debt"),))
    sure = run_audit(make_people(300, seed=4), ROLES, PCA.replace(knowledge=knowledge)).stability
    assert sure is not None
    assert sure.edge_frequency[0, 2] == 0.0
    assert sure.edge_frequency[1, 3] == 1.0
    assert not sure.graphs[:, :, 0].any()


@pytest.mark.slow
def test_true_counterfactuals_do_not_keep_the_uncertainty_from_being_measured() -> None:
    data = generate_synthetic(4, n_train=300, n_test_normal=80, n_test_anomaly=20)
    roles = ColumnRoles("S", label="label", anomaly="1")
    recorder = Recorder()
    found = run_audit(data.train, roles, PCA, recorder, test=data.test, test_counterfactual=data.test_counterfactual)
    assert found.stability is not None
    assert found.scores["pca"].judged.shape == (16, 1, 100)
    scores, report = found.scores["pca"], found.report("pca")
    assert scores.truth is not None
    changed = (scores.truth > report.threshold) != (scores.factual > report.threshold)
    assert report.metrics.changing_ratio == changed.mean()  # the truth leads
    heard = [stage for stage in recorder.stages() if stage in ("evaluation", "subsample models", "uncertainty")]
    assert heard == ["subsample models", "evaluation", "uncertainty"]


def test_stages_and_progress() -> None:
    shares = stages(PCA, knows_truth=False)
    last = ["subsample models", "judging", "evaluation", "checks", "uncertainty", "slices"]
    assert list(shares)[-6:] == last
    unmeasured = PCA.replace(subsamples=0)
    halves = stages(unmeasured, knows_truth=False)["subsample models"]
    assert shares["subsample models"] == pytest.approx(2.0 * halves)  # two judges all the same
    assert "subsample models" not in stages(unmeasured, knows_truth=True)
    assert "uncertainty" not in stages(unmeasured, knows_truth=False)
    recorder = Recorder()
    run_audit(make_people(200, seed=9), ROLES, PCA, recorder)
    assert recorder.stages()[-6:] == last
    assert set(recorder.stages()) <= set(shares)
    share = DoneShare(shares)
    done = [share.after(stage, step, total) for stage, step, total, _ in recorder.heard]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    places = [list(shares).index(stage) for stage, *_ in recorder.heard]
    assert places == sorted(places)  # no stage is heard of again after the next
    for stage in last:
        steps = [(step, total) for heard, step, total, _ in recorder.heard if heard == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["subsample models", "uncertainty"])
def test_measuring_can_be_cancelled(stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=f"during '{stage}'"):
        run_audit(make_people(200, seed=9), ROLES, PCA, recorder)
    assert [heard for heard, *_ in recorder.heard].count(stage) == 1


class Later(Progress):
    """Asks to stop the n-th time it is asked after it first heard of a stage."""

    def __init__(self, stage: str, n: int) -> None:
        self.stage, self.left, self.last = stage, n, ""

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.last = stage

    def stop_requested(self) -> bool:
        self.left -= self.last == self.stage
        return self.left < 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4])
def test_who_stops_it_in_the_middle_of_a_stage_hears_that_stage(n: int) -> None:
    """Not that of the scoring, which is over by then."""
    with pytest.raises(AuditCancelled, match="during 'uncertainty'"):
        run_audit(make_people(200, seed=9), ROLES, PCA, Later("uncertainty", n))


def test_categories_of_twins_are_drawn(mixed: AuditResult) -> None:
    sure = mixed.stability
    assert sure is not None
    assert sure.reach["job"] == 1.0
    assert sure.variables.count("job") == 1
    assert ("group", "job") in sure.edge_cuts[0].edges
    assert not sure.plausibility.between_levels.any()  # twins are possible people
    assert not sure.plausibility.out_of_range.any()
    own = [k for k, name in enumerate(mixed.encoding.column_variables) if name == "job"]
    people = mixed.people
    levels = {tuple(row) for row in people.factual[:, own]}
    assert {tuple(row) for row in people.counterfactual[:, own]} <= levels
    assert (people.counterfactual[:, own] != people.factual[:, own]).any()
