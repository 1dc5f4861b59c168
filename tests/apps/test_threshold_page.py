"""The threshold: moved, saved, and what it means."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from cfad_core.apps.cli.summary import summary as command_summary
from cfad_core.audit.folder import summary as file_summary
from cfad_core.core.formats import percent
from cfad_core.evaluation.metrics import GROUP_METRICS, GroupMetric
from cfad_core.runs.model import AUDITS
from cfad_core.runs.store import Store
from tests.apps.pages import (
    press,
    said,
    visit,
)


@pytest.mark.slow
def test_moving_and_saving_the_threshold(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    before = {metric.label: metric.value for metric in app.metric}
    app.slider(key=f"q-{done[0]}-cfad").set_value(0.8).run()
    after = {metric.label: metric.value for metric in app.metric}
    assert int(after["flagged of 100"]) > int(before["flagged of 100"])
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
        expected = store.result(done[0]).report("cfad").threshold_at(0.8)
    assert chosen is not None
    assert chosen.quantile == 0.8
    assert chosen.value == pytest.approx(expected)
    assert "Saved with this audit: CFAD, quantile 0.8." in said(visit("6_Threshold.py", audit=done[0]))
    assert f"Threshold {expected:.3f} (as saved, quantile 0.8)" in said(visit("4_Counterfactuals.py", audit=done[0]))
    other = visit("6_Threshold.py", audit=done[1])  # another audit has a threshold of its own
    assert other.slider(key=f"q-{done[1]}-cfad").value == 0.95


@pytest.mark.slow
@pytest.mark.parametrize("by", ["score", "investigations"])
def test_other_ways_to_choose_come_back(done: tuple[str, str], home: Path, by: str) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    app.segmented_control(key=f"by-{done[0]}").set_value(by).run()
    if by == "investigations":
        app.number_input(key=f"n-{done[0]}-cfad").set_value(12).run()
        assert {metric.label: metric.value for metric in app.metric}["flagged of 100"] == "12"
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
    assert chosen is not None
    again = visit("6_Threshold.py", audit=done[0])
    assert not again.exception
    if by == "investigations":
        assert again.number_input(key=f"n-{done[0]}-cfad").value == 12
    else:
        assert again.slider(key=f"s-{done[0]}-cfad").value == pytest.approx(chosen.value)


def test_the_tiles_are_the_metrics(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    shown = {metric.label: metric.value for metric in app.metric}
    with Store(home) as store:
        metrics = store.result(done[0]).report("cfad").metrics
    assert metrics.changing_ratio is not None
    assert list(shown) == ["flagged of 100", "outcome changes", "threshold", "Macro-F1"]
    assert shown["Macro-F1"] == f"{metrics.macro_f1:.3f}"
    assert shown["outcome changes"] == f"{100 * metrics.changing_ratio:.1f} %"


def test_without_labels_there_is_no_f1(done: tuple[str, str]) -> None:
    app = visit("6_Threshold.py", audit=done[1])
    assert "Macro-F1" not in {metric.label for metric in app.metric}
    assert "further left is fairer" in said(app)


@pytest.mark.slow
def test_the_verdict_moves_with_the_threshold(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        results = [store.result(audit) for audit in done]
    for audit, result in zip(done, results, strict=True):
        app = visit("6_Threshold.py", audit=audit)
        for share in (0.95, 0.7, 0.999):
            app.slider(key=f"q-{audit}-cfad").set_value(share).run()
            assert not app.exception, app.exception
            threshold = result.report("cfad").threshold_at(share)
            assert result.report("cfad").verdict_at(threshold) in said(app).replace("\\", "")
    report = results[0].report("cfad")
    threshold = report.threshold_at(0.999)
    found = report.changing_ratio_interval(threshold)
    assert found is not None
    app = visit("6_Threshold.py", audit=done[0])
    app.slider(key=f"q-{done[0]}-cfad").set_value(0.999).run()
    assert f"**{100 * found.low:.1f} % to {100 * found.high:.1f} %**: lowest to highest of 4 subsamples" in said(app)
    assert "Band: CFAD, lowest to highest of 4 subsamples" in said(app)


@pytest.mark.slow
def test_the_evidence_stands_under_the_number_and_moves_with_it(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    app = visit("6_Threshold.py", audit=done[0])
    for method, share in (("cfad", 0.95), ("ae", 0.8)):
        app.segmented_control(key=f"method-{done[0]}").set_value(method).run()
        app.slider(key=f"q-{done[0]}-{method}").set_value(share).run()
        assert not app.exception, app.exception
        report = result.report(method)
        threshold = report.threshold_at(share)
        (evidence,) = (box for box in app.expander if box.label == "How far to trust this number")
        listed = "\n".join(str(element.value) for element in evidence.markdown).replace("\\", "")
        lines = report.evidence_lines_at(threshold)
        assert len(lines) > 2
        for line in lines:
            assert f"- {line}" in listed
        far, left = int(result.stability.plausibility.far.sum()), report.plausible_changing_ratio(threshold)  # type: ignore[union-attr]
        assert far > 1
        assert f"- Without {far} people whose shown twin is implausible, it would be {percent(left)}." in listed


@pytest.mark.slow
def test_no_page_shows_another_ratio(done: tuple[str, str], home: Path) -> None:
    """The tile, the star, the groups, the caption about people, the tables and the list are one number."""
    with Store(home) as store:
        result, record = store.result(done[0]), store.get(done[0])
    for method in ("ae", "cfad"):
        report = result.report(method)
        ratio = report.metrics.changing_ratio
        assert ratio is not None
        assert np.nanmean(report.change_probability(report.threshold)) == pytest.approx(ratio)
        sizes = {name: rows.sum() for name, rows in result.groups.items()}
        by_group = [sizes[name] * (values["changing_ratio"] or 0.0) for name, values in report.metrics.groups.items()]
        assert sum(by_group) / sum(sizes.values()) == pytest.approx(ratio)

        app = visit("6_Threshold.py", audit=done[0])
        app.segmented_control(key=f"method-{done[0]}").set_value(method).run()
        assert {metric.label: metric.value for metric in app.metric}["outcome changes"] == percent(ratio)
        app = visit("4_Counterfactuals.py", audit=done[0])
        app.segmented_control(key=f"method-{done[0]}").set_value(method).run()
        assert f"{percent(ratio)} of 100 people would have a different outcome" in said(app)
        for page in ("2_Train.py", "8_Methods.py"):
            table = visit(page, audit=done[0]).dataframe[0].value
            assert table.loc[report.label, "outcome changes"] == pytest.approx(ratio)
        app = visit("3_Causal_graph.py", audit=done[0])
        app.segmented_control(key=f"what-if-{done[0]}").set_value(method).run()
        assert f"With {report.label}, the outcome changes for {percent(ratio)} of people." in said(app)
        assert (record.metrics or {})[method]["changing_ratio"] == ratio
        assert file_summary(result)["methods"][method]["metrics"]["changing_ratio"] == ratio
        (line,) = [line for line in command_summary(result).splitlines() if line.startswith(f"{method} ")][:1]
        assert f"{ratio:.3f}" in line.split()
    assert "changing_ratio" not in json.dumps(file_summary(result)["uncertainty"])


def test_the_band_is_the_interval_along_the_curve(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        report = store.result(done[0]).report("cfad")
    assert report.band is not None
    for k in range(0, len(report.grid), 7):
        found = report.changing_ratio_interval(float(report.grid[k]))
        assert found is not None
        assert (report.band[0][k], report.band[1][k]) == pytest.approx((found.low, found.high))


def test_a_new_group_metric_is_everywhere(done: tuple[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = "Share of the group that is not flagged."
    metric = GroupMetric("not flagged", about, lambda _, at: float(1.0 - at.flag_rate))
    monkeypatch.setitem(GROUP_METRICS, "clear_rate", metric)
    with Store(home) as store:
        result = store.result(done[0])
    rates = {name: group["clear_rate"] for name, group in result.report("cfad").metrics.groups.items()}
    assert set(rates) == {"a", "b"}

    app = visit("6_Threshold.py", audit=done[0])
    assert not app.exception, app.exception
    shown = next(table.value for table in app.dataframe if "twins flagged" in table.value)
    assert shown["not flagged"].to_dict() == {name: percent(rate) for name, rate in rates.items()}

    printed = command_summary(result).splitlines()
    (header,) = [line for line in printed if line.split()[:2] == ["method", "group"]]
    assert header.endswith("not flagged")
    lines = [line.split() for line in printed if line.startswith("cfad ")]
    for name, rate in rates.items():
        (row,) = [line for line in lines if line[1] == name]
        assert row[-1] == f"{rate:.3f}"

    stored = file_summary(result)["methods"]["cfad"]["metrics"]["groups"]
    assert {name: group["clear_rate"] for name, group in stored.items()} == rates


@pytest.mark.slow
@pytest.mark.parametrize("page", ["4_Counterfactuals.py", "5_Score_densities.py", "6_Threshold.py"])
def test_a_damaged_threshold_does_not_hide_the_audit(done: tuple[str, str], home: Path, page: str) -> None:
    with Store(home) as store, store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == done[0]).values(threshold={"method": "cfad"}))
    app = visit(page, audit=done[0])
    assert not app.exception, app.exception
    assert "The saved threshold is damaged" in app.warning[0].value
