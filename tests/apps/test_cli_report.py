"""The command ``report`` as a user types it: files, signed copies, and their check."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.apps import cli
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AuditConfig
from cfad_core.runs.model import AUDITS
from cfad_core.runs.store import Store
from tests.apps.commands import exit_code, refusal
from tests.apps.pages import ROLES, finish, people
from tests.apps.test_report_page import quick_pdf
from tests.pango import take_away

ALL = ("html", "pdf", "json", "model-card", "data-sheet")
FILES = {"report.html", "report.pdf", "report.json", "model_card.md", "data_sheet.md"}
CONFIG = AuditConfig(methods=("pca", "pca-rank"), subsamples=4)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def saved_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with a finished audit."""
    home = tmp_path_factory.mktemp("reported") / "home"
    with Store(home) as store:
        audit = finish(store, people(300), ROLES, CONFIG, "Claims of 2026")
        store.state(audit, Statements(system="Saved system"))
    return home, audit


@pytest.fixture
def saved(saved_home: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its id, in a store of this test's own."""
    shutil.copytree(saved_home[0], tmp_path / "home")
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    return saved_home[1]


@pytest.fixture
def folder(saved_home: tuple[Path, str]) -> Path:
    with Store(saved_home[0]) as store:
        return store.folder(saved_home[1])


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "report.json").read_text("utf-8"))
    return found


def fields(report: dict[str, Any]) -> dict[str, Any]:
    blocks = [block for section in report["sections"] for block in section["content"]]
    return {one["key"]: one["value"] for block in blocks if block["type"] == "fields" for one in block["entries"]}


