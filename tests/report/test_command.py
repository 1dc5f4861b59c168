"""The command of a report, typed again, asks for the same audit; or a remark says what it cannot ask for."""

from __future__ import annotations

import dataclasses
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cfad_core.apps.cli import make_parser
from cfad_core.apps.cli.asked import asked_by
from cfad_core.apps.cli.table_settings import settings_of
from cfad_core.causal.exchange import knowledge_to_json
from cfad_core.core.config import AskedDetector, AuditConfig, BaselineConfig, Knowledge, preset
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.registry import METHODS
from cfad_core.report.command import RepeatCommand, repeat_audit, repeat_command
from tests.audit.worlds import THREE_GRAPH
from tests.report.kinds import Read, document_of, result_of

_LETTERS = st.sampled_from([*"aZ9-=+@ '\"\\$`*|;&#!~<>()[]{}é→漢", "\n", "--", "-h"])
NAMES = st.lists(_LETTERS, min_size=1, max_size=5).map("".join)
PARSER = make_parser("cfad")
FEATURES = ("age", "in come", "job's", "debt")


def words_of(command: RepeatCommand) -> list[str]:
    """As a shell splits it; ``shlex`` keeps the line's end after a backslash, which shells take away."""
    return shlex.split(command.text.replace(" \\\n    ", " "))


def typed_again(command: RepeatCommand, table: pd.DataFrame, knowledge: Knowledge) -> tuple[ColumnRoles, AuditConfig]:
    """What the real command would do."""
    program, words = words_of(command)[:3], words_of(command)[3:]
    assert program == ["python", "-m", "cfad_core"]
    options = PARSER.parse_args(words)
    assert options.table == Path("TABLE")
    with tempfile.TemporaryDirectory() as folder:
        if options.knowledge is not None:
            options.knowledge = Path(folder) / options.knowledge
            options.knowledge.write_text(knowledge_to_json(knowledge), "utf-8")
        roles, config, _ = settings_of(options, table, asked_by(options))
    return roles, config


def check(roles: ColumnRoles, config: AuditConfig, columns: list[str], **more: Any) -> RepeatCommand:
    """Make the command, type it again, and compare all that it says."""
    command = repeat_command(roles, config, **more)
    if any("begin with a dash" in remark for remark in command.remarks):
        return command
    again, settings_again = typed_again(command, pd.DataFrame(columns=pd.Index(columns)), config.knowledge)
    assert again.attributes == roles.attributes
    assert (again.label, again.anomaly, again.score) == (roles.label, roles.anomaly, roles.score)
    assert again.ignore == roles.ignore
    changed = [name for name, value in settings_again.to_dict().items() if value != config.to_dict()[name]]
    remark = "".join(one for one in command.remarks if one.startswith("No option sets"))
    assert all(name in remark for name in changed), (changed, remark)
    assert bool(changed) == bool(remark)
    return command


