"""The schema comes from the migrations, and is the one that the program uses."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.runs.dask import _Task
from cfad_core.runs.database import MIGRATIONS, connect, newest_revision
from cfad_core.runs.index import home_folder
from cfad_core.runs.model import METADATA
from cfad_core.runs.store import Store
from tests.runs.conftest import QUICK, ROLES, TABLES, put


def differences(engine: sa.Engine, metadata: sa.MetaData) -> list[Any]:
    """What a migration would have to change in the database to make it like the model."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def test_no_migration_was_forgotten(url: str, tmp_path: Path) -> None:
    engine = connect(url, tmp_path)
    try:
        assert differences(engine, METADATA) == []
        changed = sa.MetaData()
        for table in METADATA.sorted_tables:
            table.to_metadata(changed)
        changed.tables["audits"].append_column(sa.Column("forgotten", sa.Text))
        ((kind, _, table_name, column),) = differences(engine, changed)
        assert (kind, table_name, column.name) == ("add_column", "audits", "forgotten")
    finally:
        engine.dispose()


def test_the_newest_revision_is_what_the_migrations_lead_to(tmp_path: Path) -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_current_head() == newest_revision()
    for script in scripts.walk_revisions():  # its number is in the name of its file
        assert Path(script.path).name.startswith(f"{script.revision}_")


def at_revision(url: str, revision: str) -> sa.Engine:
    """A database as an older version of the program left it."""
    from alembic import command
    from alembic.config import Config

    config, engine = Config(), sa.create_engine(url)
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return engine


def test_a_store_of_the_first_schema_keeps_its_audits(url: str, tmp_path: Path) -> None:
    row = {"id": "abc", "name": "Old", "owner": "", "note": "A note", "source": "", "created": 5.0, "status": "done"}
    row |= {"stage": "", "progress": 1.0, "cancel_requested": False, "data_digest": TABLES.digest, "error": ""}
    row |= {"tables": TABLES.digests, "roles": json.dumps(ROLES.to_dict()), "config": json.dumps(QUICK.to_dict())}
    row |= {"metrics": {"ae": {"verdict": "Fine."}}, "details": "", "schema_version": 6}
    engine = at_revision(url, "0001")
    older = sa.MetaData()
    older.reflect(engine)
    assert "deleted_audits" not in older.tables
    with engine.begin() as connection:
        connection.execute(sa.insert(older.tables["audits"]).values(row))
    engine.dispose()
    with Store(tmp_path / "home", url) as store:
        (record,) = store.find()
        assert (record.id, record.note, record.roles, record.config) == ("abc", "A note", ROLES, QUICK)
        assert record.metrics == row["metrics"]
        assert (record.statements, record.plan) == (Statements(), None)
        store.state("abc", Statements(system="Claims"))
        assert differences(store._engine, METADATA) == []
    with Store(tmp_path / "home", url) as again:
        assert again.get("abc").statements == Statements(system="Claims")


@pytest.mark.slow
def test_a_store_that_is_up_to_date_opens_without_alembic(tmp_path: Path) -> None:
    Store(tmp_path / "home").close()
    code = "import sys, pathlib; from cfad_core.runs.store import Store; Store(pathlib.Path(sys.argv[1])); "
    code += "print('alembic' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_a_store_of_a_newer_program_is_refused(store: Store) -> None:
    with store._engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InvalidArtifactError, match="schema 9999, which this program does not know"):
        Store(store.home, store.url)


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "a"))
    assert home_folder() == tmp_path / "a"
    monkeypatch.delenv("CFAD_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "b"))
    assert home_folder() == tmp_path / "b" / "cfad"
    (tmp_path / "file").write_text("x")
    with pytest.raises(CfadError, match="Cannot create the store in"):
        Store(tmp_path / "file" / "home")
    with pytest.raises(CfadError, match=r"Cannot use the database postgresql\+nothing://me:\*\*\*@host/x: Can't load"):
        Store(tmp_path / "home", "postgresql+nothing://me:secret@host/x")
    with pytest.raises(CfadError, match=r"\(CFAD_DATABASE_URL\) is not one, such as sqlite:///file"):
        Store(tmp_path / "home", "garbage")
    with Store(tmp_path / "what?me") as odd:
        assert (odd.home / "audits.sqlite").is_file()
    with pytest.raises(CfadError, match="unable to open database file"):
        Store(tmp_path / "home", f"sqlite:///{tmp_path}/no/folder.sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://cfad:PLANTED@127.0.0.1:1/cfad",
        "postgresql+psycopg://cfad:one@PLANTED@127.0.0.1:1/cfad",
        "postgresql+psycopg://cfad:one/PLANTED@127.0.0.1:1/cfad",
        "postgresql+psycopg://cfad:one@two:PLANTED@127.0.0.1/cfad",
        "postgresql+psycopg://127.0.0.1:1/cfad?user=cfad&password=PLANTED",
        "postgresql+nothing://cfad:PLANTED@127.0.0.1:1/cfad?password=PLANTED",
        "PLANTED",
    ],
)
def test_no_error_says_the_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(CfadError) as caught:
        Store(tmp_path / "home", url)
    seen: BaseException | None = caught.value
    while seen is not None:
        assert "PLANTED" not in "".join(traceback.format_exception_only(seen))
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def test_no_error_says_what_was_written(store: Store) -> None:
    with pytest.raises(sa.exc.SQLAlchemyError) as caught, store._engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO nowhere VALUES (:cell)"), {"cell": "PLANTED"})
    assert "PLANTED" not in str(caught.value)


def test_the_address_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/elsewhere.sqlite\n")
    monkeypatch.setenv("CFAD_DATABASE_URL_FILE", str(tmp_path / "url"))
    with Store(tmp_path / "home") as store:
        assert store.url == f"sqlite:///{tmp_path}/elsewhere.sqlite"
    monkeypatch.setenv("CFAD_DATABASE_URL", "sqlite://")
    with pytest.raises(CfadError, match="are both set; leave one"):
        Store(tmp_path / "home")
    monkeypatch.delenv("CFAD_DATABASE_URL")
    monkeypatch.setenv("CFAD_DATABASE_URL_FILE", str(tmp_path / "nothing"))
    with pytest.raises(CfadError, match="nothing"):
        Store(tmp_path / "home")


def test_what_dask_writes_down_of_a_task_has_no_password() -> None:
    assert "PLANTED" not in repr(_Task("/home", "postgresql://cfad:PLANTED@db/cfad", "a", "me"))


def open_and_put(home: Path, url: str) -> None:
    with Store(home, url) as store:
        put(store)


@pytest.mark.slow
def test_several_processes_open_a_new_store_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    home, url = tmp_path / "home", f"sqlite:///{tmp_path}/new.sqlite"
    crew = [context.Process(target=open_and_put, args=(home, url)) for _ in range(3)]
    for process in crew:
        process.start()
    for process in crew:
        process.join(60.0)
        assert process.exitcode == 0
    with Store(home, url) as store:
        assert len(store.find()) == 3
        assert len(list((home / "tables").iterdir())) == 1
