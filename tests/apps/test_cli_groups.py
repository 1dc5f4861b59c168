"""More than two groups, and several sensitive columns, as a user types them."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.apps.cli.sensitive import typed_attributes
from cfad_core.apps.cli.summary import summary
from cfad_core.audit.folder import load_audit
from cfad_core.audit.slicing import MethodSlices
from cfad_core.core.config import AuditConfig
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.slices import Slice, Slices
from cfad_core.runs.store import Store
from tests.apps.commands import exit_code

QUICK = ["--methods", "pca", "--subsamples", "0"]
SHIFT = {"White": 1.5, "Black": -1.0, "Asian": 0.5, "Native": -1.5}


def four_groups(n: int = 700) -> pd.DataFrame:
    """Income depends on race and sex, debt on income."""
    rng = np.random.default_rng(3)
    race, sex = rng.choice(list(SHIFT), n, p=[0.4, 0.25, 0.2, 0.15]), rng.choice(["f", "m"], n)
    income = np.array([SHIFT[one] for one in race]) + (sex == "m") + rng.normal(0.0, 0.7, n)
    debt = -income + rng.normal(0.0, 0.5, n)
    odd = rng.random(n) < 0.06
    debt = np.where(odd, debt + rng.choice([-5.0, 5.0], n), debt)
    table = pd.DataFrame({"race": race, "sex": sex, "age": rng.integers(18, 80, n), "income": income, "debt": debt})
    return table.assign(fraud=np.where(odd, "yes", "no"))


@dataclass(frozen=True)
class Audited:
    """A table, the audit of it, and what the command printed."""

    table: Path
    folder: Path
    printed: str


def audit(folder: Path, table: pd.DataFrame, *more: str) -> Audited:
    folder.mkdir(exist_ok=True)
    path, out = folder / "people.csv", folder / "audit"
    table.to_csv(path, index=False)
    labels = ["--label", "fraud", "--anomaly", "yes"] if "fraud" in table else []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert cli.main(["audit", str(path), *labels, *QUICK, *more, "--out", str(out)]) == 0
    return Audited(path, out, printed.getvalue())


@pytest.fixture(scope="module")
def by_race(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """One attribute of three groups, one of them merged, with a measured uncertainty."""
    merge = ["--merge", "Asian or Native", "Asian", "Native", "--subsamples", "4"]
    return audit(tmp_path_factory.mktemp("race"), four_groups(), "--sensitive", "race", *merge)


@pytest.fixture(scope="module")
def by_both(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Two attributes: four races, of which each is compared with one, and four bands of ages."""
    groups = ["--groups", "race", "Black", "Asian", "White", "--others", "race", "any other", "--bands", "age", "4"]
    return audit(
        tmp_path_factory.mktemp("both"),
        four_groups(),
        *["--sensitive", "race", "age", *groups, "--reference", "race", "White"],
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--sensitive sex", [Attribute("sex")]),
        ("--sensitive sex --groups f m", [Attribute("sex", ("f", "m"))]),
        ("--sensitive sex --groups f", [Attribute("sex", ("f",))]),
        ("--sensitive age --cut 40", [Attribute("age", cuts=(40.0,))]),
        ("--sensitive age --cut -3.5 40", [Attribute("age", cuts=(-3.5, 40.0))]),
        ("--sensitive age --bands 4", [Attribute("age", bands=4)]),
        (
            "--sensitive race --merge A+N Asian Native --merge B Black --reference White --compare White B",
            [
                Attribute(
                    "race",
                    merged={"A+N": ("Asian", "Native"), "B": ("Black",)},
                    reference="White",
                    compare=("White", "B"),
                )
            ],
        ),
        ("--sensitive race --groups White Black --others rest", [Attribute("race", ("White", "Black"), others="rest")]),
        ("--sensitive sex race", [Attribute("sex"), Attribute("race")]),
        (
            "--sensitive sex race age --groups race Black White --bands age 3 --groups sex f m --reference race White",
            [
                Attribute("sex", ("f", "m")),
                Attribute("race", ("Black", "White"), reference="White"),
                Attribute("age", bands=3),
            ],
        ),
        (
            "--sensitive race age --merge race AN Asian Native --cut age 30 50 --compare age 50+",
            [Attribute("race", merged={"AN": ("Asian", "Native")}), Attribute("age", cuts=(30, 50), compare=("50+",))],
        ),
    ],
)
def test_sensitive_columns_as_they_are_typed(words: str, expected: list[Attribute]) -> None:
    options = cli.make_parser("cfad").parse_args(["audit", "t.csv", *words.split(), "--out", "a"])
    assert typed_attributes(options) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--groups Black White", "With several sensitive columns, --groups begins with one of them (race, age); got"),
        ("--bands 4", "--bands begins with one of them (race, age); got '4'."),
        ("--groups race", "--groups race says nothing about 'race'; add what it should be."),
        ("--groups race White Black --groups race Asian White", "--groups is there twice for 'race'"),
        ("--bands age four", "--bands takes a whole number; got 'four'."),
        ("--bands age 3 4", "--bands takes one word for 'age'; got 3, 4."),
        ("--cut age young", "--cut takes numbers; got 'young'."),
        ("--merge race X", "--merge takes a new name and the values of that group; 'X' has no values."),
        ("--cut age 40 --bands age 3", "Groups are given by values or by a band, not by both."),
        ("--cut age 40 30", "Expected ascending cut points of 'age', at most 11; got 40, 30."),
        ("--bands age 7", "Expected 2 to 6 bands of 'age'; got 7."),
        ("--cut age 40 --merge race X Asain Native", "No row of 'race' holds the group 'Asain'; it holds"),
        ("--cut age 40 --merge race White Asian Native", "Group 'White' of 'race' is called like a value"),
        ("--cut age 40 --reference race Purple", "'Purple' (reference) is no group of 'race'; its groups are White"),
        ("--cut age 40 --compare age old", "'old' (compare) is no group of 'age'; its groups are under 40, 40 or more"),
    ],
)
def test_what_cannot_be_is_one_line(
    tmp_path: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    four_groups(400).to_csv(tmp_path / "people.csv", index=False)
    arguments = ["audit", str(tmp_path / "people.csv"), "--sensitive", "race", "age", *words.split()]
    assert exit_code([*arguments, "--ignore", "fraud", "--out", str(tmp_path / "audit")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_too_many_sensitive_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four_groups(400).assign(more=[0, 1] * 200).to_csv(tmp_path / "people.csv", index=False)
    sensitive = ["--sensitive", "race", "sex", "age", "more", "--cut", "age", "40"]
    assert exit_code(["audit", str(tmp_path / "people.csv"), *sensitive, "--out", str(tmp_path / "audit")]) == 2
    assert "Expected 1 to 3 different sensitive columns; got race, sex, age, more." in capsys.readouterr().err


def test_three_groups_are_printed(by_race: Audited) -> None:
    printed = by_race.printed
    assert "people judged (" in printed
    assert "'Asian or Native'" in printed
    assert "outcome would change, had they belonged to another group of race, by causal models" in printed
    assert "Between groups of race (all 6 pairs; intervals allow for looking at 6 pairs):" in printed
    pairs = printed.split("Between groups of race")[1].split("\n\n")[0].splitlines()[2:]
    assert len(pairs) == 6
    ratios = [float(line.split("  0.")[1].split()[0]) for line in pairs]
    assert ratios == sorted(ratios, reverse=True)
    assert "pca: Most outcomes change for people of race" in printed
    assert "allowing for looking at 6 pairs" in printed
    assert "By group of race, with 90 % intervals; of outcome changes lowest to highest:" in printed
    assert "Impact ratio = lowest over highest share of people" in printed
    assert "compared" not in printed.split("\n\n")[1].splitlines()[0]  # there is one comparison
    assert "info: Group 'Asian or Native' of 'race' takes together 'Asian'" in printed


def test_three_groups_come_back_from_their_folder(by_race: Audited) -> None:
    result = load_audit(by_race.folder)
    assert summary(result) in by_race.printed
    (attribute,) = result.roles.attributes
    assert attribute.merged == {"Asian or Native": ("Asian", "Native")}
    assert set(attribute.groups or ()) == {"White", "Black", "Asian or Native"}


def test_new_rows_of_three_groups(by_race: Audited, tmp_path: Path) -> None:
    table, out = by_race.table, str(by_race.folder)
    assert cli.main(["score", out, str(table), "--out", str(tmp_path / "scores.csv"), "--no-reasons"]) == 0
    scores, people = pd.read_csv(tmp_path / "scores.csv"), pd.read_csv(table)
    groups = load_audit(by_race.folder).encoding.group_names(0)
    assert list(scores) == [
        *["pca_score", "pca_flag"],
        *(f"pca_score_if_race_{name}" for name in groups),
        "pca_change_race",
    ]
    white = people["race"] == "White"
    np.testing.assert_allclose(scores["pca_score_if_race_White"][white], scores["pca_score"][white])
    for group in groups:
        assert cli.main(["counterfactuals", out, str(table), "--to", group, "--out", str(tmp_path / "cf.csv")]) == 0
        twins = pd.read_csv(tmp_path / "cf.csv")
        merged = people["race"].isin(["Asian", "Native"]) if group == "Asian or Native" else people["race"] == group
        assert (twins["race"][~merged] == group).all()
        assert twins[merged].equals(people[merged])  # who belongs to it stays as they are
        assert cli.main(["score", out, str(tmp_path / "cf.csv"), "--out", str(tmp_path / "again.csv")]) == 0
        expected = scores[f"pca_score_if_race_{group}"]
        np.testing.assert_allclose(pd.read_csv(tmp_path / "again.csv")["pca_score"], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("which", "to", "message"),
    [
        ("by_race", [], "Say which group the twins belong to; there are several. Choose from race: "),
        ("by_race", ["Purple"], "there is no race=Purple. Choose from race: "),
        ("by_race", ["race=Purple"], "there is no race=Purple. Choose from race: "),
        ("by_race", ["White", "Black"], "--to names two groups of 'race': White and Black. Name one."),
        (
            "by_both",
            ["White"],
            "--to takes COL=GROUP where there are several sensitive columns (race, age); got 'White'",
        ),
        ("by_both", ["race=White", "race=Black"], "--to names two groups of 'race': White and Black. Name one."),
        ("by_both", ["sex=f"], "(race, age); got 'sex=f'"),
    ],
)
def test_twins_of_no_group(
    which: str,
    to: list[str],
    message: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audited: Audited = request.getfixturevalue(which)
    options = ["--to", *to] if to else []
    arguments = ["counterfactuals", str(audited.folder), str(audited.table), *options, "--out", str(tmp_path / "x.csv")]
    assert exit_code(arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_two_attributes_are_printed(by_both: Audited) -> None:
    printed = by_both.printed
    ages = load_audit(by_both.folder).encoding.group_names(1)
    assert "'race' (" in printed
    assert "'age' (" in printed
    head = next(line for line in printed.splitlines() if line.startswith("method  compared"))
    assert head.split() == ["method", "compared", "AUC-PR", "AUC-ROC", "Macro-F1", "flagged", "outcome", "changes"]
    for name in ("race", "age", "race and age"):
        assert f"\npca, {name}: " in printed  # a verdict
        assert f"By group of {name}" in printed
    assert "Between groups of race (all 6 pairs):" in printed  # each with White, and White with each
    assert "Between groups of age (the 6 highest of 12 pairs of each method):" in printed
    assert "the uncertainty was not measured." in printed
    assert "By group of race and age (the 12 of 16 that are flagged most often), with 90 % intervals:" in printed
    assert "Both race and age:\n  pca: For " in printed
    assert "the outcome changes only if race and age both change." in printed
    assert all(name in printed for name in ("any other", *ages))
    assert "n/a (n < 10)" in printed or "n/a (n = " in printed


def test_two_attributes_come_back_from_their_folder(by_both: Audited, tmp_path: Path) -> None:
    result = load_audit(by_both.folder)
    assert summary(result) in by_both.printed
    race, age = result.roles.attributes
    assert (race.groups, race.others, race.reference) == (("Black", "Asian", "White"), "any other", "White")
    assert len(age.cuts) == 3
    youngest = result.encoding.group_names(1)[0]
    to = ["--to", "race=White", f"age={youngest}", "--out", str(tmp_path / "cf.csv")]
    assert cli.main(["counterfactuals", str(by_both.folder), str(by_both.table), *to]) == 0
    people, twins = pd.read_csv(by_both.table), pd.read_csv(tmp_path / "cf.csv", dtype={"age": str})
    assert (twins["race"] == "White").all()
    young = people["age"] < age.cuts[0]
    assert (twins["age"][~young] == youngest).all()
    assert (twins["age"][young] == people["age"][young].astype(str)).all()


def test_a_few_groups_to_compare_with(tmp_path: Path) -> None:
    """People of the only group that others are compared with are compared with nobody."""
    found = audit(tmp_path, four_groups(500), "--sensitive", "race", "--compare", "White", "--ignore", "sex", "age")
    assert "Between groups of race (all 3 pairs):" in found.printed
    scores = tmp_path / "scores.csv"
    assert cli.main(["score", str(found.folder), str(found.table), "--out", str(scores), "--no-reasons"]) == 0
    nobody = pd.read_csv(scores)["pca_change_race"].isna()
    assert (nobody == (pd.read_csv(found.table)["race"] == "White")).all()
    result = load_audit(found.folder)
    white = int((result.people.factual[:, 0] == result.encoding.group_names(0).index("White")).sum())
    by_group = found.printed.split("By group of race")[1].split("\n\n")[0].splitlines()
    (row,) = (line.split() for line in by_group if line.split()[1] == "White")
    assert row[2:4] == [str(white), "n/a"]  # as many as there are, and nobody to be compared with


def test_of_many_pairs_the_highest_are_listed(tmp_path: Path) -> None:
    table = four_groups(500).drop(columns=["race", "sex", "fraud"])
    printed = audit(tmp_path, table, "--sensitive", "age", "--bands", "5").printed
    assert "Between groups of age (the 6 highest of 20 pairs of each method):" in printed
    assert len(printed.split("Between groups of age")[1].split("\n\n")[0].splitlines()) == 2 + 6
    assert "AUC-ROC" not in printed.split("By group of age")[1].splitlines()[1]  # nobody knows the anomalies


def test_two_groups_are_printed_as_before(tmp_path: Path) -> None:
    table = four_groups(400)[["sex", "income", "debt", "fraud"]]
    printed = audit(tmp_path, table, "--sensitive", "sex", "--groups", "f", "m").printed
    titles = [part.splitlines()[0].split("  ")[0] for part in printed.split("\n\n")]
    assert titles[1:5] == [
        "method",
        "outcome changes = share of people whose outcome would change, had they belonged to the other group, by causal "
        "models that no detector knows.",
        "By group:",
        "Impact ratio = lowest over highest share of people, over the groups:",
    ]
    assert titles[5].startswith("pca: ")
    for new in ("Between groups", "compared", "Both ", "interval"):
        assert new not in printed
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert (text["roles"]["sensitive"], text["roles"]["groups"]) == ("sex", ["f", "m"])


def test_a_graph_of_two_sensitive_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "graph.dot").write_text("digraph { sex -> income; race -> income; race -> sex; income -> debt }")
    graph = ["--graph", str(tmp_path / "graph.dot"), "--ignore", "age"]
    found = audit(tmp_path, four_groups(400), "--sensitive", "sex", "race", "--groups", "race", "White", *graph)
    edges = load_audit(found.folder).model.edges()
    assert set(edges) == {("sex", "income"), ("race", "income"), ("race", "sex"), ("income", "debt")}
    (tmp_path / "graph.dot").write_text("digraph { income -> sex }")
    arguments = ["audit", str(found.table), "--sensitive", "sex", "race", *graph, "--from-sensitive", "debt"]
    assert exit_code([*arguments, "--out", str(tmp_path / "other")]) == 2
    assert "A ready graph says all about causes" in capsys.readouterr().err


def test_inspect_names_all_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four_groups(800).drop(columns="sex").to_csv(tmp_path / "people.csv", index=False)
    assert cli.main(["inspect", str(tmp_path / "people.csv")]) == 0
    assert "\nGroups of 'race': 'White', 'Black', 'Asian' and 'Native'. Anomaly: 'fraud' is 'yes'.\n" in (
        capsys.readouterr().out
    )
    several = ["--sensitive", "race", "age", "--cut", "age", "30", "50", "--others", "race", "rest"]
    assert cli.main(["inspect", str(tmp_path / "people.csv"), *several, "--groups", "race", "White"]) == 0
    printed = capsys.readouterr().out
    assert (
        "\nGroups of 'race': 'White' and 'rest'.\nGroups of 'age': 'under 30', '30 to under 50' and '50 or" in printed
    )


def test_names_of_groups_are_harmless(tmp_path: Path) -> None:
    table = four_groups(400).drop(columns=["sex", "age"])
    table["race"] = table["race"].replace({"White": "=White()", "Black": "@Black", "Native": "Asian"})
    found = audit(tmp_path, table.rename(columns={"race": "=race", "debt": "+debt"}), "--sensitive", "=race")
    scores = tmp_path / "scores.csv"
    assert cli.main(["score", str(found.folder), str(found.table), "--out", str(scores)]) == 0
    read = pd.read_csv(scores)
    assert "pca_score_if_=race_@Black" in read.columns
    assert not read.columns.str.match(r"[=+@-]").any()
    assert not read["pca_reasons"].dropna().str.match(r"[=+@-]").any()


@pytest.mark.usefixtures("home")
def test_the_list_of_saved_audits_names_all_sensitive_columns(capsys: pytest.CaptureFixture[str]) -> None:
    with Store() as store:
        roles = ColumnRoles(("race", Attribute("age", bands=3)), label="fraud", anomaly="yes")
        store.create(Tables.of(four_groups(200)), roles, AuditConfig(), name="Two at once")
    assert cli.main(["audits", "list"]) == 0
    assert "race and age  Two at once" in capsys.readouterr().out


def test_slices_that_were_confirmed_are_printed(by_both: Audited) -> None:
    result = load_audit(by_both.folder)

    def found(cell: str, confirmed: bool) -> Slice:
        return Slice((cell,), 120, 60, 0.2, 0.05, 0.15, Interval(0.05, 0.25), 0.01, confirmed)

    flagged = Slices("flagged", 175, 40, (found("income: under 0", True), found("debt: 1 or more", False)))
    changes = {"race": Slices("changes", 175, 40, (found("debt: under 0", True),)), "age": Slices("changes", 175, 40)}
    with_slices = dataclasses.replace(result, slices={"pca": MethodSlices(flagged, changes)})
    part = summary(with_slices).split("Other subgroups that stand out:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split(" of 40 subgroups")[0] for line in part[0::2]] == ["  pca: 1", "  pca, race: 1"]
    assert part[1].startswith("    income: under 0: 20.0 % of 60 people, others 5.0 %")
    assert part[3].startswith("    debt: under 0: 20.0 % of 60 people, others 5.0 %")
