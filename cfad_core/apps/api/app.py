"""The API as one program: its routes, who gets in, and the OpenAPI document that describes them."""

from __future__ import annotations

import re
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from starlette.middleware import Middleware
from starlette.routing import Mount

import cfad_core
from cfad_core.apps.api import audits, files, people, results
from cfad_core.apps.api.asked import Answers, NewAudit
from cfad_core.apps.api.door import OPEN_TO_ALL, Door
from cfad_core.apps.api.problems import answer_problems, documented
from cfad_core.apps.api.services import Services
from cfad_core.core.errors import InvalidDataError

PREFIX = "/api/v1"
_ABOUT = (
    "Counterfactual-fairness audits of anomaly detection. Every request shows a token: `Authorization: Bearer "
    "cfad_...`. What a token's owner may not see is not there (404)."
)
_NOTHING_SENT: Any = {
    **{"tracing": False, "metrics": False, "logs": False},
    **{"operation_spans": False, "auto_configure": False},
}
_BEARER = HTTPBearer(auto_error=False, description="A token of the page Account")  # Door judges it


def create_api(services: Services) -> FastAPI:
    """The program that is mounted at ``PREFIX``."""
    app = FastAPI(
        title="CFAD",
        version=cfad_core.__version__,
        description=_ABOUT,
        openapi_url=OPEN_TO_ALL,
        docs_url=None,  # such pages load their scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NOTHING_SENT,
        middleware=[Middleware(Door, services=services)],
        dependencies=[Depends(_BEARER), Depends(_only_known)],
        responses=documented(401, 422, 500, 503),
    )
    app.state.services = services
    answer_problems(app)
    for room in (audits, results, files, people):
        app.include_router(room.ROUTES)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def mounted(services: Services) -> Mount:
    """The program at its place among others; an address with a line's end in it is its own, too."""
    found = Mount(PREFIX, create_api(services))
    found.path_regex = re.compile(found.path_regex.pattern, re.DOTALL)
    return found


async def _only_known(request: Request) -> None:
    """Refuse what a route does not know: a bound with a slip of the pen in its name would be no bound."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        choices = f"it knows: {', '.join(known)}" if known else "it knows none"
        raise InvalidDataError(f"This address knows no parameter '{unknown[0][:60]}'; {choices}.")


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with what a form's field holds as JSON; written once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": PREFIX}],
        )
        schemas = found["components"]["schemas"]
        for kind in (NewAudit, Answers):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schema.pop("$defs", {}) | {kind.__name__: schema}
        app.openapi_schema = found
    return app.openapi_schema
