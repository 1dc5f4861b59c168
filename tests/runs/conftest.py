"""Stores on SQLite and, where a server is installed, on PostgreSQL; and one small audit to put into them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.model import AuditRecord, headline
from cfad_core.runs.store import Store
from tests.audit.worlds import make_crossed
from tests.conftest import make_people
from tests.runs import postgres

ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
QUICK = AuditConfig(subsamples=4, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
TABLE = make_people(300, seed=0)
TABLES = Tables.of(TABLE)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip(postgres.MISSING)
    with postgres.server(folder) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/index.sqlite"
    server, name = request.getfixturevalue("postgres_url"), f"t{uuid.uuid4().hex}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return str(sa.make_url(server).set(database=name).render_as_string(hide_password=False))


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "home", url) as made:
        yield made


@contextmanager
def new_cluster(port: int = 0, workers: int = 1) -> Iterator[str]:
    """A Dask cluster on this machine; its scheduler's address."""
    from distributed import LocalCluster

    made = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", scheduler_port=port
    )
    with made:
        yield made.scheduler_address


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    with new_cluster() as address:
        yield address


@pytest.fixture(scope="session")
def result() -> AuditResult:
    return run_audit(TABLE, ROLES, QUICK)


CROSSED = ColumnRoles(
    (
        Attribute("sex", ("f", "m")),
        Attribute("region", ("north", "other"), {"other": ("south", "west")}, reference="north"),
    )
)
CROSSED_TABLES = Tables.of(make_crossed(500, seed=0))


@pytest.fixture(scope="session")
def crossed() -> AuditResult:
    """Of two attributes, one with values that are taken together."""
    return run_audit(CROSSED_TABLES.table, CROSSED, QUICK.replace(methods=("pca",)))


def put(store: Store, name: str = "An audit", *, config: AuditConfig = QUICK, owner: str = "") -> str:
    """Put the small audit into the queue."""
    return store.create(TABLES, ROLES, config, name=name, owner=owner)


def claim(store: Store, worker: str = "me", audit: str | None = None) -> AuditRecord:
    """Take an audit that must be there."""
    record = store.claim(worker, audit)
    assert record is not None
    return record


def worker_of(record: AuditRecord) -> str:
    assert record.worker is not None
    return record.worker


def finish(store: Store, result: AuditResult, name: str = "An audit") -> str:
    """Put a small audit into the store as done."""
    tables = TABLES if result.roles == ROLES else CROSSED_TABLES
    audit = store.create(tables, result.roles, result.config, name=name)
    claim(store, audit=audit)
    save_audit(result, store.folder(audit))
    store.finish(audit, headline(result))
    return audit


_EARLIER: set[psutil.Process] = set()


@pytest.fixture(autouse=True)
def _know_earlier_processes() -> None:
    """A page that was tested before in this process keeps an executor, whose spare child waits for a task."""
    _EARLIER.clear()
    _EARLIER.update(psutil.Process().children(recursive=True))


def computing() -> list[psutil.Process]:
    """The children that compute for this test, wherever among its descendants; not those that wait for a task."""
    found = []
    for process in set(psutil.Process().children(recursive=True)) - _EARLIER:
        try:
            if "cfad_core.runs.child" in process.cmdline() and process.cpu_times().user > 0.0:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found
