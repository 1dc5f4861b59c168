"""Nobody gets in without a token, and nobody brings more than there is room for: both before anything is read."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cfad_core.apps.api.problems import REQUEST_ID, problem
from cfad_core.apps.api.services import Services
from cfad_core.runs.access import Viewer

OPEN_TO_ALL = "/openapi.json"
_SCHEME = "bearer "
_AROUND = 2**20  # bytes of a request besides the files in it
_ASK = (
    "Show a token: Authorization: Bearer cfad_... One is made on the page Account. This one is missing, unknown, "
    "revoked or has expired."
)


class Door:
    """Finds out for whom a request acts, and counts its bytes as they come."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app, self._services = app, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] == scope.get("root_path", "") + OPEN_TO_ALL:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request, token = headers.get(REQUEST_ID, ""), _shown(headers)
        viewer = await run_in_threadpool(self._viewer, token, request)
        if viewer is None:
            await problem(401, _ASK, request, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        is_form = headers.get("content-type", "").lower().startswith("multipart/")
        most = _AROUND + (self._services.most_bytes if is_form else 0)
        if _announced(headers) > most:
            await problem(413, _too_large(most), request)(scope, receive, send)
            return
        state = {**scope.get("state", {}), "viewer": viewer, "token": token.split("_")[1]}
        await self._app({**scope, "state": state}, _Counted(receive, most), _unkept(send))

    def _viewer(self, token: str, request: str) -> Viewer | None:
        return self._services.store().viewer_of(token, "api", request, is_team=self._services.is_team)


class _Counted:
    """Receives a request until it is too large, whatever it said its length would be."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._count = receive, most, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._count += len(message.get("body", b""))
        if self._count > self._most:
            raise HTTPException(413, _too_large(self._most))
        return message


def _unkept(send: Send) -> Send:
    """Sends answers that nobody on the way may keep."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Cache-Control"] = "no-store"
        await send(message)

    return sent


def _shown(headers: Headers) -> str:
    """The token that a request shows; empty if it shows none."""
    said = headers.get("authorization", "")
    return said[len(_SCHEME) :].strip() if said.lower().startswith(_SCHEME) else ""


def _announced(headers: Headers) -> int:
    said = headers.get("content-length", "")
    return int(said) if said.isdecimal() and len(said) < 20 else 0  # a lie is found out by counting


def _too_large(most: int) -> str:
    return f"The request is larger than {most / 1e6:,.0f} MB, which is as much as this server takes. Send a sample."
