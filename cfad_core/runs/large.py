"""Audit a table that is too large for memory: look at all rows, draw some, audit these, score everybody.

    look    what every column holds, and some rows by which roles are settled
    draw    a stratified sample, and exact counts of groups and labels
    (the audit of the sample, as of any table: ``audit.run``)
    score   twins and scores of all rows, written as Parquet, and counted

Each step but the audit is a function of one part of the table, done by the workers of a cluster (``cluster``); what
they find adds up.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.everybody import STAGE, Everybody, PartFiles, PartScorer, Scored, edges_of, with_everybody
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.files import staged_file
from cfad_core.core.progress import Progress
from cfad_core.data.chunk_files import chunk_writer
from cfad_core.data.chunks import open_chunks
from cfad_core.data.drawing import (
    Drawn,
    chances,
    check_groups,
    draw_part,
    highest_chances,
    joined,
    sample_size,
    strata_count,
    strata_of,
)
from cfad_core.data.findings import refuse_errors
from cfad_core.data.groups import OUTSIDE
from cfad_core.data.parts import Part, PartedTable, digest_of, open_parts
from cfad_core.data.profile import Profile, profile_of
from cfad_core.data.readers import suffix_of
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.validation import validate
from cfad_core.runs.cluster import Stoppable, cluster, over_parts

REWRITING, LOOKING, DRAWING = "rewriting the table", "looking at all rows", "drawing rows"
FOLDER = "everybody"  # in the audit's folder
_REQUEST = "large.json"
_POSITIONS = "positions.npy"
_COPY = "table.parquet"  # of a text file
_PILOT = 20_000  # rows that roles are settled by
_ROWS_A_SECOND = 20_000  # that are scored, by two workers
_ROW_GROUP = 20_000  # rows that are read at least, to look at some of them
_MODELS, _STAGED = ".staged-sample", ".staged-everybody"  # the audit of the sample, and files, until all are written


@dataclass(frozen=True)
class Looked:
    """A table after one look at all rows.

    Attributes
    ----------
    profile : of every column
    pilot : some rows, drawn uniformly
    digest : sha256 of the files
    """

    table: PartedTable
    profile: Profile
    pilot: pd.DataFrame
    digest: str


@dataclass(frozen=True)
class Request:
    """What is needed to score everybody, once the sample is audited.

    Attributes
    ----------
    source : the table
    name : what people call it
    rows, digest : what it was when it was looked at
    furthest : as in ``Everybody``
    scheduler, workers : as in ``cluster``
    is_copy : whether the table is a copy for this audit alone
    """

    source: str
    name: str
    rows: int
    digest: str
    furthest: tuple[str, float] | None
    scheduler: str | None = None
    workers: int | None = None
    is_copy: bool = False

    def save(self, folder: Path, positions: NDArray[np.int64]) -> None:
        """Put it into the folder of an audit, with the positions of the rows that were drawn, and a copied table."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / _POSITIONS, positions)
        kept = self
        if self.is_copy:
            kept = replace(self, source=str(folder / _COPY))
            shutil.move(self.source, kept.source)
        (folder / _REQUEST).write_text(json.dumps(asdict(kept)), encoding="utf-8")