def files_in(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_a_folder_in_every_format(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "out"
    assert cli.main(["report", str(folder), "--format", *ALL, "html", "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == FILES
    printed = capsys.readouterr().out.splitlines()
    assert printed[:-1] == [
        str(out / name) for name in ("report.html", "report.pdf", "report.json", "model_card.md", "data_sheet.md")
    ]
    report = read(out)
    digest = printed[-1].split()[-1]
    for name in ("report.html", "model_card.md", "data_sheet.md"):
        assert digest in (out / name).read_text("utf-8")
    assert report["signed"] is None
    assert fields(report)["system"] == "not stated"
    (out / "mine.txt").write_text("mine")
    before = (out / "report.pdf").read_bytes()
    assert cli.main(["report", str(folder), "--format", "json", "--out", str(out)]) == 0
    assert (out / "mine.txt").read_text() == "mine"
    assert (out / "report.pdf").read_bytes() == before


@pytest.mark.slow
def test_a_saved_audit_with_statements_template_and_method(saved: str, tmp_path: Path) -> None:
    def written(*arguments: str | Path) -> dict[str, Any]:
        where = tmp_path / "out"
        assert cli.main(["report", saved, "--format", "json", "html", "--out", str(where), *map(str, arguments)]) == 0
        return read(where)

    assert fields(written())["system"] == "Saved system"
    (tmp_path / "home" / "report.toml").write_text('name = "The team"\n[sections]\nsystem = false\n')
    report = written()
    assert (report["organisation"], report["left_out"]) == ("The team", ["The system"])
    toml = '\ufeffsystem = "Given"\n[[justified_paths]]\npath = ["group", "income"]\nreason = "Because."\n'
    (tmp_path / "said.toml").write_text(toml, "utf-8")
    (tmp_path / "said.JSON").write_text(json.dumps({"system": "As JSON"}))
    (tmp_path / "logo.png").write_bytes(base64.b64decode(PIXEL))
    (tmp_path / "other.toml").write_text('name = "Another team"\ntitle = "Its title"\nlogo = "logo.png"\n')
    report = written("--statements", tmp_path / "said.toml", "--template", tmp_path / "other.toml")
    assert (report["organisation"], report["title"]) == ("Another team", "Audit report: Its title")
    assert fields(report)["system"] == "Given"
    assert "Because." in json.dumps(report)
    assert f'src="data:image/png;base64,{PIXEL}"' in (tmp_path / "out" / "report.html").read_text("utf-8")
    report = written(
        "--statements", tmp_path / "said.JSON", "--method", "pca-rank", "--template", tmp_path / "other.toml"
    )
    assert fields(report)["system"] == "As JSON"
    assert "PCA" in fields(report)["detector"]
    assert fields(report)["detector"] != fields(written("--template", tmp_path / "other.toml"))["detector"]
    with Store(tmp_path / "home") as store:
        assert store.get(saved).statements == Statements(system="Saved system")  # what was given is not kept


WRONG = {
    "report": "the following arguments are required: AUDIT",
    "report AUDIT": "Say where to write the report to, with --out DIR",
    "report nowhere --out out": "'nowhere' is neither an audit folder nor the id of a saved audit",
    "report empty --out out": "empty",
    "report AUDIT --out file.txt": "'file.txt' is a file; choose a folder to write to",
    "report AUDIT --out file.txt/out": "Cannot write to",
    "report AUDIT --format doc --out out": "invalid choice: 'doc'",
    "report AUDIT --format --out out": "expected at least one argument",
    "report AUDIT --method nonsense --out out": "nonsense",
    "report AUDIT --statements nowhere.toml --out out": "Cannot read 'nowhere.toml'",
    "report AUDIT --statements empty --out out": "Cannot read 'empty'",
    "report AUDIT --statements file.txt --out out": "'file.txt' cannot be read as TOML",
    "report AUDIT --statements unknown.toml --out out": "colour",
    "report AUDIT --statements number.json --out out": "system",
    "report AUDIT --statements long.json --out out": "has 4,001 characters; at most 4,000 fit",
    "report AUDIT --statements list.json --out out": "Expected statements by their names; got list",
    "report AUDIT --statements deep.json --out out": "'deep.json' cannot be read as JSON",
    "report AUDIT --statements path.toml --out out": "A justified path needs a reason",
    "report AUDIT --statements bytes.toml --out out": "'bytes.toml' cannot be read as TOML",
    "report AUDIT --template nowhere.toml --out out": "Cannot read 'nowhere.toml'",
    "report AUDIT --template file.txt --out out": "'file.txt' cannot be read as TOML",
    "report AUDIT --template deep.toml --out out": "'deep.toml' cannot be read as TOML",
    "report AUDIT --template unknown.toml --out out": "Unknown in 'unknown.toml': colour",
    "report AUDIT --template fixed.toml --out out": "The section 'limits' cannot be left out",
    "report AUDIT --template logo.toml --out out": "The logo 'file.txt' must be a PNG, a JPEG or an SVG",
    "report AUDIT --template nologo.toml --out out": "nowhere.png",
    "report AUDIT --sign Ada": "A signed copy is kept with a saved audit; this is a folder",
    "report AUDIT --sign Ada --out out": "A signed copy is kept with a saved audit; this is a folder",
    "report AUDIT --role Boss --out out": "--role is the role of who signs",
    "report AUDIT --check --out out": "--check only looks at signed copies; leave out --out",
    "report AUDIT --check --role Boss": "--role is the role of who signs",
    "report empty --check": "There is no audit in 'empty'",
    "report file.txt --check": "There is no audit in 'file.txt'",
    "report nowhere --check": "'nowhere' is neither an audit folder",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_use_is_one_line_and_writes_nothing(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    texts = {
        "file.txt": "no = such = thing",
        "unknown.toml": 'colour = "red"',
        "number.json": '{"system": 3}',
        "long.json": json.dumps({"purpose": "x" * 4001}),
        "list.json": "[]",
        "deep.json": "[" * 100_000,
        "deep.toml": "a = " + "[" * 100_000,
        "path.toml": 'justified_paths = [{path = ["a", "b"], reason = " "}]',
        "fixed.toml": "[sections]\nlimits = false",
        "logo.toml": 'logo = "file.txt"',
        "nologo.toml": 'logo = "nowhere.png"',
    }
    for name, text in texts.items():
        (here / name).write_text(text)
    (here / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    before, kept = files_in(here), files_in(folder)
    assert WRONG[command] in refusal(command.split(), folder, tmp_path, monkeypatch, capsys)
    assert files_in(here) == before
    assert not (here / "out").exists()
    assert files_in(folder) == kept


@pytest.mark.slow
def test_signed_copies_and_their_check(
    saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cfad_core.report.making.pdf_report", quick_pdf)
    assert cli.main(["report", saved, "--check"]) == 0
    assert capsys.readouterr().out == "No report of this audit was signed.\n"
    out = tmp_path / "out"
    sign = ["report", saved, "--sign", "Ada Lovelace", "--role", "auditor"]
    assert cli.main([*sign, "--out", str(out), "--format", "json", "pdf"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("Signed by Ada Lovelace as version 1: ")
    with Store(tmp_path / "home") as store:
        place = store.folder(saved) / "signed"
    first = files_in(place / "0001")
    assert set(first) == {*FILES, "audit.json", "signature.json"}
    assert files_in(out) == {name: first[name] for name in ("report.json", "report.pdf")}  # the copy, not another one
    assert read(out)["signed"] == read(place / "0001")["signed"]
    assert read(out)["signed"]["signer"] == "Ada Lovelace"
    assert fields(read(out))["system"] == "Saved system"
    assert cli.main(["report", saved, "--sign", "Bob"]) == 0
    assert files_in(place / "0001") == first
    assert read(place / "0002")["signed"]["version"] == 2
    capsys.readouterr()
    assert cli.main(["report", saved, "--check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines] == [f"version {k}: as it was signed" for k in (1, 2)]
    assert lines[0].split(" (")[1].startswith("Ada Lovelace, 20")
    assert cli.main(["report", str(place.parent), "--check"]) == 0  # also by its folder
    for name in ("report.pdf", "signature.json"):
        content = bytearray(first[name])
        content[len(content) // 2] ^= 1
        (place / "0001" / name).write_bytes(bytes(content))
        capsys.readouterr()
        assert cli.main(["report", saved, "--check"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("version 1: ALTERED: "), name
        assert lines[1].startswith("version 2: as it was signed")
        (place / "0001" / name).write_bytes(first[name])
    (place / "0002" / "report.html").unlink()
    (place / "0002" / "more.txt").write_text("came later")
    capsys.readouterr()
    assert cli.main(["report", saved, "--check"]) == 1
    assert "version 2: ALTERED: report.html, more.txt" in capsys.readouterr().out


@pytest.mark.parametrize("signer", ["", "   ", "x" * 201, "Ada\nLovelace", "Ada\u202eecalevoL"])
def test_nobody_can_sign_so(saved: str, signer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", saved, "--sign", signer]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    with Store() as store:
        assert store.signatures(saved) == ()


def test_damaged_statements_are_named_and_can_be_replaced(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store() as store, store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == saved).values(statements={"colour": "red"}))
    arguments = ["report", saved, "--format", "json", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 2
    assert "error: The saved statements are damaged" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    (tmp_path / "said.toml").write_text('system = "Given"')
    assert cli.main([*arguments, "--statements", str(tmp_path / "said.toml")]) == 0
    assert fields(read(tmp_path / "out"))["system"] == "Given"


def test_a_broken_template_of_the_store_is_refused(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home" / "report.toml").write_text("[sections]\nsummary = false\n")
    arguments = ["report", saved, "--format", "json", "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 2
    assert "The section 'summary' cannot be left out" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_audit_that_is_not_done_has_no_report(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store() as store:
        copy = store.create(store.request(saved).tables, ROLES, CONFIG, name="Queued", source="")
    for more in (["--out", "out"], ["--sign", "Ada"], ["--check"]):
        assert cli.main(["report", copy, *more]) == 2
        assert "is queued; only an audit that is done has a result" in capsys.readouterr().err


def test_files_are_written_whole_or_not_at_all(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    real = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        if self.name == "report.json":
            real(self, content[:10])
            raise OSError(28, "No space left on device")
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert cli.main(["report", str(folder), "--format", "html", "json", "--out", str(out)]) == 2
    assert not out.exists()


@pytest.mark.slow
def test_without_pango_nothing_is_written(
    saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    take_away(monkeypatch)
    for more in (["--out", str(tmp_path / "out")], ["--sign", "Ada"]):
        assert cli.main(["report", saved, *more]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("error: A PDF is laid out by Pango, which is not installed here. Install it")
        assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
    with Store() as store:
        assert store.signatures(saved) == ()
    assert cli.main(["report", saved, "--format", "html", "json", "--out", str(tmp_path / "out")]) == 0
