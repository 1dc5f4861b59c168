"""Which addresses the server may listen on: others than this computer's own only with a sign-in."""

from __future__ import annotations

import os
from ipaddress import ip_address

from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import InvalidConfigError

LOCAL = "localhost"
LOCAL_NAMES = [LOCAL, "127.0.0.1", "::1"]  # a page elsewhere whose name leads here all of a sudden has another one
_MEANT = "yes"


def check_address(address: str, sign_in: SignIn) -> None:
    """Refuse to let everybody in who reaches this computer, unless that is meant.

    Raises
    ------
    InvalidConfigError
        If nobody signs in, others could reach the address, and ``CFAD_OPEN`` does not say that they may.
    """
    said = os.environ.get("CFAD_OPEN", "")
    if said not in ("", _MEANT, "no"):
        raise InvalidConfigError(f"CFAD_OPEN is yes, or not set at all; not '{said[:40]}'.")
    if sign_in.is_team or is_local(address) or said == _MEANT:
        return
    raise InvalidConfigError(
        f"On '{address}' everybody who reaches this computer could see and delete all audits, for nobody signs in. "
        f"With a sign-in (docs/SERVER.md says how to set it up): CFAD_AUTH=oidc cfad serve --host {address}\n"
        f"If everybody may: CFAD_OPEN=yes cfad serve --host {address}"
    )


def is_local(address: str) -> bool:
    """Whether only this computer reaches an address that is listened on."""
    if address.lower() == LOCAL:
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False  # a name: whoever it leads to may reach it
