"""Pictures of an audit: arrays that are already computed go in, plotly figures come out.

Figures stand on light and on dark pages: backgrounds are transparent, text takes the page's colour, and nothing is
shown by colour alone. Plotly renders a subset of HTML wherever it shows text, so names that come from a table pass
through ``escaped``; they are shown at numbered positions, as two of them may be the same once shortened.
"""

from __future__ import annotations

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
from cfad_core.figures.scores import Tradeoff, densities_figure, tradeoff_figure
from cfad_core.figures.style import (
    CLEAR,
    COUNTERFACTUAL,
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
from cfad_core.figures.uncertainty import MOST_BARS, edge_cuts_figure, reach_figure
from cfad_core.figures.writing import check_images, write_figure, write_figures

__all__ = [
    "CLEAR",
    "COUNTERFACTUAL",
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
    "Tradeoff",
    "adjacency_figure",
    "adjacency_pair_figure",
    "check_images",
    "color_of",
    "comparison_figure",
    "contributions_figure",
    "densities_figure",
    "edge_cuts_figure",
    "escaped",
    "generation_error_figure",
    "graph_figure",
    "group_bars_figure",
    "history_figure",
    "pairs_figure",
    "rates_figure",
    "reach_figure",
    "sensitivity_figure",
    "tradeoff_figure",
    "tradeoff_points_figure",
    "training_figure",
    "write_figure",
    "write_figures",
]
