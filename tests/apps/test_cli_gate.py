"""The gate as a pipeline runs it: lines, exit codes and a JUnit file."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from sklearn.ensemble import IsolationForest

from cfad_core.apps import cli
from cfad_core.apps.cli.junit import junit_file
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.gate import Check, Gate, check_gate
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.model import ChosenThreshold, headline
from cfad_core.runs.store import Store
from tests.apps.commands import refusal
from tests.apps.pages import diverse_people
from tests.conftest import make_people

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")
CONFIG = AuditConfig(methods=("pca",), subsamples=4)
EVERYTHING = ["--max-changing-ratio", "1", "--max-flag-rate-gap", "1"]
NOTHING = ["--max-changing-ratio", "0", "--max-flag-rate-gap", "0"]
HOSTILE = "]]> <b>&\"' \x1b[31m\x00\n::error::"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One method, with uncertainty."""
    folder = tmp_path_factory.mktemp("audits") / "audit"
    save_audit(run_audit(make_people(400, seed=0), ROLES, CONFIG), folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods of this project and one of another library, without uncertainty."""
    folder = tmp_path_factory.mktemp("audits") / "plain"
    config = CONFIG.replace(subsamples=0, methods=("pca", "pca-rank"))
    detectors = {"forest": IsolationForest(n_estimators=5, random_state=0)}
    save_audit(run_audit(make_people(400, seed=0), ROLES, config, detectors=detectors), folder)
    return folder


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two attributes, of two and three groups; some of their combinations are small."""
    folder = tmp_path_factory.mktemp("audits") / "several"
    roles = ColumnRoles((Attribute("group"), Attribute("region", groups=("north", "south", "east"))), ignore=("fraud",))
    save_audit(run_audit(diverse_people(500), roles, CONFIG), folder)
    return folder


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()


def words(lines: list[str]) -> list[str]:
    return [line.split(":")[0] for line in lines]


def test_all_bounds_hold(audit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(audit), *EVERYTHING]) == 0
    lines = lines_of(capsys)
    assert words(lines) == ["ok", "ok", "ok", "info"]
    assert lines == [check.line for check in check_gate(load_audit(audit), Gate(1.0, 1.0))]
    assert lines[0].startswith("ok: group: changing ratio 0.")
    assert lines[0].endswith("is at most 1; " + lines[0].split("; ")[1])
    assert all(
        " pca at threshold " in line and "(the score that 5 % of the people learned from exceed)" in line
        for line in lines
    )


def test_bounds_do_not_hold(audit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(audit), *NOTHING]) == 1
    lines = lines_of(capsys)
    assert words(lines) == ["failed", "failed", "failed", "info"]
    assert lines[0].startswith("failed: group: changing ratio 0.")
    assert "(lowest to highest 0." in lines[0]
    assert "is above 0; pca at threshold" in lines[0]
    assert "of the worst pair" in lines[1]
    assert "flag rate gap" in lines[2]


def test_one_bound_that_does_not_hold_is_enough(audit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(audit), "--max-changing-ratio", "1", "--max-flag-rate-gap", "0"]) == 1
    assert words(lines_of(capsys)) == ["ok", "ok", "failed", "info"]
    assert cli.main(["gate", str(audit), "--max-flag-rate-gap", "1"]) == 0
    assert words(lines_of(capsys)) == ["ok"]


