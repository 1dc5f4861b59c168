"""Bringing a table, and saying what its columns are for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.data import roles as roles_module
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from tests.apps.pages import (
    HOSTILE,
    button,
    people,
    press,
    said,
    visit,
)


def test_an_upload(home: Path) -> None:
    app = visit("1_Data.py")
    table = people(200).rename(columns={"income": HOSTILE})
    app.file_uploader[0].set_value(("people.csv", table.to_csv(index=False).encode(), "text/csv")).run()
    assert not app.exception, app.exception
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    assert "![x](http" not in said(app)
    press(app, "Continue")
    assert "Start the audit" in {button.label for button in app.button}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\x00\x01\x02", "is not a text file"),
        ("t.xlsx", b"no workbook", "no table that can be read"),
        ("t.parquet", b"PAR1", "Cannot read"),
        ("t.csv", b"a,b\n", "has a header but no rows"),
    ],
)
def test_bad_uploads(home: Path, name: str, content: bytes, message: str) -> None:
    app = visit("1_Data.py")
    app.file_uploader[0].set_value((name, content, "text/csv")).run()
    assert not app.exception
    assert message in app.error[0].value.replace("\\", "")


def test_problems_stand_in_the_way(home: Path) -> None:
    app = visit("1_Data.py")
    table = people(200).drop(columns="age").assign(pay=np.inf, group=["a"] * 10 + ["b"] * 190)
    app.file_uploader[0].set_value(("people.csv", table.to_csv(index=False).encode(), "text/csv")).run()
    assert "Group 'a' of 'group' has 10 rows" in said(app).replace("\\", "")
    assert button(app, "Continue").disabled


def test_roles_come_back(home: Path) -> None:
    app = visit()
    press(app, "Try the sample table")
    draft = app.session_state["draft"]
    chosen = ColumnRoles("region", groups=("north",), label=None, ignore=("claim_id", "remark", "age"))
    app.session_state["draft"] = dataclasses.replace(draft, roles=chosen)
    app.switch_page("pages/1_Data.py").run()
    assert not app.exception, app.exception
    press(app, "Continue")
    kept = app.session_state["draft"].roles
    assert dataclasses.replace(kept, ignore=tuple(sorted(kept.ignore))) == dataclasses.replace(
        chosen, ignore=tuple(sorted(chosen.ignore))
    )


def test_roles_are_checked_once_a_rerun(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit()
    press(app, "Try the sample table")
    check = Mock(wraps=roles_module._column_findings)
    monkeypatch.setattr(roles_module, "_column_findings", check)
    app.run()
    assert "What the columns are for" in said(app)
    assert check.call_count == 1


def test_roles_of_an_empty_column(home: Path) -> None:
    app = visit()
    press(app, "Try the sample table")
    draft = app.session_state["draft"]
    empty = draft.table.assign(nothing=np.nan)
    app.session_state["draft"] = dataclasses.replace(draft, tables=Tables.of(empty), roles=ColumnRoles("nothing"))
    app.switch_page("pages/1_Data.py").run()
    assert not app.exception, app.exception
    assert "'nothing' has 0 values (nothing). There is nobody to compare with." in said(app).replace("\\", "")
    assert button(app, "Continue").disabled


def test_many_notices_of_one_kind_are_one_line() -> None:
    alike = [Finding("missing", "warning", f"Column 'c{k}' ...", column=f"c{k}", count=k) for k in range(4)]
    useless = [Finding("fair-because-useless", "warning", f"{name} ranks hardly.") for name in ("ae", "cfad", "twin")]
    lines = [text.replace("\\", "") for _, text in merge_alike([*alike, *useless])]
    assert lines[0].endswith("c0 (0), c1 (1), c2 (2), c3 (3).")
    assert lines[1:] == ["ae ranks hardly.", "cfad ranks hardly.", "twin ranks hardly."]
