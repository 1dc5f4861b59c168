"""Tables beyond memory: what is counted part by part is what the whole table says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.everybody import PartScorer, edges_of
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import audit_tables
from cfad_core.audit.scoring import score_rows, twin_rows
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import AuditCancelled, CfadError, InvalidArtifactError, InvalidDataError, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.data import parts
from cfad_core.data.drawing import Drawn
from cfad_core.data.parts import open_parts
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.runs import large
from cfad_core.runs.cluster import over_parts
from cfad_core.runs.large import (
    FOLDER,
    Looked,
    Request,
    draw,
    forget_request,
    in_parts,
    load_request,
    look,
    read_rows,
    request_of,
    score_everybody,
)
from tests.conftest import make_people
from tests.runs.children import die, die_once

pytestmark = pytest.mark.slow

ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
CONFIG = AuditConfig(
    methods=("ae", "twin"),
    subsamples=4,
    detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64),
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster in this process: what its workers do is the same, and starts at once."""
    from distributed import Client

    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as found:  # type: ignore[no-untyped-call]
        yield found


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    table = make_people(3_000, seed=7)
    table.loc[table.index % 50 == 0, "group"] = "c"  # in no group
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Path:
    found = tmp_path_factory.mktemp("table") / "people"
    found.mkdir()
    for k in range(3):
        people[1_000 * k : 1_000 * (k + 1)].to_parquet(found / f"{k}.parquet", row_group_size=300)
    return found


Made = tuple[AuditResult, Looked, Drawn, Path]


@pytest.fixture(scope="module")
def made(client: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """An audit of 800 rows of the table, and everybody scored."""
    out = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "MOST_CELLS", 2_000)
        patch.setattr(parts, "_LEAST_ROWS", 1)
        patch.setattr(large, "cluster", lambda *_: _Open(client))
        looked = look(client, open_parts(folder), 0, Progress())
        roles, sample = draw(client, looked, ROLES, CONFIG, Progress(), 800)
        result = audit_tables(Tables.of(sample.rows), roles, CONFIG)
        request = request_of(looked, sample, folder)
        result = score_everybody(result, request, sample.position, out, Progress())
        save_audit(result, out)
        yield result, looked, sample, out


