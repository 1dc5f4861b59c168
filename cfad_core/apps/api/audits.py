"""Routes: make audits, find and follow them, change, stop and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, Response, UploadFile

from cfad_core.apps.api.asked import Change, NewAudit, form_schema, from_form
from cfad_core.apps.api.making import make_audit, tables_of
from cfad_core.apps.api.problems import ConflictError, documented, own_folders, without_places
from cfad_core.apps.api.services import InTurn, Seen, Services, Tools
from cfad_core.apps.api.shown import Audit, Audits, NewlyMade, WholeAudit, more_of, shown
from cfad_core.apps.api.uploads import file_name, read_upload
from cfad_core.core.errors import InvalidDataError
from cfad_core.runs.forecast import outlooks_of
from cfad_core.runs.model import AuditRecord, Status
from cfad_core.runs.store import Store

ROUTES = APIRouter(tags=["audits"])
Id = Annotated[str, Path(pattern=r"^[0-9a-z]{1,32}$", description="the id of an audit")]

_PAGE, _MOST = 50, 200  # audits in one answer


@ROUTES.get("/audits", responses=documented(422))
def find_audits(
    store: Seen,
    tools: Tools,
    status: Status | None = None,
    owner: Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]*$")] = None,
    text: Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$", description="in name, note or source")] = "",
    limit: Annotated[int, Query(ge=1, le=_MOST)] = _PAGE,
    skip: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Audits:
    """The audits that you may see, the newest first."""
    found = store.find(status=status, owner=owner, text=text, limit=skip + limit + 1)
    records = found[skip : skip + limit]
    return Audits(audits=_listed(tools, store, records), more=len(found) > skip + limit)


@ROUTES.post("/audits", status_code=201, responses=documented(400, 403, 413, 422, 429), dependencies=[InTurn])
def make(
    store: Seen,
    tools: Tools,
    table: Annotated[UploadFile, File(description="CSV, TSV (also .gz), Parquet or Excel")],
    request: Annotated[str, Form(json_schema_extra=form_schema(NewAudit), description="NewAudit as JSON")],
    test: Annotated[UploadFile | None, File(description="the people to judge; else a share is held out")] = None,
    test_counterfactual: Annotated[UploadFile | None, File(description="the true twins of test")] = None,
) -> NewlyMade:
    """Put an audit of a table into the queue; follow it by its id."""
    given = from_form(NewAudit, request, "request")
    if test is None and test_counterfactual is not None:
        raise InvalidDataError("True twins are those of the people in 'test'; send both, or neither.")
    store.need_room(0)  # before anything is read
    first = read_upload(tools, table, sheet=given.sheet, header=given.header)
    others = [one for one in (test, test_counterfactual) if one is not None]
    read = [first, *(read_upload(tools, one, header=given.header) for one in others)]
    audit, remarks = make_audit(store, given, tables_of(read), first, file_name(table))
    return NewlyMade(**whole(tools, store, audit).model_dump(), remarks=remarks)


@ROUTES.get("/audits/{audit}", responses=documented(404, 422))
def follow(store: Seen, tools: Tools, audit: Id) -> WholeAudit:
    """How far an audit has come, what it was made from, and what you may do with it."""
    return whole(tools, store, audit)


@ROUTES.patch("/audits/{audit}", responses=documented(400, 403, 404, 422))
def change(store: Seen, tools: Tools, audit: Id, change: Change) -> WholeAudit:
    """Give an audit another name or note."""
    if change.name is not None:  # who may do that may write a note, too
        store.rename(audit, change.name)
    if change.note is not None:
        store.annotate(audit, change.note)
    return whole(tools, store, audit)


@ROUTES.post("/audits/{audit}/start", responses=documented(403, 404, 409, 422, 429))
def start(store: Seen, tools: Tools, audit: Id) -> WholeAudit:
    """Put a planned audit into the queue, as it was sealed."""
    with in_its_state():
        store.start(audit)
    return whole(tools, store, audit)


@ROUTES.post("/audits/{audit}/cancel", responses=documented(403, 404, 422))
def cancel(store: Seen, tools: Tools, audit: Id) -> WholeAudit:
    """Take an audit from the queue, or ask it to stop; one that has ended stays as it is."""
    store.request_cancel(audit)
    return whole(tools, store, audit)


@ROUTES.post("/audits/{audit}/restart", responses=documented(403, 404, 409, 422, 429))
def restart(store: Seen, tools: Tools, audit: Id) -> WholeAudit:
    """Put an audit into the queue again that failed, was cancelled or interrupted."""
    with in_its_state():
        store.requeue(audit)
    return whole(tools, store, audit)


@ROUTES.delete("/audits/{audit}", status_code=204, responses=documented(403, 404, 409, 422))
def delete(store: Seen, audit: Id) -> Response:
    """Delete an audit, and its tables unless another audit has them."""
    with in_its_state():
        store.delete(audit)
    return Response(status_code=204)


def whole(tools: Services, store: Store, audit: str) -> WholeAudit:
    """An audit as whoever asks sees it.

    Raises
    ------
    InvalidArtifactError
        If they see none of this id.
    """
    record = store.get(audit)
    (found,) = _fields(tools, store, [record])
    return WholeAudit(**found, **more_of(record), may=store.right(audit))


def finished(store: Store, audit: str) -> AuditRecord:
    """An audit that has a result.

    Raises
    ------
    ConflictError
        If it has none (yet).
    """
    record = store.get(audit)
    if record.status != "done":
        raise ConflictError(f"Audit '{audit}' is {record.status}; only an audit that is done has a result.")
    return record


@contextmanager
def in_its_state() -> Iterator[None]:
    """What the store refuses here, it refuses for the state that an audit is in."""
    try:
        yield
    except InvalidDataError as error:
        raise ConflictError(str(error)) from error


def _listed(tools: Services, store: Store, records: Sequence[AuditRecord]) -> list[Audit]:
    return [Audit(**one) for one in _fields(tools, store, records)]


def _fields(tools: Services, store: Store, records: Sequence[AuditRecord]) -> list[dict[str, Any]]:
    """What is shown of audits; where they are in the queue is looked up once for all."""
    waits = any(record.status == "queued" for record in records)
    places = outlooks_of(store, tools.workers()) if waits else {}
    folders = own_folders(store.home)
    return [shown(record, places, without_places(record.error, folders)) for record in records]