@st.composite
def attributes(draw: st.DrawFn, column: str) -> Attribute:
    """A settled one."""
    if draw(st.booleans()):
        cuts = draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3, unique=True))
        return Attribute(column, cuts=tuple(sorted(cuts)))
    names = tuple(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
    merged = {name: tuple(draw(st.lists(NAMES, min_size=1, max_size=3))) for name in names if draw(st.booleans())}
    others = draw(st.none() | NAMES)
    chosen = st.sampled_from(names)
    compare = tuple(draw(st.lists(chosen, unique=True, max_size=2)))
    return Attribute(column, names, merged, others, reference=draw(st.none() | chosen), compare=compare)


@st.composite
def audits(draw: st.DrawFn) -> tuple[ColumnRoles, AuditConfig, list[str]]:
    columns = draw(st.lists(NAMES, min_size=5, max_size=5, unique=True))
    assume(not set(columns) & set(FEATURES))
    sensitive, label, ignored, score = columns[: draw(st.integers(1, 2))], *columns[2:]
    asked = draw(st.none() | st.builds(AskedDetector, name=NAMES, people=st.integers(100, 9999)))
    if asked is not None and draw(st.booleans()):
        asked = asked.replace(carried=(ignored,))
    is_labelled = draw(st.booleans())
    roles = ColumnRoles(
        tuple(draw(attributes(column)) for column in sensitive),
        label=label if is_labelled else None,
        anomaly=draw(NAMES) if is_labelled else None,
        ignore=draw(st.sampled_from([(), (ignored,)])),
        score=score if asked is not None and draw(st.booleans()) else None,
    )
    kinds = draw(st.tuples(*[st.integers(0, 3)] * len(FEATURES)))
    part = [tuple(name for name, kind in zip(FEATURES, kinds, strict=True) if kind == k) for k in range(4)]
    known = Knowledge(
        roots=part[0], from_sensitive=part[1], tiers=tuple(tier for tier in ((*sensitive,), part[2]) if tier)
    )
    if draw(st.booleans()):
        known = known.replace(tiers=(), forbidden=(("debt", "age"),), sensitive_is_root=draw(st.booleans()))
    methods = tuple(draw(st.lists(st.sampled_from(list(METHODS)), unique=True, max_size=3)))
    changes: dict[str, Any] = {
        "methods": methods if methods or asked is not None else ("pca",),
        "seed": draw(st.integers(0, 2**31 - 1)),
        "categories": draw(st.sampled_from(["levels", "most-frequent"])),
        "subsamples": draw(st.sampled_from([0, 4, 20])),
        "knowledge": known,
        "asked": asked,
    }
    changes |= draw(st.sampled_from([{}, {"quantile": 0.9}, {"baselines": BaselineConfig(iforest_trees=7)}]))
    return roles, preset(draw(st.sampled_from(["fast", "paper"])), **changes), [*columns, *FEATURES]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(audits())
@example((ColumnRoles("-sex", groups=("-x",), label="--", anomaly="-y"), AuditConfig(), ["-sex", "--", *FEATURES]))
@example((ColumnRoles("-sex", groups=("-x",), label="-l", anomaly="-y"), AuditConfig(), ["-sex", "-l", *FEATURES]))
def test_the_command_asks_for_the_same_audit(case: tuple[ColumnRoles, AuditConfig, list[str]]) -> None:
    roles, config, columns = case
    check(roles, config, columns)


def test_names_that_begin_with_a_dash() -> None:
    """One after an option can be typed, several cannot, and negative numbers always can."""
    one = check(ColumnRoles("-s", groups=("-x",), label="-l", anomaly="-h"), AuditConfig(), ["-s", "-l", "age"])
    assert one.remarks == ()
    assert "--groups=-x" in one.text
    several = check(ColumnRoles("s", groups=("-x", "y")), AuditConfig(), ["s", "age"])
    assert "After --groups stand names that begin with a dash" in several.remarks[0]
    with pytest.raises(SystemExit):
        typed_again(several, pd.DataFrame(columns=["s", "age"]), Knowledge())
    cuts = Attribute("s", cuts=(-1e16, -2.5e-7, -3.0, 0.1 + 0.2, 1e300))
    assert check(ColumnRoles((cuts,)), AuditConfig(), ["s", "age"]).remarks == ()
    assert check(ColumnRoles("s", groups=("-1", "-0.5")), AuditConfig(), ["s", "age"]).remarks == ()


def test_names_that_cannot_be_shown_are_remarked() -> None:
    for name in ("a\u202eb", "a\x07b"):
        command = check(ColumnRoles("s", groups=(name, "b")), AuditConfig(), ["s", "age"])
        assert "cannot be shown" in command.remarks[-1]


def test_a_shell_reads_the_words_as_they_were_meant() -> None:
    roles = ColumnRoles("s $HOME", groups=("it's `x`", 'a "b"\nc \\'), label="!l", anomaly="*")
    command = repeat_command(roles, AuditConfig())
    asked = command.text.replace("python", "printf '%s\\0'", 1)
    found = subprocess.run(["bash", "-c", asked], capture_output=True, check=True).stdout.decode().split("\0")
    assert found[:-1] == words_of(command)[1:]
    assert {"s $HOME", "it's `x`", 'a "b"\nc \\', "!l", "*"} <= set(found)


def test_tables_of_their_own() -> None:
    roles = ColumnRoles("s", groups=("a", "b"))
    for test, twins, words in (
        (False, False, []),
        (True, False, ["--test", "TEST"]),
        (True, True, ["--test", "TEST", "--test-counterfactual", "TWINS"]),
    ):
        command = check(roles, AuditConfig(), ["s", "age"], has_test_table=test, has_true_twins=twins)
        found = words_of(command)
        assert [word for word in found if word.startswith("--test") or word in ("TEST", "TWINS")] == words
        assert command.remarks == ()
    (remark,) = repeat_command(roles, AuditConfig(), has_test_table=None).remarks
    assert "does not say whether the judged people came in a table of their own" in remark


def test_a_ready_graph_comes_from_a_file() -> None:
    roles = ColumnRoles("group", groups=("a", "b"))
    columns = ["group", "schooling", "income", "debt"]
    (remark,) = check(roles, AuditConfig(knowledge=THREE_GRAPH), columns).remarks
    assert remark == "knowledge.json is written by: python -m cfad_core graph AUDIT --out knowledge.json --knowledge"


def test_a_score_column_that_nobody_was_asked_about_is_left_out() -> None:
    roles = ColumnRoles("s", groups=("a", "b"), score="points")
    command = repeat_command(roles, AuditConfig())
    again, _ = typed_again(command, pd.DataFrame(columns=["s", "points", "age"]), Knowledge())
    assert (again.ignore, again.score) == (("points",), None)
    assert "The scores in points were not used" in command.remarks[0]


@pytest.mark.slow
def test_what_finishes_an_audit_of_a_detector_that_is_asked() -> None:
    asked, flags = (repeat_audit(result_of(kind), has_test_table=False) for kind in ("asked", "flags"))
    finish = "Its answers finish the audit: python -m cfad_core audit audit/ --scores scores.csv"
    assert asked.remarks[0] == f"{finish} --high-means anomalous --threshold=3.0"
    assert flags.remarks[0] == finish
    answered = result_of("asked").asked
    assert answered is not None
    turned = dataclasses.replace(result_of("asked"), asked=dataclasses.replace(answered, high_means="normal"))
    assert repeat_audit(turned, has_test_table=False).remarks[0].endswith("--high-means normal --threshold=-3.0")
    for command in (asked, flags):
        assert any("answers otherwise" in remark for remark in command.remarks)
    assert "if the detector that is asked answers as it did" in Read.of(document_of("asked")).plain("repeat")


def test_detectors_of_other_libraries_are_named() -> None:
    result = result_of("known")
    foreign = dataclasses.replace(result, config=result.config.replace(methods=("pca",)))
    command = repeat_audit(foreign, has_test_table=None)
    assert "No option names iforest, which the audit was given in Python" in command.remarks[0]
    assert "--test-counterfactual TWINS" in command.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "crossed", "tiny", "towards", "graph", "outsiders"])
def test_of_audits_that_were_made(kind: str) -> None:
    result = result_of(kind)
    names = [*result.roles.sensitive_columns, *(variable.name for variable in result.encoding.variables)]
    columns = [*names, *([result.roles.label] if result.roles.label else []), *result.roles.ignore]
    check(result.roles, result.config, columns)
