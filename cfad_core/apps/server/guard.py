"""What every request passes through before the pages or the API see it."""

from __future__ import annotations

import re
import time
import uuid
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cfad_core.apps.server.logs import REQUEST, event
from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.sign_in import SignIn

Headers = list[tuple[bytes, bytes]]

REQUEST_ID = "x-request-id"
OPEN_TO_ALL = ("/healthz", "/readyz", "/metrics")  # they say nothing about anybody, or ask for a token themselves
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_QUIET = ("/static/", "/_stcore/health", *OPEN_TO_ALL)  # asked for all the time: not written down
_PRIVATE = ("/_stcore", "/media", "/component")  # what follows names sessions and files

# Streamlit and plotly set styles as they go; nothing may come from, or go to, elsewhere
_POLICY = (
    "default-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self' data: blob:",
    "worker-src 'self' blob:",
    "frame-src 'self' blob: data:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'self'",
)
_SAFETY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
]
_ENCRYPTED_ONLY = (b"strict-transport-security", b"max-age=31536000")


class Guard:
    """Gives each request an id and safety headers, and lets nobody but the trusted proxy say who somebody is.

    ``scripts`` are those inside pages, word for word; no others run there.
    """

    def __init__(self, app: ASGIApp, sign_in: SignIn, measures: Measures, scripts: Iterable[str] = ()) -> None:
        self._app, self._sign_in, self._measures = app, sign_in, measures
        self._policy = "; ".join((*_POLICY, f"script-src 'self' blob: {_digests(scripts)}".rstrip())).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        is_trusted = self._sign_in.mode == "proxy" and self._sign_in.is_proxy(_peer(scope))
        headers: Headers = scope["headers"]
        request = _id(headers if is_trusted else [])
        ignored = {REQUEST_ID} if is_trusted else {REQUEST_ID, *self._identity()}
        safe = [*_without(headers, ignored), (REQUEST_ID.encode(), request.encode())]
        token = REQUEST.set(request)
        try:
            if self._sign_in.mode == "proxy" and not is_trusted and scope["path"] not in OPEN_TO_ALL:
                event("refused", peer=_peer(scope), reason="it is not the proxy that CFAD_PROXY names")
                await _refuse(scope, send)
                return
            if scope["type"] == "websocket" and not _is_of_this_site(headers):
                event("refused", peer=_peer(scope), reason="a page of another site asked for a stream")
                await _refuse(scope, send)
                return
            safety: Headers = [(b"content-security-policy", self._policy), *_SAFETY]
            answer = _Answer(send, request, safety, is_encrypted=_is_encrypted(scope, headers if is_trusted else []))
            await self._pass_on({**scope, "headers": safe}, receive, answer)
        finally:
            REQUEST.reset(token)

    async def _pass_on(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        began = time.perf_counter()
        try:
            await self._app(scope, receive, answer)
        finally:
            if scope["type"] == "http":
                self._note(scope, answer.status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self._measures.answered(status)
        if not scope["path"].startswith(_QUIET):
            event(
                "answered", method=scope["method"], path=_shown(scope["path"]), status=status, ms=round(1000 * seconds)
            )

    def _identity(self) -> Iterable[str]:
        return self._sign_in.name_header.lower(), self._sign_in.groups_header.lower()


class _Answer:
    """Sends an answer with safety headers; ``status`` is 500 until it has begun, for then something broke."""

    def __init__(self, send: Send, request: str, safety: Headers, *, is_encrypted: bool) -> None:
        self._send, self._request, self._safety, self._is_encrypted = send, request, safety, is_encrypted
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            more = [*self._safety, (REQUEST_ID.encode(), self._request.encode())]
            more += [_ENCRYPTED_ONLY] if self._is_encrypted else []
            names = {name.decode() for name, _ in more}
            headers = [self._cookie(one) for one in _without(message.get("headers", []), names)]
            message = {**message, "headers": [*headers, *more]}
        await self._send(message)

    def _cookie(self, header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """The header; a cookie that came encrypted is never sent otherwise."""
        name, value = header
        is_cookie = name.lower() == b"set-cookie" and self._is_encrypted and b"secure" not in value.lower()
        return (name, value + b"; Secure") if is_cookie else header


def _digests(scripts: Iterable[str]) -> str:
    """Scripts as a policy names them."""
    return " ".join(f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts)


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    words = b"This server is reached through its proxy only.\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(words)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": words})


def _peer(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _is_of_this_site(headers: Headers) -> bool:
    """Whether a page of this server asks, or a program, which says no origin.

    Streamlit would let in any page of localhost, too, and look for this computer's address on the internet.
    """
    origin = _header(headers, "origin")
    return not origin or urlsplit(origin).netloc == _header(headers, "host") != ""


def _header(headers: Headers, name: str) -> str:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name.encode()), "")


def _id(headers: Headers) -> str:
    """The id that a trusted proxy gave the request, or a new one."""
    given = _header(headers, REQUEST_ID)
    return given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex


def _is_encrypted(scope: Scope, trusted: Headers) -> bool:
    """Whether the browser's way to us is encrypted, as far as the proxy."""
    said = _header(trusted, "x-forwarded-proto").strip().lower()
    return scope.get("scheme") in ("https", "wss") or said in ("https", "wss")


def _without(headers: Iterable[tuple[bytes, bytes]], names: set[str]) -> Headers:
    return [(name, value) for name, value in headers if name.decode("latin-1").lower() not in names]


def _shown(path: str) -> str:
    """A path as it may be written down: without the ids of sessions and files."""
    return next((f"{start}/..." for start in _PRIVATE if path.startswith(f"{start}/")), path)
