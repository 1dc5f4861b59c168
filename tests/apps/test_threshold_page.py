"""The threshold: moved, saved, and what it means."""

from __future__ import annotations

from pathlib import Path

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
    own, judged = metrics.changing_ratio, metrics.changing_ratio_independent
    assert own is not None
    assert judged is not None
    assert shown["Macro-F1"] == f"{metrics.macro_f1:.3f}"
    assert shown["changes (own model)"] == f"{100 * own:.1f} %"
    assert shown["changes (judge)"] == f"{100 * judged:.1f} %"


def test_without_labels_there_is_no_f1(done: tuple[str, str]) -> None:
    app = visit("6_Threshold.py", audit=done[1])
    assert "Macro-F1" not in {metric.label for metric in app.metric}
    assert "further left is fairer" in said(app)


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
    found, error = report.changing_ratio_interval(threshold), report.model_error(threshold)
    assert found is not None
    assert error is not None
    app = visit("6_Threshold.py", audit=done[0])
    app.slider(key=f"q-{done[0]}-cfad").set_value(0.999).run()
    assert f"**{100 * found.low:.1f} % to {100 * found.high:.1f} %**: lowest to highest of 4 subsamples" in said(app)
    assert f"**{100 * error:.1f} %** by model error alone" in said(app)
    assert "whose twin is implausible" in said(app)
    assert "Band: CFAD, lowest to highest of 4 subsamples" in said(app)


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
    lines = [line.split() for line in printed if line.startswith("cfad")]
    for name, rate in rates.items():
        (row,) = [line for line in lines if line[1] == name]
        assert row[-1] == f"{rate:.3f}"

    stored = file_summary(result)["methods"]["cfad"]["metrics"]["groups"]
    assert {name: group["clear_rate"] for name, group in stored.items()} == rates


@pytest.mark.parametrize("page", ["4_Counterfactuals.py", "5_Score_densities.py", "6_Threshold.py"])
def test_a_damaged_threshold_does_not_hide_the_audit(done: tuple[str, str], home: Path, page: str) -> None:
    with Store(home) as store, store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == done[0]).values(threshold={"method": "cfad"}))
    app = visit(page, audit=done[0])
    assert not app.exception, app.exception
    assert "The saved threshold is damaged" in app.warning[0].value
