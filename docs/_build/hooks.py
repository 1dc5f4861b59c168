"""What the site holds beside the files of ``docs``: what each command says of itself, the icon, the colours."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from cfad_core.apps import cli

_ROOT = Path(__file__).resolve().parents[2]
_COLOURS = """[data-md-color-primary=custom] { --md-primary-fg-color: #0072b2; --md-typeset-a-color: #005a8c; }
[data-md-color-primary=custom][data-md-color-scheme=slate] { --md-primary-fg-color: #1d2630; --md-typeset-a-color: #7cc4f2; }
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the style sheet that ``on_files`` adds."""
    config.extra_css = ["stylesheets/colours.css"]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are made here."""
    files.append(File.generated(config, "COMMANDS.md", content=commands()))
    files.append(File.generated(config, "stylesheets/colours.css", content=_COLOURS))
    shim = Path(__file__).with_name("iframe-worker.js")
    files.append(File.generated(config, "javascripts/iframe-worker.js", abs_src_path=str(shim)))
    files.append(File.generated(config, "images/icon.png", abs_src_path=str(_ROOT / "assets" / "icon.png")))
    return files


def commands() -> str:
    """The reference of the commands, from what ``--help`` says."""
    os.environ["COLUMNS"] = "88"
    parts = ["# Commands", "What `cfad COMMAND --help` says. `python -m cfad_core COMMAND` is the same."]
    for name, parser in _commands(cli.make_parser("cfad")):
        parts += [f"## {name}", f"```text\n{parser.format_help().rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _commands(parser: argparse.ArgumentParser, before: str = "") -> list[tuple[str, argparse.ArgumentParser]]:
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                found += [(f"{before}{name}", command), *_commands(command, f"{before}{name} ")]
    return found
