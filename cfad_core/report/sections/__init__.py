"""The sections of a report, each a function of an audit and of what a person stated about it."""

from __future__ import annotations

from collections.abc import Callable

from cfad_core.audit.statements import Statements
from cfad_core.report.document import Section
from cfad_core.report.sections.causes import graph, turning
from cfad_core.report.sections.decisions import limits, mitigation, others, repeat, threshold
from cfad_core.report.sections.findings import counterfactual, labels, rates
from cfad_core.report.sections.people import auditor, data, groups, system
from cfad_core.report.sections.summary import summary
from cfad_core.report.subject import Subject

SECTIONS: dict[str, Callable[[Subject, Statements], Section]] = {
    "summary": summary,
    "system": system,
    "auditor": auditor,
    "data": data,
    "groups": groups,
    "rates": rates,
    "labels": labels,
    "counterfactual": counterfactual,
    "graph": graph,
    "turning": turning,
    "threshold": threshold,
    "mitigation": mitigation,
    "limits": limits,
    "others": others,
    "repeat": repeat,
}
"""In the order of the report, by the names that a template leaves them out by. A new one is a function here."""

ALWAYS = ("summary", "rates", "counterfactual", "turning", "limits", "others", "repeat")
"""Those that no template can leave out: without them a report could be made to look better than its audit is."""
