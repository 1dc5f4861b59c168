"""The causal graph in a real browser: what is clicked, dragged and typed in the picture arrives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from cfad_core.runs.store import Store
from tests.apps.browser import SECONDS, Visitor, app, assert_clean, browser

pytestmark = pytest.mark.slow
CANVAS = ".cfad-graph-canvas"
READ = f"""() => {{
    const cy = document.querySelector('{CANVAS}')._cyreg?.cy;
    if (!cy || cy.nodes('.column').empty()) return null;
    const middle = (edge) => {{ const m = edge.renderedMidpoint(); return [m.x, m.y]; }};
    const place = (node) => {{ const p = node.renderedPosition(); return [p.x, p.y]; }};
    return {{
        columns: Object.fromEntries(cy.nodes('.column').map((one) => [one.data('name'), place(one)])),
        arrows: Object.fromEntries(cy.edges('.arrow').map((one) => [one.id(), middle(one)])),
        marked: cy.edges('.forbidden, .required').map((one) => one.id() + ' ' + one.data('mark')),
        picked: cy.elements('.picked').map((one) => one.id()),
        zoom: cy.zoom(),
    }};
}}"""


@pytest.fixture(scope="module")
def home(finished_home: tuple[Path, str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(finished_home[0], tmp_path_factory.mktemp("graph") / "home"))


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with app(home, environment={"CFAD_WORKERS": "0"}) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def open_graph(visitor: Visitor, audit: str) -> None:
    """The page of an audit's graph; a server that has just started imports a lot first."""
    visitor.page.goto(f"{visitor.url}/Causal_graph?audit={audit}")
    visitor.wait_idle(4.0 * SECONDS)


def shown(visitor: Visitor) -> dict[str, Any]:
    """What the component draws, as soon as it draws something."""
    visitor.wait_idle()
    visitor.page.wait_for_function(READ)
    found: dict[str, Any] = visitor.page.evaluate(READ)
    return found


def point(visitor: Visitor, spot: list[float]) -> tuple[float, float]:
    """A place of the picture, on the page."""
    visitor.page.locator(CANVAS).scroll_into_view_if_needed()
    box = visitor.page.locator(CANVAS).bounding_box()
    assert box is not None
    return box["x"] + spot[0], box["y"] + spot[1]


def test_the_graph_can_be_read_by_keyboard(chromium: Browser, url: str, finished_home: tuple[Path, str, str]) -> None:
    with Visitor(chromium, url) as visitor:
        open_graph(visitor, finished_home[2])
        shown(visitor)
        canvas = visitor.page.locator(CANVAS)
        canvas.focus()
        canvas.press("ArrowRight")
        visitor.wait_text("group. the sensitive attribute")  # the first column, read out
        canvas.press("Enter")
        visitor.wait_text("It causes")
        assert shown(visitor)["picked"] == ["0"]
        canvas.focus()
        canvas.press("e")
        canvas.press("Enter")
        visitor.wait_text("Strength")
        (picked,) = shown(visitor)["picked"]
        assert picked.startswith("0-")
        zoom = shown(visitor)["zoom"]
        canvas.press("+")
        assert shown(visitor)["zoom"] > zoom
        assert_clean(visitor)


def _names(variables: list[str], mark: str) -> tuple[str, str]:
    cause, effect = mark.split("-")
    return variables[int(cause)], variables[int(effect)]


def test_the_graph_is_read_and_changed_in_the_picture(
    chromium: Browser, url: str, home: Path, finished_home: tuple[Path, str, str]
) -> None:
    audit = finished_home[1]
    with Store(home) as store:
        variables, edges = (result := store.result(audit)).model.strengths()[0], result.model.edges()
    with Visitor(chromium, url, colour_scheme="dark") as visitor:
        open_graph(visitor, audit)
        before = shown(visitor)
        visitor.page.mouse.click(*point(visitor, before["columns"]["income"]))
        visitor.wait_text("How its values are spread in each group")
        assert shown(visitor)["picked"] == [str(variables.index("income"))]

        arrow = max(before["arrows"], key=lambda mark: abs(edges[_names(variables, mark)]))
        visitor.page.mouse.click(*point(visitor, before["arrows"][arrow]))
        visitor.wait_text("which is strong")
        visitor.click("Cannot be")
        visitor.wait_text("cannot be.")
        assert shown(visitor)["marked"] == [f"{arrow} forbidden"]
        visitor.click("Undo")
        visitor.wait_text("Nothing is changed.")
        assert shown(visitor)["marked"] == []
        visitor.click("Redo")
        visitor.wait_text("cannot be.")

        visitor.click("Draw an edge")
        places = shown(visitor)["columns"]
        pairs = [(a, b) for a in places for b in places if a != b and "group" not in (a, b)]
        first, last = next(pair for pair in pairs if pair != _names(variables, arrow))
        visitor.page.mouse.click(*point(visitor, places[first]))
        visitor.wait_text(f"From {first}: choose its effect.")
        visitor.page.mouse.click(*point(visitor, shown(visitor)["columns"][last]))
        visitor.wait_text(f"{first} → {last} must be")
        assert_clean(visitor)