class _Open:
    """A client that stays open."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *_: object) -> None:
        pass


def test_one_look_counts_every_row(made: Made, people: pd.DataFrame) -> None:
    _, looked, sample, _ = made
    assert len(looked.table.parts) > 5
    assert looked.profile.rows == 3_000
    assert looked.profile.columns["group"].levels == people["group"].value_counts().to_dict()
    assert sample.counts.sum() == (people["group"] != "c").sum()
    assert len(sample.rows) == pytest.approx(800, abs=3)


def test_counts_of_everybody_are_those_of_the_whole_table(made: Made, people: pd.DataFrame) -> None:
    result, _, sample, _ = made
    inside = people[people["group"] != "c"]
    scored = score_rows(result, inside, reasons=False)
    assert result.everybody is not None
    assert (result.everybody.rows, result.everybody.outside, result.everybody.sampled) == (3_000, 60, len(sample.rows))
    for method in ("ae", "twin"):
        report, score = result.report(method), scored[f"{method}_score"].to_numpy()
        exact = ScoreCurve(score, score, (inside["fraud"] == "yes").to_numpy())
        at, found = exact.at(report.threshold), report.metrics
        assert (found.n, found.n_anomaly) == (exact.n, exact.n_anomaly)
        assert found.flag_rate == float(at.flag_rate)  # the audit's threshold is an edge: exact
        assert found.macro_f1 == float(at.macro_f1)
        assert found.auc_roc == pytest.approx(exact.auc_roc, abs=0.002)
        assert found.auc_pr == pytest.approx(exact.auc_pr, abs=0.01)
        for name, group in found.groups.items():
            own = score[(inside["group"] == name).to_numpy()]
            assert group["n"] == len(own)
            assert group["flag_rate"] == (own > report.threshold).mean()
        elsewhere = np.quantile(score, [0.1, 0.5, 0.9, 0.99])
        wrong = report.curves.people.at(elsewhere).flag_rate - exact.at(elsewhere).flag_rate
        assert (np.abs(wrong) <= report.people.error + 1e-12).all()
        twin = scored[f"{method}_score_counterfactual"].to_numpy()
        changed = ((score > report.threshold) != (twin > report.threshold)).sum()
        assert result.everybody.changes[method] == (int(changed),)


def test_files_hold_everybodys_scores_and_twins(made: Made, people: pd.DataFrame) -> None:
    result, _, _, out = made
    inside = people[people["group"] != "c"]
    scores, twins = (pd.read_parquet(out / FOLDER / name) for name in ("scores", "twins"))
    assert (scores["row"].to_numpy() == inside.index.to_numpy()).all()
    expected = score_rows(result, inside, reasons=False)
    assert (scores["ae_score"].to_numpy() == expected["ae_score"].to_numpy()).all()
    assert (scores["twin_twin_score"].to_numpy() == expected["twin_score_counterfactual"].to_numpy()).all()
    whole = twin_rows(result, inside).rows.reset_index(drop=True)
    pd.testing.assert_frame_equal(twins.drop(columns="row"), whole, check_dtype=False)


def test_any_rows_can_be_looked_at(made: Made, people: pd.DataFrame) -> None:
    result, _, sample, out = made
    inside = people.index[people["group"] != "c"]
    found = read_rows(out, "scores", 1_290, 25)
    assert found["row"].tolist() == [row for row in inside if 1_290 <= row < 1_315]
    assert len(read_rows(out, "twins", 2_999, 10)) == 1
    assert not len(read_rows(out, "scores", 3_000, 10))
    with pytest.raises(InvalidArtifactError, match="missing or damaged"):
        read_rows(out / "nowhere", "scores", 0, 1)
    drawn = result.row_numbers - 1
    assert (drawn == sample.position[result.people.row]).all()
    scores = pd.read_parquet(out / FOLDER / "scores").set_index("row").loc[drawn, "ae_score"]
    assert (scores.to_numpy() == result.scores["ae"].factual).all()


def test_it_opens_as_any_audit(made: Made) -> None:
    result, _, sample, out = made
    opened = load_audit(out)
    assert opened.judged_people == 2_940
    assert sum(opened.group_sizes.values()) == 2_940
    assert opened.everybody is not None
    assert (opened.everybody.positions == sample.position).all()
    for method, report in result.reports.items():
        assert opened.report(method).metrics == report.metrics
        assert opened.report(method).verdict == report.verdict
        assert opened.group_report(method).to_dict() == result.group_report(method).to_dict()
        assert np.isfinite(opened.report(method).densities().density["a"]).all()
    text = json.loads((out / "audit.json").read_text())
    assert text["n_test"] == 2_940
    assert str(out.parent) not in json.dumps(text["everybody"])
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []


def test_a_part_scored_in_pieces_adds_up(made: Made, people: pd.DataFrame) -> None:
    result = made[0]
    scorer = PartScorer(replace(result, view=None), edges_of(result))
    whole, _ = scorer(people, 0, Progress())
    first, second = (scorer(people[some], 0, Progress())[0] for some in (slice(0, 700), slice(700, None)))
    added = first + second
    assert (added.rows, added.outside, added.unknown) == (whole.rows, whole.outside, whole.unknown)
    for method, counts in whole.counts.items():
        assert (added.counts[method].counts == counts.counts).all()
        assert (added.changes[method] == whole.changes[method]).all()


# What may go wrong


def test_a_request_lasts_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    assert load_request(tmp_path) is None
    request = Request("place", "people", 10, "digest", ("debt", 1.5), "tcp://somewhere:8786", 3)
    request.save(tmp_path, np.arange(4))
    found = load_request(tmp_path)
    assert found is not None
    assert found[0] == request
    assert found[1].tolist() == [0, 1, 2, 3]
    (tmp_path / "large.json").write_text("{")
    with pytest.raises(InvalidArtifactError, match="cannot be read"):
        load_request(tmp_path)


def test_a_text_file_is_rewritten_for_the_audit_and_goes_with_it(tmp_path: Path) -> None:
    table = make_people(500, seed=3)
    table.loc[499, "schooling"] = np.nan
    table["code"] = np.where(np.arange(500) < 450, "1", "x1")  # text, but not at first
    table.to_csv(tmp_path / "people.csv", index=False)
    place = tmp_path / "place"
    with in_parts(tmp_path / "people.csv", place, Progress()) as opened:
        rows = pd.concat([opened.read(part) for part in opened.parts], ignore_index=True)
        pd.testing.assert_frame_equal(rows, read_table(tmp_path / "people.csv"))
        request = Request(str(opened.source), "people.csv", 500, "digest", None, is_copy=True)
        request.save(tmp_path / "audit", np.arange(3))
    assert list(place.iterdir()) == []
    found = load_request(tmp_path / "audit")
    assert found is not None
    assert open_parts(Path(found[0].source)).rows == 500
    forget_request(tmp_path / "audit")
    assert list((tmp_path / "audit").iterdir()) == []


def test_a_table_that_grew_meanwhile_is_refused(made: Made, tmp_path: Path) -> None:
    result, looked, sample, _ = made
    request = replace(request_of(looked, sample, looked.table.source), rows=17)
    with pytest.raises(InvalidDataError, match="had 17 rows when rows of it were drawn; now it has 3,000"):
        score_everybody(result, request, sample.position, tmp_path, Progress())


def test_what_all_rows_show_is_refused_before_anything_is_learned(client: Any, tmp_path: Path) -> None:
    table = make_people(2_000, seed=8)
    table.loc[1_999, "debt"] = np.inf
    table.to_parquet(tmp_path / "a.parquet")
    looked = look(client, open_parts(tmp_path), 0, Progress())
    with pytest.raises(InvalidDataError, match="Column 'debt' has 1 infinite cells among 2,000"):
        draw(client, looked, ROLES, CONFIG, Progress())


def test_a_group_that_is_too_small_to_learn_from_is_named(client: Any, tmp_path: Path) -> None:
    table = make_people(30_000, seed=9)
    table.loc[60:, "group"] = "a"
    table.to_parquet(tmp_path / "a.parquet")
    looked = look(client, open_parts(tmp_path), 0, Progress())
    with pytest.raises(InvalidDataError, match=r"Group 'b' .*(are needed|at least)"):
        draw(client, looked, ROLES, CONFIG, Progress(), 1_000)


def _double(part: int, _: str) -> int:
    return 2 * part


def _fail(part: int, _: str) -> int:
    raise InvalidDataError(f"Part {part} is bad.")


def _endless(_: int, stop: str) -> int:
    import time

    from cfad_core.runs.cluster import Stoppable

    progress = Stoppable(stop)
    while True:
        progress.check("endless")
        time.sleep(0.05)


def test_every_part_is_done_once_and_progress_says_so(client: Any) -> None:
    heard: list[tuple[int, int]] = []

    class Listening(Progress):
        def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
            heard.append((step, total))

    assert dict(over_parts(client, _double, range(20), Listening(), "doubling")) == {k: 2 * k for k in range(20)}
    assert heard[-1] == (20, 20)
    assert heard == sorted(heard)


def test_what_a_part_raises_ends_the_work(client: Any) -> None:
    with pytest.raises(CfadError, match="is bad"):
        dict(over_parts(client, _fail, range(3), Progress(), "failing"))


def test_cancelling_ends_parts_that_run(client: Any) -> None:
    class Impatient(Progress):
        asked = 0

        def stop_requested(self) -> bool:
            self.asked += 1
            return self.asked > 3

    with pytest.raises(AuditCancelled):
        dict(over_parts(client, _endless, range(4), Impatient(), "waiting"))
    assert dict(over_parts(client, _double, range(4), Progress(), "doubling")) == {0: 0, 1: 2, 2: 4, 3: 6}


def test_a_worker_that_dies_loses_its_part_only(tmp_path: Path) -> None:
    from cfad_core.runs.cluster import cluster

    with cluster(None, workers=2) as own:
        assert dict(over_parts(own, die_once, range(8), Progress(), "dying", str(tmp_path))) == {k: k for k in range(8)}
        assert (tmp_path / "3").exists()
        with pytest.raises(WorkerDied, match="ended several workers"):
            dict(over_parts(own, die, range(1), Progress(), "dying"))
