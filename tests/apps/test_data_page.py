"""Bringing a table, and saying what its columns are for."""

from __future__ import annotations

import dataclasses
import gc
import io
import os
import signal
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard import uploads
from cfad_core.apps.dashboard.column_roles import narrow
from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.data import roles as roles_module
from cfad_core.data.attributes import Attribute
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import MappedTable, Tables
from cfad_core.runs.reading import Bounds
from tests.apps.pages import (
    HOSTILE,
    button,
    packed_rows,
    people,
    press,
    said,
    type_into,
    visit,
)
from tests.conftest import child_processes
from tests.data.worlds import applications


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


def test_a_file_without_names_of_columns(home: Path) -> None:
    content = people(200).to_csv(index=False, header=False).encode()
    app = bring_table(visit("1_Data.py"), "people.csv", content)
    assert "Does the first line hold the names of the columns?" in said(app)
    assert "What the columns are for" not in said(app)
    assert "draft" not in app.session_state
    app.run()
    press(app, "No, the first line is a person")
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    assert app.session_state["draft"].first.columns[0] == "column 1"
    assert files_left(home) == []
    press(bring_table(app, "people.csv", content), "Yes, these are the names")
    assert "199 rows, 7 columns" in said(app).replace("\\", "")
    assert files_left(home) == []


def files_left(home: Path) -> list[str]:
    """What lies in the folder of uploads, but for locks."""
    return sorted(
        path.name for path in (home / "uploads").rglob("*") if path.is_file() and not path.name.startswith(".")
    )


def bring_table(app: AppTest, name: str, content: bytes) -> AppTest:
    app.file_uploader[0].set_value((name, content, "application/octet-stream")).run()
    assert not app.exception, app.exception
    return app


