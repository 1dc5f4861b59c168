"""Start the server and stay until it is stopped."""

from __future__ import annotations

import json
import os
import socket
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from streamlit.web import bootstrap

from cfad_core.apps.server.app import create_app
from cfad_core.apps.server.binding import check_address
from cfad_core.apps.server.logs import event, write_json_lines
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.runs.store import Store

_NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
_SHORTEST_SECRET = 32  # characters
_LONGEST_MESSAGE = 32 * 2**20  # bytes that a browser sends at once; files come another way
_PATIENCE = 5  # seconds that requests may take to end once the server is stopped


@dataclass(frozen=True)
class Address:
    """Where the server listens; with ``certificate`` and ``key`` (PEM files) it encrypts."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{host}:{self.port}"


def serve(address: Address) -> None:
    """Serve until a signal ends it.

    Raises
    ------
    InvalidConfigError
        If the settings let in whom they should not, or nobody.
    CfadError
        If the store cannot be opened, or the port is taken.
    """
    sign_in = SignIn.from_environment()
    check_address(address.host, sign_in)
    secrets = _secrets() if sign_in.mode == "oidc" else None
    with Store() as store:
        store.health()
    listening = _listen(address)
    write_json_lines()
    app = create_app(sign_in)
    bootstrap.load_config_options(_options(address, sign_in, secrets))
    event("serving", address=address.url, sign_in=sign_in.mode)
    uvicorn.Server(_config(app, address)).run(sockets=[listening])


def _config(app: Any, address: Address) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        proxy_headers=False,  # who a request comes from is for Guard to judge, by what the connection says
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=_PATIENCE,
    )


def _options(address: Address, sign_in: SignIn, secrets: Path | None) -> dict[str, Any]:
    """The settings of Streamlit that differ from those of the dashboard of one person."""
    options: dict[str, Any] = {
        "server_address": address.host,
        "server_port": address.port,
        "server_headless": True,
        "logger_messageFormat": "%(message)s",  # the message is the whole line
    }
    if secrets is not None:
        options["secrets_files"] = [str(secrets)]
    if sign_in.mode == "proxy":  # nobody takes up the session of somebody else
        options["server_trustedUserHeaders"] = json.dumps({sign_in.name_header: "name"})
    return options


def _secrets() -> Path:
    """The file with the secrets of the sign-in, once it holds all that is needed."""
    said = os.environ.get("CFAD_SECRETS", "")
    if not said:
        raise InvalidConfigError("CFAD_AUTH=oidc needs a file with secrets (docs/SERVER.md): CFAD_SECRETS=secrets.toml")
    path = Path(said).absolute()
    try:
        auth = tomllib.loads(path.read_text(encoding="utf-8")).get("auth", {})
    except OSError as error:
        raise InvalidConfigError(f"The file of CFAD_SECRETS, '{said}', cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):  # what it says may quote a secret
        raise InvalidConfigError(f"The file of CFAD_SECRETS, '{said}', is not TOML.") from None
    missing = [name for name in _NEEDED if not isinstance(auth, dict) or not auth.get(name)]
    if missing:
        raise InvalidConfigError(f"The section [auth] of '{said}' lacks {', '.join(missing)}; see docs/SERVER.md.")
    if len(str(auth["cookie_secret"])) < _SHORTEST_SECRET:
        raise InvalidConfigError(
            f"The cookie_secret in '{said}' has fewer than {_SHORTEST_SECRET} characters. Make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    return path


def _listen(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = min(found, key=lambda one: one[0] != socket.AF_INET)  # as localhost is shown
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        raise CfadError(
            f"Cannot listen on {address.host}, port {address.port}: {error.strerror}. Choose another with --port."
        ) from error
    return listening
