"""The reproduced experiments as tables and figures, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.files import staged_file
from cfad_core.evaluation.densities import Densities
from cfad_core.evaluation.metrics import HEADLINE
from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.evaluation.shapes import shapes_of_bins
from cfad_core.figures import (
    adjacency_pair_figure,
    densities_figure,
    generation_error_figure,
    graph_figure,
    sensitivity_figure,
    tradeoff_points_figure,
    write_figures,
)
from cfad_core.paper.comparison import (
    PAPERS_JUDGE,
    beating_paper,
    called,
    domination_notes,
    paper_text,
    standing_along,
    standing_at_95,
)
from cfad_core.paper.experiments import SENSITIVITY
from cfad_core.paper.judges import JUDGES, TRUTH
from cfad_core.paper.methods import NOT_RUN, label_of, look_of
from cfad_core.paper.plan import ORIGINALS, Reproduction
from cfad_core.paper.problems import JUDGED
from cfad_core.paper.published import published

DATASET_NAMES = {
    "synthetic": "Synthetic, chosen worlds",
    "synthetic-unfiltered": "Synthetic, all worlds",
    "adult": "Adult",
    "compas": "COMPAS",
}
COLUMNS = {
    **{name: metric.label for name, metric in HEADLINE.items() if name not in ("flag_rate", "changing_ratio")},
    **{judge: f"changes ({name})" for judge, name in JUDGES.items()},
}
SETTING_NAMES = {
    "fairness_weight": "fairness weight (lambda)",
    "fair_learning_rate": "learning rate of the fine-tuning",
}
MODELS = ("plain GAE", "paper", "joint")
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"  # in a document, around what the record says


def write_report(found: Reproduction, folder: Path, *, images: bool = True) -> list[Path]:
    """``results.md`` and the figures as HTML and, if ``images``, SVG (with Chromium); returns what was written."""
    with staged_file(folder / "results.md") as path:
        path.write_text(markdown(found), encoding="utf-8")
    return [folder / "results.md", *write_figures(figures(found), folder / "figures", images=images)]


def write_into(document: Path, found: Reproduction) -> None:
    """Replace what a document has between the two marks by what the record says.

    Raises
    ------
    InvalidDataError
        If it does not have each mark once, in their order.
    """
    before, _, after = _parts(document)
    with staged_file(document) as path:
        path.write_text(f"{before}{BEGIN}\n\n{markdown(found)}\n{END}{after}", encoding="utf-8")


def read_from(document: Path) -> str:
    """What a document has between the two marks."""
    return _parts(document)[1]


def _parts(document: Path) -> tuple[str, str, str]:
    """What stands before, between and after the marks, without the empty lines around the middle."""
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    before, _, rest = text.partition(BEGIN)
    middle, _, after = rest.partition(END)
    if (text.count(BEGIN), text.count(END), rest.count(END)) != (1, 1, 1):
        raise InvalidDataError(
            f"'{document}' must hold the lines '{BEGIN}' and '{END}', each once; the tables go between them."
        )
    return before, middle.strip("\n") + "\n", after


def markdown(found: Reproduction) -> str:
    """All sections."""
    return "\n\n".join(part for section in SECTIONS for part in section(found)) + "\n"


def made_by(found: Reproduction) -> list[str]:
    """What made the record."""
    about = found.about
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    resumed = f", {about['resumed']} of them of an earlier start" if about["resumed"] else ""
    seeds = ", ".join(map(str, about["seeds"]))
    return [
        f"`{about['command']}`: {about['runs']} runs{resumed}, in {about['seconds'] / 60:.1f} minutes, "
        f"{about['workers']} at once ({about['machine']}); seeds {seeds}; {versions}."
    ]


def data_sets(found: Reproduction) -> list[str]:
    """Every method on each data set."""
    return [
        part
        for name in found.datasets
        for part in (f"### {DATASET_NAMES[name]}", main_table(found, name), main_notes(found, name))
    ]


def main_notes(found: Reproduction, dataset: str) -> str:
    """How ours stand at the 0.95 quantile, and what was not run."""
    return " ".join([standing_at_95(found, dataset), *not_run_text(found, dataset)])


def not_run_text(found: Reproduction, dataset: str) -> list[str]:
    """Which methods were left out, in a sentence; none if there are none."""
    absent = [label_of(m) for m in NOT_RUN.get(dataset, ()) if m not in found.methods_on(dataset)]
    return [f"{', '.join(absent)} was not run here: it takes about six minutes a seed."] if absent else []


def quantiles(found: Reproduction) -> list[str]:
    return ["### At each of the paper's quantiles", *(quantile_table(found, name) for name in found.datasets)]


def originals(found: Reproduction) -> list[str]:
    return ["### DCFOD and FairOD as their own authors describe them", originals_table(found)]


def generated_rows(found: Reproduction) -> list[str]:
    return ["### Generated rows on the chosen worlds", generation_table(found)]


def settings(found: Reproduction) -> list[str]:
    """CFAD by each setting of the fine-tuning."""
    titles = {setting: f"### CFAD on the chosen worlds by {SETTING_NAMES[setting]}" for setting in SENSITIVITY}
    return [part for setting, title in titles.items() for part in (title, sensitivity_table(found, setting))]


SECTIONS: tuple[Callable[[Reproduction], list[str]], ...] = (
    made_by,
    data_sets,
    quantiles,
    originals,
    generated_rows,
    settings,
)
"""The report, in order; a section is a function here."""


def main_table(found: Reproduction, dataset: str) -> str:
    """``main_rows`` in Markdown."""
    header, rows = main_rows(found, dataset)
    return _table([f"{DATASET_NAMES[dataset]}, 0.95 quantile", *header[1:]], rows)


def main_rows(found: Reproduction, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Mean and standard deviation over the seeds at the 0.95 quantile, the paper's value in brackets, by method.

    A method of the record that was not run on the data set has the paper's values alone.
    """
    names = {key: name for key, name in COLUMNS.items() if key != TRUTH or JUDGED[dataset] == TRUTH}
    ran, rows = found.methods_on(dataset), []
    for method in found.methods:
        paper = _paper_cells(dataset, method)
        values = {
            name: spread_text(found.values(dataset, method, name)) if method in ran else "not run" for name in names
        }
        rows.append([label_of(method), *(value + paper.get(name, "") for name, value in values.items())])
    return ["method", *names.values()], rows


