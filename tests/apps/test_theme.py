"""The colours of the theme can be read in light and in dark: the contrast that WCAG 2 asks for, level AA."""

from __future__ import annotations

import tomllib

import pytest

from tests.apps.pages import ROOT

THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
CAPTION = 0.8  # opacity, in assets/style.css


def luminance(red: float, green: float, blue: float) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def parts(colour: str) -> list[float]:
    return [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]


def contrast(one: str, other: str, opacity: float = 1.0) -> float:
    """Of a colour on another, through which the other shows unless its opacity is 1."""
    on = [opacity * above + (1.0 - opacity) * below for above, below in zip(parts(one), parts(other), strict=True)]
    low, high = sorted((luminance(*on), luminance(*parts(other))))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_known_colours() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)  # the lightest grey that passes
    assert contrast("#000000", "#FFFFFF", 0.0) == 1.0


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
def test_words_stand_out(name: str, ground: str) -> None:
    theme = THEMES[name]
    for colour, opacity in ((theme["textColor"], 1.0), (theme["textColor"], CAPTION), (theme["linkColor"], 1.0)):
        assert contrast(colour, theme[ground], opacity) >= 4.5
    assert contrast("#FFFFFF", theme["primaryColor"]) >= 4.5  # words on a button
    assert contrast(theme["primaryColor"], theme[ground]) >= 3.0  # the button


@pytest.mark.parametrize(("name", "pale"), [("light", {"#F0E442", "#E69F00", "#56B4E9", "#44AA99"}), ("dark", set())])
def test_colours_of_charts_stand_out(name: str, pale: set[str]) -> None:
    """Okabe and Ito's paler ones do not on white: they fill areas, and dashes and marks go with all of them."""
    theme = THEMES[name]
    colours = theme["chartCategoricalColors"]
    assert {one for one in colours if contrast(one, theme["backgroundColor"]) < 3.0} == pale
    assert len(set(colours)) == 10  # or plotly falls back to its own


def test_captions_are_as_opaque_as_computed_here() -> None:
    style = (ROOT / "assets" / "style.css").read_text(encoding="utf-8")
    assert f'[data-testid="stCaptionContainer"] {{ opacity: {CAPTION}; }}' in style
    assert "prefers-reduced-motion: reduce" in style
