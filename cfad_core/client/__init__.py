"""Audits on the server of a team, from Python: ``Client(address, token)``.

Whatever goes wrong is a ``ServerError``, which is a ``CfadError``, with the server's own sentence.
"""

from cfad_core.client.answers import (
    Audit,
    Comparison,
    GateCheck,
    GateResult,
    GroupNumbers,
    Headline,
    Me,
    MethodResult,
    Place,
    Range,
    Share,
    Token,
)
from cfad_core.client.calls import ServerError
from cfad_core.client.client import Client

__all__ = [
    "Audit",
    "Client",
    "Comparison",
    "GateCheck",
    "GateResult",
    "GroupNumbers",
    "Headline",
    "Me",
    "MethodResult",
    "Place",
    "Range",
    "ServerError",
    "Share",
    "Token",
]
