"""graph: the causal graph of a finished audit, or its domain knowledge, as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfad_core.apps.cli.opening import open_audit
from cfad_core.apps.cli.options import Commands
from cfad_core.core.errors import InvalidConfigError


def add_to(commands: Commands) -> None:
    graph = commands.add_parser("graph", help="write the causal graph of a finished audit")
    graph.set_defaults(run=_graph)
    graph.add_argument("audit", metavar="AUDIT", help="audit folder, or the id of a saved audit")
    graph.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="file to write: .graphml, .dot, .json or .csv"
    )
    graph.add_argument(
        "--knowledge", action="store_true", help="write the domain knowledge that it was given, as JSON, instead"
    )


def _graph(options: argparse.Namespace) -> None:
    from cfad_core.causal.exchange import knowledge_to_json, write_graph
    from cfad_core.core.files import check_file, staged_file

    check_file(options.out)
    if options.knowledge and options.out.suffix.lower() != ".json":
        raise InvalidConfigError(f"Domain knowledge is a file that ends in .json; got '{options.out.name}'.")
    result = open_audit(options.audit, options.out.name)
    if options.knowledge:
        content = knowledge_to_json(result.config.knowledge).encode("utf-8")
        written = "The domain knowledge"
    else:
        variables, edges = result.model.strengths()[0], result.model.edges()
        content = write_graph(variables, edges, options.out.name)
        written = f"The causal graph ({len(variables)} variables, {len(edges)} edges)"
    with staged_file(options.out) as path:
        path.write_bytes(content)
    print(f"{written} is in {options.out}.")
