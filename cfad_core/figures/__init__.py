"""Pictures of an audit: arrays that are already computed go in, plotly figures come out.

Figures stand on light and on dark pages: backgrounds are transparent, text takes the page's colour, and nothing is
shown by colour alone. Plotly renders a subset of HTML wherever it shows text, so names that come from a table pass
through ``escaped``; they are shown at numbered positions, as two of them may be the same once shortened.
"""

from __future__ import annotations

from cfad_core.figures.changes import changes_figure
from cfad_core.figures.choices import ShareCurve, costs_figure, shares_figure
from cfad_core.figures.densities import densities_figure, score_panels_figure
from cfad_core.figures.details import comparison_figure, contributions_figure, rates_figure, training_figure
from cfad_core.figures.experiments import (
    adjacency_pair_figure,
    generation_error_figure,
    sensitivity_figure,
    tradeoff_points_figure,
)
from cfad_core.figures.graphs import adjacency_figure, graph_figure
from cfad_core.figures.groups import group_bars_figure, pairs_figure
from cfad_core.figures.history import Moment, history_figure
from cfad_core.figures.scores import Tradeoff, tradeoff_figure
from cfad_core.figures.spreads import levels_figure, numbers_figure
from cfad_core.figures.style import (
    CLEAR,
    DASHES,
    GREY,
    HOVER_LIMIT,
    MIDDLE_GREY,
    PALETTE,
    PATTERNS,
    STRONG_GREY,
    SYMBOLS,
    color_of,
    escaped,
)
from cfad_core.figures.uncertainty import MOST_BARS, edge_cuts_figure, path_shares_figure, reach_figure
from cfad_core.figures.writing import check_images, write_figure, write_figures

__all__ = [
    "CLEAR",
    "DASHES",
    "GREY",
    "HOVER_LIMIT",
    "MIDDLE_GREY",
    "MOST_BARS",
    "PALETTE",
    "PATTERNS",
    "STRONG_GREY",
    "SYMBOLS",
    "Moment",
    "ShareCurve",
    "Tradeoff",
    "adjacency_figure",
    "adjacency_pair_figure",
    "changes_figure",
    "check_images",
    "color_of",
    "comparison_figure",
    "contributions_figure",
    "costs_figure",
    "densities_figure",
    "edge_cuts_figure",
    "escaped",
    "generation_error_figure",
    "graph_figure",
    "group_bars_figure",
    "history_figure",
    "levels_figure",
    "numbers_figure",
    "pairs_figure",
    "path_shares_figure",
    "rates_figure",
    "reach_figure",
    "score_panels_figure",
    "sensitivity_figure",
    "shares_figure",
    "tradeoff_figure",
    "tradeoff_points_figure",
    "training_figure",
    "write_figure",
    "write_figures",
]
