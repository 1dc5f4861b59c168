"""What the options of a command say about a table: roles of columns, causes, settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfad_core.apps.cli.sensitive import typed_attributes
from cfad_core.core.config import AuditConfig, Knowledge, preset
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.files import read_bytes

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.core.config import AskedDetector
    from cfad_core.data.roles import ColumnRoles


def settings_of(
    options: argparse.Namespace, table: pd.DataFrame, asked: AskedDetector | None
) -> tuple[ColumnRoles, AuditConfig, list[str]]:
    """What the options say about a table: roles, settings, and what to tell whoever typed them."""
    from cfad_core.data.suggestions import suggest_roles, suggest_roots

    ignored = suggest_roles(table, options.sensitive, options.label).ignored if options.ignore is None else ()
    roles = roles_from(options, ignored)
    suggested = suggest_roots(name for name in roles.features(table) if name not in options.from_sensitive)
    knowledge, remarks = _knowledge(options, roles.sensitive_columns, roles.features(table), suggested)
    config = preset(
        options.preset,
        methods=() if options.no_methods else tuple(dict.fromkeys(options.methods)),
        seed=options.seed,
        categories=options.categories,
        subsamples=options.subsamples,
        knowledge=knowledge,
        asked=asked,
    )
    return roles, config, remarks


def roles_from(options: argparse.Namespace, ignored: Sequence[str]) -> ColumnRoles:
    """The roles that were typed; columns are ignored as they say, or else as is suggested."""
    from cfad_core.data.roles import roles_of

    score = getattr(options, "score_column", None)
    ignore = [name for name in ignored if name != score] if options.ignore is None else options.ignore
    return roles_of(typed_attributes(options), options.label, options.anomaly, ignore, score)


def _knowledge(
    options: argparse.Namespace, sensitive: Sequence[str], features: Sequence[str], suggested_roots: Sequence[str]
) -> tuple[Knowledge, list[str]]:
    """What is known of the causal graph, and what to say about it."""
    from cfad_core.causal.exchange import MOST_BYTES, knowledge_from_json, read_graph
    from cfad_core.causal.graph import allowed_edges

    remarks, variables = [], [*sensitive, *features]
    if options.graph is not None:
        if options.roots or options.from_sensitive or options.tier:
            raise InvalidConfigError(
                "A ready graph says all about causes: give --graph, or --roots, --from-sensitive and --tier, not both."
            )
        graph = read_graph(read_bytes(options.graph, MOST_BYTES), options.graph.name)
        knowledge = graph.knowledge(variables, sensitive)
        if missing := graph.missing(variables):
            remarks.append(f"warning: Not in the graph, so without causes and effects: {', '.join(missing)}.")
    elif options.knowledge is not None:
        knowledge = knowledge_from_json(read_bytes(options.knowledge, MOST_BYTES), options.knowledge.name)
        said = (*knowledge.roots, *knowledge.from_sensitive, *(options.roots or ()))
        left_out = [name for name in suggested_roots if name not in said]
        if left_out:
            remarks.append(
                f"info: Not taken for columns without causes, as the file does not say so: {', '.join(left_out)}."
            )
        knowledge = _added(knowledge, options)
    else:
        if options.roots is None and suggested_roots:
            names = ", ".join(suggested_roots)
            remarks.append(f"info: Taken to have no causes in the table (--roots says otherwise): {names}.")
        knowledge = _added(Knowledge(roots=tuple(suggested_roots) if options.roots is None else ()), options)
    allowed_edges(variables, sensitive, knowledge)  # refuses what cannot be, before anything long begins
    return knowledge, remarks


def _added(knowledge: Knowledge, options: argparse.Namespace) -> Knowledge:
    """The knowledge, with what the options say."""
    if options.tier and knowledge.tiers:
        raise InvalidConfigError("The file of --knowledge has tiers: give them there or with --tier, not both.")
    return knowledge.replace(
        roots=tuple(dict.fromkeys([*knowledge.roots, *(options.roots or ())])),
        from_sensitive=tuple(dict.fromkeys([*knowledge.from_sensitive, *options.from_sensitive])),
        tiers=tuple(tuple(tier) for tier in options.tier) or knowledge.tiers,
    )
