"""What the API works with, and how its routes come by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from cfad_core.runs.access import Viewer
from cfad_core.runs.reading import Reader
from cfad_core.runs.store import Store

_AT_ONCE = 4  # requests that read an upload or write a large file


@dataclass(frozen=True)
class Services:
    """What the API works with; each is asked for when it is needed.

    Attributes
    ----------
    store : the store as the program sees it
    reader : who reads uploaded files
    uploads : folder in which they are meanwhile
    workers : how many audits this server runs at once
    is_team : whether people sign in here
    most_bytes : of what one request may bring
    turns : held by requests that take long
    """

    store: Callable[[], Store]
    reader: Callable[[], Reader]
    uploads: Callable[[], Path]
    workers: Callable[[], int]
    is_team: bool
    most_bytes: int
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


def services_of(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def viewer_of(request: Request) -> Viewer:
    """For whom the token of the request acts, as ``Door`` found out."""
    found: Viewer = request.state.viewer
    return found


def token_of(request: Request) -> str:
    """The id of the token of the request."""
    return str(request.state.token)


def _seen(request: Request) -> Store:
    return services_of(request).store().seen_by(viewer_of(request))


async def _in_turn(request: Request) -> AsyncIterator[None]:
    """Wait for a turn without holding a thread: requests that take a moment never wait behind those that take long."""
    async with services_of(request).turns:
        yield


Seen = Annotated[Store, Depends(_seen)]
"""The store, as whoever asks sees it."""
Tools = Annotated[Services, Depends(services_of)]
Asking = Annotated[Viewer, Depends(viewer_of)]
OwnToken = Annotated[str, Depends(token_of)]
InTurn = Depends(_in_turn, scope="function")
"""Held until the answer is made; who takes it slowly does not hold up others."""
