"""Pages as a visitor sees them, without a browser: what a page says, and its buttons."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button, Multiselect

from cfad_core.audit.folder import save_audit
from cfad_core.audit.run import run_audit
from cfad_core.core.config import (
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    DiscoveryConfig,
    FairadConfig,
    FairodConfig,
)
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import METHODS
from cfad_core.runs.model import AUDITS, headline
from cfad_core.runs.store import Store
from tests.conftest import make_people

ROOT = Path(__file__).resolve().parents[2]


def pages_in(folder: Path) -> list[str]:
    """The files of all pages."""
    return sorted(path.name for path in folder.glob("*.py"))


def result_pages_in(folder: Path) -> list[str]:
    """Those that show a finished audit."""
    return [name for name in pages_in(folder) if "frame.finished_audit()" in (folder / name).read_text("utf-8")]


PAGES = pages_in(ROOT / "pages")
RESULT_PAGES = result_pages_in(ROOT / "pages")
ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
QUICK = AuditConfig(subsamples=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
FULL = QUICK.replace(
    subsamples=4,
    methods=tuple(METHODS),
    baselines=BaselineConfig(
        iforest_trees=5,
        dcfod=DcfodConfig(widths=(8,), code_size=2, epochs=1),
        fairod=FairodConfig(steps=5, candidates=()),
        fairad=FairadConfig(width=8, steps=5),
    ),
)
HOSTILE = "![x](http://evil.example/a.png) <script>alert(1)</script> **b** :red[r] $x$"


def people(n: int = 400) -> pd.DataFrame:
    """Those of ``make_people`` with a category and a whole number more."""
    table = make_people(n, seed=0)
    rng = np.random.default_rng(0)
    return table.assign(job=rng.choice(["clerk", "nurse", "smith"], n), age=rng.integers(18, 80, n))


def packed_rows() -> bytes:
    """Less than a megabyte that unpacks to twenty million rows."""
    return gzip.compress(b"a,b\n" + b"1,2\n" * 20_000_000, compresslevel=1)


def mixed_people(n: int = 400) -> pd.DataFrame:
    """Whole numbers, many zeros, missing cells that the group causes, rare levels, yes and no, and dates."""
    rng = np.random.default_rng(7)
    second = rng.random(n) < 0.5
    hours = np.rint(rng.normal(np.where(second, 41.0, 36.0), 4.0)).astype(np.int64)
    job = np.where(rng.random(n) < np.where(second, 0.3, 0.6), "office", rng.choice(["care", "transport", "trade"], n))
    job[rng.choice(n, 6, replace=False)] = [f"rare {k}" for k in range(6)]
    pay = pd.Series(np.round(np.exp(rng.normal(3.0 + 0.03 * hours, 0.4)), 2))
    gain = np.where(rng.random(n) < np.where(second, 0.8, 0.9), 0, rng.integers(100, 5000, n))
    table = pd.DataFrame({"group": np.where(second, "b", "a"), "hours": hours, "job": job, "pay": pay, "gain": gain})
    table["owner"] = np.where(rng.random(n) < 0.4 + 0.2 * second, "yes", "no")
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table["job"] = table["job"].where(rng.random(n) > 0.05)
    table["pay"] = table["pay"].where(rng.random(n) > np.where(second, 0.05, 0.15))
    return table


MIXED_ROLES = ColumnRoles("group", groups=("a", "b"))


def diverse_people(n: int = 500) -> pd.DataFrame:
    """Those of ``people`` with a region: of its three values one is rare, and one changes the income."""
    table = people(n)
    region = np.random.default_rng(1).choice(["north", "south", "east"], n, p=[0.5, 0.4, 0.1])
    return table.assign(region=region, income=table["income"] + 1.5 * (region == "south"))


REGIONS = Attribute("region", groups=("north", "south", "east"))
THREE_ROLES = ColumnRoles((REGIONS,), label="fraud", anomaly="yes", ignore=("group",))
TWO_ROLES = ColumnRoles((Attribute("group", groups=("a", "b")), REGIONS), ignore=("fraud",))


def finish(
    store: Store, table: pd.DataFrame, roles: ColumnRoles, config: AuditConfig, name: str, *, owner: str = ""
) -> str:
    """Run an audit as a worker would; its id."""
    audit = store.create(Tables.of(table), roles, config, name=name, source="people.csv", owner=owner)
    store.claim("test", audit)
    result = run_audit(store.request(audit).tables.table, roles, config)
    save_audit(result, store.folder(audit))
    store.finish(audit, headline(result))
    return audit


def by_older_engine(store: Store, name: str = "Old") -> str:
    """An audit as an older version left it: additive twins, where the way of the paper was not asked for; its id."""
    slow = DiscoveryConfig(mode="paper", rounds=1, steps_per_round=20)
    config = QUICK.replace(methods=("ae", "cfad"), discovery=slow)
    audit = finish(store, people(), ROLES, config, name)
    path = store.folder(audit) / "audit.json"
    text = json.loads(path.read_text("utf-8"))
    text["config"]["discovery"]["mode"] = "joint"
    path.write_text(json.dumps(text), "utf-8")
    with store._engine.begin() as connection:
        config_text = json.dumps(text["config"])
        query = sa.update(AUDITS).where(AUDITS.c.id == audit)
        connection.execute(query.values(schema_version=4, config=config_text))
    return audit


def without_groups(store: Store, audit: str) -> None:
    """As an older version stored it: the two groups were left to the table."""
    older = dataclasses.replace(ROLES, groups=None)
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(roles=json.dumps(older.to_dict())))


def visit(page: str = "app.py", **query: str) -> AppTest:
    """Home, then the page with that address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.run()
    assert not app.exception
    if page != "app.py":
        app.switch_page(f"pages/{page}")
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def said(app: AppTest) -> str:
    """Everything that a page says in words."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def button(app: AppTest, label: str) -> Button:
    """The first button of that label."""
    return next(button for button in app.button if button.label == label)


def chosen(app: AppTest, label: str) -> Multiselect[str]:
    """The first choice of several whose label begins so."""
    return next(box for box in app.multiselect if box.label.startswith(label))


def type_into(app: AppTest, column: str, cells: Mapping[int, int | str | None]) -> AppTest:
    """Type into rows of the editable table that has this column, one after the other as a person would."""
    typed: dict[str, dict[str, int | str | None]] = {}
    for row, value in cells.items():
        typed[str(row)] = {column: value}
        states = app._tree.get_widget_states()  # AppTest itself knows no editable tables
        state = states.widgets.add()
        state.id = next(table.proto.id for table in app.dataframe if column in table.value)
        state.string_value = json.dumps({"edited_rows": typed, "added_rows": [], "deleted_rows": []})
        app._run(states)
        assert not app.exception, app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Click the button; nothing may go wrong."""
    button(app, label).click().run()
    assert not app.exception, app.exception
    return app


def bring(app: AppTest, name: str, content: str | bytes) -> AppTest:
    """Upload domain knowledge or a graph."""
    data = content if isinstance(content, bytes) else content.encode()
    uploader = next(uploader for uploader in app.file_uploader if "ready graph" in uploader.label)
    uploader.set_value((name, data, "application/octet-stream")).run()
    assert not app.exception, app.exception
    return app


def to_train(app: AppTest) -> AppTest:
    """From home to the settings of an audit of the sample table."""
    press(app, "Try the sample table")
    press(app, "Continue")
    return app.switch_page("pages/2_Train.py").run()
