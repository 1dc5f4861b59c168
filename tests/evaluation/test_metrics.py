from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from cfad_core.core.arrays import Bools
from cfad_core.evaluation.densities import score_densities
from cfad_core.evaluation.metrics import GROUP_METRICS, Curves, GroupMetric, Metrics, evaluate
from cfad_core.evaluation.outcomes import ScoreCurve

SCORE = np.array([0.1, 0.9, 0.4, 0.8, 0.2, 0.7])
TWIN = np.array([0.6, 0.9, 0.4, 0.3, 0.2, 0.7])
LABEL = np.array([False, True, False, True, False, False])
GROUPS = {"a": np.array([1, 1, 1, 0, 0, 0], dtype=bool), "b": np.array([0, 0, 0, 1, 1, 1], dtype=bool)}


def metrics(threshold: float, groups: dict[str, Bools], labels: Bools | None) -> Metrics:
    by_group = {
        name: ScoreCurve(SCORE[rows], TWIN[rows], None if labels is None else labels[rows])
        for name, rows in groups.items()
    }
    return evaluate(Curves(ScoreCurve(SCORE, TWIN, labels), by_group), threshold)


def test_metrics_by_hand() -> None:
    found = metrics(0.5, GROUPS, LABEL)
    assert (found.n, found.n_anomaly) == (6, 2)
    assert found.flag_rate == pytest.approx(3 / 6)
    assert found.changing_ratio == pytest.approx(2 / 6)
    assert found.newly_flagged == pytest.approx(1 / 6)
    assert found.newly_cleared == pytest.approx(1 / 6)
    # anomalies: 2 of 2 flagged, 1 false alarm: F1 = 4/5; normal: 3 of 4 right: F1 = 6/7
    assert found.macro_f1 == pytest.approx((4 / 5 + 6 / 7) / 2)
    assert found.auc_roc == pytest.approx(roc_auc_score(LABEL, SCORE))
    assert found.auc_pr == pytest.approx(average_precision_score(LABEL, SCORE))
    assert found.groups["a"]["flag_rate"] == pytest.approx(1 / 3)
    assert found.groups["b"]["flag_rate"] == pytest.approx(2 / 3)
    assert found.flag_rate_difference == pytest.approx(1 / 3)
    assert found.flag_rate_ratio == pytest.approx(1 / 2)
    assert found.groups["a"]["true_positive_rate"] == 1.0
    assert found.true_positive_rate_gap == 0.0
    assert found.false_positive_rate_gap == pytest.approx(1 / 2)
    assert found.groups["b"]["changing_ratio"] == pytest.approx(1 / 3)
    assert found.groups["a"]["precision"] == 1.0
    assert found.groups["b"]["precision"] == pytest.approx(1 / 2)
    assert found.groups["a"]["false_negative_rate"] == found.groups["b"]["false_negative_rate"] == 0.0
    # the median of all six is 0.55, that of a alone 0.4, of b 0.7
    assert found.groups["a"]["above_median"] == pytest.approx(1 / 3)
    assert found.groups["b"]["above_median"] == pytest.approx(2 / 3)


def test_without_labels_what_needs_them_is_none() -> None:
    found = metrics(0.5, GROUPS, None)
    assert found.changing_ratio == pytest.approx(2 / 6)
    for name in ("n_anomaly", "macro_f1", "auc_pr", "auc_roc", "true_positive_rate_gap", "false_positive_rate_gap"):
        assert getattr(found, name) is None
    for name in ("precision", "false_negative_rate", "auc_roc"):
        assert found.groups["a"][name] is None
    assert found.groups["a"]["above_median"] == pytest.approx(1 / 3)


def test_undefined_is_none_and_never_zero() -> None:
    nobody = {"a": np.ones(6, dtype=bool), "b": np.zeros(6, dtype=bool)}
    found = metrics(0.5, nobody, np.zeros(6, dtype=bool))
    assert found.auc_roc is None
    assert found.groups["b"]["n"] == 0
    assert found.groups["b"]["flag_rate"] is None
    assert found.flag_rate_difference is None
    assert found.groups["b"]["above_median"] is None
    assert found.groups["a"]["true_positive_rate"] is None
    assert found.groups["a"]["false_negative_rate"] is None
    assert found.groups["a"]["precision"] == 0.0  # people are flagged, and none is an anomaly
    flags_none = metrics(9.0, GROUPS, LABEL)
    assert flags_none.flag_rate_ratio is None
    assert flags_none.groups["a"]["precision"] is None
    assert flags_none.groups["a"]["false_negative_rate"] == 1.0


def test_what_is_compared_says_what_a_difference_means() -> None:
    for name, metric in GROUP_METRICS.items():
        assert metric.compared == bool(metric.difference), name
    labels = [metric.label for metric in GROUP_METRICS.values()]
    assert len(set(labels)) == len(labels)  # they are the columns of a table


def test_a_new_group_metric_is_a_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared = GroupMetric("cleared", "Share of the group that is not flagged.", lambda _, at: 1.0 - float(at.flag_rate))
    monkeypatch.setitem(GROUP_METRICS, "clear_rate", cleared)
    found = metrics(0.5, GROUPS, LABEL)
    assert found.groups["a"]["clear_rate"] == pytest.approx(2 / 3)
    assert list(found.groups["a"])[-1] == "clear_rate"


@pytest.mark.parametrize("log", [False, True])
def test_densities_share_bins_and_integrate_to_one(log: bool) -> None:
    rng = np.random.default_rng(0)
    sets = {"a": rng.gamma(2.0, 1.0, 500), "b": rng.gamma(4.0, 1.0, 300), "none": np.array([])}
    found = score_densities(sets, bins=40, log=log)
    widths = np.diff(np.log10(found.edges) if log else found.edges)  # areas are shares on the axis that is drawn
    for name in ("a", "b"):
        assert (found.density[name] * widths).sum() == pytest.approx(1.0)
        expected, _ = np.histogram(sets[name], bins=found.edges)
        np.testing.assert_allclose((found.density[name] * widths * len(sets[name]))[1:-1], expected[1:-1], atol=1e-9)
    assert np.isnan(found.density["none"]).all()


def test_equal_scores_have_a_density_too() -> None:
    for log in (False, True):
        for value in (0.0, 2.0):
            found = score_densities({"a": np.full(3, value)}, bins=10, log=log)
            widths = np.diff(np.log10(found.edges) if log else found.edges)
            assert (found.density["a"] * widths).sum() == pytest.approx(1.0)
