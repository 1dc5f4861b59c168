"""The page about groups, and what can be taken away from it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.downloads import csv_file
from cfad_core.apps.dashboard.group_tables import (
    against_shown,
    between_shown,
    between_to_take,
    interaction_to_take,
    known_metrics,
    metrics_shown,
    metrics_to_take,
    pairs_shown,
    pairs_to_take,
)
from cfad_core.apps.dashboard.slice_view import slices_shown, slices_to_take
from cfad_core.core.formats import percent
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.evaluation.bounds import Bounds
from cfad_core.evaluation.extremes import AgainstReference, Estimate
from cfad_core.evaluation.group_lines import gap_line, impact_line
from cfad_core.evaluation.group_metrics import GroupTable, group_table
from cfad_core.evaluation.interaction import Interaction, Share, cancelling_line, interaction_line
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable, worst_line
from cfad_core.evaluation.slices import Slice, Slices, slice_lines
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, QUICK, diverse_people, finish, said, visit

PAGE = "7_Groups.py"


def plain(app: AppTest) -> str:
    """What the page says, without what keeps names from being Markdown."""
    return said(app).replace("\\", "")


def table_with(app: AppTest, column: str) -> pd.DataFrame:
    found: pd.DataFrame = next(table.value for table in app.dataframe if column in table.value)
    return found


def kept_here(app: AppTest) -> list[str]:
    """The places of the page that have no download button."""
    keys = [str(getattr(node, "key", "")) for node in app._tree]
    return [key for key in keys if key.startswith("kept-here")]


def test_two_groups_are_two_numbers_and_no_matrix(done: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=done[0])
    assert not app.exception, app.exception
    with Store(home) as store:
        report = store.result(done[0]).group_report("cfad")
    pairs = report.pairs_at(report.report.threshold)
    assert pairs is not None
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown == {
        "outcome changes for a, had they been b": percent(pairs.pair(0, 1).ratio),
        "outcome changes for b, had they been a": percent(pairs.pair(1, 0).ratio),
    }
    assert len(app.get("plotly_chart")) == 1  # the bars
    assert [box.label for box in app.selectbox] == ["Metric", "Audit"]
    assert "If both change" not in said(app)
    metrics = report.metrics_at(report.report.threshold)
    assert f"- {gap_line(metrics)}\n- {impact_line(metrics)}" in plain(app)


def test_three_groups_have_a_matrix_and_a_worst_pair(several: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=several[0])
    assert not app.exception, app.exception
    with Store(home) as store:
        report = store.result(several[0]).group_report("cfad")
    threshold = report.report.threshold
    pairs, metrics = report.pairs_at(threshold), report.metrics_at(threshold)
    assert pairs is not None
    assert f"- {worst_line(pairs, 'region')}\n- {gap_line(metrics)}" in plain(app)
    assert len(app.get("plotly_chart")) == 2
    assert not app.metric
    ratios = table_with(app, "had they been")["outcome changes"].tolist()
    assert sorted(ratios) == sorted(percent(pair.ratio) for pair in pairs.pairs)
    assert f"{percent(pairs.any_other.ratio)} of people" in said(app)
    pd.testing.assert_frame_equal(table_with(app, "above median"), metrics_shown(metrics))
    assert list(table_with(app, "above median").index) == ["north", "south", "east"]
    assert list(table_with(app, "lowest")["metric"]) == [metric.label for metric in known_metrics(metrics).values()]
    assert [button.proto.label for button in app.get("download_button")] == [
        "Metrics by group (CSV)",
        "Differences between groups (CSV)",
        "Pairs of groups (CSV)",
    ]


def test_the_metric_and_the_method_can_be_chosen(several: tuple[str, str]) -> None:
    app = visit(PAGE, audit=several[0])
    box = app.selectbox(key=f"metric-{several[0]}")
    assert box.options[:2] == ["flagged", "above median"]
    assert "AUC-ROC" in box.options
    for metric, words in (("auc_roc", "0.5 is guessing"), ("precision", "flagged for nothing")):
        app.selectbox(key=f"metric-{several[0]}").set_value(metric).run()
        assert not app.exception, app.exception
        assert words in said(app)
    app.segmented_control(key=f"method-{several[0]}").set_value("ae").run()
    assert not app.exception, app.exception


def test_two_attributes_have_intersections_and_an_interaction(several: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=several[1])
    box = app.selectbox(key=f"comparison-{several[1]}")
    assert box.options == ["group", "region", "group and region"]
    assert {metric.label for metric in app.metric} == {
        "outcome changes for a, had they been b",
        "outcome changes for b, had they been a",
    }
    box.set_value(2).run()
    assert not app.exception, app.exception
    with Store(home) as store:
        report = store.result(several[1]).group_report("cfad", "group and region")
    found = report.interaction_at(report.report.threshold)
    assert found is not None
    assert f"- {interaction_line(found, 'group', 'region')}\n" in plain(app)
    assert cancelling_line(found, "group", "region") in plain(app)
    shares = table_with(app, "share of people")
    assert list(shares["the outcome changes if"])[:3] == ["group changes", "region changes", "both change"]
    assert list(shares["share of people"])[2:4] == [percent(found.both.value), percent(found.only_both.value)]
    names = ["a, north", "a, south", "a, east", "b, north", "b, south", "b, east"]
    assert list(table_with(app, "above median").index) == names
    assert not app.metric
    assert len(app.get("plotly_chart")) == 1
    assert "Pairs of groups (CSV)" not in [button.proto.label for button in app.get("download_button")]


def test_without_labels_there_are_two_metrics(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[1])
    assert not app.exception, app.exception
    assert app.selectbox(key=f"metric-{done[1]}").options == ["flagged", "above median"]
    assert list(table_with(app, "above median").columns) == ["people", "flagged", "above median"]
    assert [link.proto.label[:31] for link in app.main.get("page_link")] == ["The uncertainty was not measured"[:31]]


def test_the_saved_threshold_is_used(several: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        report = store.result(several[0]).group_report("ae")
        value = report.report.threshold_at(0.7)
        store.choose_threshold(several[0], ChosenThreshold("ae", "quantile", value, quantile=0.7))
    app = visit(PAGE, audit=several[0])
    assert app.segmented_control(key=f"method-{several[0]}").value == "ae"
    assert "(as saved, quantile 0.7), 126 people" in said(app)
    pd.testing.assert_frame_equal(table_with(app, "above median"), metrics_shown(report.metrics_at(value)))


@pytest.mark.slow
def test_groups_are_compared_with_a_reference(home: Path) -> None:
    region = Attribute("region", groups=("north", "south", "east"), reference="north")
    roles = ColumnRoles((region,), ignore=("group", "fraud"))
    with Store(home) as store:
        audit = finish(store, diverse_people(), roles, QUICK.replace(methods=("ae",)), "Reference")
    app = visit(PAGE, audit=audit)
    assert not app.exception, app.exception
    assert "each group beside the reference, north" in said(app)
    assert "Groups that are not compared have no cell." in said(app)
    assert list(table_with(app, "difference").index) != ["south", "east"]  # the table of all metrics comes first
    beside = next(table.value for table in app.dataframe if list(table.value.columns) == ["difference", "ratio"])
    assert list(beside.index) == ["south", "east"]
    pairs = table_with(app, "had they been")
    assert {"north"} <= {*pairs["had they been"]}
    assert len(pairs) == 4
    assert "The uncertainty was not measured" in app.main.get("page_link")[0].proto.label


@pytest.mark.slow
def test_names_of_groups_are_text(home: Path) -> None:
    table = diverse_people().replace({"region": {"north": HOSTILE, "south": "<b>s</b>"}})
    region = Attribute("region", groups=(HOSTILE, "<b>s</b>", "east"))
    roles = ColumnRoles((Attribute("group", groups=("a", "b")), region), ignore=("fraud",))
    with Store(home) as store:
        audit = finish(store, table, roles, QUICK.replace(subsamples=4, methods=("ae",)), "Hostile")
    for groups in ("1", "2"):
        for page in (PAGE, "4_Counterfactuals.py", "5_Score_densities.py", "6_Threshold.py", "3_Causal_graph.py"):
            app = visit(page, audit=audit, groups=groups)
            assert not app.exception, app.exception
            texts = said(app) + "".join(metric.label for metric in app.metric)
            assert "![x](http" not in texts
            assert "**b**" not in texts
            assert "<b>s" not in texts


def test_slices_are_on_the_page(several: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(several[1])
    for mark, comparison in (("0", "group"), ("2", "group and region")):
        found = result.slices["cfad"]
        app = visit(PAGE, audit=several[1], groups=mark)
        for line in (*slice_lines(found.flagged), *slice_lines(found.changes[comparison])):
            assert line in plain(app)
    assert "At the audit's own threshold" not in said(app)
    with Store(home) as store:
        value = result.report("cfad").threshold_at(0.7)
        store.choose_threshold(several[1], ChosenThreshold("cfad", "quantile", value, quantile=0.7))
        path = store.folder(several[0]) / "audit.json"
        text = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({name: part for name, part in text.items() if name != "slices"}), "utf-8")
    assert "At the audit's own threshold, not at the saved one." in said(visit(PAGE, audit=several[1]))
    assert "This audit has none: they are searched by newer versions." in said(visit(PAGE, audit=several[0]))


# What leaves the program


def small_group() -> GroupTable:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [40, 50, 7])
    return group_table(rng.random(97), rng.random(97) < 0.2, group, ("=cmd()", "b", "few"), 0.8, seed=0)


def small_pairs() -> PairTable:
    span, sizes = Interval(0.1, 0.2), (40, 50, 7)
    pairs = tuple(
        Pair(a, b, sizes[a], 0.15, 0.1, 0.05, span, span, Bounds(0.0, 1.0))
        for a in range(3)
        for b in range(3)
        if a != b
    )
    one = AnyOther(97, 0.2)
    return PairTable(0.5, ("=cmd()", "b", "few"), sizes, pairs, one, (one, one, one))


def test_files_say_nothing_about_few_people() -> None:
    metrics = metrics_to_take(small_group()).set_index("group")
    assert metrics.loc["few", "n"] == "<10"
    assert metrics.loc["few"].drop("n").isna().all()
    assert metrics.loc["b", "n"] == 50
    assert metrics.loc["b"].drop("n").notna().all()
    between = between_to_take(small_group())
    assert "few" not in {*between["lowest"], *between["highest"]}
    assert {"difference_low", "ratio_high"} <= set(between)
    pairs = pairs_to_take(small_pairs())
    known = pairs[pairs["changing_ratio"].notna()]
    assert {*known["group"], *known["other_group"]} == {"=cmd()", "b"}
    assert set(pairs.loc[pairs["group"] == "few", "n"]) == {"<10"}
    text = csv_file(metrics.reset_index()).decode("utf-8-sig")
    assert text.splitlines()[1].startswith("'=cmd()")
    shares = [Share(0.1, Interval(0.0, 0.2))] * 5
    assert interaction_to_take(Interaction(0.5, 7, *shares))["share"].isna().all()
    assert interaction_to_take(Interaction(0.5, 70, *shares))["share"].tolist() == [0.1] * 5


def test_the_page_itself_says_how_few_people_there_are() -> None:
    shown = metrics_shown(small_group())
    assert shown.loc["few", "people"] == "7"
    scores, anomalies = np.arange(9.0), np.arange(9) > 6
    none = metrics_shown(group_table(scores, anomalies, np.repeat([0, 1], [7, 2]), ("a", "b"), 7.5, seed=0))
    assert none.loc["a", "hit rate of the flags"] == "n/a (n = 7)"
    assert str(none.loc["b", "hit rate of the flags"]).startswith("100.0 % (")
    assert none.loc["a", "anomalies flagged"] == "n/a (n = 7)"
    assert "few" in {*between_shown(small_group())["lowest"], *between_shown(small_group())["highest"]}


@pytest.mark.slow
def test_small_groups_have_no_download_button(done: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=done[0])
    assert not kept_here(app)
    table = diverse_people()
    table["region"] = np.where(np.arange(len(table)) % 12 == 0, "east", table["region"].replace("east", "north"))
    region = Attribute("region", groups=("north", "south", "east"))
    with Store(home) as store:
        roles = ColumnRoles((region,), ignore=("group", "fraud"))
        audit = finish(store, table, roles, QUICK.replace(methods=("ae",), test_share=0.15), "Few")
        assert 0 < store.result(audit).groups["east"].sum() < 10
    for page in (PAGE, "5_Score_densities.py", "6_Threshold.py"):
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert kept_here(app)


def test_slices_as_tables() -> None:
    span = Interval(0.04, 0.15)
    found = [
        Slices("flagged", 900, 40, (Slice(("age: 25 to 39",), 80, 40, 0.2, 0.1, 0.1, span, 0.001, confirmed=True),)),
        Slices("changes", 900, 40, (Slice(("a", "b"), 52, 9, 0.3, 0.1, 0.2, span, 0.2, confirmed=False),)),
    ]
    shown = slices_shown(found)
    assert shown["people with"].tolist() == ["age: 25 to 39", "a and b"]
    assert shown["difference"][0] == "10.0 points (4.0 to 15.0)"
    assert shown["what"].tolist() == ["flagged", "outcome changes"]
    assert slices_to_take(found)["slice"].tolist() == ["age: 25 to 39"]
    assert slices_shown([]).empty


def test_pairs_without_any_interval_have_no_empty_columns() -> None:
    one = AnyOther(20, 0.1)
    table = PairTable(0.5, ("a", "b"), (20, 20), (Pair(0, 1, 20, 0.1), Pair(1, 0, 20, 0.3)), one, (one, one))
    shown = pairs_shown(table)
    assert list(shown["outcome changes"]) == ["30.0 %", "10.0 %"]
    assert not {"interval", "flag rates allow"} & set(shown)


def test_a_ratio_may_have_no_upper_end() -> None:
    class Fake(GroupTable):
        def against(self, reference: str) -> dict[str, dict[str, AgainstReference]]:
            endless = Estimate(2.0, Interval(0.5, float("inf")))
            return {
                "b": {
                    "flag_rate": AgainstReference(Estimate(0.1), endless),
                    "auc_roc": AgainstReference(*[Estimate(None)] * 2),
                }
            }

    table = Fake(0.5, ())
    assert list(against_shown(table, "a", "flag_rate").loc["b"]) == ["10.0 points", "2.00 (0.50 to any number)"]
    assert list(against_shown(table, "a", "auc_roc").loc["b"]) == ["n/a", "n/a"]


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["9", "1-0-9", "x", "0-0-1", "2-0-1", "-1"])
def test_an_address_that_fits_no_group_is_ignored(several: tuple[str, str], groups: str) -> None:
    app = visit("6_Threshold.py", audit=several[1], groups=groups)
    assert not app.exception, app.exception
    assert app.selectbox(key=f"comparison-{several[1]}").value == 0
