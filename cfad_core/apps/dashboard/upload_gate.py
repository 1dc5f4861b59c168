"""Who may send files: Streamlit takes them from whoever has a page open, and the page to sign in is one."""

from __future__ import annotations

import json

from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from cfad_core.apps.server.sign_in import SignIn, SignInError

_UPLOADS = "/_stcore/upload_file/"


class UploadGate:
    """Refuses files of those who have not signed in by OIDC; a proxy has let nobody else through."""

    def __init__(self, app: ASGIApp, sign_in: SignIn) -> None:
        self._app, self._sign_in = app, sign_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_file = scope["type"] == "http" and scope["method"] == "PUT" and scope["path"].startswith(_UPLOADS)
        if is_file and self._sign_in.mode == "oidc" and not self._is_known(scope):
            await PlainTextResponse("Sign in first.\n", status_code=401)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        """Whether the request has the signed cookie of somebody who may use this server."""
        headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
        claims = _get_signed_cookie_with_chunks(cookie_parser("; ".join(headers)), USER_COOKIE_NAME)
        try:
            self._sign_in.by_claims(json.loads(claims or b"{}"))
        except SignInError:
            return False
        return True
