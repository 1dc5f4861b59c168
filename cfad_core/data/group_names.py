"""What groups are called whose values say nothing by themselves: ``black = 1`` instead of ``1``.

The name is part of the roles of an audit from the moment they are made. Values stay what they are; an audit that has
other names keeps them, and who types groups on the command line names them as they like.
"""

from __future__ import annotations

import dataclasses

from cfad_core.data.attributes import Attribute

_CODES = {"yes", "no", "y", "n", "true", "false", "t", "f", "ja", "nein", "nee", "oui", "non", "si", "sí", "não"}


def with_names(attribute: Attribute) -> Attribute:
    """The attribute with speaking names for groups that are numbers, or yes and no; nothing else is changed."""
    groups = attribute.groups or ()
    if attribute.cuts or not groups or not all(_is_code(group) for group in groups if group not in attribute.merged):
        return attribute
    names = {group: _name(attribute.column, group) for group in groups if group not in attribute.merged}
    others = attribute.others
    if others is None and len(groups) == 1:
        others = f"{attribute.column} other than {groups[0]}"
    return dataclasses.replace(
        attribute,
        groups=tuple(names.get(group, group) for group in groups),
        merged={**attribute.merged, **{name: (value,) for value, name in names.items()}},
        others=others,
        reference=names.get(attribute.reference or "", attribute.reference),
        compare=tuple(names.get(group, group) for group in attribute.compare),
    )


def as_values(attribute: Attribute) -> Attribute:
    """The attribute as it was before ``with_names``."""
    values = {
        name: held[0]
        for name, held in attribute.merged.items()
        if len(held) == 1 and name == _name(attribute.column, held[0])
    }
    if not values:
        return attribute
    groups = tuple(values.get(name, name) for name in attribute.groups or ())
    alone = len(groups) == 1 and attribute.others == f"{attribute.column} other than {groups[0]}"
    return dataclasses.replace(
        attribute,
        groups=groups,
        merged={name: held for name, held in attribute.merged.items() if name not in values},
        others=None if alone else attribute.others,
        reference=values.get(attribute.reference or "", attribute.reference),
        compare=tuple(values.get(name, name) for name in attribute.compare),
    )


def group_name(column: str, value: str) -> str:
    """``black = 1`` for a value that says nothing by itself; others are names already."""
    return _name(column, value) if _is_code(value) else value


def _name(column: str, value: str) -> str:
    return f"{column} = {value.removesuffix('.0')}"


def _is_code(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return value.strip().casefold() in _CODES
    return True
