"""Pages of an audit of a table beyond memory, and the command that makes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.run import audit_tables
from cfad_core.core.progress import Progress
from cfad_core.data.parts import open_parts
from cfad_core.data.tables import Tables
from cfad_core.runs import large
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.large import draw, look, request_of, score_everybody
from cfad_core.runs.model import headline
from cfad_core.runs.store import Store
from tests.apps.commands import exit_code
from tests.apps.pages import QUICK, RESULT_PAGES, ROLES, people, said, visit

pytestmark = pytest.mark.slow
CONFIG = QUICK.replace(methods=("ae", "twin"))


@contextmanager
def here(*_: object) -> Iterator[Any]:
    """A cluster in this process."""
    from distributed import Client

    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with Client(**options) as client:  # type: ignore[no-untyped-call]
        yield client


@pytest.fixture
def audit(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved audit of 2,000 rows, of which 400 were drawn."""
    monkeypatch.setattr(large, "cluster", here)
    table = people(2_000)
    table.loc[table.index % 40 == 7, "group"] = "c"
    folder = tmp_path / "claims"
    folder.mkdir()
    for k in range(2):
        table[1_000 * k : 1_000 * (k + 1)].to_parquet(folder / f"{k}.parquet")
    with here() as client:
        looked = look(client, open_parts(folder), 0, Progress())
        roles, sample = draw(client, looked, ROLES, CONFIG, Progress(), 400)
    tables = Tables.of(sample.rows)
    with Store(home) as store:
        found = store.create(tables, roles, CONFIG, name="Claims", source="claims")
        store.claim("test", found)
        result = audit_tables(tables, roles, CONFIG)
        request = request_of(looked, sample, folder)
        result = score_everybody(result, request, sample.position, store.folder(found), Progress())
        save_audit(result, store.folder(found))
        store.finish(found, headline(result))
    return found


def test_every_page_shows_it(audit: str, home: Path) -> None:
    for page in RESULT_PAGES:
        app = visit(page, audit=audit)
        assert not app.exception, (page, app.exception)
    assert "1,950 people" in said(visit("7_Groups.py", audit=audit))
    assert "1,950 people judged" in said(visit("8_Methods.py", audit=audit))
    with Store(home) as store:
        assert sum(store.result(audit).group_sizes.values()) == 1_950


def test_any_row_of_the_table_can_be_looked_at(audit: str) -> None:
    app = visit("4_Counterfactuals.py", audit=audit)
    assert "All 2,000 rows" in said(app)
    app.selectbox(key=f"people-{audit}").set_value("everybody").run()
    listed, everybody = app.dataframe[0].value, app.dataframe[-2].value
    assert {"row", "score", "score of twin", "twin flagged"} <= set(everybody)
    assert int(listed["row"].iloc[0]) == int(everybody["row"].iloc[0])
    unseen = next(row for row in range(1, 400) if row not in set(listed["row"]) and (row - 1) % 40 != 7)
    box = next(one for one in app.number_input if one.label == "Row of the table")
    assert box.max == 2_000
    box.set_value(unseen).run()
    assert not app.exception, app.exception
    assert "was not drawn" in said(app) or f"Row {unseen} of the table" in said(app)


def test_an_exported_audit_leaves_the_files_of_all_rows_behind(audit: str, home: Path, tmp_path: Path) -> None:
    with Store(home) as store:
        export_audit(store, audit, tmp_path / "audit.zip")
        taken = import_audit(store, tmp_path / "audit.zip")
        assert store.result(taken).judged_people == 1_950
    app = visit("4_Counterfactuals.py", audit=taken)
    assert not app.exception, app.exception
    assert "stay where the audit was made" in said(app)


@pytest.mark.usefixtures("quick_presets")
def test_the_command_audits_a_folder_and_a_text_file_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cfad_core.runs import cluster

    monkeypatch.setattr(cluster, "cluster", here)
    monkeypatch.setattr(large, "cluster", here)
    table = people(1_500)
    folder = tmp_path / "claims"
    folder.mkdir()
    table.to_parquet(folder / "all.parquet")
    table.to_csv(tmp_path / "claims.csv", index=False)
    options = ["--sensitive", "group", "--label", "fraud", "--anomaly", "yes", "--draw", "1000", "--subsamples", "0"]
    texts = []
    for source, out in ((folder, tmp_path / "one"), (tmp_path / "claims.csv", tmp_path / "two")):
        assert exit_code(["audit", str(source), *options, "--methods", "ae", "--out", str(out)]) == 0
        said_here = capsys.readouterr().out
        assert "1500 people judged" in said_here
        assert "The table has 1,500 rows. 1,0" in said_here
        texts.append(json.loads((out / "audit.json").read_text()))
        assert len(pd.read_parquet(out / "everybody" / "twins")) == 1_500
    assert texts[0]["methods"]["ae"]["metrics"] == texts[1]["methods"]["ae"]["metrics"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims", "claims.csv", "one", "two"]
    assert load_audit(tmp_path / "one").judged_people == 1_500


def test_a_folder_can_be_inspected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cfad_core.runs import cluster

    monkeypatch.setattr(cluster, "cluster", here)
    monkeypatch.setattr(large, "_PILOT", 500)
    people(2_000).to_parquet(tmp_path / "a.parquet")
    assert exit_code(["inspect", str(tmp_path)]) == 0
    found = capsys.readouterr().out
    assert found.startswith("2000 rows, 7 columns. Looked at are ")
    assert "suggested role" in found


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--draw", "10"], "--draw takes at least 1,000 rows; got 10"),
        (["--preset", "paper"], "cannot be audited with --preset paper"),
    ],
)
def test_what_cannot_be_done_part_by_part_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], expected: str
) -> None:
    people(100).to_parquet(tmp_path / "a.parquet")
    base = ["audit", str(tmp_path), "--sensitive", "group", "--out", str(tmp_path / "out")]
    assert exit_code([*base, *more]) == 2
    assert expected in capsys.readouterr().err
