"""audit --plan, audits start: as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from cfad_core.apps import cli
from cfad_core.apps.cli import plans
from cfad_core.core.config import AskedDetector
from cfad_core.core.progress import Progress
from cfad_core.data.tables import Tables
from cfad_core.runs.executor import perform
from cfad_core.runs.model import AUDITS
from cfad_core.runs.store import Store
from tests.apps.commands import audit_arguments, exit_code
from tests.apps.pages import QUICK, ROLES, people


def typed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What a command that works prints."""
    assert cli.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, which has imported everything."""

    def run_job(store: Store, audit: str, progress: Progress) -> None:
        assert store.claim("here", audit) is not None
        metrics = perform(progress, str(store.home), store.url, audit)
        store.wait(audit) if metrics is None else store.finish(audit, metrics)

    monkeypatch.setattr(plans, "run_job", run_job)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_presets", "run_here")
def test_an_audit_is_planned_and_started(home: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ("--save", "Claims", "--plan", "--planned-by", "Ada", "--expect", "CFAD,\nat most 2 %")
    printed = typed(capsys, *audit_arguments(table, *plan, "--methods", "pca"))
    with Store(home) as store:
        (record,) = store.find()
    assert (record.status, record.name, record.source) == ("planned", "Claims", "people.csv")
    assert record.plan is not None
    assert f"The audit is planned as {record.id}, and not started." in printed
    assert f"Its seal is {record.plan.digest}\n" in printed
    assert f"python -m cfad_core audits start {record.id}\n" in printed
    assert "people judged" not in printed
    listed = typed(capsys, "audits", "list", "--status", "planned")
    assert record.id in listed
    shown = typed(capsys, "audits", "show", record.id)
    assert " by Ada\n" in shown
    assert f"{record.plan.digest} (the audit is as it was sealed)" in shown
    assert "expected  CFAD, at most 2 %" in shown
    assert "125 people judged" in typed(capsys, "audits", "start", record.id)
    shown = typed(capsys, "audits", "show", record.id)
    assert "status    done" in shown
    assert "(the audit is as it was sealed)" in shown


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--plan"], "--plan needs --save NAME: a planned audit is kept among the saved ones"),
        (["--plan", "--out", "here"], "--plan needs --save NAME"),
        (["--save", "x", "--expect", "much"], "--planned-by and --expect say something of a plan: give --plan, too"),
        (["--save", "x", "--plan", "--scores", "s.csv"], "--plan is for an audit that is not begun yet"),
        (
            ["--save", "x", "--plan", "--onnx", "m.onnx", "--high-means", "normal"],
            "a planned audit asks a detector by files alone: give --ask-scores FILE",
        ),
    ],
)
def test_plans_that_cannot_be(
    home: Path, table: Path, capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    assert exit_code(audit_arguments(table, *options)) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {line}")
    assert len(printed.err.strip().splitlines()) == 1
    assert printed.out == ""
    assert not home.exists()


def test_a_planned_audit_among_the_saved_ones(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(home) as store:
        audit = store.plan(Tables.of(people()), ROLES, QUICK, name="Plan", by="")
        other = store.create(Tables.of(people()), ROLES, QUICK, name="Queued")
    assert "planned" in typed(capsys, "audits", "list")
    said = typed(capsys, "audits", "cancel", audit)
    assert said == f"Audit {audit} is planned and was not started; delete it if nobody wants it.\n"
    for arguments, line in (
        (["restart", audit], f"Audit '{audit}' is planned; it cannot be started again."),
        (["start", other], f"Audit '{other}' is queued; only a planned audit can be started."),
        (["start", "nothing"], "There is no audit 'nothing'."),
    ):
        assert cli.main(["audits", *arguments]) == 2
        assert capsys.readouterr().err == f"error: {line}\n"
    with Store(home) as store, store._engine.begin() as connection:
        changed = store.get(audit).config.replace(seed=5)
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(config=json.dumps(changed.to_dict())))
    shown = typed(capsys, "audits", "show", audit)
    assert "(the audit is NOT what was sealed)" in shown
    assert cli.main(["audits", "start", audit]) == 2
    assert "is not what was sealed" in capsys.readouterr().err
    with Store(home) as store, store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(plan={"by": 5}))
    assert "planned  The saved plan is damaged" in typed(capsys, "audits", "show", audit)
    assert typed(capsys, "audits", "delete", audit) == f"Audit {audit} is deleted.\n"


def test_a_planned_audit_that_asks_a_detector_needs_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = QUICK.replace(methods=(), asked=AskedDetector("theirs"))
    with Store(home) as store:
        audit = store.plan(Tables.of(people()), ROLES, config, name="Plan", by="Ada")
    for more, line in ((), "say where to write the rows"), (("--ask-scores", "rows.txt"), "rows.txt"):
        assert cli.main(["audits", "start", audit, *more]) == 2
        assert line in capsys.readouterr().err
    with Store(home) as store:
        assert store.get(audit).status == "planned"


@pytest.mark.slow
@pytest.mark.usefixtures("quick_presets", "run_here")
def test_a_planned_audit_of_your_own_detector(
    home: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    arguments = audit_arguments(table, "--save", "Theirs", "--plan", "--ask-scores", rows, "--no-methods", subsamples=4)
    printed = typed(capsys, *arguments)
    audit = printed.split("planned as ")[1].split(",")[0]
    assert f"audits start {audit} --ask-scores {rows}" in printed
    assert not rows.exists()
    started = typed(capsys, "audits", "start", audit, "--ask-scores", rows)
    assert f"rows to score are in {rows}" in started
    assert rows.is_file()
    with Store(home) as store:
        assert store.get(audit).status == "waiting"
