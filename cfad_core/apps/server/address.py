"""Where the server listens."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from cfad_core.core.errors import CfadError


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


def listen(address: Address) -> socket.socket:
    """The socket that takes connections there.

    Raises
    ------
    CfadError
        If there is no such address here, or the port is taken.
    """
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
