from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cfad_core.core.looks import Look
from cfad_core.detectors.registry import METHODS, look_of
from cfad_core.figures.style import color_of
from cfad_core.figures.tradeoff_sketch import MOST_METHODS, tradeoff_sketch
from tests.figures.drawing import tradeoff
from tests.figures.svg import NASTY, parsed, texts

AE, CFAD = look_of("ae"), look_of("cfad")
LEGEND_LINE = "h34"


def lines(root: ET.Element, look: Look) -> list[ET.Element]:
    """The paths of a method's colour and width, without that of the legend."""
    strokes = [path for path in root.iter("path") if path.get("stroke") == color_of(look)]
    return [path for path in strokes if LEGEND_LINE not in path.get("d", "")]


def points(path: ET.Element) -> list[tuple[float, float]]:
    numbers = [float(number) for number in re.findall(r"[\d.]+", path.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_methods_differ_in_colour_and_dash_and_are_named() -> None:
    root = parsed(tradeoff_sketch({AE: tradeoff(), CFAD: tradeoff()}, {AE: (0.3, 0.09)}, with_labels=True))
    (dashed,), (solid,) = lines(root, AE), lines(root, CFAD)
    assert dashed.get("stroke-dasharray") != solid.get("stroke-dasharray")
    said = texts(root)
    assert {"AE", "CFAD", "30.0 % change, Macro-F1 0.09", "at the chosen threshold"} <= set(said)
    assert "Macro-F1 (higher is better)" in said
    words = "AE: 30.0 % change, Macro-F1 0.09; CFAD: no threshold chosen. "
    assert (root.findtext("desc") or "") == words.strip()


def test_a_star_stands_on_its_line() -> None:
    root = parsed(tradeoff_sketch({AE: tradeoff()}, {AE: (0.5, 0.25)}, with_labels=True))
    (star,) = (path for path in root.iter("path") if path.get("fill") == color_of(AE))
    middle = np.mean(points(star), axis=0)
    (line,) = lines(root, AE)
    assert np.hypot(*(np.array(points(line)) - middle).T).min() < 3.0


def test_without_labels_people_flagged_are_shown() -> None:
    root = parsed(tradeoff_sketch({AE: tradeoff()}, {AE: (0.5, 0.25)}, with_labels=False))
    assert {"share of people flagged", "50.0 % change, 25.0 % flagged"} <= set(texts(root))
    assert not any("Macro-F1" in text for text in texts(root))


def test_a_band_is_drawn_where_it_is_known() -> None:
    line = np.linspace(0.0, 1.0, 101)
    low, high = line - 0.1, line + 0.1
    low[40:60] = np.nan
    root = parsed(tradeoff_sketch({AE: tradeoff(low=low, high=high)}, {}, with_labels=True))
    (band,) = (path for path in root.iter("path") if path.get("fill") == color_of(AE))
    assert band.get("fill-opacity") == ".2"
    corners = np.array(points(band)).reshape(-1, 4, 2)
    x, y = corners[..., 0], corners[..., 1]
    areas = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1)
    assert (areas <= 0.0).all() or (areas >= 0.0).all()  # all go round the same way, so that none cancels another
    assert any("most subsamples" in text for text in texts(root))
    bare = parsed(tradeoff_sketch({AE: tradeoff()}, {}, with_labels=True))
    assert not any("most subsamples" in text for text in texts(bare))


def test_points_that_are_not_defined_are_left_out() -> None:
    ratio = np.linspace(0.0, 1.0, 101)
    ratio[[20, 50, 52]] = np.nan
    curve = tradeoff(changing_ratio=ratio)
    svg = tradeoff_sketch({AE: curve}, {AE: (np.nan, 0.5)}, with_labels=True)
    root = parsed(svg)
    assert "nan" not in svg
    (line,) = lines(root, AE)
    assert line.get("d", "").count("M") == 3
    assert len(list(root.iter("circle"))) == 1  # between two gaps
    assert "at the chosen threshold" not in texts(root)
    nothing = tradeoff(changing_ratio=np.full(101, np.nan))
    assert lines(parsed(tradeoff_sketch({AE: nothing}, {}, with_labels=True)), AE) == []


def test_single_points_and_no_methods_are_drawn() -> None:
    one = np.array([0.1])
    root = parsed(
        tradeoff_sketch(
            {AE: tradeoff(changing_ratio=one, quality=one, flag_rate=one)}, {AE: (0.1, 0.1)}, with_labels=True
        )
    )
    assert len(list(root.iter("circle"))) == 1
    assert texts(root).count("AE") == 2  # beside the point and in the legend
    assert "There are no methods." in texts(parsed(tradeoff_sketch({}, {}, with_labels=False)))


def test_many_methods_are_cut_and_counted() -> None:
    looks = [look_of(name) for name in [*METHODS, "mine", "yours"]]
    assert len(looks) > MOST_METHODS
    root = parsed(tradeoff_sketch({look: tradeoff() for look in looks}, {}, with_labels=True))
    keys = [path for path in root.iter("path") if LEGEND_LINE in path.get("d", "")]
    assert len(keys) == MOST_METHODS
    assert {look.label for look in looks[:MOST_METHODS]} <= set(texts(root))
    rest = len(looks) - MOST_METHODS
    assert f"Not drawn: {rest} more method{'s' * (rest > 1)}." in texts(root)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_text(name: str) -> None:
    look = Look(name, 0, "no such dash", "circle")
    svg = tradeoff_sketch({look: tradeoff()}, {look: (0.1, 0.2)}, with_labels=True)
    parsed(svg)
    assert len(svg) < 20_000
    assert not set(svg) & {"\u202e", "\u2066", "\x00", "\x1b", "\n"}


def test_long_curves_stay_small_and_pictures_the_same() -> None:
    line = np.linspace(0.0, 1.0, 20_001)
    curve = tradeoff(changing_ratio=line, quality=line, flag_rate=line, low=line, high=line)
    first, second = (tradeoff_sketch({AE: curve}, {}, with_labels=True) for _ in range(2))
    assert first == second
    assert len(first) < 80_000