def load_request(folder: Path) -> tuple[Request, NDArray[np.int64]] | None:
    """What ``Request.save`` put there; None in the folder of any other audit."""
    if not (folder / _REQUEST).is_file():
        return None
    try:
        text = json.loads((folder / _REQUEST).read_text(encoding="utf-8"))
        furthest = None if text["furthest"] is None else (str(text["furthest"][0]), float(text["furthest"][1]))
        return Request(**{**text, "furthest": furthest}), np.load(folder / _POSITIONS, allow_pickle=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidArtifactError(f"What '{folder}' says of its table cannot be read: {error}") from error


def large_stages(folder: Path) -> dict[str, float]:
    """The stages that an audit of a large table has besides the usual ones, and their seconds."""
    found = load_request(folder)
    return {} if found is None else {STAGE: max(1.0, found[0].rows / _ROWS_A_SECOND)}


def forget_request(folder: Path) -> None:
    """Remove what ``Request.save`` put there: it names places of this machine, and all is done."""
    for name in (_REQUEST, _POSITIONS, _COPY):
        (folder / name).unlink(missing_ok=True)


@contextmanager
def in_parts(source: Path, place: Path, progress: Progress, *, header: bool = True) -> Iterator[PartedTable]:
    """The table in a folder or file; one in a text file is rewritten as Parquet in a folder of ``place`` meanwhile.

    Raises
    ------
    InvalidDataError
        If there is no table.
    """
    if source.is_dir() or suffix_of(str(source)) == ".parquet":
        yield open_parts(source)
        return
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".staged-", dir=place) as folder:
        path, done = Path(folder) / _COPY, 0
        chunks = open_chunks(source, header=header, progress=progress)
        with chunk_writer(path) as writer:
            for chunk in chunks:
                writer.add(chunk)
                done += len(chunk)
                progress.tick(REWRITING, done, chunks.rows)
        yield open_parts(path)


def look(client: Any, table: PartedTable, seed: int, progress: Progress) -> Looked:
    """Look at all rows of a table."""
    bare, share = replace(table, parts=()), _PILOT / table.rows
    profiles: dict[int, Profile] = {}
    pilots: dict[int, pd.DataFrame] = {}
    for place, (profile, pilot) in over_parts(client, _look, table.parts, progress, LOOKING, bare, share, seed):
        profiles[place], pilots[place] = profile, pilot
    digests = dict(over_parts(client, _digest, table.files, progress, LOOKING))
    whole = hashlib.sha256("".join(digests[place] for place in sorted(digests)).encode()).hexdigest()
    pilot = pd.concat([pilots[place] for place in sorted(pilots)], ignore_index=True)
    return Looked(table, _sum(profiles[place] for place in sorted(profiles)), pilot, whole)


