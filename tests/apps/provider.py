"""An OIDC provider of our own: a page with everybody's name, whose claims whoever is chosen signs in with."""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "cfad", "planted-client-secret"
Claims = Mapping[str, object]


class Provider:
    """Signs whoever is chosen in, by an authorization code with PKCE, and out."""

    def __init__(self, issuer: str, people: Mapping[str, Claims]) -> None:
        self.issuer, self.people = issuer, people
        self.signed_out = 0
        self._key = RSAKey.generate_key(2048, {"kid": "one"})
        self._codes: dict[str, tuple[str, Mapping[str, str]]] = {}

    def app(self) -> Starlette:
        routes = {
            "/.well-known/openid-configuration": self._metadata,
            "/authorize": self._authorize,
            "/chosen": self._chosen,
            "/token": self._token,
            "/keys": self._keys,
            "/signed-out": self._sign_out,
        }
        return Starlette(routes=[Route(path, answer, methods=["GET", "POST"]) for path, answer in routes.items()])

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "end_session_endpoint": f"{self.issuer}/signed-out",
                "code_challenge_methods_supported": ["S256"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        links = [f'<p><a href="/chosen?{urlencode(asked | {"who": name})}">{name}</a></p>' for name in self.people]
        return HTMLResponse("<!doctype html><link rel=icon href=data:,><title>Who are you?</title>" + "".join(links))

    async def _chosen(self, request: Request) -> Response:
        asked = dict(request.query_params)
        code = secrets.token_hex(8)
        self._codes[code] = (asked["who"], asked)
        answer = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{answer}", status_code=302)

    async def _token(self, request: Request) -> Response:
        sent = {name: str(value) for name, value in (await request.form()).items()}
        who, asked = self._codes.pop(sent["code"])
        shown = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        proof = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=")
        assert (shown, proof.decode()) == (f"{CLIENT}:{SECRET}", asked["code_challenge"])
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT, "sub": who, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, {**usual, **self.people[who]}, self._key)
        answer = {"access_token": secrets.token_hex(16), "token_type": "Bearer", "expires_in": 300, "id_token": token}
        return JSONResponse(answer)

    async def _sign_out(self, request: Request) -> Response:
        self.signed_out += 1
        return RedirectResponse(request.query_params["post_logout_redirect_uri"], status_code=302)


@contextmanager
def provider(people: Mapping[str, Claims]) -> Iterator[Provider]:
    """One that runs here."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        found = Provider(f"http://localhost:{listening.getsockname()[1]}", people)
        server = uvicorn.Server(uvicorn.Config(found.app(), log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.should_exit = True
            thread.join()


def secrets_of(found: Provider, address: str) -> str:
    """The file of CFAD_SECRETS for a server at an address."""
    return f"""[auth]
redirect_uri = "{address}/oauth2callback"
cookie_secret = "{"planted-cookie-secret-" * 2}"
client_id = "{CLIENT}"
client_secret = "{SECRET}"
server_metadata_url = "{found.issuer}/.well-known/openid-configuration"
"""
