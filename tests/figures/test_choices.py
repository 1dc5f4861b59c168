from __future__ import annotations

import numpy as np
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.choosing import costs
from cfad_core.evaluation.tally import Tally
from cfad_core.figures import ShareCurve, costs_figure, shares_figure
from tests.figures.drawing import assert_stands_on_any_page

AE, CFAD = look_of("ae"), look_of("cfad")


def curve(*, labels: bool = True, band: bool = False) -> ShareCurve:
    share = np.linspace(0.0, 0.3, 7)
    ends = (share / 4.0, share) if band else (None, None)
    return ShareCurve(share, share / 2.0, np.sqrt(share) if labels else None, *ends)


def test_every_method_has_a_star_at_the_same_share() -> None:
    figure = shares_figure({AE: curve(), CFAD: curve(band=True)}, {AE: (0.1, 0.05, 0.3), CFAD: (0.1, 0.02, 0.4)})
    stars = [trace for trace in figure.data if trace.mode == "markers" and trace.x[0] is not None]
    assert [(star.x[0], star.y[0], star.yaxis) for star in stars] == [
        (0.1, 0.05, "y"),
        (0.1, 0.3, "y2"),
        (0.1, 0.02, "y"),
        (0.1, 0.4, "y2"),
    ]
    assert stars[0].hovertext[0].endswith("chosen: 5.0 % outcome changes<br>at 10.0 % flagged")
    in_legend = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert in_legend == ["CFAD, interval", "AE", "CFAD", "chosen"]
    assert_stands_on_any_page(figure)


def test_a_band_is_drawn_where_it_is_known_and_has_edges() -> None:
    known = curve(band=True)
    assert known.low is not None
    low = known.low.copy()
    low[3] = np.nan
    band = shares_figure({AE: ShareCurve(known.share, known.changing_ratio, None, low, known.high)}, {}).data[0]
    assert len(band.x) == 12  # there and back, without the point that is not known
    assert np.isfinite(band.y).all()
    assert band.line.width == 1


def test_without_labels_nothing_is_said_of_what_is_found() -> None:
    figure = shares_figure({AE: curve(labels=False)}, {AE: (0.1, 0.05, None)})
    assert [axis.title.text for axis in figure.select_yaxes()] == ["outcome changes"]
    assert len([trace for trace in figure.data if trace.mode == "markers"]) == 2  # the star, and the legend's


def test_costs_are_for_a_thousand_people() -> None:
    odd = np.arange(100) >= 90
    found = costs(Tally.of(np.arange(100.0)), Tally.of(np.arange(100.0)[odd]), 5.0, seed=0)
    assert (found.cheapest, found.least) == (10, 0.0)
    figure = costs_figure(found, (0.1, found.least))
    line, star = figure.data[:2]
    assert line.y[0] == pytest.approx(500.0)  # ten missed of a hundred, at 5 each
    assert (star.x[0], star.y[0]) == (0.1, 0.0)
    (band,) = figure.layout.shapes
    assert band.x0 <= 0.1 <= band.x1
    assert_stands_on_any_page(figure)
