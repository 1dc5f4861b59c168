from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit, stages
from cfad_core.core.config import DiscoveryConfig, Knowledge
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
    assert sure.sensitive == "group"
    assert tuple(sure.twin_scores) == tuple(sure.returned) == AUDITED
    for method in AUDITED:
        assert sure.twin_scores[method].shape == (4, 100)
        assert sure.returned[method].shape == (2, 100)
    assert sure.reach["income"] == 1.0
    assert len(sure.plausibility.distance) == 100
    assert ("group", "income") in sure.edge_cuts.edges
    assert "uncertainty" in measured.provenance.seconds


def test_graphs_score_with_the_audits_own_detectors(measured: AuditResult) -> None:
    """Twins by the own model, drawn by ``what_if`` with every edge, are those of the audit; here one graph by hand."""
    sure = measured.stability
    assert sure is not None
    assert not measured.draws_categories
    detector = measured.detectors["ae"]
    assert isinstance(detector, Autoencoder)
    here = measured.scores["ae"].factual
    np.testing.assert_array_equal(detector.anomaly_score(measured.people.factual[:, 1:]), here)
    for world in sure.twin_scores["ae"]:
        assert not np.array_equal(world, here)
        assert np.corrcoef(world, measured.scores["ae"].counterfactual)[0, 1] > 0.8  # all found much the same graph


def test_the_same_seed_gives_the_same_uncertainty(mixed: AuditResult) -> None:
    again = run_audit(make_jobs(500, seed=3), ROLES, JOBS)
    assert again.stability is not None
    assert mixed.stability is not None
    assert np.array_equal(again.stability.graphs, mixed.stability.graphs)
    assert np.array_equal(again.stability.twin_scores["pca"], mixed.stability.twin_scores["pca"])
    assert again.stability.to_dict() == mixed.stability.to_dict()
    assert again.report("pca").intervals == mixed.report("pca").intervals


def test_graphs_are_looked_for_with_the_audits_settings() -> None:
    """Weaker edges than the strongest are dropped here: one edge is left; and what is forbidden is so everywhere."""
    config = PCA.replace(discovery=DiscoveryConfig(prune=1.0), knowledge=Knowledge(forbidden=(("group", "income"),)))
    sure = run_audit(make_people(300, seed=4), ROLES, config).stability
    assert sure is not None
    assert [int(np.count_nonzero(graph)) for graph in sure.graphs] == [1, 1, 1, 1]
    assert sure.edge_frequency[0, 2] == 0.0


@pytest.mark.slow
def test_true_counterfactuals_do_not_keep_the_uncertainty_from_being_measured() -> None:
    data = generate_synthetic(4, n_train=300, n_test_normal=80, n_test_anomaly=20)
    roles = ColumnRoles("S", label="label", anomaly="1")
    recorder = Recorder()
    found = run_audit(data.train, roles, PCA, recorder, test=data.test, test_counterfactual=data.test_counterfactual)
    assert found.stability is not None
    assert found.stability.twin_scores["pca"].shape == (4, 100)
    heard = [stage for stage in recorder.stages() if stage in ("evaluation", "subsample models", "uncertainty")]
    assert heard == ["evaluation", "subsample models", "uncertainty"]


def test_stages_and_progress() -> None:
    shares = stages(PCA, knows_truth=False)
    assert list(shares)[-3:] == ["evaluation", "subsample models", "uncertainty"]
    assert (shares["subsample models"], shares["uncertainty"]) == (8.0, 2.0)  # by the graph
    assert "subsample models" not in stages(PCA.replace(subsamples=0), knows_truth=False)
    recorder = Recorder()
    run_audit(make_people(200, seed=9), ROLES, PCA, recorder)
    assert recorder.stages()[-3:] == ["evaluation", "subsample models", "uncertainty"]
    assert set(recorder.stages()) <= set(shares)
    share = DoneShare(shares)
    done = [share.after(stage, step, total) for stage, step, total, _ in recorder.heard]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    places = [list(shares).index(stage) for stage, *_ in recorder.heard]
    assert places == sorted(places)  # no stage is heard of again after the next
    for stage in ("subsample models", "uncertainty"):
        steps = [(step, total) for heard, step, total, _ in recorder.heard if heard == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


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


@pytest.mark.parametrize("n", [1, 2, 4])
def test_who_stops_it_in_the_middle_of_a_stage_hears_that_stage(n: int) -> None:
    """Not that of the scoring, which is over by then."""
    with pytest.raises(AuditCancelled, match="during 'uncertainty'"):
        run_audit(make_people(200, seed=9), ROLES, PCA, Later("uncertainty", n))


def test_categories_of_twins_are_drawn(mixed: AuditResult) -> None:
    sure = mixed.stability
    assert sure is not None
    assert mixed.draws_categories
    assert sure.reach["job"] == 1.0
    assert sure.variables.count("job") == 1
    assert ("group", "job") in sure.edge_cuts.edges
    assert sure.plausibility.between_levels.mean() > 0.3  # the own twins are nobody
