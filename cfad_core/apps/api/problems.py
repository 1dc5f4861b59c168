"""What a program reads when something is wrong: one shape, with a sentence, and nothing about the server itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

import cfad_core
from cfad_core.apps.api.services import services_of
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.runs.access import NotAllowedError
from cfad_core.runs.allowance import LimitReachedError
from cfad_core.runs.outages import Outage, outage

REQUEST_ID = "x-request-id"
_MOST_LINES = 20  # of what is wrong with a request
_OWN_FOLDERS = (tempfile.gettempdir(), str(Path(cfad_core.__file__).parent))

_CODES: Mapping[int, tuple[str, str]] = {
    400: ("invalid-setting", "A setting, or the request itself, makes no sense."),
    401: ("no-token", "There is no token, or it is unknown, revoked or has expired."),
    403: ("not-allowed", "Whose token it is may see the audit, but not do that."),
    404: ("not-found", "There is nothing of this name, or whose token it is may not see it."),
    405: ("no-such-method", "The address is known, the method is not."),
    409: ("conflict", "The audit is in a state in which that cannot be done."),
    413: ("too-large", "The request is too large."),
    422: ("invalid-data", "The table, or what is said of it, cannot be used."),
    429: ("limit-reached", "Its owner has as much as one person may have."),
    500: ("broken", "Something went wrong that nobody foresaw; the server's log has it, with the id of the request."),
    503: ("not-now", "The store of audits cannot be used just now: its database is away, or a disk is full."),
}
_DAMAGED = "What is stored of this is missing or damaged. Ask whoever runs the server."
_BROKEN = "Something went wrong on the server. Give whoever runs it the id of this request: its log says where."
_OUTAGES: Mapping[Outage, str] = {
    "away": "The database of the audits does not answer. Try again in a moment; see first what has become of a change.",
    "full": "The server's disk is full. Ask whoever runs it to make room; see then what has become of a change.",
}
_AGAIN = "10"  # seconds until it makes sense to ask again


class ConflictError(CfadError):
    """It cannot be done with an audit in this state."""


_STATUSES: tuple[tuple[type[CfadError], int], ...] = (
    (ConflictError, 409),
    (NotAllowedError, 403),
    (LimitReachedError, 429),
    (InvalidArtifactError, 404),
    (InvalidDataError, 422),
    (InvalidConfigError, 400),
)


class Problem(BaseModel):
    """What is wrong, and what to do."""

    code: str = Field(description="what kind of problem it is, in words that stay the same")
    message: str = Field(description="what is wrong, for people")
    request: str = Field(description="the id of the request, as in the server's log")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that are problems, for the OpenAPI document."""
    return {status: {"model": Problem, "description": _CODES[status][1]} for status in sorted(statuses)}


def problem(
    status: int, message: str, request: str, headers: Mapping[str, str] | None = None, code: str = ""
) -> JSONResponse:
    """The answer that says what is wrong."""
    said = Problem(code=code or _CODES.get(status, ("refused", ""))[0], message=message, request=request)
    return JSONResponse(said.model_dump(), status, dict(headers or {}))


def answer_problems(app: FastAPI) -> None:
    """Make every error of the app an answer of that shape."""
    app.add_exception_handler(CfadError, _said_on_purpose)
    app.add_exception_handler(RequestValidationError, _not_as_expected)
    app.add_exception_handler(HTTPException, _of_the_protocol)
    app.add_exception_handler(Exception, _unforeseen)


def without_places(text: str, folders: Iterable[str]) -> str:
    """What an error says, unless it names a place on the server: then what is stored there is at fault."""
    return _DAMAGED if any(folder in text for folder in folders) else text


def own_folders(home: Path) -> tuple[str, ...]:
    """Places on the server that nobody needs to know."""
    return (str(home), *_OWN_FOLDERS)


def _id(request: Request) -> str:
    return request.headers.get(REQUEST_ID, "")


def _said_on_purpose(request: Request, error: Exception) -> Response:
    assert isinstance(error, CfadError)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    folders = own_folders(services_of(request).store().home)
    return problem(status, without_places(str(error), folders), _id(request))


def _not_as_expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem(422, "\n".join(_lines(error.errors())), _id(request))


def _lines(errors: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence about each thing that is not as it should be, without what came: it may be somebody's cell."""
    found = []
    for one in errors[:_MOST_LINES]:
        place = ".".join(str(part)[:100] for part in one["loc"])
        found.append(f"{place}: {str(one['msg']).removeprefix('Value error, ').rstrip('.')}.")
    return found


def _of_the_protocol(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: "There is no such address; /api/v1/openapi.json lists all.",
        405: f"{request.method} is not for this.",
    }
    headers = dict(error.headers or {}) | ({"Allow": _methods(request)} if error.status_code == 405 else {})
    return problem(error.status_code, words.get(error.status_code, error.detail), _id(request), headers)


def _methods(request: Request) -> str:
    """All that are for an address: each is a route of its own, and the error knows one of them only."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    known = request.app.openapi()["paths"]
    found = {
        method.upper() for place, of_one in known.items() if compile_path(place)[0].match(path) for method in of_one
    }
    return ", ".join(sorted(found))


def _unforeseen(request: Request, error: Exception) -> Response:
    """Where it arose is in the log; what it says may quote a cell."""
    if reason := outage(error):
        return problem(503, _OUTAGES[reason], _id(request), {"Retry-After": _AGAIN})
    return problem(500, _BROKEN, _id(request))
