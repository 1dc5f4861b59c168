"""Small audits of every kind, each made once, and what a report says in plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.answering import audit_detector
from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AskedDetector, Knowledge
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.report.document import Document
from cfad_core.report.making import make_document
from cfad_core.report.subject import Subject
from cfad_core.report.template import Template
from cfad_core.runs.model import headline
from cfad_core.runs.store import Store
from tests.audit.worlds import (
    CROSSED,
    CROSSED_GRAPH,
    PCA,
    ROLES,
    SUBSAMPLED,
    THREE,
    THREE_GRAPH,
    make_crossed,
    make_three,
    people_twins,
)
from tests.conftest import make_people

AT = 1_772_366_700.0  # 2026-03-01 12:05 UTC
NO_PATH = Knowledge(required=(("schooling", "income"), ("income", "debt")), complete=True)
TINY = ColumnRoles(
    (Attribute("group", groups=("a", "b", "c", "tiny")),), label="fraud", anomaly="yes"
)  # of whom fewer than ten are judged
TOWARDS = ColumnRoles((Attribute("group", groups=("a", "b", "c"), compare=("a",)),), label="fraud", anomaly="yes")


def with_tiny(n: int = 600, tiny: int = 40) -> pd.DataFrame:
    """People of three groups, and of a fourth that is small."""
    table = make_three(n, seed=0)
    return table.assign(group=np.where(np.arange(n) < tiny, "tiny", table["group"]))


def with_outsiders(n: int = 500) -> pd.DataFrame:
    """Two groups; some rows of another one, and some without any."""
    table = make_people(n, seed=0)
    table["group"] = np.where(np.arange(n) < 14, "z", table["group"])
    return table.assign(group=table["group"].where(np.arange(n) < n - 12), note="x")


HOSTILE = {
    **{"group": "=g|<b>", "schooling": "[s](http://e)\u202e", "income": "`i`\n# x", "debt": "*d*\x07", "fraud": "+f"},
    **{"a": "-a|<script>alert(1)</script>", "b": "@b](javascript:1)", "yes": "=yes()"},
}
HOSTILE_ROLES = ColumnRoles(HOSTILE["group"], label=HOSTILE["fraud"], anomaly=HOSTILE["yes"])

HOSTILE_GRAPH = Knowledge(
    required=tuple((HOSTILE[cause], HOSTILE[effect]) for cause, effect in THREE_GRAPH.required), complete=True
)


def hostile_people() -> pd.DataFrame:
    """Those of ``make_people``, with names that would be markup, formulas or worse."""
    table = make_people(400, seed=0)
    table[["group", "fraud"]] = table[["group", "fraud"]].replace(HOSTILE)
    return table.rename(columns=HOSTILE)


def with_rare_test() -> pd.DataFrame:
    """Six hundred people to judge, of whom eleven are of group c: under 2 %, but not under ten."""
    table = make_three(700, seed=3)
    others, rare = table[table["group"] != "c"].iloc[:589], table[table["group"] == "c"].iloc[:11]
    return pd.concat([others, rare], ignore_index=True)


def _asked() -> AuditResult:
    config = PCA.replace(asked=AskedDetector(name="theirs", people=300))
    return audit_detector(
        make_people(400, seed=1), ROLES, lambda rows: rows["debt"].abs(), config, high_means="anomalous", threshold=3.0
    )


def _flags() -> AuditResult:
    """A detector that says no more than whom it flags, alone."""
    config = PCA.replace(subsamples=0, methods=(), knowledge=THREE_GRAPH, asked=AskedDetector(name="theirs"))
    return audit_detector(make_people(300, seed=1), ROLES, lambda rows: (rows["debt"].abs() > 3.0) * 1.0, config)


def _known() -> AuditResult:
    test = make_people(80, seed=1)
    config = PCA.replace(subsamples=0, methods=("pca", "iforest"))
    return run_audit(make_people(300, seed=0), ROLES, config, test=test, test_counterfactual=people_twins(test))


_NONE = PCA.replace(subsamples=0)
_GIVEN = PCA.replace(knowledge=THREE_GRAPH)  # which saves the time of learning one
MAKERS: dict[str, Callable[[], AuditResult]] = {
    "two": lambda: run_audit(make_people(600, seed=0), ROLES, SUBSAMPLED.replace(methods=("ae", "pca", "pca-rank"))),
    "unlabelled": lambda: run_audit(make_people(400, seed=0).drop(columns="fraud"), ColumnRoles("group"), _NONE),
    "three": lambda: run_audit(make_three(600, seed=0), THREE, PCA),
    "crossed": lambda: run_audit(make_crossed(600, seed=0), CROSSED, PCA),
    "few": lambda: run_audit(make_crossed(500, seed=0), CROSSED, PCA.replace(test_share=0.08, knowledge=CROSSED_GRAPH)),
    "graph": lambda: run_audit(make_three(500, seed=0), THREE, _GIVEN),
    "no path": lambda: run_audit(make_people(400, seed=0), ROLES, PCA.replace(knowledge=NO_PATH)),
    "known": _known,
    "asked": _asked,
    "flags": _flags,
    "tiny": lambda: run_audit(with_tiny(), TINY, _GIVEN.replace(test_share=0.18)),
    "towards": lambda: run_audit(make_three(500, seed=0), TOWARDS, _GIVEN),
    "rare": lambda: run_audit(make_three(500, seed=0), THREE, _GIVEN, test=with_rare_test()),
    "hostile": lambda: run_audit(hostile_people(), HOSTILE_ROLES, _NONE.replace(knowledge=HOSTILE_GRAPH)),
    "outsiders": lambda: run_audit(with_outsiders(), replace(ROLES, groups=("a", "b"), ignore=("note",)), _NONE),
}


@cache
def result_of(kind: str) -> AuditResult:
    return MAKERS[kind]()


@cache
def subject_of(kind: str) -> Subject:
    """An audit as a folder gives it."""
    return subject(result_of(kind), name=f"Audit {kind}")


def subject(result: AuditResult, method: str | None = None, **more: Any) -> Subject:
    chosen = method or next(iter(result.scores))
    given = {"name": "An audit", "content": b"{}"} | more
    return Subject(result, chosen, result.report(chosen).threshold, result.how_flagged(chosen), **given)


def save(store: Store, result: AuditResult, tables: Tables, name: str = "Saved") -> str:
    """A finished audit in a store; its id."""
    audit = store.create(tables, result.roles, result.config.replace(asked=None), name=name, source="people.csv")
    store.claim("test", audit)
    save_audit(result, store.folder(audit))
    store.finish(audit, headline(result))
    return audit


@cache
def document_of(kind: str) -> Document:
    return make_document(subject_of(kind), Statements(), at=AT)


def document(audit: Subject, statements: Statements | None = None, template: Template | None = None) -> Document:
    return make_document(audit, statements or Statements(), template, at=AT)


@dataclass(frozen=True)
class Read:
    """A report's JSON, by what a reader looks for."""

    whole: dict[str, Any]

    @staticmethod
    def of(document: Document) -> Read:
        return Read(json.loads(document.json))

    def section(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.whole["sections"] if one["key"] == key)
        return found

    def plain(self, key: str) -> str:
        return "\n".join(self.section(key)["plain"])

    def table(self, section: str, key: str) -> list[dict[str, Any]]:
        blocks = self.section(section)["content"]
        found: list[dict[str, Any]] = next(b["rows"] for b in blocks if b["type"] == "table" and b["key"] == key)
        return found

    def field(self, section: str, key: str, title: str = "") -> Any:
        for block in self.section(section)["content"]:
            if block["type"] == "fields" and block["title"].startswith(title):
                for one in block["entries"]:
                    if one["key"] == key:
                        return one["value"]
        raise KeyError(key)

    def keys(self, section: str) -> set[str]:
        blocks = self.section(section)["content"]
        return {one["key"] for block in blocks if block["type"] == "fields" for one in block["entries"]}

    def items(self, section: str, title: str = "") -> list[str]:
        blocks = self.section(section)["content"]
        return [item for b in blocks if b["type"] == "list" and b["title"].startswith(title) for item in b["items"]]

    def texts(self) -> Iterator[str]:
        """Everything that is written anywhere."""
        yield from _texts(self.whole)

    def numbers(self) -> Iterator[dict[str, Any]]:
        yield from _numbers(self.whole)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _numbers(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and "shown" in value:
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)


def printed(shown: str) -> list[float]:
    """The numbers that a text shows, in their order."""
    return [float(text.replace(",", "")) for text in re.findall(r"-?\d[\d,]*(?:\.\d+)?", shown)]


def flagged(audit: Subject) -> Any:
    """(n,), whom the detector flags."""
    return audit.result.scores[audit.method].factual > audit.threshold


def members(audit: Subject, comparison: str | None = None) -> dict[str, Any]:
    """(n,) by group, who belongs to it, from the people themselves."""
    result = audit.result
    chosen = result.plan.comparison(comparison)
    codes = result.plan.groups_of(result.plan.states.of_codes(result.people.factual[:, 0]), chosen)
    return {name: codes == k for k, name in enumerate(chosen.groups)}
