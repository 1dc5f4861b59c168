"""The command that makes an audit again, and what no option of it can say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AuditConfig, Knowledge, preset
from cfad_core.core.formats import listed
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.report.document import clean

_FILE = "knowledge.json"
_TYPED = ("preset", "methods", "seed", "categories", "subsamples", "knowledge", "asked")  # settings that have an option
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")  # the only words that begin with a dash and are taken for no option
_LIBRARY = "Use the library: run_audit(table, roles, AuditConfig.from_dict(...)) with roles and config of audit.json."


@dataclass(frozen=True)
class RepeatCommand:
    """What to type, and what else to do."""

    text: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """An option, and the words after it."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def typed(self) -> tuple[str, ...]:
        """As it is typed: a word that looks like an option is tied to it, where it is the only one."""
        if len(self.words) == 1 and _looks_like_option(self.words[0]):
            return (f"{self.name}={self.words[0]}",)
        return (self.name, *self.words)

    @property
    def can_be_typed(self) -> bool:
        return "--" not in self.words and (len(self.words) == 1 or not any(map(_looks_like_option, self.words)))


def repeat_command(
    roles: ColumnRoles, config: AuditConfig, *, has_test_table: bool | None = False, has_true_twins: bool = False
) -> RepeatCommand:
    """The command of an audit with these settled roles and settings.

    Tables are named ``TABLE``, ``TEST`` and ``TWINS``, as nobody knows where they are.

    Parameters
    ----------
    has_test_table : None where that is not known
    """
    options = [*_roles(roles, config), *_knowledge(config.knowledge)]
    options += [Option("--test", ("TEST",))] if has_test_table or has_true_twins else []
    options += [Option("--test-counterfactual", ("TWINS",))] if has_true_twins else []
    options += [*_settings(config), Option("--out", ("audit/",))]
    words = ["python", "-m", "cfad_core", "audit", "TABLE", *(word for option in options for word in option.typed)]
    text = _wrapped(words)
    remarks = [*_remarks(roles, config), *_unsaid(options, text)]
    if has_test_table is None and not has_true_twins:
        remarks.append(
            "This audit is a folder, which does not say whether the judged people came in a table of their own: if "
            "they did, add --test TEST."
        )
    return RepeatCommand(text, tuple(remarks))


def repeat_audit(result: AuditResult, *, has_test_table: bool | None) -> RepeatCommand:
    """The command of an audit that was made, with what must be done after it."""
    knows_truth = result.people.truth is not None
    found = repeat_command(result.roles, result.config, has_test_table=has_test_table, has_true_twins=knows_truth)
    return RepeatCommand(found.text, (*_after(result), *found.remarks))


def _settings(config: AuditConfig) -> Iterator[Option]:
    yield Option("--categories", (config.categories,))
    yield Option("--subsamples", (str(config.subsamples),))
    yield Option("--methods", config.methods) if config.methods else Option("--no-methods")
    yield Option("--preset", (config.preset,))
    yield Option("--seed", (str(config.seed),))
    if config.asked is not None:
        yield Option("--detector", (config.asked.name,))
        if config.asked.carried:
            yield Option("--carry", config.asked.carried)
        yield Option("--asked-people", (str(config.asked.people),))
        yield Option("--ask-scores", ("to_score.csv",))


def _roles(roles: ColumnRoles, config: AuditConfig) -> Iterator[Option]:
    attributes = roles.attributes
    yield Option("--sensitive", roles.sensitive_columns)
    for one in attributes:
        for option in _attribute(one):
            yield Option(option.name, (one.column, *option.words)) if len(attributes) > 1 else option
    if roles.label is not None:
        yield Option("--label", (roles.label,))
        yield Option("--anomaly", (str(roles.anomaly),))
    has_score = roles.score is not None and config.asked is not None
    if roles.score is not None and has_score:
        yield Option("--score-column", (roles.score,))
    yield Option("--ignore", roles.ignore if roles.score is None or has_score else (*roles.ignore, roles.score))