def test_upper_ends(audit: Path, plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leading = check_gate(load_audit(audit), Gate(1.0))[0]
    assert leading.interval is not None
    bound = str(leading.interval.high - 1e-6)
    assert cli.main(["gate", str(audit), "--max-changing-ratio", bound, "--upper"]) == 1
    assert ": its upper end is above " in lines_of(capsys)[0]
    assert cli.main(["gate", str(plain), "--max-changing-ratio", "1", "--upper"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: The changing ratio of 'forest' has no interval, so there is no upper end; audit with --subsamples 20, "
        "or check the number itself, without --upper.\n"
    )


def test_which_method(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(plain), *EVERYTHING]) == 0
    assert all("; forest at threshold " in line for line in lines_of(capsys))
    assert cli.main(["gate", str(plain), *EVERYTHING, "--method", "pca-rank"]) == 0
    assert all("; pca-rank at threshold " in line for line in lines_of(capsys))


def test_two_attributes_with_small_groups(several: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(several), *EVERYTHING, "--reliable"]) in (0, 1)
    lines = lines_of(capsys)
    for name in ("group", "region", "group and region"):
        assert sum(f": {name}: changing ratio 0." in line for line in lines) == 1
        assert sum(f": {name}: flag rate gap " in line for line in lines) == 1
        assert sum(f": {name}: the causal model" in line for line in lines) == 1
    small = [line for line in lines if "of fewer than 10 people" in line]
    assert small
    assert all(line.startswith("info: ") for line in small)
    counts = load_audit(several).group_report("pca", "group and region").metrics_at(0.0)
    for group in counts.groups:
        assert group.n is not None
        listed = any("info: group and region: " in line and f"'{group.name}'" in line for line in small)
        assert listed == (group.n < 10)