def workbook(**sheets: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as book:
        for name, sheet in sheets.items():
            sheet.to_excel(book, sheet_name=name, index=False)
    return stream.getvalue()


def test_an_upload_is_let_go_of_and_the_table_stays(home: Path) -> None:
    app = bring_table(visit("1_Data.py"), "people.csv", people(200).to_csv(index=False).encode())
    assert app.file_uploader[0].value is None  # a new widget, which holds nothing
    assert not [one for one in gc.get_objects() if issubclass(type(one), UploadedFile) and not one.closed]
    assert "Read: people.csv" in said(app).replace("\\", "")
    assert isinstance(app.session_state["draft"].tables, MappedTable)
    assert files_left(home) == []
    digest = app.session_state["draft"].tables.digest
    app.run()
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    app.switch_page("pages/2_Train.py").run()
    app.switch_page("pages/1_Data.py").run()
    assert app.session_state["draft"].tables.digest == digest
    assert "Read: people.csv" in said(app).replace("\\", "")
    app.selectbox[0].set_value("Demo: invented taxpayers, whose true twins are known").run()
    press(app, "Use this data set")
    assert "people.csv" not in said(app).replace("\\", "")
    assert app.session_state["draft"].source == "invented taxpayers"


def test_a_bad_file_takes_the_place_of_a_good_one(home: Path) -> None:
    app = bring_table(visit("1_Data.py"), "people.csv", people(200).to_csv(index=False).encode())
    bring_table(app, "t.csv", b"a,b\n")
    assert "has a header but no rows" in app.error[0].value.replace("\\", "")
    assert "draft" not in app.session_state
    app.run()
    assert "has a header but no rows" in app.error[0].value.replace("\\", "")
    bring_table(app, "people.csv", people(150).to_csv(index=False).encode())
    assert not app.error
    assert "150 rows, 7 columns" in said(app).replace("\\", "")
    assert files_left(home) == []


def test_sheets_of_a_workbook(home: Path) -> None:
    content = workbook(nothing=pd.DataFrame(), people=people(120), more=people(200))
    app = bring_table(visit("1_Data.py"), "people.xlsx", content)
    assert "200 rows, 7 columns" in said(app).replace("\\", "")  # of the largest sheet
    assert "Shown is 'more', one of 3 sheets; the largest opens first." in said(app).replace("\\", "")
    sheet = next(box for box in app.selectbox if box.label == "Sheet")
    assert sheet.options == ["nothing", "people", "more"]
    sheet.set_value("nothing").run()
    assert app.error[0].value.replace("\\", "") == "Sheet 'nothing' of 'people.xlsx' is empty."
    next(box for box in app.selectbox if box.label == "Sheet").set_value("more").run()
    assert not app.error
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    assert files_left(home) == ["upload"]
    app.switch_page("pages/2_Train.py").run()
    app.switch_page("pages/1_Data.py").run()
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    st.cache_resource.clear()  # as when the browser's session ends
    assert files_left(home) == []
    next(box for box in app.selectbox if box.label == "Sheet").set_value("people").run()
    assert "The file is not here any more" in app.error[0].value


@pytest.mark.parametrize(
    ("bounds", "how", "message"),
    [
        (Bounds(60.0, 60), None, "needs more memory than the 60 MB that reading it may take here"),
        (Bounds(60.0, 4096), signal.SIGKILL, "was killed, most likely because the machine ran out of memory"),
        (Bounds(-1.0, 4096), None, "was not read within -1 seconds"),
    ],
)
def test_a_reading_process_that_ends(
    home: Path, monkeypatch: pytest.MonkeyPatch, bounds: Bounds, how: int | None, message: str
) -> None:
    def wait(_: object) -> bool:
        for child in child_processes() if how else []:
            os.kill(child.pid, how or 0)
        return False

    monkeypatch.setattr(Bounds, "of", lambda _: bounds)
    monkeypatch.setattr(uploads._Watched, "stop_requested", wait)
    content = people(200).to_csv(index=False).encode() + b"a,1,2,no,1,clerk,2\n" * 500_000
    app = bring_table(visit("1_Data.py"), "people.csv", content)
    assert message in app.error[0].value.replace("\\", "")
    assert "What you can bring" in said(app)
    assert files_left(home) == []
    assert not child_processes()


def test_a_packed_bomb(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bounds, "of", lambda _: Bounds(60.0, 250))
    content = packed_rows()
    assert len(content) < 2**20
    app = bring_table(visit("1_Data.py"), "t.csv.gz", content)
    assert "needs more memory than the 250 MB" in app.error[0].value.replace("\\", "")


def test_an_interrupted_reading_begins_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    def leave(_: object) -> bool:
        looks.append(1)
        if len(looks) == 1:
            st.rerun()
        return False

    app = visit("1_Data.py")
    monkeypatch.setattr(uploads._Watched, "stop_requested", leave)
    bring_table(app, "people.csv", people(200).to_csv(index=False).encode())
    assert len(looks) > 1
    assert app.session_state["draft"].source == "people.csv"
    assert files_left(home) == []
    assert not child_processes()


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


def test_roles_are_checked_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Mock(wraps=roles_module._column_findings)
    monkeypatch.setattr(roles_module, "_column_findings", check)
    app = visit()
    press(app, "Try the sample table")
    app.run()
    assert "What the columns are for" in said(app)
    assert check.call_count == 1
    type_into(app, "role", {list(app.session_state["draft"].table.columns).index("region"): "ignore"})
    assert check.call_count == 2
    app.run()
    assert check.call_count == 2


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


def roles_shown(app: AppTest) -> dict[str, str]:
    """By column, its role in the table of all columns."""
    table = next(table.value for table in app.dataframe if "role" in table.value)
    return dict(zip(table["column"], table["role"], strict=True))


def test_what_gives_the_outcome_away_is_ignored_with_a_click(home: Path) -> None:
    app = bring_table(visit("1_Data.py"), "loans.csv", applications(1200, more=40).to_csv(index=False).encode())
    assert "The outcome is given away" in said(app)
    assert roles_shown(app)["interest_rate"] == "feature"
    press(app, "Ignore all 4")
    assert "The outcome is given away" not in said(app)
    assert "4 columns ignored." in said(app)
    ignored = {name for name, role in roles_shown(app).items() if role == "ignore"}
    assert ignored == {"interest_rate", "rate_spread", "origination_charges", "denial_reason_1"}
    press(app, "Continue")
    assert set(app.session_state["draft"].roles.ignore) == ignored
    app.switch_page("pages/1_Data.py").run()
    assert {name for name, role in roles_shown(app).items() if role == "ignore"} == ignored


def test_many_columns_are_searched_and_set_in_bulk(home: Path) -> None:
    app = bring_table(visit("1_Data.py"), "loans.csv", applications(600, more=40).to_csv(index=False).encode())
    assert len(roles_shown(app)) == 59
    next(box for box in app.text_input if box.label == "Search").set_value("TRACT").run()
    assert len(roles_shown(app)) == 40
    press(app, "Ignore all shown")
    assert set(roles_shown(app).values()) == {"ignore"}
    next(box for box in app.text_input if box.label == "Search").set_value("").run()
    roles = roles_shown(app)
    assert sum(role == "ignore" for role in roles.values()) == 40
    assert (roles["action_taken"], roles["derived_sex"]) == ("label", "sensitive")


@pytest.mark.parametrize(
    ("text", "wanted", "held", "by", "names"),
    [
        ("", [], [], "order of the table", ["pay", "Age", "sex", "old pay"]),
        ("PAY", [], [], "order of the table", ["pay", "old pay"]),
        ("", ["sensitive", "ignore"], [], "order of the table", ["sex", "old pay"]),
        ("", ["something was found"], [], "order of the table", ["pay", "old pay"]),
        ("", ["feature", "something was found"], [], "order of the table", ["pay"]),
        ("", [], ["category"], "order of the table", ["sex"]),
        ("", [], [], "name", ["Age", "old pay", "pay", "sex"]),
        ("", [], [], "most missing cells", ["Age", "pay", "sex", "old pay"]),
    ],
)
def test_columns_are_narrowed(text: str, wanted: list[str], held: list[str], by: str, names: list[str]) -> None:
    rows = pd.DataFrame(
        {
            "column": ["pay", "Age", "sex", "old pay"],
            "role": ["feature", "feature", "sensitive", "ignore"],
            "holds": ["number", "number", "category", "number"],
            "missing": [0.0, 0.5, 0.0, 0.0],
            "found": [True, False, False, True],
        }
    )
    assert narrow(rows, text.casefold(), wanted, held, by)["column"].tolist() == names


def test_groups_of_zeros_and_ones_are_named(home: Path) -> None:
    table = people(300).assign(black=[0, 0, 1] * 100).drop(columns="group")
    app = bring_table(visit("1_Data.py"), "people.csv", table.to_csv(index=False).encode())
    assert {"black = 1", "black = 0"} <= {tile.label.replace("\\", "") for tile in app.metric}
    assert [box.options for box in app.selectbox if box.label == "Compare"] == [["black = 0", "black = 1"]]
    for _ in range(2):
        press(app, "Continue")
        (attribute,) = app.session_state["draft"].roles.attributes
        assert attribute == Attribute("black", ("black = 1", "black = 0"), {"black = 1": ("1",), "black = 0": ("0",)})
        app.switch_page("pages/1_Data.py").run()


def test_columns_are_named_by_a_pasted_line(home: Path) -> None:
    table = people(200)
    app = bring_table(visit("1_Data.py"), "t.csv", table.to_csv(index=False, header=False).encode())
    press(app, "No, the first line is a person")
    names = next(box for box in app.text_area if box.label.startswith("7 names"))
    names.set_value("one, two").run()
    press(app, "Use these names")
    assert "Expected 7 names, one for each column; got 2." in said(app).replace("\\", "")
    next(box for box in app.text_area if box.label.startswith("7 names")).set_value(",".join(table.columns)).run()
    press(app, "Use these names")
    assert list(app.session_state["draft"].first.columns) == list(table.columns)
    assert "Read: t.csv" in said(app).replace("\\", "")  # it is that file still
    assert "sensitive" in roles_shown(app).values()
    press(app, "Continue")


def test_cells_are_mended_with_a_click(home: Path) -> None:
    table = people(200).assign(rate=[f"{k % 37} %" for k in range(200)])
    total = pd.DataFrame({"group": ["a"], "job": ["Total"], "age": [40]})
    mixed_up = pd.concat([table, table.head(60), total]).to_csv(index=False).encode()
    app = bring_table(visit("1_Data.py"), "t.csv", mixed_up)
    assert "Numbers are written as text" in said(app)
    press(app, "Read as numbers")
    assert app.session_state["draft"].table["rate"].tolist()[:3] == [0.0, 1.0, 2.0]
    press(app, "Leave them out")
    assert app.session_state["draft"].rows == 260
    press(app, "Keep one of each")
    assert app.session_state["draft"].rows == 200
    assert "Read: t.csv" in said(app).replace("\\", "")


def test_a_table_whose_findings_have_no_heading_says_them(home: Path) -> None:
    app = bring_table(visit("1_Data.py"), "t.csv", people(200).drop(columns="group").to_csv(index=False).encode())
    next(box for box in app.selectbox if box.label == "Sensitive column").set_value("job").run()
    assert not app.exception
    assert "What was found" in said(app)
