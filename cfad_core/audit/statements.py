"""What only a person can say about an audit: whose system it is, what a flag leads to, who decides.

Each statement is a text, empty where nothing was said. ``STATEMENTS`` says what each is about: the form on the page,
the report and the documents take it from there. They are kept as JSON, and may be written by hand as TOML or JSON.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.settings import from_plain

LONGEST = 4_000  # characters of one statement
MOST_PATHS = 50
MOST_BYTES = 1_000_000  # of a file


@dataclass(frozen=True)
class JustifiedPath:
    """A path of the causal graph that somebody calls justified, and why.

    Attributes
    ----------
    path : columns from a sensitive attribute on, in the direction of the arrows
    """

    path: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        """``gender → income → debt``."""
        return " → ".join(self.path)


@dataclass(frozen=True)
class Statements:
    """What a person said about an audit; ``STATEMENTS`` explains each."""

    system: str = ""
    version: str = ""
    purpose: str = ""
    owner: str = ""
    consequence: str = ""
    oversight: str = ""
    auditor: str = ""
    auditor_role: str = ""
    independence: str = ""
    next_audit: str = ""
    triggers: str = ""
    data_source: str = ""
    data_period: str = ""
    data_kind: str = ""
    data_preparation: str = ""
    lawful_basis: str = ""
    label_origin: str = ""
    graph_origin: str = ""
    justified_paths: tuple[JustifiedPath, ...] = field(default=())
    threshold_decision: str = ""
    threshold_decided_by: str = ""
    mitigation: str = ""
    accepted_by: str = ""
    misuse: str = ""

    def __post_init__(self) -> None:
        texts = [(name, getattr(self, name)) for name in STATEMENTS]
        texts += [("justified_paths", text) for one in self.justified_paths for text in (*one.path, one.reason)]
        for name, text in texts:
            if len(text) > LONGEST:
                raise InvalidConfigError(
                    f"The statement '{name}' has {len(text):,} characters; at most {LONGEST:,} fit."
                )
        if len(self.justified_paths) > MOST_PATHS:
            raise InvalidConfigError(f"Expected at most {MOST_PATHS} justified paths; got {len(self.justified_paths)}.")
        for one in self.justified_paths:
            if len(one.path) < 2:
                raise InvalidConfigError(f"A justified path names at least two columns; got '{one.text}'.")
            if not one.reason.strip():
                raise InvalidConfigError(f"A justified path needs a reason; '{one.text}' has none.")

    @property
    def said(self) -> int:
        """How many statements there are."""
        return sum(bool(getattr(self, name).strip()) for name in STATEMENTS)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; ``from_dict`` gives the same back."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Any) -> Statements:
        """Read what ``to_dict`` gave; what is not there was not stated.

        Raises
        ------
        InvalidConfigError
            If there is an unknown statement, or one that is no text.
        """
        if not isinstance(values, Mapping):
            raise InvalidConfigError(f"Expected statements by their names; got {type(values).__name__}.")
        paths = values.get("justified_paths", ())
        if not isinstance(paths, list | tuple):
            raise InvalidConfigError("Expected a list of justified paths, each with a path and a reason.")
        read = tuple(from_plain(JustifiedPath, one, f"justified_paths[{k}]") for k, one in enumerate(paths))
        found = from_plain(Statements, {**values, "justified_paths": ()}, "statements")
        return dataclasses.replace(found, justified_paths=read)


@dataclass(frozen=True)
class Statement:
    """What a statement is about.

    Attributes
    ----------
    label : what people call it
    help : what to write, as a question
    part : where it belongs
    is_long : whether it may take several lines
    """

    label: str
    help: str
    part: str
    is_long: bool = False


STATEMENTS: dict[str, Statement] = {
    "system": Statement("System", "What is the detector, or the system around it, called?", "System"),
    "version": Statement("Version", "Which version of it was audited?", "System"),
    "purpose": Statement("Purpose", "What is it used for, and on whom?", "System", is_long=True),
    "owner": Statement("Owner", "Who is responsible for it?", "System"),
    "consequence": Statement(
        "What a flag leads to", "What happens to a person who is flagged?", "System", is_long=True
    ),
    "oversight": Statement(
        "Human oversight", "Who looks at a flag before anything happens, and can they overrule it?", "System", True
    ),
    "auditor": Statement("Auditor", "Who made this audit?", "Auditor"),
    "auditor_role": Statement("Role", "In which role: internal audit, vendor, authority, researcher, ...?", "Auditor"),
    "independence": Statement(
        "Independence", "How does the auditor depend on the owner, and who paid for the audit?", "Auditor", True
    ),
    "next_audit": Statement("Next audit", "When is the next audit due?", "Auditor"),
    "triggers": Statement(
        "Earlier if", "What would call for one earlier: a retrained model, other data?", "Auditor", True
    ),
    "data_source": Statement("Source", "Where do the rows come from, and how were they chosen?", "Data", True),
    "data_period": Statement("Period", "Which time do they cover?", "Data"),
    "data_kind": Statement("Historical or test", "Are these people of real use, or made or chosen for a test?", "Data"),
    "data_preparation": Statement(
        "Preparation", "What was done to the rows before: joined, filtered, corrected, filled in?", "Data", True
    ),
    "lawful_basis": Statement(
        "Lawful basis", "On which lawful basis is the sensitive attribute used for this audit?", "Data", True
    ),
    "label_origin": Statement("Who made the labels", "Who decided which rows are anomalies, and how?", "Data", True),
    "graph_origin": Statement(
        "Who checked the causal graph",
        "Who gave it, or looked at it, and what do they know of it?",
        "Causal graph",
        True,
    ),
    "threshold_decision": Statement(
        "Decision on the threshold",
        "Which threshold is used, why, and what was weighed against what: capacity, missed cases, needless checks?",
        "Decisions",
        is_long=True,
    ),
    "threshold_decided_by": Statement("Decided by", "Who decides on the threshold?", "Decisions"),
    "mitigation": Statement(
        "What is done about it",
        "What was tried or will be done about the findings, and what is left?",
        "Decisions",
        True,
    ),
    "accepted_by": Statement("Accepted by", "Who accepts what is left?", "Decisions"),
    "misuse": Statement("Foreseeable misuse", "How could the system or this report be misused?", "Decisions", True),
}
"""Every statement but the justified paths, by its name, in the order of the form."""

PARTS = tuple(dict.fromkeys(one.part for one in STATEMENTS.values()))


def read_statements(content: bytes, name: str) -> Statements:
    """Statements from a file that a person wrote: TOML, or JSON if its name ends so.

    Raises
    ------
    InvalidConfigError
        If it cannot be read, or holds something else.
    """
    try:
        text = content.decode("utf-8-sig")
        values = json.loads(text) if name.lower().endswith(".json") else tomllib.loads(text)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        kind = "JSON" if name.lower().endswith(".json") else "TOML"
        raise InvalidConfigError(f"'{name}' cannot be read as {kind}: {error}") from error
    return Statements.from_dict(values)
