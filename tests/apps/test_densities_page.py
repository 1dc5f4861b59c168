"""Score densities: what is drawn, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.density_view import curves_table
from cfad_core.core.formats import percent
from cfad_core.evaluation.shapes import BothWorlds, score_shapes
from cfad_core.evaluation.tally import Tally
from cfad_core.runs.store import Store
from tests.apps.pages import said, visit

PAGE = "5_Score_densities.py"


def behind(app: AppTest) -> pd.DataFrame:
    (box,) = (box for box in app.expander if box.label == "The numbers behind it")
    table: pd.DataFrame = box.dataframe[0].value
    return table


def test_the_page_says_what_the_panels_show(done: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=done[0])
    assert not app.exception, app.exception
    assert app.multiselect[0].value == ["ae", "cfad"]
    with Store(home) as store:
        result = store.result(done[0])
    report = result.report("ae")
    rates = report.metrics.groups
    shown = behind(app).query("method == 'AE'")
    for name, values in rates.items():
        row = [name, percent(values["flag_rate"]), percent(values["flag_rate_counterfactual"])]
        assert row in shown[["group", "flagged", "twins flagged"]].to_numpy().tolist()
    worst = max(
        rates, key=lambda name: abs((rates[name]["flag_rate"] or 0) - (rates[name]["flag_rate_counterfactual"] or 0))
    )
    assert f"{report.label} flags {percent(rates[worst]['flag_rate'])} of the group {worst}" in said(app).replace(
        "\\", ""
    )
    assert "The curves are smoothed: everybody counts as spread over scores about" in said(app)
    assert app.get("plotly_chart")[0].proto.alt.startswith(f"{report.label}: ")


@pytest.mark.slow
def test_pictures_drawings_and_scales(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    for key, value, words in (
        ("picture", "all groups in one, as in the paper", "Solid: people as they are. Dashed: their twins"),
        ("drawing", "exact counts", "Exact counts: each step is the share of people between two scores."),
        ("scale", "linear", "Exact counts"),
    ):
        app.segmented_control(key=key).set_value(value).run()
        assert not app.exception, app.exception
        assert words in said(app)
    app.multiselect[0].set_value([]).run()
    assert app.info[0].value.startswith("Choose a method")


@pytest.mark.slow
def test_methods_with_other_units_have_other_scales(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    assert "scales of their own" not in said(app)
    app.multiselect[0].set_value(["ocsvm", "fairod"]).run()
    app.segmented_control(key="scale").set_value("logarithmic").run()
    assert not app.exception, app.exception
    assert "they have scales of their own" in said(app)
    assert "A logarithmic scale has no place for scores of 0 or less" in said(app)


def test_the_interval_of_the_distance(done: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=done[0])
    with Store(home) as store:
        intervals = store.result(done[0]).report("ae").intervals
    assert intervals is not None
    found = intervals.distance
    assert found is not None
    assert f"AE {100 * found.low:.1f} % to {100 * found.high:.1f} %" in said(app)
    assert "in the group where it is largest" not in said(visit(PAGE, audit=done[1]))


def test_the_curves_to_take_say_nothing_of_few_people() -> None:
    sets = {name: BothWorlds(*(Tally.of(np.arange(n)),) * 2) for name, n in (("few", 9.0), ("many", 90.0))}
    table = curves_table({"ae": score_shapes(sets, 50.0), "cfad": score_shapes(sets, 50.0, exact=True)})
    assert set(table["group"]) == {"many"}
    assert list(table) == ["method", "group", "drawn_as", "logarithmic", "score", "people", "twins"]
    assert set(table["drawn_as"]) == {"smooth", "steps"}
    assert curves_table({"ae": score_shapes({"few": sets["few"]}, 5.0)}).empty
