from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import kaleido  # type: ignore[import-untyped]
import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest
from kaleido.errors import BrowserFailedError  # type: ignore[import-untyped]

from cfad_core.core.errors import CfadError
from cfad_core.figures import (
    adjacency_pair_figure,
    check_images,
    generation_error_figure,
    write_figure,
    write_figures,
)
from tests.figures.drawing import HOSTILE
from tests.figures.drawing import experiment_figures as figures

FIND = "choreographer.browsers.chromium.Chromium.find_browser"
SVG = "{http://www.w3.org/2000/svg}"


def errors() -> dict[str, dict[str, tuple[float, float]]]:
    return {
        "plain GAE": {"factual": (3.4, 0.3), "counterfactual": (5.876, 0.9)},
        "joint": {"factual": (1.9, np.nan), "counterfactual": (0.4, 0.1)},
    }


def test_pages_share_one_plotly_and_fetch_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    paths = write_figures({"b": generation_error_figure(errors()), "a=0.5": go.Figure()}, folder, images=False)
    assert paths == [folder / "b.html", folder / "a=0.5.html"]
    assert sorted(path.name for path in folder.iterdir()) == ["a=0.5.html", "b.html", "plotly.min.js"]
    for path in paths:
        page = path.read_text(encoding="utf-8")
        assert "plotly.min.js" in page
        assert "http" not in page.replace('"http://www.w3.org/1999/xhtml"', "").replace("https://plot.ly", "")
        assert len(page) < 50_000
    before = paths[0].read_bytes()
    assert write_figure(generation_error_figure(errors()), folder / "b", image=False) == paths[:1]
    assert paths[0].read_bytes() == before  # the same figure, the same page


def test_nothing_to_write_needs_no_browser(tmp_path: Path) -> None:
    assert write_figures({}, tmp_path / "folder", images=True) == []
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("name", ["", ".", "../a", "a/b", "/a"])
def test_figures_are_named_like_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(CfadError, match="without folders"):
        write_figures({name: go.Figure()}, tmp_path, images=False)
    assert list(tmp_path.iterdir()) == []


def test_images_are_drawn_together_on_white_and_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def draw(drawings: list[dict[str, Any]], **options: Any) -> None:
        calls.append((drawings, options))
        for drawing in drawings:
            drawing["path"].touch()

    monkeypatch.setattr(FIND, lambda **_: __file__)
    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", draw)
    wanted = figures(["ae", "cfad"])
    paths = write_figures(wanted, tmp_path, images=True)
    assert [path.name for path in paths[:3]] == ["generation.html", "generation.svg", "sensitivity.html"]
    assert all(path.is_file() for path in paths)
    ((drawings, options),) = calls
    assert options == {"kopts": {"mathjax": False}, "cancel_on_error": True}
    assert [drawing["fig"].layout.paper_bgcolor for drawing in drawings] == ["white"] * 4
    assert [drawing["fig"].layout.plot_bgcolor for drawing in drawings] == ["white"] * 4
    assert wanted["pair"].layout.paper_bgcolor == "rgba(0,0,0,0)"  # what came in stays as it is


def test_without_a_browser_the_remedy_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(FIND, lambda **_: None)
    expected = (
        "Images are drawn by Chrome or Chromium, and none was found: "
        "install it (Debian: apt-get install chromium), or write the figures without images."
    )
    with pytest.raises(CfadError) as caught:
        write_figure(go.Figure(), tmp_path / "folder" / "a", image=True)
    assert str(caught.value) == expected
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("BROWSER_PATH", "/nowhere")
    with pytest.raises(CfadError, match="BROWSER_PATH names '/nowhere', which is not one: install it"):
        check_images()


@pytest.mark.parametrize("error", [BrowserFailedError("closed at once"), TimeoutError()], ids=["failed", "late"])
def test_a_browser_that_fails_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(FIND, lambda **_: __file__)
    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", fail)
    with pytest.raises(CfadError, match="Chromium, which failed: check that it starts") as caught:
        write_figure(go.Figure(), tmp_path / "a", image=True)
    assert type(error).__name__ in caught.value.details
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_chromium_draws_every_figure(tmp_path: Path) -> None:
    wanted = {
        **figures(HOSTILE),
        "errors": generation_error_figure(errors()),
        "graphs": adjacency_pair_figure(["s", "a"], np.eye(2, k=1), np.zeros((2, 2))),
    }
    paths = write_figures(wanted, tmp_path, images=True)
    assert len(paths) == 12
    assert len(list(tmp_path.iterdir())) == 13  # and plotly.min.js
    for path in paths:
        if path.suffix == ".svg":
            image = ET.parse(path).getroot()
            assert (image.tag, image.get("width"), image.get("height")) == (f"{SVG}svg", "1100", "460")
            assert "fill: rgb(255, 255, 255)" in image[0].get("style", "")
            addresses = [cells.get("{http://www.w3.org/1999/xlink}href", "") for cells in image.iter(f"{SVG}image")]
            assert all(address.startswith("data:image/png;base64,") for address in addresses)  # heatmaps
            assert not list(image.iter(f"{SVG}a"))
    shown = {"".join(text.itertext()) for text in ET.parse(tmp_path / "errors.svg").iter(f"{SVG}text")}
    assert {"plain GAE", "joint", "model", "5.88", "0.400", "counterfactual"} <= shown
    shown = {"".join(text.itertext()) for text in ET.parse(tmp_path / "generation.svg").iter(f"{SVG}text")}
    assert any(text.startswith("<img src=x onerror=1>") for text in shown)  # as it is written in the table
