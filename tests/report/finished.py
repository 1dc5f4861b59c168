"""Audits whose reports are hard to make: names that attack the page, and more text than a page holds."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from cfad_core.audit.folder import save_audit
from cfad_core.audit.run import run_audit
from cfad_core.audit.statements import LONGEST, STATEMENTS, JustifiedPath, Statements
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.report.document import Document, SignedBy
from cfad_core.report.making import make_document
from cfad_core.report.pdf import pdf_report
from cfad_core.report.subject import Subject, TableFacts
from cfad_core.report.template import Template
from cfad_core.runs.related import RelatedAudit
from tests.conftest import make_people

QUICK = AuditConfig(
    subsamples=4, methods=("ae", "cfad"), detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64)
)
SCRIPT = "</script><script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
SHEET = "</style><style>@import url(http://evil.example/a.css);</style>"
LINK = '"><a href="javascript:alert(3)">click</a>'
BRACES = "{{7*7}} {% raw %} &lt;b&gt; &amp;"
TURNED = "start\u202egnp.exe\u2066end\u200f"  # shown without what turns it
FAR = '<link rel="stylesheet" href="http://evil.example/b.css"><img src="file:///etc/passwd">'
ENDLESS = "W" * LONGEST
HOSTILE = (SCRIPT, IMAGE, SHEET, LINK, BRACES, FAR)
GROUPS = ("<b>a</b>" + SCRIPT, f"b {IMAGE}")
COLUMNS = {"group": f"sex{SCRIPT}", "income": f"income{IMAGE}", "schooling": f"schooling {BRACES}"}


def attacking_statements() -> Statements:
    """One of each kind in turn, then one without a space and one that turns the direction of the text."""
    said = {name: HOSTILE[k % len(HOSTILE)] for k, name in enumerate(STATEMENTS)}
    said |= {"purpose": ENDLESS, "owner": TURNED, "mitigation": "First line.\n\nSecond line."}
    path = (COLUMNS["group"], COLUMNS["income"])
    return Statements(**said, justified_paths=(JustifiedPath(path, f"{SCRIPT} {ENDLESS[:400]}"),))


def long_statements() -> Statements:
    """As many words as there may be on what the summary names, and many on the rest."""
    words = "Many words on it. " * LONGEST
    most = ("system", "version", "threshold_decision")
    return Statements(**{name: words[: LONGEST if name in most else 400] for name in STATEMENTS})  # type: ignore[arg-type]


def _subject(people: object, roles: ColumnRoles, **more: object) -> Subject:
    result = run_audit(people, roles, QUICK)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        save_audit(result, Path(folder) / "audit")
        content = (Path(folder) / "audit" / "audit.json").read_bytes()
    report = result.report("ae")
    return Subject(result, "ae", report.threshold, result.how_flagged("ae"), content, **more)  # type: ignore[arg-type]


@cache
def attacked() -> Subject:
    """An audit of people in whose table every name is hostile."""
    people = make_people(400, seed=0).rename(columns=COLUMNS)
    people[COLUMNS["group"]] = people[COLUMNS["group"]].map(dict(zip("ab", GROUPS, strict=True)))
    roles = ColumnRoles(COLUMNS["group"], groups=GROUPS, label="fraud", anomaly="yes")
    other = RelatedAudit(
        *("0123456789ab", f"Other {SCRIPT}", "same table", 1.0, 2.0, "done", IMAGE, ("ae",), 1),
        *((f"seed {FAR}",), {"ae": f"{LINK}"}, None, None),
    )
    facts = TableFacts(400, tuple(people.columns), {COLUMNS["group"]: 11}, {COLUMNS["group"]: {FAR: 23}})
    return _subject(people, roles, name=SCRIPT, id="0123456789ab", source=IMAGE, table=facts, others=(other,))


@cache
def attacked_document() -> Document:
    """Its report, signed, with a template that is hostile as well."""
    template = Template(name=IMAGE, title=SCRIPT)
    signed = SignedBy(f"Ada {IMAGE}", SCRIPT, 3, "2026-03-01 14:05 UTC")
    return make_document(attacked(), attacking_statements(), template, at=1e9, signed=signed)


@cache
def wide() -> Subject:
    """An audit by two attributes, one of twelve groups with long names."""
    people = make_people(900, seed=0)
    regions = [f"{name}, a region with a rather long name" for name in "ABCDEFGHIJKL"]
    people["region"] = np.random.default_rng(3).choice(regions, len(people))
    people["group"] = people["group"].map({"a": "The first group", "b": "The second group"})
    groups = Attribute("group", groups=("The first group", "The second group"))
    roles = ColumnRoles((groups, Attribute("region", groups=tuple(regions))), label="fraud", anomaly="yes")
    return _subject(people, roles, name="A name for this audit that is rather long. " * 5)


@cache
def wide_document() -> Document:
    """Its report, with as many words as there may be."""
    return make_document(wide(), long_statements(), Template(name="A team. " * 20), at=1e9)


@cache
def attacked_pdf() -> bytes:
    return pdf_report(attacked_document(), attacked().content)


@cache
def wide_pdf() -> bytes:
    return pdf_report(wide_document(), wide().content)
