"""Sections about the causal model: the graph, what carries the change, and what would turn the verdict."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.audit.statements import Statements
from cfad_core.core.formats import counted, listed, percent
from cfad_core.report.document import Block, Bullets, Cell, Field, Fields, Section, Table, bullets, clean, sentences
from cfad_core.report.justified import justified_paths
from cfad_core.report.numbers import Number, amount
from cfad_core.report.pictures import graph_picture
from cfad_core.report.sections.people import said
from cfad_core.report.subject import Subject
from cfad_core.report.turning import carried_edges, turning_points

_MOST_EDGES = 40


def graph(audit: Subject, statements: Statements) -> Section:
    """Which column causes which, who says so, and which paths a person calls justified."""
    result = audit.result
    affected, variables = result.model.affected_names, result.encoding.variables
    how = (
        "The causal graph was given, not learned."
        if result.config.knowledge.complete
        else "The causal graph was learned from the table: arrows are what fits the data best, not proven causes."
    )
    reach = "reach" if len(result.model.attributes) > 1 else "reaches"
    reached = (
        f"{result.encoding.sensitive} {reach} {len(affected)} of {counted(len(variables), 'column')}: "
        f"{listed(affected, 12)}."
        if affected
        else f"In this graph {result.encoding.sensitive} {reach} no column: by it, nobody's outcome can change."
    )
    blocks: list[Block] = [Fields(tuple(_graph_fields(audit, statements)))]
    blocks += bullets(_knowledge(audit), "What was said beforehand")
    blocks += [graph_picture(audit), *_edges(audit), *_carried(audit), *justified_paths(audit, statements)]
    return Section("graph", "The causal graph", sentences(how, reached), tuple(blocks))


def _graph_fields(audit: Subject, statements: Statements) -> Iterator[Field]:
    result = audit.result
    edges = result.model.edges()
    yield from said(statements, "graph_origin")
    yield Field("variables", "Columns of the graph, sensitive ones included", amount(len(result.model.strengths()[0])))
    yield Field("edges", "Arrows", amount(len(edges)))
    is_open = open_directions(result)
    if is_open is not None:
        yield Field("open", "Arrows whose direction the data leave open", amount(int(is_open.sum())))
    if result.stability is not None:
        label = "Further models, each fitted to a random half of the rows"
        if not result.config.knowledge.complete:
            label = "Further graphs, each learned from a random half of the rows"
        yield Field("subsamples", label, amount(len(result.stability.graphs)))
        for one in audit.comparisons:
            seen = result.seen(one.name).stability
            if seen is not None and not one.is_joint:
                label = f"Of these, without a path from {one.name}"
                yield Field(f"without_path_{one.name}", label, amount(seen.without_path))


def _knowledge(audit: Subject) -> list[str]:
    known = audit.result.config.knowledge
    parts = []
    if known.sensitive_is_root:
        parts.append("Nothing in the table causes the sensitive attribute.")
    if known.roots:
        parts.append(f"Nothing in the table causes {listed(known.roots, 20)}.")
    if known.from_sensitive:
        parts.append(f"Nothing but the sensitive attribute causes {listed(known.from_sensitive, 20)}.")
    if known.tiers:
        order = "; then ".join(listed(tier, 20) for tier in known.tiers)
        parts.append(f"In time: {order}. Nothing causes what came earlier.")
    for name, edges in (("required", known.required), ("forbidden", known.forbidden)):
        if edges:
            arrows = listed([f"{cause} → {effect}" for cause, effect in edges], 20)
            parts.append(f"Arrows {'that were given' if known.complete else name}: {arrows}.")
    return parts or ["Nothing."]


def _edges(audit: Subject) -> Iterator[Block]:
    """Arrows, those on paths from the sensitive attribute first, then the strongest."""
    result = audit.result
    variables, strengths = result.model.strengths()
    start = {*result.model.attributes, *result.model.affected_names}
    order = sorted(
        np.argwhere(strengths != 0.0).tolist(),
        key=lambda edge: (variables[edge[0]] not in start, -abs(strengths[tuple(edge)])),
    )
    stability, is_open = result.stability, open_directions(result)
    times = None if stability is None or result.config.knowledge.complete else times_found(stability)
    rows: list[dict[str, Cell]] = []
    for j, i in order[:_MOST_EDGES]:
        found = "not measured" if times is None or stability is None else f"{times[j, i]} of {len(stability.graphs)}"
        direction = "not examined" if is_open is None else "open" if is_open[j, i] else "clear"
        on_path = "yes" if variables[j] in start else "no"
        rows.append(
            {"cause": variables[j], "effect": variables[i], "on_path": on_path, "found": found, "direction": direction}
        )
    if not rows:
        yield Bullets(("The graph has no arrows.",), "Arrows")
        return
    more = len(order) - _MOST_EDGES
    columns = {
        "cause": "Cause",
        "effect": "Effect",
        "on_path": "On a path from the sensitive attribute",
        "found": "Found in subsamples",
        "direction": "Direction",
    }
    note = (
        f"{more} weaker arrows that are on no such path, or come later on one, are in audit.json." if more > 0 else ""
    )
    yield Table("edges", "Arrows", columns, tuple(rows), note)


def _carried(audit: Subject) -> Iterator[Block]:
    """Which arrows carry the change, by comparison."""
    for comparison in audit.comparisons:
        every = carried_edges(audit, comparison)
        known = [edge for edge in every if edge.carried is not None]
        edges = sorted(
            (edge for edge in known if round(100.0 * (edge.carried or 0.0))), key=lambda one: -(one.carried or 0.0)
        )
        title = f"Which paths carry it, by {comparison.name}"
        if every and not edges:
            few = (
                "Too few outcomes change to say."
                if not known
                else "None by itself: without any one arrow, as many change."
            )
            yield Bullets((few,), title)
        if not edges:
            continue
        rows: tuple[dict[str, Cell], ...] = tuple(
            {"edge": edge.name, "carried": Number(percent(edge.carried, 0), round(100.0 * (edge.carried or 0.0)), "%")}
            for edge in edges
        )
        columns = {"edge": "Arrow", "carried": "Share of the change that goes without it"}
        rest = len(known) - len(edges)
        nothing = f" {counted(rest, 'more arrow')} {'carries' if rest == 1 else 'carry'} nothing." if rest else ""
        note = (
            "Shares need not add up to 100 %: arrows of one path carry the same change. Below 0: without the arrow "
            "more outcomes would change, as values that belong together come apart. At the audit's own threshold."
            + nothing
        )
        yield Table(f"carried_{comparison.name}", title, columns, rows, note)


def turning(audit: Subject, _: Statements) -> Section:
    """What would turn the verdict."""
    several = len(audit.comparisons) > 1
    plain = (
        "The verdict rests on a causal model. These are the points at which another model, other assumptions or "
        "another choice would change it, and by how much."
    )
    if audit.result.people.truth is not None:
        plain = "The verdict rests on no causal model, as the true twins are known. Another choice may change it."
    blocks = tuple(_points(audit, one, several=several) for one in audit.comparisons)
    return Section("turning", "What would turn the verdict", sentences(plain), blocks)


def _points(audit: Subject, comparison: Comparison, *, several: bool) -> Bullets:
    title = f"By {comparison.name}" if several else ""
    return Bullets(tuple(clean(line) for line in turning_points(audit, comparison)), title)
