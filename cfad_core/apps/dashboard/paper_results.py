"""The stored run of the paper's experiments, for the page about methods."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.formats import duration
from cfad_core.core.markdown import as_text
from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.figures.words import Figure
from cfad_core.paper.comparison import called, domination_notes, standing_along
from cfad_core.paper.judges import ADDITIVE, JUDGES, TRUTH
from cfad_core.paper.methods import label_of
from cfad_core.paper.plan import ORIGINALS, Reproduction
from cfad_core.paper.problems import JUDGED
from cfad_core.paper.report import (
    DATASET_NAMES,
    SETTING_NAMES,
    adjacency,
    densities,
    generation,
    learned_graph,
    main_notes,
    main_rows,
    sensitivity_picture,
    tradeoff,
)

STORED = ASSETS / "paper_benchmark.json"
_OF_SOURCE = {"synthetic people": "synthetic", "Adult": "adult", "COMPAS": "compas"}
_PICTURES: dict[str, Callable[..., Figure]] = {
    "tradeoff": tradeoff,
    "adjacency": adjacency,
    "generation": generation,
    "sensitivity": sensitivity_picture,
    "graph": learned_graph,
    "densities": densities,
}
_WORLDS = {
    "synthetic": "Chosen worlds: those in which an oracle that is given the true graph gets near the true twins, about "
    "one in seven. That flatters methods that learn a causal model: look at all worlds, too.",
    "synthetic-unfiltered": "All worlds that have enough rows of every kind, also those whose training rows do not "
    "hold the answer. The paper does not say which worlds it drew.",
}


@st.cache_resource(show_spinner=False)
def stored() -> Reproduction:
    """The run that comes with the program."""
    return Reproduction.load(STORED)


@st.cache_resource(show_spinner=False)
def _picture(name: str, of: tuple[str, ...]) -> Figure:
    """A figure of the stored run, drawn once: by its name among ``_PICTURES``, and what it is of."""
    return _PICTURES[name](stored(), *of)


@st.fragment
def show_paper_results(source: str) -> None:
    """Ours and the paper's numbers on its data sets, and its figures; first that of the audit's source."""
    try:
        found = stored()
    except InvalidArtifactError as error:
        st.info(f"The stored results are not here. {as_text(error, 400)}")
        return
    names = list(found.datasets)
    dataset = st.segmented_control(
        "Data set",
        names,
        default=_OF_SOURCE.get(source, names[0]),
        format_func=lambda name: DATASET_NAMES[name],
        required=True,
    )
    dataset = dataset or names[0]
    _table(found, dataset)
    _tradeoff(found, dataset)
    if JUDGED[dataset] == TRUTH:
        _synthetic_only(dataset)
    else:
        _real_only(dataset)


def _tradeoff(found: Reproduction, dataset: str) -> None:
    """Along the quantiles by any judge, the leading one first; and who is better than whom."""
    judge = st.segmented_control(
        "Judge",
        [name for name in JUDGES if name != TRUTH or JUDGED[dataset] == TRUTH],
        default=JUDGED[dataset],
        format_func=lambda name: JUDGES[name],
        required=True,
        key=f"paper-judge-{dataset}",
    )
    show_chart(
        _picture("tradeoff", (dataset, judge or JUDGED[dataset])),
        "paper-tradeoff",
        "How often outcomes change against how well anomalies are recognised, and the paper's points.",
    )
    st.caption(
        f"Marks along a line: the quantiles {PAPER_QUANTILES[0]:g} (right) to {PAPER_QUANTILES[-1]:g} (left). Left and "
        f"up is better. Hollow: the paper's point. {standing_along(found, dataset, judge or JUDGED[dataset])}"
    )
    st.caption(f"By {called(JUDGED[dataset])}: {domination_notes(found, dataset)}")


def _table(found: Reproduction, dataset: str) -> None:
    """Ours, with the paper's numbers in brackets."""
    header, rows = main_rows(found, dataset)
    if dataset in _WORLDS:
        st.caption(_WORLDS[dataset])
    st.dataframe(pd.DataFrame(rows, columns=header), width="stretch", hide_index=True)
    st.caption(main_notes(found, dataset))
    about = found.about
    st.caption(
        f"Mean ± standard deviation over {len(about['seeds'])} seeds at the 0.95 quantile; in brackets the paper's "
        f"five-run means. *{JUDGES[ADDITIVE]}*: the paper's kind, which may lie between the values of a category. "
        "*judges*: legal twins by causal models of halves of the rows. None of these models trained a detector. "
        f"*truth*: the true twins. Made by `{about['command']}` in {duration(about['seconds'])}."
    )
    st.caption(
        "DCFOD and FairOD as the paper's authors ran them: DCFOD with one cluster, FairOD without its fairness losses. "
        "*Additive twins* behind a method: it learned from such, as the paper's CFAD did, by a model of other rows."
    )
    if dataset in ORIGINALS:
        st.caption(
            "DCFOD and FairOD as their own authors describe them (AUC-ROC, Macro-F1, changing ratio by "
            f"{called(JUDGED[dataset])}): "
            + "; ".join(f"{label_of(method)} {_original(found, dataset, method)}" for method in ("dcfod", "fairod"))
            + "."
        )


def _real_only(dataset: str) -> None:
    graph, spread = st.columns(2, gap="large")
    with graph:
        show_chart(_picture("graph", (dataset,)), "paper-graph", "The learned causal graph.")
        st.caption("The learned causal graph (seed 0).")
    with spread:
        show_chart(
            _picture("densities", (dataset,)),
            "paper-densities",
            "How scores are spread in each group, and among its twins.",
        )
        st.caption("Scores of each group and, dashed, of its twins (seed 0): AE against CFAD.")


def _original(found: Reproduction, dataset: str, method: str) -> str:
    metrics = ("auc_roc", "macro_f1", JUDGED[dataset])
    means = (found.values(dataset, method, metric, original=True).mean() for metric in metrics)
    return ", ".join(f"{mean:.3f}" for mean in means)


def _synthetic_only(dataset: str) -> None:
    show_chart(
        _picture("adjacency", (dataset,)), "paper-adjacency", "The edges of the true graph and of the learned one."
    )
    st.caption("The true graph and the learned one (seed 0); what only one of them has is marked.")
    if dataset != "synthetic":
        return  # the other experiments are on the chosen worlds
    show_chart(_picture("generation", ()), "paper-generation", "How far generated rows are from the true ones.")
    st.caption(
        "How far generated rows are from the true ones. Factual: what the equations expect, without a person's noise, "
        "so even the truth is not at 0. Counterfactual: twins, by abduction, action, prediction."
    )
    for place, setting in zip(st.columns(2, gap="large"), SETTING_NAMES, strict=True):
        with place:
            show_chart(
                _picture("sensitivity", (setting,)),
                f"paper-{setting}",
                f"What another value of the {SETTING_NAMES[setting]} does.",
            )
            st.caption(f"CFAD by the {SETTING_NAMES[setting]}, mean and standard deviation over the seeds.")