def _paper_cells(dataset: str, method: str) -> dict[str, str]:
    """The paper's values; its changing ratio stands where it was judged in the same way."""
    values = published(dataset, method) or {}
    return {
        PAPERS_JUDGE[dataset] if metric == "changing_ratio" else metric: f" ({value:.3f})"
        for metric, value in values.items()
    }


def quantile_table(found: Reproduction, dataset: str) -> str:
    """Macro-F1 / changing ratio by the leading judge at the nine quantiles, and who is better than whom.

    Bold where a method beats the paper's CFAD in both.
    """
    judge, rows = JUDGED[dataset], []
    for method in found.methods_on(dataset):
        ratio, quality = found.mean_curve(dataset, method)
        wins = beating_paper(found, dataset, method, judge)
        cells = (f"{f1:.3f} / {changed:.3f}" for f1, changed in zip(quality, ratio, strict=True))
        bold = (f"**{cell}**" if at in wins else cell for at, cell in zip(PAPER_QUANTILES, cells, strict=True))
        rows.append([label_of(method), *bold])
    notes = (
        f"Ratios and bold by {called(judge)}. Bold: better in both than {paper_text(dataset)}.",
        domination_notes(found, dataset),
        standing_along(found, dataset),
    )
    header = [f"{DATASET_NAMES[dataset]} ({JUDGES[judge]})", *(f"{quantile:g}" for quantile in PAPER_QUANTILES)]
    return "\n\n".join([_table(header, rows), *notes])


def originals_table(found: Reproduction) -> str:
    rows = []
    for dataset in (name for name in ORIGINALS if name in found.datasets):
        for method in ("dcfod", "fairod"):
            cells = (spread_text(found.values(dataset, method, metric, original=True)) for metric in COLUMNS)
            rows.append([f"{DATASET_NAMES[dataset]}, {label_of(method)}", *cells])
    return _table(["0.95 quantile", *COLUMNS.values()], rows)


