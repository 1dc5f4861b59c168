"""Figures as files: pages that fetch nothing from the internet, and images for print."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from cfad_core.core.errors import CfadError
from cfad_core.core.files import staged_folder

IMAGE_WIDTH = 1100


@cache
def plotly_code() -> str:
    """The script that draws figures in a browser, for pages that must hold all they need."""
    code: str = get_plotlyjs()
    return code


def check_images() -> None:
    """Fail before the work rather than after it, if there is no browser that could draw images.

    Raises
    ------
    CfadError
    """
    from choreographer.browsers.chromium import Chromium

    found = Chromium.find_browser(skip_local=False)
    if found is None or not Path(found).is_file():
        named = os.environ.get("BROWSER_PATH")
        place = f"BROWSER_PATH names '{named}', which is not one" if named else "none was found"
        raise CfadError(
            f"Images are drawn by Chrome or Chromium, and {place}: install it (Debian: apt-get install chromium), "
            "or write the figures without images."
        )


def write_figure(figure: go.Figure, stem: Path, *, image: bool) -> list[Path]:
    """Write one figure, see ``write_figures``: the page ``stem`` + ".html" and the image ``stem`` + ".svg"."""
    return write_figures({stem.name: figure}, stem.parent, images=image)


def write_figures(figures: Mapping[str, go.Figure], folder: Path, *, images: bool) -> list[Path]:
    """Write a page for each figure and, if asked, an image on white. All of them, or after an error none.

    The pages share a copy of plotly.js that lies beside them. The browser that draws the images takes seconds to
    start, so write many figures at once.

    Parameters
    ----------
    figures : by file name, without its ending

    Returns
    -------
    The pages and images, figure by figure.

    Raises
    ------
    CfadError
        if the folder cannot be written to, or images are asked for and there is no browser to draw them
    """
    for name in figures:
        if not name or Path(name).name != name:
            raise CfadError(f"A figure is named like a file, without folders; '{name}' is not such a name.")
    if images and figures:
        check_images()
    with staged_folder(folder) as stage:
        for name, figure in figures.items():
            # A fixed id: by default it is random, and the same figure would never give the same page twice.
            page = {"include_plotlyjs": "directory", "div_id": "figure", "config": {"displaylogo": False}}
            figure.write_html(stage / f"{name}.html", **page)
        if images and figures:
            _draw({stage / f"{name}.svg": figure for name, figure in figures.items()})
    endings = (".html", ".svg") if images else (".html",)
    return [folder / f"{name}{ending}" for name in figures for ending in endings]


def _draw(figures: Mapping[Path, go.Figure]) -> None:
    """Images of all figures from one start of the browser, which kaleido runs without a sandbox: root may, too."""
    import kaleido  # type: ignore[import-untyped]
    from kaleido import errors

    white = {"paper_bgcolor": "white", "plot_bgcolor": "white"}
    options = {"format": "svg", "width": IMAGE_WIDTH}
    drawings = [
        {"fig": go.Figure(figure).update_layout(white), "path": path, "opts": options}
        for path, figure in figures.items()
    ]
    try:
        # Not plotly.io.write_images: it fetches MathJax from the internet, ignores heights and swallows errors.
        kaleido.write_fig_from_object_sync(drawings, kopts={"mathjax": False}, cancel_on_error=True)
    except (
        errors.BrowserClosedError,
        errors.BrowserFailedError,
        errors.ChromeNotFoundError,
        errors.JavascriptError,
        errors.KaleidoError,
        TimeoutError,
    ) as error:
        failure = CfadError(
            "Images are drawn by Chrome or Chromium, which failed: check that it starts, "
            "or write the figures without images."
        )
        failure.details = f"{type(error).__name__}: {error}"
        raise failure from error
