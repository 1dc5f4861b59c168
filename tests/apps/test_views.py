"""Pages about some of the groups of an audit: chosen once, kept from page to page, and nothing for two groups."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard import downloads
from cfad_core.apps.dashboard.people import pair_file
from cfad_core.apps.dashboard.services import people_table
from cfad_core.apps.dashboard.tables import verdict_lines
from cfad_core.apps.dashboard.views import ChosenView, pairs_of, read_mark
from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.scoring import score_rows
from cfad_core.core.formats import number, percent
from cfad_core.core.markdown import as_text
from cfad_core.data.readers import read_table
from cfad_core.runs.store import Store
from tests.apps.pages import RESULT_PAGES, press, said, visit

CHOOSERS = {"Compare by", "Groups"}


def choosers(app: AppTest) -> set[str]:
    return {box.label for box in app.selectbox} & CHOOSERS


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}").run()
    assert not app.exception, app.exception
    return app


@pytest.mark.slow
def test_two_groups_leave_nothing_to_choose(done: tuple[str, str]) -> None:
    for page in [*RESULT_PAGES, "2_Train.py"]:
        app = visit(page, audit=done[0])
        assert not choosers(app)
        assert "groups" not in app.query_params


def test_lists_name_the_worst_pair_where_there_are_several(several: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        three, two = (store.get(audit) for audit in several)
        result = store.result(several[0])
    for line, method in zip(verdict_lines(three), ("ae", "cfad"), strict=True):
        (worst,) = (three.metrics or {})[method]["worst_pairs"].values()
        assert line.endswith(as_text(f"{result.report(method).verdict} {worst}", 2000))
    assert set((two.metrics or {})["cfad"]["worst_pairs"]) == {"group", "region"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in RESULT_PAGES if page != "9_Report.py"])
def test_every_page_lets_choose_what_it_is_about(several: tuple[str, str], page: str) -> None:
    three, two = several
    app = visit(page, audit=three)
    assert not app.exception, app.exception
    assert choosers(app) == (set() if page in ("3_Causal_graph.py", "7_Groups.py") else {"Groups"})
    app = visit(page, audit=two)
    assert choosers(app) == {"Compare by"}
    for mark in ("1", "1-0-2", "2"):
        app = visit(page, audit=two, groups=mark)
        assert not app.exception, app.exception
        assert app.selectbox(key=f"comparison-{two}").value == int(mark[0])
        assert app.query_params["groups"] == mark
        is_about_pairs = page not in ("3_Causal_graph.py", "7_Groups.py")
        assert ("Groups" in choosers(app)) == (mark != "2" and is_about_pairs)


@pytest.mark.slow
def test_a_report_is_about_all_comparisons(several: tuple[str, str]) -> None:
    app = visit("9_Report.py", audit=several[1])
    assert not app.exception, app.exception
    assert choosers(app) == set()


@pytest.mark.slow
def test_the_choice_is_kept_from_page_to_page(several: tuple[str, str]) -> None:
    three, two = several
    app = visit("6_Threshold.py", audit=three)
    assert app.selectbox(key=f"pair-{three}-0").options == [
        "all groups",
        "north and south",
        "north and east",
        "south and east",
    ]
    app.selectbox(key=f"pair-{three}-0").set_value(2).run()
    assert app.query_params["groups"] == "0-0-2"
    assert "had they belonged to the other group" in said(app)
    for page in ("5_Score_densities.py", "4_Counterfactuals.py", "7_Groups.py", "8_Methods.py"):
        go(app, page)
        if page != "7_Groups.py":  # which is about all groups, and forgets nothing
            assert app.selectbox(key=f"pair-{three}-0").value == 2
    app.selectbox(key=f"pair-{three}-0").set_value(0).run()
    assert "groups" not in app.query_params
    app.selectbox(key=f"pair-{three}-0").set_value(1).run()
    app.selectbox(key=f"picker-{three}").set_value(two).run()  # another audit begins with all of its groups
    assert "groups" not in app.query_params
    assert app.selectbox(key=f"comparison-{two}").value == 0
    app.selectbox(key=f"picker-{two}").set_value(three).run()
    assert app.selectbox(key=f"pair-{three}-0").value == 1


def test_another_comparison_begins_with_all_its_groups(several: tuple[str, str]) -> None:
    two = several[1]
    app = visit("6_Threshold.py", audit=two, groups="1-0-2")
    app.selectbox(key=f"comparison-{two}").set_value(2).run()
    assert app.query_params["groups"] == "2"
    app.selectbox(key=f"comparison-{two}").set_value(1).run()
    assert app.query_params["groups"] == "1"
    assert app.selectbox(key=f"pair-{two}-1").value == 0
    assert "another group of region" in said(app)


@pytest.mark.slow
def test_the_pages_are_about_the_two_groups(several: tuple[str, str], home: Path) -> None:
    three = several[0]
    with Store(home) as store:
        seen = store.result(three).seen("region", ("north", "east"))
    n, report = len(seen.people.row), seen.report("cfad")
    app = visit("6_Threshold.py", audit=three, groups="0-0-2")
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown[f"flagged of {n}"] == f"{round((report.metrics.flag_rate or 0.0) * n)}"
    assert shown["outcome changes"] == percent(report.metrics.changing_ratio)
    rates = next(table.value for table in app.dataframe if "twins flagged" in table.value.index)
    assert list(rates) == ["north", "east"]
    app = visit("5_Score_densities.py", audit=three, groups="0-0-2")
    assert set(app.dataframe[0].value["group"]) == {"north", "east"}
    app = visit("8_Methods.py", audit=three, groups="0-0-2")
    assert app.dataframe[0].value.loc["CFAD", "outcome changes"] == pytest.approx(report.metrics.changing_ratio)
    assert f"{n} people judged" in said(app)
    app = visit("4_Counterfactuals.py", audit=three, groups="0-0-2")
    assert f"of {n} people would have a different outcome" in said(app)
    assert set(app.dataframe[0].value["region"]) <= {"north", "east"}
    assert "score of the twin" in app.dataframe[0].value


def test_a_threshold_is_about_everybody(several: tuple[str, str], home: Path) -> None:
    """What is saved while two groups are looked at is the same threshold as for all of them."""
    three = several[0]
    app = visit("6_Threshold.py", audit=three, groups="0-0-2")
    app.segmented_control(key=f"by-{three}").set_value("investigations").run()
    app.number_input(key=f"n-{three}-cfad").set_value(12).run()
    press(app, "Save this threshold")
    with Store(home) as store:
        chosen, result = store.get(three).threshold, store.result(three)
    assert chosen is not None
    assert int((result.scores["cfad"].factual > chosen.value).sum()) == 12
    app = visit("6_Threshold.py", audit=three)
    assert {metric.label: metric.value for metric in app.metric}["flagged of 126"] == "12"


def test_a_person_has_a_twin_in_each_other_group(several: tuple[str, str], home: Path) -> None:
    three = several[0]
    app = visit("4_Counterfactuals.py", audit=three)
    assert not app.exception, app.exception
    listed = app.dataframe[0].value
    assert {"furthest twin", "its score", "twins flagged"} <= set(listed)
    assert set(listed["twins flagged"]) <= {"0 of 2", "1 of 2", "2 of 2"}
    row, own = int(listed["row"].iloc[0]) - 1, listed["region"].iloc[0]
    (box,) = (control for control in app.segmented_control if control.label == "Twin, had they been")
    others = [name for name in ("north", "south", "east") if name != own]
    assert sorted(box.options) == sorted(others)
    with Store(home) as store:
        record, result = store.get(three), store.result(three)
    for place, other in enumerate(box.options):
        (box,) = (control for control in app.segmented_control if control.label == "Twin, had they been")
        box.set_value(place).run()
        assert not app.exception, app.exception
        seen = result.seen("region", (own, other))
        person = seen.people.row.tolist().index(row)
        score, report = seen.scores["ae"], seen.report("ae")
        (card,) = (one.proto.body for one in app.get("html") if "cf-outcome" in one.proto.body)
        assert f"as {own}: score {number(float(score.factual[person]))}" in card
        assert f"as {other}, the twin: score {number(float(score.counterfactual[person]))}" in card
        likely = float(report.change_probability(report.threshold)[person])
        changes = round(likely * len(score.judged))
        words = {0: "none", len(score.judged): "all"}.get(changes, str(changes))
        assert f"In {words} of their {len(score.judged)} possible twins the outcome changes." in card
        moved = next(table.value for table in app.dataframe if "the twin" in table.value)
        cells = moved.set_index("column").loc["region"]
        assert (cells["the person"], cells["the twin"]) == (own, other)
        assert f"the same person, had they been {other}" in said(app)
        pair = read_table(pair_file(seen, people_table(record), person), name="pair.csv")
        scored = score_rows(result, pair)["ae_score"].to_numpy()
        assert scored[1] == pytest.approx(score.counterfactual[person], rel=1e-9)
    twins = result.seen().scores["ae"].twins[:, result.people.row.tolist().index(row)]
    furthest = int(np.abs(twins - score.factual[person]).argmax())
    assert listed["furthest twin"].iloc[0] == others[furthest]


def test_twins_that_differ_in_both_attributes(several: tuple[str, str]) -> None:
    app = visit("4_Counterfactuals.py", audit=several[1], groups="2")
    assert not app.exception, app.exception
    assert "had both group and region been different" in said(app)
    (card,) = (one.proto.body for one in app.get("html") if "cf-outcome" in one.proto.body)
    assert "ad both group and region been different" in card or "with both different" in card
    own, other = re.findall(r'class="cf-name">as (.*?)(?:, the twin)?<', card)
    for mine, theirs in zip(own.split(", "), other.split(", "), strict=True):
        assert mine != theirs
    assert app.dataframe[0].value["group and region"].iloc[0] == own


def test_downloads_have_every_twin(several: tuple[str, str], home: Path) -> None:
    two = several[1]
    with Store(home) as store:
        record, result = store.get(two), store.result(two)
    scored = downloads._scored(record, result)
    n = len(result.people.row)
    assert len(scored) == n
    for name in ("ae_score_if_group_a", "ae_score_if_region_east", "ae_change_group", "ae_change_group and region"):
        assert scored[name].notna().all()
    own = scored["region"] == "east"
    np.testing.assert_allclose(scored.loc[own, "ae_score_if_region_east"], scored.loc[own, "ae_score"])
    twins = read_table(downloads.csv_file(downloads._twins(record, result)), name="twins.csv")
    assert twins["moved in"].value_counts().to_dict() == {"group": n, "region": 2 * n, "group and region": n}
    moved = twins[twins["moved in"] == "group"].set_index("row")
    before = scored.set_index("row")
    assert (moved["group"] != before["group"]).all()
    assert (moved["region"] == before["region"]).all()
    of_twins = pd.Series(score_rows(result, twins)["ae_score"].to_numpy()[:n], index=moved.index)
    expected = np.where(before["group"] == "a", before["ae_score_if_group_b"], before["ae_score_if_group_a"])
    np.testing.assert_allclose(of_twins, expected, rtol=1e-9)


def test_marks_in_the_address() -> None:
    plan = plan_comparisons(["sex", "race"], [["f", "m"], ["A", "B", "C"]])
    assert read_mark("1-0-2", plan) == ChosenView(1, (0, 2))
    assert ChosenView(1, (0, 2)).mark == "1-0-2"
    assert read_mark("2", plan) == ChosenView(2)
    assert read_mark("0-0-1", plan) is None  # two groups are all groups
    for mark in ("3", "1-2-0", "1-0-3", "2-0-1", "", "1-", "a", "-1", "9" * 99):
        assert read_mark(mark, plan) is None
    sex, race, both = plan.comparisons
    assert (len(pairs_of(sex)), len(pairs_of(race)), pairs_of(both)) == (1, 3, [])


@pytest.mark.slow
def test_the_graph_is_seen_from_what_is_compared(several: tuple[str, str], home: Path) -> None:
    two = several[1]
    with Store(home) as store:
        result = store.result(two)
    for mark, name, words in (
        ("0", "group", "The diamond is group;"),
        ("1", "region", "The diamond is region;"),
        ("2", "group and region", "The diamonds are group and region;"),
    ):
        app = visit("3_Causal_graph.py", audit=two, groups=mark)
        assert not app.exception, app.exception
        seen = result.seen(name)
        assert seen.stability is not None
        assert words in said(app)
        reached = next(table.value for table in app.dataframe if "reached in subsamples" in table.value)
        assert set(reached["variable"]) == set(seen.stability.reach)
        app.segmented_control(key=f"what-if-{two}").set_value("ae").run()
        ratio = percent(seen.report("ae").metrics.changing_ratio)
        assert f"With AE, the outcome changes for {ratio} of people." in said(app)
        (cuts,) = seen.stability.edge_cuts
        carried = next((table.value for table in app.dataframe if "share of the change" in table.value), None)
        assert carried is None or {tuple(edge) for edge in carried[["cause", "effect"]].to_numpy()} == set(cuts.edges)


def test_saved_audits_say_what_they_are_compared_by(several: tuple[str, str]) -> None:
    app = visit("10_Saved_audits.py")
    assert not app.exception, app.exception
    assert "126 people judged, compared by group." in said(app)
    assert "126 people judged. region reaches" in said(app)