def generation_table(found: Reproduction) -> str:
    rows = [
        [
            model,
            *(
                spread_text(np.array([row[world] for row in found.generation if row["model"] == model]), 2)
                for world in _WORLDS
            ),
        ]
        for model in MODELS
    ]
    return _table(["mean Euclidean distance", *_WORLDS], rows)


def sensitivity_table(found: Reproduction, setting: str) -> str:
    values, lines = _sensitivity(found, setting)
    rows = [
        [f"{value:g}", *(f"{mean[k]:.3f} ± {deviation[k]:.3f}" for mean, deviation in lines.values())]
        for k, value in enumerate(values)
    ]
    return _table([SETTING_NAMES[setting], *lines], rows)


def figures(found: Reproduction) -> dict[str, Any]:
    """Every figure of the experiment section by file name."""
    made: dict[str, Any] = {}
    for dataset in found.datasets:
        made[f"tradeoff-{dataset}"] = tradeoff(found, dataset)
        made[f"graph-{dataset}"] = learned_graph(found, dataset)
        if JUDGED[dataset] == TRUTH:
            made[f"adjacency-{dataset}"] = adjacency(found, dataset)
        else:
            made[f"densities-{dataset}"] = densities(found, dataset)
    made["generation"] = generation(found)
    for setting in SENSITIVITY:
        made[f"sensitivity-{setting.replace('_', '-')}"] = sensitivity_picture(found, setting)
    return made


def tradeoff(found: Reproduction, dataset: str, judge: str | None = None) -> Any:
    """By a judge; by default the leading one."""
    curves, paper = {}, {}
    for method in found.methods_on(dataset):
        ratio, quality = found.mean_curve(dataset, method, judge)
        look = look_of(method)
        curves[look] = (np.array(PAPER_QUANTILES), ratio, quality)
        if values := published(dataset, method):
            paper[look] = (values["changing_ratio"], values["macro_f1"])
    return tradeoff_points_figure(curves, paper)


def learned_graph(found: Reproduction, dataset: str) -> Any:
    graph = found.graphs[dataset]
    return graph_figure(graph["variables"], np.array(graph["strengths"]), graph["sensitive"], graph["affected"])


def adjacency(found: Reproduction, dataset: str) -> Any:
    """The true graph beside the learned one."""
    graph = found.graphs[dataset]
    return adjacency_pair_figure(graph["variables"], np.array(graph["true"]), np.array(graph["strengths"]))


def densities(found: Reproduction, dataset: str) -> Any:
    panels = {}
    for method, kept in found.densities[dataset].items():
        density = {name: np.array(values) for name, values in kept["density"].items()}
        look = look_of(method)
        kept_bins = Densities(np.array(kept["edges"]), density)
        panels[look] = shapes_of_bins(kept_bins, kept["threshold"], log=True)
    return densities_figure(panels)


def generation(found: Reproduction) -> Any:
    def over_seeds(model: str, world: str) -> tuple[float, float]:
        values = np.array([row[world] for row in found.generation if row["model"] == model])
        return float(values.mean()), float(values.std())

    return generation_error_figure({model: {world: over_seeds(model, world) for world in _WORLDS} for model in MODELS})


def sensitivity_picture(found: Reproduction, setting: str) -> Any:
    values, lines = _sensitivity(found, setting)
    return sensitivity_figure(SETTING_NAMES[setting], values, lines)


_WORLDS = ("factual", "counterfactual")
_SENSITIVE_METRICS = {"macro_f1": "Macro-F1", "changing_ratio": "changing ratio (truth)"}


def _sensitivity(found: Reproduction, setting: str) -> tuple[Floats, dict[str, tuple[Floats, Floats]]]:
    """The values of a setting, and by metric the mean and standard deviation over the seeds at each of them."""
    rows = [row for row in found.sensitivity if row["setting"] == setting]
    values = sorted({row["value"] for row in rows})

    def over_seeds(metric: str, summary: Callable[[Any], Any]) -> Floats:
        return np.array([summary([row[metric] for row in rows if row["value"] == value]) for value in values])

    lines = {name: (over_seeds(key, np.mean), over_seeds(key, np.std)) for key, name in _SENSITIVE_METRICS.items()}
    return np.array(values), lines


def spread_text(values: Floats, digits: int = 3) -> str:
    """Mean and standard deviation."""
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}" if len(values) else "n/a"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