def draw(
    client: Any, looked: Looked, roles: ColumnRoles, config: AuditConfig, progress: Progress, rows: int | None = None
) -> tuple[ColumnRoles, Drawn]:
    """Settle the roles, and draw the rows that are audited.

    Parameters
    ----------
    rows : how many; by default ``drawing.sample_size`` says

    Raises
    ------
    InvalidDataError
        If the table cannot be used with these roles.
    """
    pilot, table, seed = looked.pilot, looked.table, config.seed
    validation = validate(pilot, roles)
    features = roles.features(pilot) if validation.roles is None else validation.roles.features(pilot)
    label = roles.label if roles.label in pilot.columns else None
    refuse_errors([*looked.profile.findings(features, label), *validation.findings])
    roles = validation.usable_roles()
    strata = strata_of(pilot, roles)
    states = strata[strata != OUTSIDE] // (1 if roles.label is None else 2)
    wanted = sample_size(np.bincount(states) * max(1, table.rows // max(1, len(pilot))), rows)
    highest = highest_chances(strata, table.rows, wanted, strata_count(roles))
    bare, found = replace(table, parts=()), dict[int, Drawn]()
    for place, drawn in over_parts(client, _draw, table.parts, progress, DRAWING, bare, roles, highest, seed):
        found[place] = drawn
    sample = joined([found[place] for place in sorted(found)], wanted)
    check_groups(sample, roles, config.test_share)
    return roles, sample


def request_of(
    looked: Looked, sample: Drawn, given: Path, scheduler: str | None = None, workers: int | None = None
) -> Request:
    """What scoring everybody will need, of a table that was given as this folder or file."""
    inside = looked.profile if not sample.outside else None  # a sample has no rows outside of all groups
    furthest = None if inside is None else inside.furthest(profile_of(sample.rows))
    table, is_copy = looked.table, looked.table.source != given.absolute()
    return Request(
        str(table.source), given.name, table.rows, looked.digest, furthest, scheduler, workers, is_copy=is_copy
    )


def score_everybody(
    result: AuditResult, request: Request, positions: NDArray[np.int64], folder: Path, progress: Progress
) -> AuditResult:
    """The audit of a sample with counts of everybody; twins and scores are written into its folder.

    Raises
    ------
    InvalidDataError
        If the table is not what it was when the rows were drawn.
    """
    table = open_parts(Path(request.source))
    if table.rows != request.rows:
        raise InvalidDataError(
            f"'{request.name}' had {request.rows:,} rows when rows of it were drawn; now it has {table.rows:,}. "
            "Start a new audit."
        )
    models, stage = folder / _MODELS, folder / _STAGED
    shutil.rmtree(stage, ignore_errors=True)
    try:
        save_audit(result, models)
        with cluster(request.scheduler, request.workers) as client:
            bare, edges, found = replace(table, parts=()), edges_of(result), dict[int, Scored]()
            shared = (bare, str(models), edges, str(stage))
            for place, scored in over_parts(client, _score, table.parts, progress, STAGE, *shared):
                found[place] = scored
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        stage.rename(folder / FOLDER)
    finally:
        for left in (models, stage):
            shutil.rmtree(left, ignore_errors=True)
    known = Everybody(request.name, request.digest, 0, 0, len(positions), request.furthest, {}, positions)
    return with_everybody(result, _sum(found[place] for place in sorted(found)), known)


def has_rows(folder: Path) -> bool:
    """Whether an audit's folder has the files of all rows; one that came from elsewhere has none."""
    return (folder / FOLDER).is_dir()


def read_rows(folder: Path, name: str, first: int, count: int) -> pd.DataFrame:
    """Of an audit in this folder, ``scores`` or ``twins`` of some rows from a position on; only these are read.

    Raises
    ------
    InvalidArtifactError
        If the files are missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    try:
        table = ds.dataset(folder / FOLDER / name, format="parquet")
        row = next(column for column in reversed(table.schema.names) if column.startswith("row"))
        found = table.scanner(filter=(ds.field(row) >= first) & (ds.field(row) < first + count)).to_table()
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise InvalidArtifactError(f"The files of all rows are missing or damaged: {error}") from error
    rows: pd.DataFrame = found.sort_by(row).to_pandas().rename(columns={row: "row"})
    return rows


def _sum(parts: Iterable[Any]) -> Any:
    first, *others = parts
    for other in others:
        first = first + other
    return first


# In a worker


def _look(part: Part, _: str, table: PartedTable, share: float, seed: int) -> tuple[Profile, pd.DataFrame]:
    rows = table.read(part)
    return profile_of(rows), rows[chances(part, seed + 1) < share]


def _digest(path: Path, _: str) -> str:
    return digest_of([path])


def _draw(part: Part, _: str, table: PartedTable, roles: ColumnRoles, highest: Any, seed: int) -> Drawn:
    return draw_part(table, part, roles, highest, seed)


def _score(part: Part, stop: str, table: PartedTable, models: str, edges: Any, folder: str) -> Scored:
    result = _models(models, (Path(models) / "audit.json").stat().st_mtime_ns)
    scored, files = PartScorer(result, edges)(table.read(part), part.first, Stoppable(stop))
    _write(files, part, Path(folder))
    return scored


@lru_cache(maxsize=1)
def _models(folder: str, _: int) -> AuditResult:
    return load_audit(Path(folder))


def _write(files: PartFiles, part: Part, folder: Path) -> None:
    """Whole files or none: a part may be scored twice, if a worker dies."""
    several = len(files.twins) > 1
    twins = {f"twins-{k + 1}" if several else "twins": rows for k, rows in enumerate(files.twins)}
    for name, rows in {"scores": files.scores, **twins}.items():
        with staged_file(folder / name / f"part-{part.number:05d}.parquet") as stage:
            rows.to_parquet(stage, index=False, compression="zstd", row_group_size=_ROW_GROUP)
