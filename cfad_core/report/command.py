"""The command that makes an audit again, and what no option of it can say."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cfad_core.core.config import AuditConfig, Knowledge, preset
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles

_FILE = "knowledge.json"
_TYPED = ("preset", "methods", "seed", "categories", "subsamples", "knowledge", "asked")  # settings that have an option


@dataclass(frozen=True)
class RepeatCommand:
    """What to type, and what else to do."""

    text: str
    remarks: tuple[str, ...] = ()


def repeat_command(roles: ColumnRoles, config: AuditConfig, *, has_test_table: bool = False) -> RepeatCommand:
    """The command of an audit with these settled roles and settings.

    Tables are named ``TABLE`` and ``TEST``, as nobody knows where they are.
    """
    words = ["python", "-m", "cfad_core", "audit", "TABLE", *_roles(roles), *_knowledge(config.knowledge)]
    words += ["--test", "TEST"] if has_test_table else []
    words += ["--categories", config.categories, "--subsamples", str(config.subsamples)]
    words += ["--methods", *config.methods] if config.methods else ["--no-methods"]
    words += ["--preset", config.preset, "--seed", str(config.seed)]
    if config.asked is not None:
        words += [
            "--detector",
            config.asked.name,
            *(["--carry", *config.asked.carried] if config.asked.carried else []),
        ]
        words += ["--ask-scores", "to_score.csv"]
    return RepeatCommand(_wrapped([*words, "--out", "audit/"]), tuple(_remarks(config)))


def _roles(roles: ColumnRoles) -> Iterator[str]:
    attributes = roles.attributes
    yield from ("--sensitive", *(one.column for one in attributes))
    for one in attributes:
        for option in _attribute(one):
            yield option[0]
            yield from (one.column, *option[1:]) if len(attributes) > 1 else option[1:]
    if roles.label is not None:
        yield from ("--label", roles.label, "--anomaly", str(roles.anomaly))
    if roles.score is not None:
        yield from ("--score-column", roles.score)
    yield from ("--ignore", *roles.ignore)


def _attribute(one: Attribute) -> Iterator[tuple[str, ...]]:
    """Its options, each with its words."""
    if one.groups:
        yield ("--groups", *one.groups)
    for name, values in one.merged.items():
        yield ("--merge", name, *values)
    for option, word in (("--others", one.others), ("--reference", one.reference)):
        if word is not None:
            yield (option, word)
    if one.cuts:
        yield ("--cut", *(repr(cut) for cut in one.cuts))
    if one.compare:
        yield ("--compare", *one.compare)


def _knowledge(known: Knowledge) -> Iterator[str]:
    if _needs_file(known):
        yield from ("--knowledge", _FILE)
        return
    yield from ("--roots", *known.roots)
    if known.from_sensitive:
        yield from ("--from-sensitive", *known.from_sensitive)
    for tier in known.tiers:
        yield from ("--tier", *tier)


def _needs_file(known: Knowledge) -> bool:
    """Whether options cannot say it."""
    return known != Knowledge(roots=known.roots, from_sensitive=known.from_sensitive, tiers=known.tiers)


def _remarks(config: AuditConfig) -> Iterator[str]:
    if _needs_file(config.knowledge):
        yield f"{_FILE} is written by: python -m cfad_core graph AUDIT --out {_FILE} --knowledge"
    if config.asked is not None:
        yield (
            "The detector is asked for its scores once more; a model or a service that changed since answers otherwise."
        )
    typed: dict[str, Any] = {name: getattr(config, name) for name in _TYPED if name != "preset"}
    usual = preset(config.preset, **typed).to_dict()
    changed = sorted(name for name, value in config.to_dict().items() if value != usual[name])
    if changed:
        yield (
            f"No option sets what was changed in {', '.join(changed)}: the values stand below. Use the library: "
            "run_audit(table, roles, AuditConfig.from_dict(...)) with roles and config of audit.json."
        )


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
