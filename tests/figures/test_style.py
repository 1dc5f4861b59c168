from __future__ import annotations

import numpy as np
import pytest

from cfad_core.core.config import DEFAULT_METHODS
from cfad_core.detectors.registry import METHODS, look_of, plain_methods
from cfad_core.figures import DASHES, PALETTE, color_of, escaped
from tests.figures.drawing import (
    HOSTILE,
    assert_shows_only_escaped_names,
    assert_stands_on_any_page,
    audit_figures,
    experiment_figures,
)


def test_palette_is_readable_on_white_and_on_dark() -> None:
    def luminance(color: str) -> float:
        c = np.array([int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    assert len(set(PALETTE)) == 11
    for color in PALETTE:
        assert 1.05 / (luminance(color) + 0.05) > 2.2
        assert (luminance(color) + 0.05) / (luminance("#0e1117") + 0.05) > 2.2


def test_methods_differ_by_more_than_colour_and_unknown_ones_have_a_stable_look() -> None:
    known = {"pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "fairad", "cfad", "twin", "surprise"}
    assert set(plain_methods()) == known
    looks = [*(look_of(method) for method in plain_methods()), look_of("new")]
    for values in ({color_of(look) for look in looks}, {look.symbol for look in looks}):
        assert len(values) == 11
    assert len({look_of(method).dash for method in DEFAULT_METHODS}) == 4  # drawn side by side most often
    assert {look.dash for look in looks} <= set(DASHES)  # plotly has six
    assert len(set(METHODS) - known) == len(known)
    for method in plain_methods():  # a rank has its method's colour, but neither its dash, nor its mark
        plain, rank = look_of(method), look_of(f"{method}-rank")
        assert color_of(rank) == color_of(plain)
        assert (rank.dash, rank.symbol) == ("dot", "x")
        assert rank.symbol != plain.symbol
        assert rank.label != plain.label
    assert look_of("new") == look_of("new")
    assert color_of(look_of("new")) not in {color_of(look_of(method)) for method in METHODS}


def test_escaped() -> None:
    assert escaped("a < b & c") == "a &lt; b &amp; c"
    assert escaped("x" * 41) == "x" * 39 + "…"
    assert escaped("x" * 40) == "x" * 40
    assert escaped("\"'$") == "&#34;&#39;&#36;"  # entities that plotly knows
    assert escaped("<" * 9, 3) == "&lt;&lt;…"  # shortened first: no entity is cut


@pytest.mark.parametrize("names", [HOSTILE, HOSTILE[3:] + HOSTILE[:3]], ids=["forwards", "backwards"])
def test_hostile_names_appear_only_escaped_and_shortened(names: list[str]) -> None:
    for kind, figure in (audit_figures(names) | experiment_figures(names)).items():
        assert_shows_only_escaped_names(figure, kind)


@pytest.mark.parametrize("names", [[], ["only"]], ids=["nothing", "one"])
def test_little_or_nothing_can_be_drawn(names: list[str]) -> None:
    for figure in (audit_figures(names) | experiment_figures(names)).values():
        assert_stands_on_any_page(figure)
    for figure in experiment_figures(names).values():
        assert all(axis.title.text for axis in [*figure.select_xaxes(), figure.layout.yaxis])
