"""What people know of the causal graph: chosen on the page, or brought and taken away as a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.causes import choose_causes, choose_order, suggested_places, tiers_of
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.graph_edits import brought, run_again, typed
from cfad_core.apps.dashboard.rights import no_making, press
from cfad_core.apps.dashboard.state import at_first
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.audit.result import AuditResult
from cfad_core.causal.edits import says_the_same
from cfad_core.causal.exchange import (
    FORMATS,
    MOST_BYTES,
    knowledge_from_json,
    knowledge_to_json,
    read_graph,
    write_graph,
)
from cfad_core.causal.graph import allowed_edges
from cfad_core.causal.ready_graph import ReadyGraph
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import joint_name
from cfad_core.runs.model import AuditRecord

_NAMES = {".graphml": "GraphML", ".dot": "DOT", ".json": "JSON", ".csv": "CSV"}
_MIME = {".graphml": "application/xml", ".dot": "text/plain", ".json": "application/json", ".csv": "text/csv"}
_OF_A_GRAPH = {"nodes", "variables", "edges", "links", "graph"}
_LONGEST = 1200  # of a refusal


@dataclass(frozen=True)
class Upload:
    """What a file says, if there is one; ``refused`` if it cannot be used. ``mark`` names its content."""

    knowledge: Knowledge | None = None
    refused: bool = False
    mark: str = ""


def upload_knowledge(variables: Sequence[str], sensitive: Sequence[str], key: str) -> Upload:
    """Domain knowledge or a ready graph from a file, checked at once; what is wrong with it is shown."""
    brought = _brought(key)
    if brought is None:
        return Upload()
    name, content = brought
    mark = hashlib.sha256(content).hexdigest()[:12]
    try:
        read = _read(content, name)
        knowledge = read if isinstance(read, Knowledge) else read.knowledge(variables, sensitive)
        allowed_edges(variables, sensitive, knowledge)
    except CfadError as error:
        st.error(as_text(error, _LONGEST))
        return Upload(refused=True, mark=mark)
    st.caption(f"{as_text(name, 60)}: {_described(knowledge)}")
    missing = read.missing(variables) if isinstance(read, ReadyGraph) else ()
    if missing:
        st.warning(f"The graph does not name {as_text(', '.join(missing), 600)}: they get no causes and no effects.")
    idle = [name for name in sensitive if all(cause != name for cause, _ in knowledge.required)]
    if knowledge.complete and idle:
        so = "every detector will look fair" if len(idle) == len(sensitive) else "no outcome will change with it"
        st.warning(f"In this graph {as_text(joint_name(idle))} affects nothing, so {so}.")
    return Upload(knowledge, mark=mark)


def _brought(key: str) -> tuple[str, bytes] | None:
    """Name and content of the file; it stays in use when the page is left and entered again."""
    kept, back = f"kept-{key}", f"back-{key}"
    if key not in st.session_state:  # the page is entered, and its widgets have forgotten their files
        st.session_state[back] = kept in st.session_state
    file = st.file_uploader(
        "Upload domain knowledge (JSON) or a ready graph (GraphML, DOT, JSON, CSV)",
        type=["json", "graphml", "dot", "gv", "csv"],
        key=key,
        max_upload_size=round(MOST_BYTES / 1e6),
        help=HELP["knowledge file"],
    )
    if file is not None:
        st.session_state[kept], st.session_state[back] = (file.name, file.getvalue()), False
    elif not st.session_state[back]:
        st.session_state.pop(kept, None)
    elif st.button("Drop the file that was uploaded before", key=f"drop-{key}"):
        st.session_state.pop(kept, None)
        st.session_state[back] = False
    found: tuple[str, bytes] | None = st.session_state.get(kept)
    return found


def _read(content: bytes, name: str) -> Knowledge | ReadyGraph:
    if name.lower().endswith(".json") and not _is_graph(content):
        return knowledge_from_json(content, name)
    return read_graph(content, name)


def _is_graph(content: bytes) -> bool:
    """Whether a JSON file holds a graph rather than domain knowledge; if it holds neither, its reader says so."""
    if len(content) > MOST_BYTES:
        return False
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and "kind" not in values and bool(_OF_A_GRAPH & set(values))


def _described(knowledge: Knowledge) -> str:
    edges = len(knowledge.required)
    if knowledge.complete:
        return f"a ready graph with {counted(edges, 'edge')}, instead of a learned one."
    parts = [
        (len(knowledge.roots), "column", " without causes"),
        (len(knowledge.from_sensitive), "column", " that only the sensitive one causes"),
        (len(knowledge.tiers), "tier", ""),
        (len(knowledge.forbidden), "edge", " that cannot be"),
        (edges, "edge", " that must be"),
    ]
    said = ", ".join(f"{counted(count, thing)}{which}" for count, thing, which in parts if count)
    return f"domain knowledge, {said or 'which says nothing'}."


def edit_knowledge(record: AuditRecord, result: AuditResult, edges: pd.DataFrame) -> None:
    """Say what cannot be, or must be, or bring a file; then run the audit again as a child of this one."""
    st.subheader("You know better?")
    st.caption(
        "Say what cannot be, or must be, in the picture or here, and run the audit again; it becomes a new audit that "
        "names this one as its parent."
    )
    variables, sensitive = result.model.strengths()[0], result.model.attributes
    choices = st.container()
    arrived = f"knowledge-{record.id}" not in st.session_state
    upload = upload_knowledge(variables, sensitive, f"knowledge-{record.id}")
    edits = brought(record, upload.knowledge, upload.mark)
    key = f"known-{record.id}-{edits.version}"
    with choices:
        new = _choose(at_first(key, edits.history.now, arrived=arrived), variables, sensitive, edges, key)
    typed(record, new)
    run, take, _ = st.columns([1, 1, 1])
    same = says_the_same(new, record.config.knowledge)
    with run:
        same = same or upload.refused
        is_wanted = press("Run again with this knowledge", no_making(), disabled=same, width="stretch")
    if is_wanted:
        run_again(record, result, new)
    with take:
        offer_file(
            "Download this knowledge (JSON)",
            lambda: knowledge_to_json(new).encode("utf-8"),
            record.file("knowledge.json"),
            "application/json",
            audit=record.id,
            key=f"take-knowledge-{record.id}",
            width="stretch",
        )


def _choose(
    known: Knowledge, variables: Sequence[str], sensitive: Sequence[str], edges: pd.DataFrame, key: str
) -> Knowledge:
    """The knowledge as the person changes it; a file's comes already chosen.

    Nothing is found to cause a sensitive column, another sensitive one only if a person says that it does.
    """
    ends = {
        f"{cause} → {effect}": (cause, effect)
        for cause in variables
        for effect in variables
        if effect != cause and (effect not in sensitive or cause in sensitive or not known.sensitive_is_root)
    }
    required = [f"{a} → {b}" for a, b in known.required if f"{a} → {b}" in ends]
    every = "These are all edges there are: look for no others"
    if known.complete and st.toggle(every, value=True, key=f"{key}-complete"):
        chosen = st.multiselect("Edges of the graph", list(ends), default=required, key=f"{key}-edges")
        return known.replace(required=tuple(ends[pair] for pair in chosen))
    present = [f"{cause} → {effect}" for cause, effect in zip(edges["cause"], edges["effect"], strict=True)]
    open_ends = [pair for pair, edge in ends.items() if not set(edge) <= set(sensitive) or edge in known.forbidden]
    first = [pair for pair in present if pair in open_ends]
    one, two = st.columns(2)
    forbidden = one.multiselect(
        "Edges that cannot be",
        [*first, *(pair for pair in open_ends if pair not in first)],
        default=[f"{a} → {b}" for a, b in known.forbidden if f"{a} → {b}" in ends],
        key=f"{key}-forbidden",
    )
    unseen = [edge for edge in known.forbidden if edge not in ends.values()]  # nothing causes the sensitive column
    must = two.multiselect("Edges that must be", list(ends), default=required, key=f"{key}-required")
    others = [variable for variable in variables if variable not in sensitive]
    roots, alone = choose_causes(others, joint_name(sensitive), known, key)
    return known.replace(
        roots=(*roots, *(root for root in known.roots if root in sensitive)),
        from_sensitive=alone,
        tiers=_choose_tiers(known, variables, sensitive, key),
        forbidden=(*(ends[pair] for pair in forbidden), *unseen),
        required=tuple(ends[pair] for pair in must),
        complete=False,
    )


def _choose_tiers(
    known: Knowledge, variables: Sequence[str], sensitive: Sequence[str], key: str
) -> tuple[tuple[str, ...], ...]:
    """The time order as the person changes it; the suggested one, not used, where nothing is known of it."""
    ordered = {name: place for place, tier in enumerate(known.tiers, start=1) for name in tier}
    columns = [name for name in variables if name not in sensitive or name in ordered]
    begin = {name: ordered.get(name) for name in columns} if known.tiers else suggested_places(columns)
    used, places = choose_order(begin, key, used=bool(known.tiers))
    if used and known.tiers and places == begin:
        return known.tiers
    return tiers_of({name: places[name] for name in columns}) if used else ()


def graph_file(result: AuditResult, suffix: str) -> bytes:
    """The learned graph as a file that can be uploaded again."""
    return write_graph(result.model.strengths()[0], result.model.edges(), f"graph{suffix}")


def offer_graph(record: AuditRecord, result: AuditResult) -> None:
    """The learned graph in every format."""
    for place, suffix in zip(st.columns(len(FORMATS)), FORMATS, strict=True):
        refusal = None
        try:
            graph_file(result, suffix)
        except InvalidConfigError as error:  # a format may be unable to hold a name
            refusal = as_text(error, _LONGEST)
        with place:
            offer_file(
                f"Graph ({_NAMES[suffix]})",
                partial(graph_file, result, suffix),
                record.file(f"graph{suffix}"),
                _MIME[suffix],
                audit=record.id,
                key=f"{record.id}-graph{suffix}",
                width="stretch",
                disabled=refusal is not None,
                help=refusal,
            )
    st.caption("Change the graph in another program and upload it below, or use it for another audit of such a table.")
