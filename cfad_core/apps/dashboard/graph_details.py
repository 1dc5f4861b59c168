"""What is known of one column of the causal graph, or of one arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.graph_edits import edit_graph, edits_of
from cfad_core.apps.dashboard.services import people_table
from cfad_core.apps.dashboard.views import looked_at, reached
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.audit.result import AuditResult
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.telling import mechanism_lines
from cfad_core.core.formats import counted, listed, percent
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of
from cfad_core.figures import levels_figure, numbers_figure
from cfad_core.figures.style import signed
from cfad_core.runs.model import AuditRecord

_MOST_NAMED = 8
_MOST_LEVELS = 7
_STRONG, _MIDDLING = 0.3, 0.1
_METHODS = 3  # that are named with an edge
OTHERS = "all others"


def show_column(record: AuditRecord, result: AuditResult, name: str) -> None:
    """Its values in each group, what it comes from, and what it causes."""
    st.markdown(f"**{as_text(name, 80)}**: {kind_of(result, name)}")
    drawn = _spread(record, result, name)
    if drawn is not None:
        show_chart(drawn, "spread", f"How the values of {name} are spread in each group.", toolbar=False)
        st.caption(f"How its values are spread in each group, among {len(result.people.row):,} judged people.")
    st.markdown("\n".join(f"- {as_text(line, 500)}" for line in column_lines(result, name)))


def kind_of(result: AuditResult, name: str) -> str:
    """What a column is in this graph."""
    if name in looked_at(result):
        return "the sensitive attribute"
    if name in result.model.attributes:
        return "a sensitive attribute, which is not compared here"
    return "affected by the sensitive attribute" if name in reached(result) else "not affected by it"


def column_lines(result: AuditResult, name: str) -> list[str]:
    """The mechanism in words, and the effects; names are as the table has them."""
    variables, strengths = result.model.strengths()
    at, model = variables.index(name), result.model
    if isinstance(model, StructuralModel):
        lines = mechanism_lines(model, name)
    else:
        causes = [variables[j] for j in np.flatnonzero(strengths[:, at])]
        lines = [f"Its causes are {listed(causes, _MOST_NAMED)}." if causes else "Nothing in the table causes it."]
    order = np.argsort(-np.abs(strengths[at]), kind="stable")
    effects = [variables[i] for i in order if strengths[at, i]]
    lines.append(f"It causes {listed(effects, _MOST_NAMED)}." if effects else "It causes nothing in the table.")
    if result.stability is not None and name in result.stability.reach and not result.config.knowledge.complete:
        graphs = len(result.stability.graphs)
        lines.append(
            f"The sensitive attribute reaches it in {result.stability.reach[name] * graphs:.0f} of {graphs} subsamples."
        )
    return lines


def _spread(record: AuditRecord, result: AuditResult, name: str) -> Any:
    """The picture of a column's values by group; None where the table has no such column."""
    table = people_table(record)
    if name not in table.columns:
        return None
    cells = table[name].iloc[result.row_numbers - 1]
    groups = {group: cells[mask] for group, mask in result.groups.items()}
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells) and cells.nunique() > 2:
        return numbers_figure({group: some.to_numpy(np.float64, na_value=np.nan) for group, some in groups.items()})
    texts = cells.astype("string").fillna("missing")
    usual = list(texts.value_counts().index[:_MOST_LEVELS])
    shown = texts.where(texts.isin(usual), OTHERS)
    return levels_figure(
        {
            group: {str(level): float(share) for level, share in shown[mask].value_counts(normalize=True).items()}
            for group, mask in result.groups.items()
        }
    )


def show_edge(record: AuditRecord, result: AuditResult, cause: int, effect: int) -> None:
    """How strong an arrow is, how often it is found, what goes with it, and what can be done about it."""
    variables = result.model.strengths()[0]
    st.markdown(f"**{as_text(variables[cause], 80)} → {as_text(variables[effect], 80)}**")
    st.markdown("\n".join(f"- {as_text(line, 500)}" for line in edge_lines(result, cause, effect)))
    now = edits_of(record).history.now
    pair = variables[cause], variables[effect]
    actions = (
        ("Must be", "require", pair in now.required, "The next audit takes this arrow as certain."),
        ("Cannot be", "forbid", pair in now.forbidden, "The next audit looks for a graph without this arrow."),
        (
            "Turn round",
            "turn",
            pair[::-1] in now.required,
            "The next audit takes it the other way round as certain.",
        ),
        ("Leave to the data", "free", not {pair} & {*now.required, *now.forbidden}, "Nothing is said of this arrow."),
    )
    with st.container(horizontal=True, gap="small"):
        for label, what, is_so, explained in actions:
            edit = {"what": what, "cause": cause, "effect": effect}
            st.button(
                label,
                key=f"{what}-{record.id}",
                disabled=is_so,
                help=explained,
                on_click=lambda edit=edit: edit_graph(record, result, edit),
            )


