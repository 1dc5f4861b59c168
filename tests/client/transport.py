"""The way from a client to a program in this process: what a network would carry."""

from __future__ import annotations

import asyncio

import httpx
from starlette.types import ASGIApp


class InProcess(httpx.BaseTransport):
    """Asks an ASGI program, which knows nothing of a network."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        async with httpx.ASGITransport(self._app, raise_app_exceptions=False) as transport:
            found = await transport.handle_async_request(sent)
            return httpx.Response(found.status_code, headers=found.headers, content=await found.aread())
