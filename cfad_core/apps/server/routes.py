"""Addresses for those who watch over the server: whether it lives, whether it can work, what it measures."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import CfadError
from cfad_core.runs.database import answering
from cfad_core.runs.store import Store

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
_BEARER = "Bearer "


def watching_routes(store: Callable[[], Store], measures: Measures, sign_in: SignIn) -> list[Route]:
    """``/healthz``, ``/readyz`` and ``/metrics``. None of them is asynchronous: each runs in a thread of its own."""

    def lives(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    def is_ready(_: Request) -> Response:
        try:
            store().health()
        except CfadError:
            return _gone()
        return PlainTextResponse("ok\n")

    def measured(request: Request) -> Response:
        try:
            with answering():
                is_known = not sign_in.is_team or _is_known(request, store())
        except CfadError:  # nobody can be recognised
            return _gone()
        if not is_known:
            words = "Show a token that somebody made on the page Account: Authorization: Bearer cfad_...\n"
            return PlainTextResponse(words, status_code=401, headers={"WWW-Authenticate": "Bearer"})
        return Response(measures.text(), media_type=_FORMAT)

    answers = {"/healthz": lives, "/readyz": is_ready, "/metrics": measured}
    return [Route(path, answer, methods=["GET"]) for path, answer in answers.items()]


def _gone() -> Response:
    """What exactly is wrong is for who runs the server: it may name folders and hosts."""
    return PlainTextResponse("The store does not answer.\n", status_code=503)


def _is_known(request: Request, store: Store) -> bool:
    shown = request.headers.get("authorization", "")
    return shown.startswith(_BEARER) and store.viewer_of(shown.removeprefix(_BEARER)) is not None
