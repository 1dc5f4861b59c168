"""serve: the dashboard and the API for a team."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfad_core.apps.cli.options import Commands, port
from cfad_core.core.errors import InvalidConfigError

_HOST, _PORT = "localhost", 8501


def add_to(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="serve the dashboard and the API, to a team if people sign in")
    serve.set_defaults(run=_serve)
    serve.add_argument(
        "--host", default=_HOST, metavar="ADDRESS", help="listen on this address; other than localhost needs a sign-in"
    )
    serve.add_argument("--port", type=port, default=_PORT, metavar="N", help=f"listen on this port (default: {_PORT})")
    serve.add_argument("--certificate", type=Path, metavar="FILE", help="encrypt, with this certificate (PEM)")
    serve.add_argument("--key", type=Path, metavar="FILE", help="and its key (PEM)")


def _serve(options: argparse.Namespace) -> None:
    from cfad_core.apps.dashboard.serving import serve
    from cfad_core.apps.server.address import Address

    if (options.certificate is None) != (options.key is None):
        raise InvalidConfigError("To encrypt, give both: --certificate FILE --key FILE.")
    for path in (options.certificate, options.key):
        if path is not None and not path.is_file():
            raise InvalidConfigError(f"There is no file '{path}'.")
    serve(Address(options.host, options.port, options.certificate, options.key))
