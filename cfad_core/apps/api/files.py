"""Routes: files to take away, and scores to bring. Each file that leaves is written into the log."""

from __future__ import annotations

import io
from pathlib import PurePath
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, BackgroundTasks, File, Form, Query, Response, UploadFile
from fastapi.responses import FileResponse

from cfad_core.apps.api.asked import Answers, form_schema, from_form
from cfad_core.apps.api.audits import Id, finished, whole
from cfad_core.apps.api.problems import ConflictError, documented
from cfad_core.apps.api.results import Method
from cfad_core.apps.api.services import InTurn, Seen, Tools
from cfad_core.apps.api.shown import WholeAudit
from cfad_core.apps.api.uploads import read_upload
from cfad_core.audit.pending_files import AnswerForm
from cfad_core.audit.questions import Questions
from cfad_core.core.errors import InvalidConfigError
from cfad_core.data.tables import to_arrow
from cfad_core.report.making import FILES, Format, make_document, write
from cfad_core.report.subject import subject_of_saved
from cfad_core.report.template import FILE, Template, read_template
from cfad_core.runs.access import NotAllowedError
from cfad_core.runs.archive import export_audit
from cfad_core.runs.model import ACTIVE, AuditRecord
from cfad_core.runs.scratch import Scratch
from cfad_core.runs.store import Store

ROUTES = APIRouter(tags=["files"])

_TYPES = {
    **{".html": "text/html; charset=utf-8", ".pdf": "application/pdf", ".json": "application/json"},
    **{".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".zip": "application/zip"},
    ".parquet": "application/vnd.apache.parquet",
}


def _file(*suffixes: str) -> dict[int | str, dict[str, Any]]:
    """The answer that is a file, for the OpenAPI document."""
    kinds = {_TYPES[suffix].partition(";")[0]: {"schema": {}} for suffix in suffixes}
    return {200: {"description": "The file", "content": kinds}}


@ROUTES.get(
    "/audits/{audit}/report",
    responses=documented(400, 404, 409, 422) | _file(".html", ".pdf", ".json", ".md"),
    response_class=Response,
    dependencies=[InTurn],
)
def report(
    store: Seen,
    audit: Id,
    format: Annotated[Format, Query()] = "html",  # noqa: A002 - as the command's option
    method: Method = None,
) -> Response:
    """The report of a finished audit, with what was stated about it."""
    record = finished(store, audit)
    subject, statements = subject_of_saved(store, audit, method)
    document = make_document(subject, statements, _template(store))
    name = FILES[format]
    content = write(document, [format], subject.content)[name]
    store.note("downloaded", audit, name)
    return _attached(content, record, name)


@ROUTES.get(
    "/audits/{audit}/export",
    responses=documented(404, 409, 422) | _file(".zip"),
    response_class=FileResponse,
    dependencies=[InTurn],
)
def export(store: Seen, tools: Tools, audit: Id, after: BackgroundTasks) -> FileResponse:
    """A finished audit with its tables as a zip file, for ``audits import``."""
    record = finished(store, audit)
    scratch = Scratch(tools.uploads())
    try:
        export_audit(store, audit, scratch.path / "audit.zip")
        store.note("downloaded", audit, "whole.zip")
    except BaseException:
        scratch.close()
        raise
    after.add_task(scratch.close)
    return FileResponse(
        scratch.path / "audit.zip", media_type=_TYPES[".zip"], filename=record.file("whole.zip"), background=after
    )


@ROUTES.get(
    "/audits/{audit}/rows-to-score",
    responses=documented(404, 409, 422) | _file(".csv", ".parquet"),
    response_class=Response,
    dependencies=[InTurn],
)
def rows_to_score(
    store: Seen,
    audit: Id,
    format: Annotated[Literal["csv", "parquet"], Query()] = "csv",  # noqa: A002 - as the command's option
) -> Response:
    """The rows that your detector has to score: people and twins, mixed."""
    record = store.get(audit)
    questions, name = _questions(store, record), f"rows-to-score.{format}"
    content = questions.batch.to_csv(index=False).encode() if format == "csv" else _parquet(questions)
    store.note("downloaded", audit, name)
    return _attached(content, record, name)


@ROUTES.post("/audits/{audit}/scores", responses=documented(400, 403, 404, 409, 413, 422, 429), dependencies=[InTurn])
def answer(
    store: Seen,
    tools: Tools,
    audit: Id,
    scores: Annotated[UploadFile, File(description="a table with row_id and score")],
    request: Annotated[str, Form(json_schema_extra=form_schema(Answers), description="Answers as JSON")] = "{}",
) -> WholeAudit:
    """What your detector says of the rows; the audit goes back into the queue and is finished."""
    given = from_form(Answers, request, "request")
    record = store.get(audit)
    if store.right(audit) == "read":  # before anything is read
        raise NotAllowedError(f"You may read audit '{audit}', but not answer it. Ask {record.owner or 'who made it'}.")
    questions = _questions(store, record)
    if record.status in ACTIVE:
        raise ConflictError(f"Audit '{audit}' is {record.status}; wait until it is done.")
    found = read_upload(tools, scores).table
    assert found is not None
    table = found.table.rename(columns=str)
    form = AnswerForm(given.high_means or "anomalous", given.threshold, given.column)
    if given.high_means is None and not form.read(questions, table).are_flags:
        raise InvalidConfigError("Say what a high score means: 'high_means' is 'anomalous', or 'normal'.")
    store.answer(audit, table, form)
    return whole(tools, store, audit)


def _questions(store: Store, record: AuditRecord) -> Questions:
    if not store.has_questions(record.id):
        raise ConflictError(f"Audit '{record.id}' is {record.status} and has no rows to score.")
    return store.questions(record.id)


def _template(store: Store) -> Template | None:
    """The team's, if there is one."""
    path = store.home / FILE
    return read_template(path) if path.is_file() else None


def _parquet(questions: Questions) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(to_arrow(questions.batch), out)
    return out.getvalue()


def _attached(content: bytes, record: AuditRecord, name: str) -> Response:
    """A file to keep, and not to open in the place of a page."""
    given = quote(record.file(name), safe="")
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{given}"}
    return Response(content, media_type=_TYPES[PurePath(name).suffix], headers=headers)
