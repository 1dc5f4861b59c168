"""A mechanism in words: what a variable comes from, in which way, and what a twin keeps of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cfad_core.causal.layout import Levels
from cfad_core.causal.mechanisms import Category, Mechanism, Number
from cfad_core.causal.mechanisms.basis import LevelBasis
from cfad_core.causal.mechanisms.design import Term
from cfad_core.causal.model import StructuralModel
from cfad_core.core.formats import counted, listed

_SCALES = {"plain": "", "log": " on a logarithmic scale", "score": " on the scale of its ranks"}
_MOST = 6  # causes that are named


def mechanism_lines(model: StructuralModel, name: str) -> list[str]:
    """How a variable comes about, a sentence each; names are as the table has them."""
    i = model.variables.index(name)
    mechanism = model.mechanisms.get(i)
    if mechanism is None:
        causes = [model.variables[j] for j in range(len(model.variables)) if model.graph.edges[j, i]]
        return [f"Its causes are {listed(causes, _MOST)}." if causes else "Nothing in the table causes it."]
    if isinstance(mechanism, Number):
        return list(_number(model, mechanism))
    if isinstance(mechanism, Category):
        return list(_category(model, mechanism, i))
    return list(_other(model, mechanism))


def _number(model: StructuralModel, number: Number) -> Iterator[str]:
    equation = number.latent.equation
    whole = _SCALES.get(number.latent.target.scale, "")
    parts = _influences(model, equation.terms)
    if parts:
        yield f"What is expected of a person{whole} follows from {listed(parts, _MOST)}."
    else:
        yield "The same is expected of everybody."
    spread = _names(model, equation.spread_terms)
    if spread:
        yield f"How far people differ from that depends on {listed(spread, _MOST)}."
    if number.at_atom is not None:
        on = _names(model, number.at_atom.terms)
        yield f"Many people have one and the same value: how many depends on {_or_nothing(on)}."
    if number.missing is not None:
        yield f"Some cells are missing: how many depends on {_or_nothing(_names(model, number.missing.terms))}."
    if equation.by_group.size:
        yield "What is a person's own differs in shape between the groups: the twin keeps its rank."
    else:
        yield "The twin keeps what is the person's own: by how much they differ from what is expected."


def _category(model: StructuralModel, category: Category, i: int) -> Iterator[str]:
    shape = model.layout.shapes[i]
    values = counted(len(shape.patterns), "value") if isinstance(shape, Levels) else "several values"
    order = ", which have an order," if category.is_ordered and len(category.places) > 2 else ""
    parts = _influences(model, category.terms)
    if parts:
        yield f"How likely each of its {values}{order} is follows from {listed(parts, _MOST)}."
    else:
        yield f"Each of its {values} is as likely for everybody."
    yield "The twin keeps the value where that is as likely in the other group; else chance decides who changes."


def _other(model: StructuralModel, mechanism: Mechanism) -> Iterator[str]:
    causes = [model.variables[j] for j in sorted(mechanism.causes)]
    yield f"Each of its causes adds to it: {listed(causes, _MOST)}." if causes else "Nothing in the table causes it."
    yield "The twin keeps what is the person's own: by how much they differ from what is expected."


def _influences(model: StructuralModel, terms: Sequence[Term]) -> list[str]:
    """Each cause with the kind of its influence."""
    attributes = len(model.attributes)
    single: dict[int, set[int]] = {}
    apart: set[int] = set()  # causes that act differently in each group
    together: list[str] = []
    for term in terms:
        variables = [variable for variable, _ in term]
        if len(term) == 1:
            single.setdefault(variables[0], set()).add(term[0][1])
        elif any(variable < attributes for variable in variables):
            apart.update(variable for variable in variables if variable >= attributes)
        else:
            together.append(f"{' and '.join(model.variables[variable] for variable in variables)} acting together")
    found = []
    for variable, functions in sorted(single.items()):
        name = model.variables[variable]
        differs = ", differently in each group" if variable in apart else ""
        found.append(f"{name} ({_way(model, variable, functions)}{differs})")
    return [*found, *dict.fromkeys(together)]


def _way(model: StructuralModel, variable: int, functions: set[int]) -> str:
    if variable < len(model.attributes):
        return "by group"
    if isinstance(model.bases[variable], LevelBasis):
        return "by its value"
    return "in a straight line" if functions == {0} else "in a curve"


def _names(model: StructuralModel, terms: Sequence[Term]) -> list[str]:
    return [model.variables[j] for j in sorted({variable for term in terms for variable, _ in term})]


def _or_nothing(names: Sequence[str]) -> str:
    return listed(names, _MOST) if names else "nothing in the table"
