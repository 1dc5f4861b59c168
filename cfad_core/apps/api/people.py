"""Routes: for whom a token acts, its owner's tokens, and with whom audits are shared."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from cfad_core.apps.api.audits import Id
from cfad_core.apps.api.problems import documented
from cfad_core.apps.api.services import Asking, OwnToken, Seen
from cfad_core.apps.api.shown import Me, OneToken, SharedWith, moment, moment_or_none
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.runs.access import MOST_NAME, Audience, NotAllowedError, Share, Sharing
from cfad_core.runs.store import Store
from cfad_core.runs.team import Token

ROUTES = APIRouter()


class NewShare(BaseModel):
    """With whom to share an audit, and what for."""

    model_config = ConfigDict(extra="forbid", strict=True)

    audience: Audience
    name: str = Field("", max_length=MOST_NAME, description="of the person or group; empty for everybody")
    may: Sharing = "read"


@ROUTES.get("/me", tags=["you"])
def me(asking: Asking, token: OwnToken) -> Me:
    """For whom this token acts, and what it may."""
    return Me(name=asking.name, role=asking.role, groups=sorted(asking.groups), token=token)


@ROUTES.get("/tokens", tags=["you"])
def tokens(store: Seen) -> list[OneToken]:
    """Your own tokens, the latest first. New ones are made on the page Account."""
    return [_token(one) for one in _own(store)]


@ROUTES.delete("/tokens/{token}", status_code=204, responses=documented(403, 404, 422), tags=["you"])
def revoke(store: Seen, shown: OwnToken, token: Annotated[str, Path(pattern=r"^[0-9a-f]{1,32}$")]) -> Response:
    """Make one of your own tokens worthless; one that may only read can do so with itself alone."""
    if token not in [one.id for one in _own(store)]:
        raise InvalidArtifactError(f"You have no token '{token}'.")
    if token != shown and not store.viewer.may_make:
        raise NotAllowedError("A token that may only read cannot revoke others. Use the page Account.")
    store.revoke(token)
    return Response(status_code=204)


@ROUTES.get("/audits/{audit}/shares", responses=documented(403, 404, 422), tags=["sharing"])
def shares(store: Seen, audit: Id) -> list[SharedWith]:
    """With whom an audit of yours is shared."""
    return _shares(store, audit)


@ROUTES.put("/audits/{audit}/shares", responses=documented(400, 403, 404, 422), tags=["sharing"])
def share(store: Seen, audit: Id, share: NewShare) -> list[SharedWith]:
    """Share an audit of yours, or change what for; with whom it is shared then."""
    store.share(audit, Share(share.audience, share.name, share.may))
    return _shares(store, audit)


@ROUTES.delete("/audits/{audit}/shares", responses=documented(403, 404, 422), tags=["sharing"])
def unshare(
    store: Seen,
    audit: Id,
    audience: Annotated[Audience, Query()],
    name: Annotated[str, Query(max_length=MOST_NAME, description="of the person or group; empty for everybody")] = "",
) -> list[SharedWith]:
    """Share it with them no more; with whom it is shared then."""
    store.unshare(audit, Share(audience, name, "read"))
    return _shares(store, audit)


def _shares(store: Store, audit: str) -> list[SharedWith]:
    return [SharedWith(audience=one.audience, name=one.name, may=one.may) for one in store.shares(audit)]


def _own(store: Store) -> list[Token]:
    """Administrators see those of everybody in the store; here, they too are asked about their own."""
    return [one for one in store.tokens() if one.owner == store.viewer.name]


def _token(one: Token) -> OneToken:
    return OneToken(
        id=one.id,
        label=one.label,
        role=one.role,
        created=moment(one.created),
        expires=moment(one.expires),
        used=moment_or_none(one.used),
        state="revoked" if one.revoked is not None else "good" if time.time() < one.expires else "expired",
    )