def edge_lines(result: AuditResult, cause: int, effect: int) -> list[str]:
    """What is known of an edge, a sentence each; names are as the table has them."""
    strength = float(result.model.strengths()[1][cause, effect])
    if not strength:
        found = _times(result, cause, effect)
        return ["This arrow is not in the audit's graph.", *([found] if found else [])]
    lines = [
        f"Strength {signed(strength)}, which is {_size(strength)}{_direction_words(result, cause, effect, strength)}."
    ]
    found = _times(result, cause, effect)
    lines += [found] if found else []
    is_open = open_directions(result)
    if is_open is None:
        lines.append(
            "Its direction was given." if result.config.knowledge.complete else "Its direction was not examined."
        )
    elif is_open[cause, effect]:
        lines.append("The data leave open which of the two is the cause: only knowledge can decide it.")
    else:
        lines.append("The data, or what you said, settle which of the two is the cause.")
    return [*lines, *_carried(result, cause, effect)]


def _size(strength: float) -> str:
    size = abs(strength)
    return "strong" if size >= _STRONG else "middling" if size >= _MIDDLING else "weak"


def _direction_words(result: AuditResult, cause: int, effect: int, strength: float) -> str:
    """What the sign says, where it says something: of two numbers."""
    model = result.model
    if not isinstance(model, StructuralModel) or {model.layout.kinds[cause], model.layout.kinds[effect]} != {"number"}:
        return ""
    return f": {'higher values go with higher' if strength > 0.0 else 'higher values go with lower'} ones"


def _times(result: AuditResult, cause: int, effect: int) -> str:
    if result.stability is None:
        return "" if result.config.knowledge.complete else "How often other samples show it was not measured."
    times, graphs = times_found(result.stability), len(result.stability.graphs)
    back = f", the other way round in {times[effect, cause]}" if times[effect, cause] else ""
    return f"Found in {times[cause, effect]} of {graphs} subsamples (random halves of the rows){back}."


def _carried(result: AuditResult, cause: int, effect: int) -> list[str]:
    """How much of the change goes with the edge, by method."""
    if result.stability is None:
        return ["What would change without it was not measured."]
    cuts, variables = result.stability.edge_cuts[0], result.model.strengths()[0]
    pair = variables[cause], variables[effect]
    if pair not in cuts.edges:
        return ["It lies on no path from the sensitive attribute: without it, nobody's twin would differ."]
    lines = []
    for method in list(cuts.whole)[:_METHODS]:
        carried = cuts.carried(method)
        if carried is not None:
            share = float(carried[cuts.edges.index(pair)])
            lines.append(f"{label_of(method)}: without it, {_gone(share)}.")
    return lines or ["Nobody's outcome changes by the twins of this graph, with the arrow or without it."]


def _gone(share: float) -> str:
    if share >= 0.005:
        return f"about {percent(share, 0)} of the changes of outcome would be gone"
    return (
        "as many outcomes would change" if share > -0.005 else f"about {percent(-share, 0)} more outcomes would change"
    )


def show_nothing(result: AuditResult) -> None:
    """Before anything is chosen: what there is to see."""
    variables, strengths = result.model.strengths()
    named, sensitive = reached(result), as_text(" and ".join(looked_at(result)), 60)
    others = len(variables) - len(result.model.attributes)
    edges = int((strengths != 0.0).sum())
    reach = f"{sensitive} reaches {len(named)} of {others} columns: {as_text(', '.join(named), 600)}." if named else ""
    st.markdown(f"**{counted(len(variables), 'column')}, {counted(edges, 'arrow')}**", help=HELP["causal graph"])
    st.markdown(reach or f"No path leads from {sensitive} to any other column.")
    st.caption("Choose a column or an arrow, in the picture or in the list above, to see what is known of it.")