def test_a_model_that_failed_its_tests(audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gate", str(audit), "--reliable"]) == 0
    assert words(lines_of(capsys)) == ["ok", "info"]
    result = load_audit(audit)
    (checks,) = result.checks
    doubtful = dataclasses.replace(result, checks=(dataclasses.replace(checks, unexplained=("income",)),))
    save_audit(doubtful, tmp_path / "doubtful")
    assert cli.main(["gate", str(tmp_path / "doubtful"), "--reliable"]) == 1
    lines = lines_of(capsys)
    assert words(lines) == ["failed", "info"]
    assert lines[1].startswith("info: group: Not reliable: ")


def test_a_saved_audit_and_its_threshold(
    audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    result, junit = load_audit(audit), tmp_path / "gate.xml"
    with Store() as store:
        saved = store.create(Tables.of(make_people(400, seed=0)), ROLES, CONFIG, name="Claims ]]> <b>")
        assert cli.main(["gate", saved, *EVERYTHING]) == 2
        assert "is queued; only an audit that is done has a result." in capsys.readouterr().err
        store.claim("tests", saved)
        shutil.copytree(audit, store.folder(saved))
        store.finish(saved, headline(result))
    assert cli.main(["gate", saved, *EVERYTHING]) == 0
    assert lines_of(capsys) == [check.line for check in check_gate(result, Gate(1.0, 1.0))]
    value = result.report("pca").threshold_at(0.7)
    with Store() as store:
        store.choose_threshold(saved, ChosenThreshold("pca", "quantile", value, quantile=0.7))
    assert cli.main(["gate", saved, *EVERYTHING, "--junit", str(junit)]) == 0
    lines = lines_of(capsys)
    assert all(line.endswith(f"; pca at threshold {value:.4g} (as saved, quantile 0.7)") for line in lines)
    ratio = result.report("pca").metrics_at(value).changing_ratio
    assert f"changing ratio {ratio:.3f} " in lines[0]
    suite = ET.parse(junit).getroot()[0]
    assert suite.get("name") == "Claims ]]> <b>"
    with Store() as store:
        store.choose_threshold(saved, ChosenThreshold("other", "score", value))
    assert cli.main(["gate", saved, *EVERYTHING]) == 0
    assert "(the score that 5 % of the people learned from exceed)" in lines_of(capsys)[0]


def test_the_junit_file(audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit = tmp_path / "new" / "gate.xml"
    options = ["--max-changing-ratio", "1", "--max-flag-rate-gap", "0", "--reliable", "--junit", str(junit)]
    assert cli.main(["gate", str(audit), *options]) == 1
    lines = lines_of(capsys)
    root = ET.parse(junit).getroot()
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == ("testsuites", "testsuite", str(audit))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "0"]
    cases = suite.findall("testcase")
    assert [(case.get("name"), case.get("classname"), len(case)) for case in cases] == [
        ("changing ratio: group", "pca", 0),
        ("changing ratio of the worst pair: group", "pca", 0),
        ("flag rate gap: group", "pca", 1),
        ("reliable: group", "pca", 0),
    ]
    (failure,) = cases[2]
    assert failure.tag == "failure"
    assert failure.text == failure.get("message") == next(line for line in lines if line.startswith("failed"))
    assert (suite.findtext("system-out") or "").splitlines() == lines
    assert [path.name for path in junit.parent.iterdir()] == ["gate.xml"]


def test_a_junit_file_of_hostile_names() -> None:
    line = f"failed: {HOSTILE} \ud800 \ufffe \U0001f600"
    check = Check("flag rate gap", "own", HOSTILE, 0.1, 0.2, None, False, line)
    root = ET.fromstring(junit_file(HOSTILE, [check]))
    (suite,) = root
    safe = HOSTILE.replace("\x1b", "\ufffd").replace("\x00", "\ufffd")
    assert suite.get("name") == safe
    (case,) = suite.findall("testcase")
    assert case.get("name") == f"flag rate gap: {safe}"
    (failure,) = case
    assert failure.text == failure.get("message") == f"failed: {safe} \ufffd \ufffd \U0001f600"


def test_hostile_names_from_the_table_to_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = make_people(200, seed=0).rename(columns={"group": HOSTILE})
    table[HOSTILE] = table[HOSTILE].map({"a": "<a>\x07]]>\u2028", "b": "b\r\n::error::x"})
    roles = ColumnRoles(HOSTILE, label="fraud", anomaly="yes")
    save_audit(run_audit(table, roles, CONFIG.replace(subsamples=0)), tmp_path / "audit")
    assert cli.main(["gate", str(tmp_path / "audit"), *NOTHING, "--junit", str(tmp_path / "gate.xml")]) in (0, 1)
    lines = lines_of(capsys)
    assert len(lines) == 4
    assert all(line.startswith(("ok: ", "failed: ", "info: ")) and line.isprintable() for line in lines)
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()
    assert (suite.findtext("system-out") or "").splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gate"], "the following arguments are required: AUDIT"),
        (["gate", "AUDIT"], "A gate needs something to check; give it --max-changing-ratio, --max-flag-rate-gap or"),
        (["gate", "AUDIT", "--upper"], "A gate needs something to check"),
        (["gate", "AUDIT", "--max-changing-ratio", "much"], "invalid float value: 'much'"),
        (["gate", "AUDIT", "--max-changing-ratio", "5"], "The largest changing ratio is a share from 0 to 1; got 5."),
        (["gate", "AUDIT", "--max-flag-rate-gap", "nan"], "The largest flag rate gap is a share from 0 to 1; got nan."),
        (["gate", "AUDIT", "--reliable", "--method", "ae"], "The audit has no method 'ae'; it has: pca."),
        (["gate", "AUDIT", "--reliable", "--junit", "."], "'.' is a folder; choose a file to write to"),
        (["gate", "empty", "--reliable"], "'empty' holds no audit: there is no audit.json in it"),
        (
            ["gate", "0123", "--reliable"],
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
    junit = [] if "--junit" in arguments or len(arguments) == 1 else ["--junit", "new/gate.xml"]
    assert message in refusal([*arguments, *junit], audit, tmp_path, monkeypatch, capsys)
    assert [path.name for path in (tmp_path / "here").rglob("*")] == ["empty"]


def test_several_methods_without_a_choice(tmp_path: Path, plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = load_audit(plain)
    ours = {name: scores for name, scores in result.scores.items() if name != "forest"}
    detectors = {name: one for name, one in result.detectors.items() if name != "forest"}
    save_audit(dataclasses.replace(result, scores=ours, detectors=detectors), tmp_path / "ours")
    assert cli.main(["gate", str(tmp_path / "ours"), "--max-changing-ratio", "1"]) == 2
    assert capsys.readouterr().err == (
        "error: The audit has several methods; choose one with --method: pca, pca-rank.\n"
    )
