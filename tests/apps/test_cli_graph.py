"""The causal graph of an audit as a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cfad_core.apps import cli
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.run import run_audit
from cfad_core.causal.exchange import FORMATS, knowledge_from_json, read_graph
from cfad_core.core.config import AuditConfig, DetectorConfig, DiscoveryConfig, Knowledge
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.model import headline
from cfad_core.runs.store import Store
from tests.apps.commands import refusal
from tests.conftest import make_people

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")
CONFIG = AuditConfig(
    methods=("ae",),
    knowledge=Knowledge(roots=("schooling",), required=(("income", "debt"),)),
    discovery=DiscoveryConfig(rounds=2, basis_size=6),
    detector=DetectorConfig(width=8, epochs=1, fair_epochs=1),
)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audits") / "audit"
    save_audit(run_audit(make_people(300, seed=0), ROLES, CONFIG), folder)
    return folder


def edges_of(audit: Path) -> set[tuple[str, str]]:
    variables, strengths = load_audit(audit).model.strengths()
    return {(variables[j], variables[i]) for j, i in np.argwhere(strengths)}


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_graph_of_an_audit(audit: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / f"graph{suffix}"
    assert cli.main(["graph", str(audit), "--out", str(out)]) == 0
    edges = edges_of(audit)
    assert ("income", "debt") in edges
    printed = capsys.readouterr()
    assert printed.out == f"The causal graph (4 variables, {len(edges)} edges) is in {out}.\n"
    assert printed.err == ""
    found = read_graph(out.read_bytes(), out.name)
    assert found.nodes == ("group", "schooling", "income", "debt")
    assert set(found.edges) == edges


def test_an_audit_file_is_a_graph_too(audit: Path) -> None:
    found = read_graph((audit / "audit.json").read_bytes(), "audit.json")
    assert set(found.edges) == edges_of(audit)
    text = json.loads((audit / "audit.json").read_bytes())
    assert read_graph(json.dumps(text["graph"]).encode(), "graph.json") == found


def test_the_knowledge_of_an_audit(audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "knowledge.json"
    assert cli.main(["graph", str(audit), "--knowledge", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"The domain knowledge is in {out}.\n"
    assert knowledge_from_json(out.read_bytes()) == CONFIG.knowledge


def test_a_saved_audit(
    audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    with Store() as store:
        saved = store.create(Tables.of(make_people(300, seed=0)), ROLES, CONFIG, name="Claims")
        out = tmp_path / "graph.dot"
        assert cli.main(["graph", saved, "--out", str(out)]) == 2
        assert (
            capsys.readouterr().err == f"error: Audit '{saved}' is queued; only an audit that is done has a result.\n"
        )
        store.claim("tests", saved)
        shutil.copytree(audit, store.folder(saved))
        store.finish(saved, headline(load_audit(audit)))
    assert cli.main(["graph", saved, "--out", str(out)]) == 0
    assert f"edges) is in {out}." in capsys.readouterr().out
    assert set(read_graph(out.read_bytes(), out.name).edges) == edges_of(audit)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["graph"], "the following arguments are required: AUDIT, --out"),
        (["graph", "AUDIT", "--out", "g.png"], "ends in .graphml, .dot, .json, .csv or .gv; got 'g.png'"),
        (["graph", "AUDIT", "--out", "."], "'.' is a folder; choose a file to write to"),
        (
            ["graph", "AUDIT", "--knowledge", "--out", "k.dot"],
            "Domain knowledge is a file that ends in .json; got 'k.dot'",
        ),
        (["graph", "empty", "--out", "g.dot"], "'empty' holds no audit: there is no audit.json in it"),
        (
            ["graph", "0123", "--out", "g.dot"],
            "'0123' is neither an audit folder nor the id of a saved audit; 'audits list'",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    audit: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in refusal(arguments, audit, tmp_path, monkeypatch, capsys)
    assert [path.name for path in (tmp_path / "here").rglob("*")] == ["empty"]
