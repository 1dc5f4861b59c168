"""The dashboard in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser

from cfad_core.core.config import DEFAULT_METHODS, AuditConfig, DetectorConfig
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import title_of
from cfad_core.runs.store import Store
from tests.apps.browser import Visitor, app, assert_clean, browser
from tests.apps.pages import RESULT_PAGES, ROLES, finish
from tests.conftest import make_people

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
MAIN = "[data-testid=stMain]"
RESULTS = [re.sub(r"^\d+_", "", Path(name).stem).replace("_", " ") for name in RESULT_PAGES]  # as the sidebar says
HOSTILE = '![x](http://evil.example/a.png)<img src="http://evil.example/b.png">'
ENDLESS = AuditConfig(detector=DetectorConfig(width=16, epochs=10**6, batch_size=64))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser") / "home"


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    with app(home, environment={"CFAD_WORKERS": "3"}) as address:  # one of them is for short audits
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def visitor(chromium: Browser, url: str) -> Iterator[Visitor]:
    with Visitor(chromium, url) as someone:
        yield someone
        assert_clean(someone)  # nothing was asked of another host, and the console has no errors


def put(home: Path, config: AuditConfig, name: str) -> str:
    with Store(home) as store:
        return store.create(Tables.of(make_people(400, seed=0)), ROLES, config, name=name, source="people.csv")


def start_from_upload(visitor: Visitor, path: Path) -> None:
    visitor.open("Data")
    visitor.upload(path)
    visitor.wait_text("What the columns are for")
    visitor.wait_idle()
    visitor.click("Continue")
    visitor.wait_text("What you know of causes and effects")
    visitor.page.get_by_test_id("stCheckbox").filter(has_text="PCA").click()
    visitor.wait_idle()
    visitor.click("Start the audit")
    visitor.wait_text("You can leave this page")
    assert (
        visitor.page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop") == 0
    )  # the progress is in sight


def test_the_main_journey_takes_ten_clicks_at_most(visitor: Visitor, home: Path) -> None:
    visitor.open()
    visitor.wait_text("Would the detector have flagged the same person")
    clicks = ["Try the sample table", "Continue", "Start the audit"]
    awaited = ["What the columns are for", "What you know of causes and effects", "The audit is done"]
    for name, text in zip(clicks, awaited, strict=True):
        visitor.click(name, within=MAIN)
        visitor.wait_text(text, timeout=120)
        visitor.wait_idle()
    visitor.click("See the findings", within=MAIN)
    visitor.wait_text("What changes for whom")
    visitor.go("Causal graph")
    visitor.wait_text("Arrows lead from cause to effect")
    visitor.go("Score densities")
    visitor.wait_text("each whole area is 100 %")
    visitor.go("Threshold")
    visitor.wait_text("Group by group")
    visitor.wait_idle()
    visitor.click("Save this threshold")
    visitor.wait_text("investigations.")
    assert len(clicks) < visitor.clicks <= 10
    audit = re.search(r"audit=(\w+)", visitor.page.url)
    assert audit is not None
    with Store(home) as store:
        threshold = store.get(audit[1]).threshold
    assert threshold is not None
    assert (threshold.method, threshold.by) == ("cfad", "investigations")


def test_an_upload_and_every_page_of_it(visitor: Visitor, tmp_path: Path) -> None:
    make_people(400, seed=1).to_csv(tmp_path / "mine.csv", index=False)
    start_from_upload(visitor, tmp_path / "mine.csv")
    visitor.wait_text("The audit is done", timeout=120)
    for page in [*(name for name in RESULTS if name != "Methods"), "Methods"]:
        visitor.go(page)
        visitor.wait_text("sensitive: group")
        visitor.wait_idle()
    assert (
        visitor.page.get_by_test_id("stCheckbox").filter(has_text="PCA").count() == 1
    )  # it was ticked before training
    visitor.page.get_by_role("tab", name="The paper's experiments").click()
    visitor.wait_text("Hollow: the paper's point")
    visitor.wait_idle()
    visitor.go("Saved audits")
    visitor.wait_text("Choose a row to open")


def test_reloading_while_it_trains_loses_nothing(visitor: Visitor, home: Path) -> None:
    audit = put(home, ENDLESS, "Reloaded")
    visitor.open(f"Train?audit={audit}")
    visitor.wait_text(re.compile(r"Training the plain detector · \d+%"), timeout=60)
    visitor.page.reload()
    visitor.wait_text(re.compile(r"Training the plain detector · \d+%"), timeout=60)
    assert f"audit={audit}" in visitor.page.url
    visitor.click("Cancel the audit")
    visitor.wait_text("was cancelled", timeout=60)
    with Store(home) as store:
        assert store.get(audit).status == "cancelled"
    visitor.click("Start it again")
    visitor.wait_text("Cancel the audit", timeout=60)
    with Store(home) as store:
        assert store.get(audit).status in ("queued", "running")
    visitor.click("Cancel the audit")
    visitor.wait_text("was cancelled", timeout=60)
    with Store(home) as store:
        assert store.get(audit).status == "cancelled"


def test_two_browsers_on_two_audits(chromium: Browser, url: str, home: Path) -> None:
    audits = [put(home, ENDLESS, name) for name in ("First of two", "Second of two")]
    with Visitor(chromium, url) as one, Visitor(chromium, url, colour_scheme="dark") as two:
        for visitor, audit, name in ((one, audits[0], "First of two"), (two, audits[1], "Second of two")):
            visitor.open(f"Train?audit={audit}")
            visitor.wait_text(name)
        for visitor in (one, two):
            visitor.wait_text(re.compile(r"Training the plain detector · \d+%"), timeout=60)
        assert "Second of two" not in one.page.inner_text(MAIN)
        for visitor in (one, two):
            visitor.click("Cancel the audit")
            visitor.wait_text("was cancelled", timeout=60)
            assert_clean(visitor)


def test_a_hostile_table_is_only_text(visitor: Visitor, tmp_path: Path) -> None:
    script = "<script>window.hacked = 1</script>"
    table = make_people(300, seed=2).rename(columns={"income": HOSTILE, "fraud": "fraud"})
    table["job"] = np.where(np.arange(300) % 3 == 0, script, '=HYPERLINK("http://evil.example")')
    table["group"] = table["group"].map({"a": "<b>a</b>", "b": "[b](http://evil.example)"})
    table.to_csv(tmp_path / "![h](evil.example).csv", index=False)
    start_from_upload(visitor, tmp_path / "![h](evil.example).csv")
    visitor.wait_text("The audit is done", timeout=120)
    for page in [*RESULTS, "Saved audits", "Data"]:
        visitor.go(page)
        visitor.wait_idle()
        assert visitor.page.evaluate("window.hacked") is None
        assert visitor.page.locator("img[src*='evil.example']").count() == 0
        assert visitor.page.locator("a[href*='evil.example']").count() == 0


def test_a_report_is_stated_previewed_and_signed_twice(visitor: Visitor, home: Path) -> None:
    with Store(home) as store:
        config = AuditConfig(methods=("pca",), subsamples=0)
        audit = finish(store, make_people(300, seed=0), ROLES, config, "Reported")
        signed = store.folder(audit) / "signed"
    page = visitor.page
    frame = page.frame_locator("iframe")
    visitor.open(f"Report?audit={audit}")
    visitor.wait_text("What only you can say")
    purpose = page.get_by_role("textbox", name="Purpose")
    purpose.fill(f"It finds fraud. {HOSTILE}")
    purpose.press("Tab")
    frame.get_by_text(f"It finds fraud. {HOSTILE}").wait_for()  # before anything is saved
    frame.get_by_role("link", name="Limits").click()
    assert frame.locator("#title-limits").is_visible()  # and not the dashboard in its own frame
    visitor.wait_idle()
    page.get_by_role("textbox", name="Owner").fill("The owner")
    visitor.click("Save statements")  # straight from the box
    visitor.wait_text("Saved with the audit: 2 of 23 statements.")
    page.reload()
    visitor.wait_text("Saved with the audit: 2 of 23 statements.")
    visitor.wait_idle()
    assert page.get_by_role("textbox", name="Purpose").input_value() == f"It finds fraud. {HOSTILE}"
    page.get_by_role("textbox", name="Your name").fill("Ada")
    visitor.click("Sign")
    visitor.wait_text("Signed as version 1.")
    visitor.wait_idle()
    first = {path.name: path.read_bytes() for path in (signed / "0001").iterdir()}
    page.get_by_role("textbox", name="Version").fill("2.0")
    visitor.click("Save statements")
    visitor.wait_text("Saved with the audit: 3 of 23 statements.")
    visitor.wait_idle()
    visitor.click("Sign")
    visitor.wait_text("Signed as version 2.")
    visitor.wait_idle()
    assert {path.name: path.read_bytes() for path in (signed / "0001").iterdir()} == first
    assert b'"2.0"' in (signed / "0002" / "report.json").read_bytes()
    with page.expect_download() as download:  # the newest is listed first, the preview's own files before it
        page.get_by_role("button", name="PDF", exact=True).last.click()
    assert re.fullmatch(r"reported-v1-report-\d{4}-\d\d-\d\d\.pdf", download.value.suggested_filename)
    assert Path(download.value.path()).read_bytes() == first["report.pdf"]


def test_back_goes_one_page_with_one_press(visitor: Visitor, home: Path) -> None:
    with Store(home) as store:
        config = AuditConfig(methods=("pca", "iforest"), subsamples=0)
        audit = finish(store, make_people(300, seed=0), ROLES, config, "Walked through")
    visitor.open()
    visitor.wait_idle()
    for page in ("Findings", "Groups", "Score densities"):
        visitor.go(page)
        visitor.page.get_by_role("heading", name=page, level=1).wait_for()
        visitor.wait_idle()
        assert f"audit={audit}" in visitor.page.url  # the newest
    for page in ("Groups", "Findings", "Would the detector have flagged the same person"):
        visitor.page.go_back()
        visitor.page.get_by_role("heading", name=page, level=1).wait_for()
        visitor.wait_idle()
    visitor.page.go_forward()
    visitor.page.get_by_role("heading", name="Findings", level=1).wait_for()
    visitor.wait_idle()


def test_the_walk_to_a_twin_is_stepped_through_and_played(visitor: Visitor, home: Path) -> None:
    with Store(home) as store:
        config = AuditConfig(methods=("pca",), subsamples=0)
        audit = finish(store, make_people(300, seed=0), ROLES, config, "Walked to a twin")
        result = store.result(audit)
    found = result.explain(int(result.people.row[0]), "pca")
    (way,) = found.walks.values()
    visitor.open(f"Counterfactuals?audit={audit}&person={found.row + 1}")
    page = visitor.page
    page.get_by_role("button", name="Play", exact=True).wait_for()
    visitor.wait_idle()
    said = page.locator(".said")
    page.get_by_role("button", name="One step on").click()
    assert said.inner_text() == way.sentences[0]
    for key, sentence in (
        ("ArrowRight", way.sentences[1]),
        ("End", way.sentences[-1]),
        ("ArrowLeft", way.sentences[-2]),
    ):
        page.keyboard.press(key)
        assert said.inner_text() == sentence
    page.keyboard.press("Home")
    assert said.inner_text().startswith(f"As they are, {found.group}")
    assert page.locator(".walk .bar").evaluate("bar => getComputedStyle(bar).transitionDuration") == "0s"  # as asked
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".said").get_by_text(way.sentences[0], exact=True).wait_for()
    page.get_by_role("button", name="Pause", exact=True).click()
    page.emulate_media(reduced_motion="no-preference")
    assert page.locator(".walk .bar").evaluate("bar => getComputedStyle(bar).transitionDuration") == "0.7s"
    moved = sum(one.moved and not one.is_sensitive for one in found.columns)
    assert page.locator(".cf-markup .cf-card svg[role=img]").count() == moved
    ((nearest, *_),) = found.nearest.values()
    visitor.click(f"Open row {nearest.row + 1}")
    visitor.wait_text(f"Row {nearest.row + 1} of the table")
    visitor.wait_idle()
    assert f"person={nearest.row + 1}" in page.url


def test_a_bad_address_is_explained(visitor: Visitor) -> None:
    visitor.open("Threshold?audit=nonsense")
    visitor.wait_text("There is no audit")


def test_two_files_with_a_restart_in_the_middle(chromium: Browser, tmp_path: Path) -> None:
    """The rows are downloaded, the server is stopped and started again, and another browser uploads the scores."""
    home = tmp_path / "home"
    make_people(400, seed=3).to_csv(tmp_path / "mine.csv", index=False)
    with app(home) as address, Visitor(chromium, address) as someone:
        someone.open("Data")
        someone.upload(tmp_path / "mine.csv")
        someone.wait_text("What the columns are for")
        someone.wait_idle()
        someone.click("Continue")
        someone.wait_text("What you know of causes and effects")
        someone.page.get_by_test_id("stCheckbox").filter(has_text="Audit a detector that I already have").click()
        someone.wait_text("No model need leave your house")
        for method in DEFAULT_METHODS:  # it is audited alone
            name = re.compile(f"^{re.escape(title_of(method))}$")
            someone.page.get_by_test_id("stCheckbox").filter(has_text=name).click()
            someone.wait_idle()
        someone.click("Start the audit")
        someone.wait_text("1. Score these rows", timeout=120)
        someone.wait_idle()
        with someone.page.expect_download() as download:
            someone.page.get_by_text("Rows to score (CSV)").click()
        download.value.save_as(tmp_path / "to_score.csv")
        audit = re.search(r"audit=(\w+)", someone.page.url)
        assert_clean(someone)
    assert audit is not None
    rows = pd.read_csv(tmp_path / "to_score.csv")
    rows[["row_id"]].assign(score=rows["debt"]).to_csv(tmp_path / "scores.csv", index=False)
    with app(home) as address, Visitor(chromium, address) as another:
        another.open(f"Train?audit={audit[1]}")
        another.wait_text("1. Score these rows")
        another.wait_idle()
        another.upload(tmp_path / "scores.csv", "A table with the column")
        another.wait_text("has one answer (scores)")
        another.wait_idle()
        another.page.get_by_text("odd: more likely to be flagged").click()
        another.wait_idle()
        another.click("Finish the audit")
        another.wait_text("The audit is done", timeout=120)
        for page in ("Findings", "Threshold", "Counterfactuals", "Groups"):
            another.go(page)
            another.wait_text("sensitive: group")
            another.wait_idle()
        assert_clean(another)
    with Store(home) as store:
        result = store.result(audit[1])
    assert next(iter(result.scores)) == "detector"
    assert result.asked is not None
    assert result.asked.differing == 0


def test_the_tour_comes_once_and_the_presenters_keys_lead_through_the_scenes(visitor: Visitor) -> None:
    page = visitor.page
    popover = page.locator(".driver-popover")
    visitor.open()
    visitor.wait_text("Show me around")
    page.wait_for_timeout(1500)  # longer than the tour waits on a first visit
    assert popover.count() == 0  # a browser that a program drives is left in peace
    visitor.context.add_init_script("Object.defineProperty(navigator, 'webdriver', {get: () => false})")
    visitor.open()
    visitor.wait_text("What an audit finds")
    page.keyboard.press("ArrowRight")
    visitor.wait_text("2 of 6")
    page.keyboard.press("Escape")
    popover.wait_for(state="detached")
    page.reload()
    visitor.wait_idle()
    page.wait_for_timeout(1500)
    assert popover.count() == 0  # never again
    visitor.click("Show me around")  # unless it is asked for
    visitor.wait_text("1 of 6")
    page.keyboard.press("Escape")
    popover.wait_for(state="detached")
    assert page.evaluate("document.activeElement.innerText") == "Show me around"
    visitor.click("Present it")
    visitor.wait_text("scene 1 of 5")
    for key, scene in (("ArrowRight", 2), ("PageDown", 3), ("ArrowLeft", 2), ("5", 5), ("PageUp", 4), ("2", 2)):
        visitor.wait_idle()
        page.keyboard.press(key)
        visitor.wait_text(f"scene {scene} of 5")
    visitor.wait_idle()
    assert "scene=2" in page.url
    assert not page.get_by_test_id("stSidebar").is_visible()
    page.get_by_role("spinbutton").fill("30")
    page.keyboard.press("ArrowRight")  # in the box it moves the cursor
    page.keyboard.press("Enter")
    visitor.wait_idle()
    visitor.click("Show the answer")
    visitor.wait_text("You guessed")
    visitor.wait_text("30 of 100")
    visitor.wait_idle()
    page.keyboard.press("Escape")
    visitor.wait_text("What changes for whom")
    assert "/Findings?audit=" in page.url
