"""The threshold: moved, saved, and what it means."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from cfad_core.apps.cli.summary import summary as command_summary
from cfad_core.apps.dashboard.threshold_choice import Choice
from cfad_core.apps.dashboard.threshold_view import Chosen, impact
from cfad_core.audit.folder import summary as file_summary
from cfad_core.core.formats import number, percent
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.choosing import threshold_flagging, usual_range
from cfad_core.evaluation.metrics import GROUP_METRICS, GroupMetric, Metrics
from cfad_core.evaluation.verdict import verdict_sentences
from cfad_core.runs.model import AUDITS, ChosenThreshold
from cfad_core.runs.store import Store
from tests.apps.pages import (
    press,
    said,
    visit,
)


def tiles(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def by(app: AppTest, audit: str, way: str) -> AppTest:
    return app.segmented_control(key=f"by-{audit}").set_value(way).run()


@pytest.mark.slow
def test_moving_and_saving_the_threshold(done: tuple[str, str], home: Path) -> None:
    app = by(visit("6_Threshold.py", audit=done[0]), done[0], "share")
    app.slider(key=f"q-{done[0]}-cfad").set_value(20.0).run()
    assert tiles(app)["flagged of 100"] == "20"
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
        people = store.result(done[0]).report("cfad").people
    assert chosen is not None
    assert (chosen.by, chosen.share) == ("share", 0.2)
    assert int(people.above(chosen.value)) == 20
    again = visit("6_Threshold.py", audit=done[0])
    assert again.slider(key=f"q-{done[0]}-cfad").value == 20.0
    assert f"{label_of('cfad')}, 20.0 % of people flagged." in said(again)
    words = f"Threshold {number(chosen.value)} (as saved, 20.0 % of people flagged)"
    assert words in said(visit("7_Groups.py", audit=done[0]))
    other = visit("6_Threshold.py", audit=done[1])  # another audit has a threshold of its own
    assert other.segmented_control(key=f"by-{done[1]}").value == "investigations"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["score", "investigations", "cost"])
def test_other_ways_to_choose_come_back(done: tuple[str, str], home: Path, way: str) -> None:
    app = by(visit("6_Threshold.py", audit=done[0]), done[0], way)
    key = f"{done[0]}-cfad"
    if way == "investigations":
        app.number_input(key=f"n-{key}").set_value(12).run()
        assert tiles(app)["flagged of 100"] == "12"
    if way == "cost":
        app.number_input(key=f"c-{key}").set_value(3.0).run()
        assert "It costs least to flag" in said(app)
    shown = tiles(app)
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
    assert chosen is not None
    assert chosen.by == way
    again = visit("6_Threshold.py", audit=done[0])
    assert not again.exception, again.exception
    assert again.segmented_control(key=f"by-{done[0]}").value == way
    assert tiles(again) == shown
    if way == "investigations":
        assert again.number_input(key=f"n-{key}").value == 12
    elif way == "cost":
        assert again.number_input(key=f"c-{key}").value == 3.0
    else:
        assert again.slider(key=f"s-{key}").value == pytest.approx(chosen.value)


@pytest.mark.slow
def test_a_capacity_may_be_of_others_than_those_at_hand(done: tuple[str, str], home: Path) -> None:
    app, key = visit("6_Threshold.py", audit=done[0]), f"{done[0]}-cfad"
    app.number_input(key=f"of-{key}").set_value(500).run()
    app.number_input(key=f"n-{key}-500").set_value(50).run()
    app.selectbox(key=f"p-{key}").set_value("a week").run()
    assert not app.exception, app.exception
    assert tiles(app)["flagged of 100"] == "10"
    low, high = usual_range(0.1, 500)
    assert f"Of 500 such people a week, expect about **50** to be flagged: by chance alone {low} to {high}" in said(app)
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
    assert chosen is not None
    assert (chosen.count, chosen.of, chosen.period) == (50, 500, "a week")
    again = visit("6_Threshold.py", audit=done[0])
    assert again.number_input(key=f"n-{key}-500").value == 50
    assert tiles(again)["flagged of 100"] == "10"


@pytest.mark.slow
def test_the_page_begins_with_the_threshold_of_all_other_pages(done: tuple[str, str], home: Path) -> None:
    """However it was chosen; also one by a quantile, which older versions saved."""
    with Store(home) as store:
        report = store.result(done[0]).report("cfad")
    for saved in (None, ChosenThreshold("cfad", "quantile", report.threshold_at(0.8), quantile=0.8)):
        if saved is not None:
            with Store(home) as store:
                store.choose_threshold(done[0], saved)
        value = report.threshold if saved is None else saved.value
        app = visit("6_Threshold.py", audit=done[0])
        for way in ("investigations", "share"):
            app = by(app, done[0], way)
            assert f"by a score above {number(value)}" in said(app)
            assert tiles(app)["outcome changes"] == percent(report.metrics_at(value).changing_ratio)
    assert "quantile 0.8." in said(app)


def test_the_tiles_are_the_metrics(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    with Store(home) as store:
        report = store.result(done[0]).report("cfad")
    metrics, at = report.metrics, report.curves.people.at(report.threshold)
    assert metrics.changing_ratio is not None
    shown = tiles(app)
    assert list(shown) == [
        "flagged of 100",
        "outcome changes",
        f"found of {metrics.n_anomaly} anomalies",
        "needless checks",
    ]
    assert shown["outcome changes"] == f"{100 * metrics.changing_ratio:.1f} %"
    assert shown[f"found of {metrics.n_anomaly} anomalies"] == f"{int(at.true_positive)}"
    assert shown["needless checks"] == f"{int(at.false_positive)}"
    assert f"Macro-F1 {metrics.macro_f1:.3f}" in said(app)


@pytest.mark.slow
def test_without_labels_there_is_nothing_about_anomalies(done: tuple[str, str]) -> None:
    app = visit("6_Threshold.py", audit=done[1])
    assert list(tiles(app)) == [next(iter(tiles(app))), "outcome changes", "threshold"]
    assert "cost" not in app.segmented_control(key=f"by-{done[1]}").options
    assert "Macro-F1" not in said(app)
    app.segmented_control(key="chart").set_value("as in the paper").run()
    assert "further left is fairer" in said(app)


@pytest.mark.slow
def test_the_verdict_moves_with_the_threshold(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        results = [store.result(audit) for audit in done]
    for audit, result in zip(done, results, strict=True):
        app = by(visit("6_Threshold.py", audit=audit), audit, "share")
        report = result.report("cfad")
        for percents in (5.0, 30.0):
            app.slider(key=f"q-{audit}-cfad").set_value(percents).run()
            assert not app.exception, app.exception
            threshold = threshold_flagging(report.people, round(percents * report.people.n / 100.0), report.threshold)
            sentences = verdict_sentences(report.evidence_at(threshold))
            assert sentences[0] in said(app).replace("\\", "")
            found = report.changing_ratio_interval(threshold)
            if found is not None:
                ends = f"**{100 * found.low:.1f} % to {100 * found.high:.1f} %**"
                assert f"{ends}: lowest to highest over 4 causal models" in said(app)
                assert "Band: " in said(app)


@pytest.mark.slow
def test_the_evidence_stands_under_the_number_and_moves_with_it(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    app = visit("6_Threshold.py", audit=done[0])
    for method, count in (("cfad", 5), ("ae", 20)):
        app.segmented_control(key=f"method-{done[0]}").set_value(method).run()
        app.number_input(key=f"n-{done[0]}-{method}").set_value(count).run()
        assert not app.exception, app.exception
        report = result.report(method)
        threshold = threshold_flagging(report.people, count, report.threshold)
        (evidence,) = (box for box in app.expander if box.label == "How far to trust these numbers")
        listed = "\n".join(str(element.value) for element in evidence.markdown).replace("\\", "")
        lines = report.evidence_lines_at(threshold)
        assert len(lines) > 2
        for line in lines:
            assert f"- {line}" in listed
        far, left = int(result.stability.plausibility.far.sum()), report.plausible_changing_ratio(threshold)  # type: ignore[union-attr]
        assert far > 1
        assert f"- Without {far} people whose shown twin is implausible, it would be {percent(left)}." in listed


def test_what_a_choice_means_in_people() -> None:
    one = Metrics(200, None, 1.0, 0.1, None, None, None, 0.05, 0.02, 0.03, {}, None, None, None, None)
    words = impact(one, "had they belonged to the other group")
    assert words == (
        "20 of 200 people are flagged. Had they belonged to the other group, about 6 of them would not be, and about 4 "
        "others would be."
    )
    nobody = dataclasses.replace(one, flag_rate=0.005, newly_flagged=0.001, newly_cleared=0.0)
    assert impact(nobody, "had they") == "1 of 200 people is flagged. Had they, nearly nobody's outcome would change."
    assert impact(dataclasses.replace(one, newly_flagged=None), "had") == "20 of 200 people are flagged."


@pytest.mark.slow
def test_every_method_has_a_star_at_as_many_people(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        whole = store.result(done[0])
    choice = Choice(ChosenThreshold("cfad", "score", whole.report("cfad").threshold))
    chosen = Chosen(whole, whole.seen(), choice)
    count = whole.report("cfad").curves.people.flagged(choice.threshold.value)
    found = chosen.in_all_methods()
    assert set(found) == set(whole.scores)
    assert found["cfad"] == choice.threshold.value
    for method, threshold in found.items():
        score = whole.scores[method].factual
        flagged = int((score > threshold).sum())
        assert flagged <= count
        assert flagged == count or (score == np.sort(score)[-count]).sum() > 1  # a tie


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
        app.selectbox(key=f"method-{done[0]}").set_value(method).run()
        assert f"{percent(ratio)} of 100 people would have a different outcome" in said(app)
        table = visit("8_Methods.py", audit=done[0]).dataframe[0].value
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
    shown = next(table.value for table in app.dataframe if "twins flagged" in table.value.index).T
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
