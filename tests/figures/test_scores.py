from __future__ import annotations

import numpy as np
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.densities import Densities, score_densities
from cfad_core.figures import densities_figure, tradeoff_figure
from tests.figures.drawing import assert_stands_on_any_page, tradeoff


def densities(shift: float = 0.0) -> Densities:
    scores = np.linspace(1.0, 2.0, 20) + shift
    names = ["f", "f (counterfactual)", "m", "m (counterfactual)"]
    return score_densities({name: scores + k for k, name in enumerate(names)}, bins=8)


def test_a_band_has_no_holes_where_the_curve_turns_back() -> None:
    curve = tradeoff(quality=np.abs(np.linspace(-1.0, 1.0, 101)))
    assert len(tradeoff_figure({look_of("ae"): curve}).data) == 2
    wide = tradeoff(quality=curve.quality, low=curve.changing_ratio - 0.1, high=curve.changing_ratio + 0.7)
    figure = tradeoff_figure({look_of("cfad"): wide})
    band = figure.data[0]
    assert (band.name, band.fill) == ("CFAD, subsamples", "toself")
    x, y = (np.array(values).reshape(-1, 6)[:, :5] for values in (band.x, band.y))
    areas = 0.5 * (x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]).sum(axis=1)
    assert (areas < 0.0).all()  # all go round the same way
    assert figure.layout.xaxis.range[1] > 1.7
    unknown = tradeoff(low=np.full(101, np.nan), high=np.full(101, np.nan))
    assert tradeoff_figure({look_of("cfad"): unknown}).layout.xaxis.range[1] == pytest.approx(1.05)


def test_density_panels_share_axes_and_colours_pair_up() -> None:
    figure = densities_figure(
        {look_of("ae"): densities(), look_of("cfad"): densities(5.0)}, {look_of("ae"): 1.5, look_of("cfad"): 6.5}
    )
    assert figure.layout.xaxis2.matches == "x"
    assert figure.layout.yaxis2.matches == "y"
    assert [a.text for a in figure.layout.annotations] == ["AE", "CFAD"]
    lines = {(t.name, t.xaxis): t.line for t in figure.data}
    for axis in ("x", "x2"):
        assert lines["f", axis].color == lines["f (twins)", axis].color == lines["f", "x"].color
        assert lines["f", axis].color != lines["m", axis].color
        assert (lines["f", axis].dash, lines["f (twins)", axis].dash) == ("solid", "dash")
    thresholds = {t.xaxis: t for t in figure.data if t.name == "threshold"}
    assert {axis: list(t.x) for axis, t in thresholds.items()} == {"x": [1.5, 1.5], "x2": [6.5, 6.5]}
    assert all(t.line.dash == "dot" for t in thresholds.values())
    in_legend = [t.name for t in figure.data if t.showlegend]
    assert len(in_legend) == len(set(in_legend)) == 5


def test_long_groups_keep_their_world_and_groups_differ_in_width() -> None:
    names = ["x" * 50, "x" * 50 + " (counterfactual)", "y"]
    figure = densities_figure({look_of("ae"): Densities(np.arange(3.0), {name: np.ones(2) for name in names})})
    assert [t.name for t in figure.data] == ["x" * 39 + "…", "x" * 39 + "… (twins)", "y"]
    widths = [t.line.width for t in figure.data]
    assert widths[0] == widths[1] != widths[2]


def test_densities_on_a_log_axis_and_of_nobody() -> None:
    panel = score_densities({"f": np.array([0.1, 1.0]), "m": np.array([])}, bins=4, log=True)
    figure = densities_figure({look_of("ae"): panel}, {look_of("ae"): 0.0, look_of("unknown"): 1.0}, log=True)
    assert figure.layout.xaxis.type == "log"
    assert [t.name for t in figure.data] == ["f", "m"]  # a log axis has no place for a threshold of 0
    assert_stands_on_any_page(figure)


def test_star_and_quantiles() -> None:
    figure = tradeoff_figure({look_of("cfad"): tradeoff()}, {look_of("cfad"): (0.3, 0.09)})
    line, points, star = figure.data
    assert (line.mode, line.line.dash) == ("lines", look_of("cfad").dash)
    assert points.hovertext[1] == "CFAD, quantile 0.95: Macro-F1 0.01, changing ratio 0.10, flagged 90.0 %"
    assert (star.marker.symbol, list(star.x), list(star.y)) == ("star", [0.3], [0.09])
    assert figure.layout.yaxis.title.text == "Macro-F1"


def test_flag_rate_without_labels() -> None:
    curve = tradeoff(quantile_quality=np.array([0.1, 0.05]))
    figure = tradeoff_figure({look_of("other"): curve}, {look_of("other"): (0.1, 0.05)}, with_labels=False)
    assert figure.layout.yaxis.title.text == "flag rate"
    assert figure.data[1].hovertext[1] == "other, quantile 0.95: flagged 5.0 %, changing ratio 0.10"


def test_flag_rates_of_quantiles_are_shown_only_if_known() -> None:
    given = tradeoff(quantile_flag_rate=np.array([0.1, 0.05]))
    assert tradeoff_figure({look_of("ae"): given}).data[1].hovertext[1].endswith("flagged 5.0 %")
    flat = tradeoff(changing_ratio=np.full(101, 0.1), quality=np.full(101, 0.01))
    assert tradeoff_figure({look_of("ae"): flat}).data[1].hovertext[1].endswith("changing ratio 0.10")