def _attribute(one: Attribute) -> Iterator[Option]:
    if one.groups:
        yield Option("--groups", one.groups)
    for name, values in one.merged.items():
        yield Option("--merge", (name, *values))
    for option, word in (("--others", one.others), ("--reference", one.reference)):
        if word is not None:
            yield Option(option, (word,))
    if one.cuts:  # all digits, as exponents of negative numbers look like options
        yield Option("--cut", tuple(np.format_float_positional(cut, trim="0") for cut in one.cuts))
    if one.compare:
        yield Option("--compare", one.compare)


def _knowledge(known: Knowledge) -> Iterator[Option]:
    if _needs_file(known):
        yield Option("--knowledge", (_FILE,))
        return
    yield Option("--roots", known.roots)
    if known.from_sensitive:
        yield Option("--from-sensitive", known.from_sensitive)
    for tier in known.tiers:
        yield Option("--tier", tier)


def _needs_file(known: Knowledge) -> bool:
    """Whether options cannot say it."""
    said = Knowledge(roots=known.roots, from_sensitive=known.from_sensitive, tiers=known.tiers)
    return known != said or not all(known.tiers) or len(set(known.roots)) < len(known.roots)


def _remarks(roles: ColumnRoles, config: AuditConfig) -> Iterator[str]:
    if _needs_file(config.knowledge):
        yield f"{_FILE} is written by: python -m cfad_core graph AUDIT --out {_FILE} --knowledge"
    if config.asked is not None:
        yield (
            "The detector is asked for its scores once more; a model or a service that changed since answers otherwise."
        )
    elif roles.score is not None:
        yield f"The scores in {roles.score} were not used: the column is left out like those that are ignored."
    typed: dict[str, Any] = {name: getattr(config, name) for name in _TYPED if name != "preset"}
    usual = preset(config.preset, **typed).to_dict()
    changed = sorted(name for name, value in config.to_dict().items() if value != usual[name])
    if changed:
        yield f"No option sets what was changed in {', '.join(changed)}: the values stand below. {_LIBRARY}"


def _unsaid(options: list[Option], text: str) -> Iterator[str]:
    """What a shell, or a page, cannot say."""
    if wrong := [option.name for option in options if not option.can_be_typed]:
        yield (
            f"After {listed(sorted(set(wrong)), 9)} stand names that begin with a dash, which would be taken for "
            f"options. {_LIBRARY}"
        )
    if clean(text) != text:
        yield f"Some names hold characters that cannot be shown; they are left out above. {_LIBRARY}"


def _after(result: AuditResult) -> Iterator[str]:
    """What no command says of detectors from elsewhere."""
    asked, config = result.asked, result.config
    if asked is not None:
        own = result.scores[asked.name].threshold
        words = ["python", "-m", "cfad_core", "audit", "audit/", "--scores", "scores.csv"]
        if not asked.are_flags:
            words += ["--high-means", asked.high_means]
            given = None if own is None else own if asked.high_means == "anomalous" else -own
            words += [] if given is None else [f"--threshold={given!r}"]
        yield f"Its answers finish the audit: {shlex.join(words)}"
    known = (*config.methods, *(() if config.asked is None else (config.asked.name,)))
    if foreign := [method for method in result.scores if method not in known]:
        yield (
            f"No option names {listed(foreign, 12)}, which the audit was given in Python: "
            "run_audit(..., detectors={...})."
        )


def _looks_like_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and _NEGATIVE.fullmatch(word) is None


def _wrapped(words: list[str], width: int = 96) -> str:
    """The words, quoted for a shell, on several lines."""
    lines, line = [], ""
    for word in (shlex.quote(word) for word in words):
        if line and len(line) + len(word) + 3 > width:
            lines.append(f"{line} \\")
            line = f"    {word}"
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])
