from __future__ import annotations

import numpy as np
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.figures import tradeoff_figure
from tests.figures.drawing import tradeoff


def test_a_band_has_no_holes_where_the_curve_turns_back() -> None:
    curve = tradeoff(quality=np.abs(np.linspace(-1.0, 1.0, 101)))
    assert len(tradeoff_figure({look_of("ae"): curve}).data) == 2
    wide = tradeoff(quality=curve.quality, low=curve.changing_ratio - 0.1, high=curve.changing_ratio + 0.7)
    figure = tradeoff_figure({look_of("cfad"): wide})
    band = figure.data[0]
    assert (band.name, band.fill) == ("CFAD, interval", "toself")
    x, y = (np.array(values).reshape(-1, 6)[:, :5] for values in (band.x, band.y))
    areas = 0.5 * (x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]).sum(axis=1)
    assert (areas < 0.0).all()  # all go round the same way
    assert figure.layout.xaxis.range[1] > 1.7
    unknown = tradeoff(low=np.full(101, np.nan), high=np.full(101, np.nan))
    assert tradeoff_figure({look_of("cfad"): unknown}).layout.xaxis.range[1] == pytest.approx(1.05)


def test_star_and_quantiles() -> None:
    figure = tradeoff_figure({look_of("cfad"): tradeoff()}, {look_of("cfad"): (0.3, 0.09)})
    line, points, star = figure.data
    assert (line.mode, line.line.dash) == ("lines", look_of("cfad").dash)
    assert (
        points.hovertext[1]
        == "CFAD, above 95 % of training scores: Macro-F1 0.01, outcome changes for 10.0 %, flagged 90.0 %"
    )
    assert (star.marker.symbol, list(star.x), list(star.y)) == ("star", [0.3], [0.09])
    assert figure.layout.yaxis.title.text == "flags match labels (Macro-F1)"


def test_flag_rate_without_labels() -> None:
    curve = tradeoff(quantile_quality=np.array([0.1, 0.05]))
    figure = tradeoff_figure({look_of("other"): curve}, {look_of("other"): (0.1, 0.05)}, with_labels=False)
    assert figure.layout.yaxis.title.text == "share of people flagged"
    assert (
        figure.data[1].hovertext[1] == "other, above 95 % of training scores: flagged 5.0 %, outcome changes for 10.0 %"
    )


def test_flag_rates_of_quantiles_are_shown_only_if_known() -> None:
    given = tradeoff(quantile_flag_rate=np.array([0.1, 0.05]))
    assert tradeoff_figure({look_of("ae"): given}).data[1].hovertext[1].endswith("flagged 5.0 %")
    flat = tradeoff(changing_ratio=np.full(101, 0.1), quality=np.full(101, 0.01))
    assert tradeoff_figure({look_of("ae"): flat}).data[1].hovertext[1].endswith("outcome changes for 10.0 %")
