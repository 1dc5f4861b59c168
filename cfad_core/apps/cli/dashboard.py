"""dashboard: open it in a browser; what ``cfad`` alone does."""

from __future__ import annotations

import argparse
import os
import sys

from cfad_core.apps.cli.options import Commands, port
from cfad_core.core.site import ENTRY


def add_to(commands: Commands) -> None:
    dashboard = commands.add_parser("dashboard", help="open the dashboard on localhost; so does no command at all")
    dashboard.set_defaults(run=_dashboard)
    dashboard.add_argument(
        "--port", type=port, metavar="N", help="listen on this port; by default the first free one from 8501"
    )
    dashboard.add_argument("--no-browser", action="store_true", help="only print the address")


def _dashboard(options: argparse.Namespace) -> None:
    """Become the dashboard's server. Its settings are those of the folder ``.streamlit`` beside the entry page."""
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(ENTRY)]  # -P: no module of the folder we are in
    if options.port is not None:
        command += ["--server.port", str(options.port)]
    if options.no_browser:
        command += ["--server.headless", "true"]
    os.execv(sys.executable, command)  # noqa: S606 - a fixed list of arguments
