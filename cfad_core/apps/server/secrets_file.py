"""The file with the secrets of an OIDC sign-in; Streamlit reads it, once it was checked here."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from cfad_core.core.errors import InvalidConfigError

_NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
_SHORTEST_SECRET = 32  # characters


def secrets_file() -> Path:
    """The file with the secrets of the sign-in (``CFAD_SECRETS``), once it holds all that is needed.

    Raises
    ------
    InvalidConfigError
        If it cannot be read, or lacks something. What it says is never quoted.
    """
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
