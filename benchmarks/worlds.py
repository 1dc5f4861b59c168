"""Random worlds whose twins are known, and that are harsher than any causal model that is fitted to them.

    world = draw_world(3, "mixed")
    world.table, world.twins                      # what an audit sees, and what only the world knows
    people, twins = world.people(20_000, seed=1)  # new people of the same world, to count the truth on

World 3 of a family is always the same world. It has 7 to 12 attributes, about 1.2 edges an attribute, 800 to 20,000
rows, and a sensitive attribute that acts on 2 to 4 attributes. Each attribute has its own unit and its own scale of
noise, from 0.3 to 2 where a cause weighs about 1. What a family adds is in ``FAMILIES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from benchmarks.structural import (
    ANOMALY,
    GROUPS,
    KNOTS,
    LABEL,
    NOISES,
    SEED,
    SENSITIVE,
    Atom,
    Attribute,
    Count,
    Effect,
    Form,
    LogNormal,
    Nominal,
    Number,
    Ordered,
    Rounded,
    World,
    YesNo,
)
from cfad_core.core.arrays import Floats

__all__ = ["ANOMALY", "FAMILIES", "GROUPS", "KINDS", "LABEL", "SENSITIVE", "Family", "World", "draw_world"]

KINDS = ("number", "lognormal", "count", "rounded", "atom", "yesno", "ordered", "nominal")
ROWS = (800, 20_000)
EDGES = 1.2  # an attribute, those from the sensitive attribute included
_PILOT = 4_000  # people that latent numbers and messages are centred on
_MAIN = 0.7  # share of its own kinds in a family that is not about numbers; the others are
_TIGHT = 0.1  # noise of a duplicated column
_MISSING = 0.1  # share of cells
_HEAVY = ("t3", "laplace", "exponential", "uniform")
_ANY = ("normal", "normal", *_HEAVY)
_HIDDEN = "hidden"
_Shape = Literal["linear", "tanh", "root", "spline"]


@dataclass(frozen=True)
class Family:
    """What the worlds of a family have in common.

    Attributes
    ----------
    kinds : of most of its attributes
    noises : that numbers and what is cut from them may have
    first_share : of people in the first group; None: between 0.1 and 0.5
    interactions : whether effects differ by group or by another cause
    unequal_spread : whether the scale of a noise depends on a cause
    messy : whether cells are missing, some depending on the group, and a column is there twice
    hidden_cause : whether the sensitive attribute and one attribute have a hidden common cause
    wrong_root : whether the sensitive attribute has a cause in the table
    """

    kinds: tuple[str, ...] = ("number", *KINDS)
    noises: tuple[str, ...] = ("normal",)
    first_share: float | None = None
    interactions: bool = False
    unequal_spread: bool = False
    messy: bool = False
    hidden_cause: bool = False
    wrong_root: bool = False

    @property
    def identified(self) -> bool:
        """Whether the sensitive attribute is a root without a hidden common cause, as audits assume."""
        return not (self.hidden_cause or self.wrong_root)


FAMILIES = {
    "numbers": Family(("number",)),
    "heavy": Family(("number",), _HEAVY),
    "lognormal": Family(("lognormal",)),
    "counts": Family(("count",)),
    "rounded": Family(("rounded",)),
    "atoms": Family(("atom",)),
    "yesno": Family(("yesno",)),
    "categories": Family(("ordered", "nominal")),
    "mixed": Family(noises=_ANY),
    "interactions": Family(noises=_ANY, interactions=True),
    "spread": Family(noises=_ANY, unequal_spread=True),
    "messy": Family(noises=_ANY, messy=True),
    "small-group": Family(noises=_ANY, first_share=0.1),
    "hidden-cause": Family(noises=_ANY, hidden_cause=True),
    "wrong-root": Family(noises=_ANY, wrong_root=True),
}


def draw_world(number: int, family: str | None = None) -> World:
    """World ``number`` of a family; without one, the families take turns."""
    name = list(FAMILIES)[number % len(FAMILIES)] if family is None else family
    if name not in FAMILIES:
        raise ValueError(f"There is no family '{name}'; choose one of: {', '.join(FAMILIES)}.")
    return _Drawing(FAMILIES[name], np.random.default_rng([SEED, number])).world(number, name)


class _Drawing:
    """A world while it is drawn: each attribute is centred on pilot people before its effects are drawn."""

    def __init__(self, family: Family, rng: np.random.Generator) -> None:
        self.family, self.rng = family, rng
        self.signals: dict[str, Floats] = {}  # of the pilot people
        self.attributes: list[Attribute] = []
        self.group_effects: tuple[Effect, ...] = ()
        self.group_cut = 0.0
        self.before = 0

    def world(self, number: int, name: str) -> World:
        rng, family = self.rng, self.family
        rows = round(float(np.exp(rng.uniform(*np.log(ROWS)))))
        share = float(rng.uniform(0.1, 0.5)) if family.first_share is None else family.first_share
        causes = self._causes(int(rng.integers(7, 12 if family.messy else 13)))
        kinds = self._kinds(causes)
        if family.hidden_cause:
            self._add(_HIDDEN, "number", [])
            self.attributes[0] = replace(self.attributes[0], hidden=True)
        for k, (attribute, its_causes) in enumerate(causes.items()):
            if k == (1 if family.wrong_root else 0):
                self._add_group(share)
            self._add(attribute, kinds[attribute], its_causes)
        if family.messy:
            self._add_copy()
        return World(
            number=number,
            family=name,
            rows=rows,
            attributes=tuple(self.attributes),
            group_cut=self.group_cut,
            group_effects=self.group_effects,
            before=self.before,
            gaps=self._gaps() if family.messy else {},
            identified=family.identified,
        )

    def _causes(self, d: int) -> dict[str, list[str]]:
        """By attribute, in causal order, the causes of it; names say nothing about the order."""
        rng, family = self.rng, self.family
        names = [f"x{k:02d}" for k in rng.permutation(d) + 1]
        causes: dict[str, list[str]] = {name: [] for name in names}
        children = rng.choice(np.arange(1 if family.wrong_root else 0, d), int(rng.integers(2, 5)), replace=False)
        pairs = [(j, i) for i in range(d) for j in range(i)]
        if family.wrong_root:  # the cause of the sensitive attribute also acts on what that acts on
            causes[names[children[0]]].append(names[0])
            pairs.remove((0, int(children[0])))
        for child in children:
            causes[names[child]].append(SENSITIVE)
        more = round(EDGES * d) - sum(map(len, causes.values()))
        for k in rng.choice(len(pairs), more, replace=False):
            causes[names[pairs[k][1]]].append(names[pairs[k][0]])
        if family.interactions and all(len(some) < 2 for some in causes.values()):
            causes[names[max(children)]].append(names[0])
        if family.hidden_cause:
            causes[names[int(rng.integers(d))]].append(_HIDDEN)
        return causes

    def _kinds(self, causes: dict[str, list[str]]) -> dict[str, str]:
        """At least one number, and the first that the sensitive attribute acts on is of the family's kinds."""
        rng, own = self.rng, self.family.kinds
        main = 1.0 if "number" in own else _MAIN
        kinds = {name: str(rng.choice(own)) if rng.random() < main else "number" for name in causes}
        child = next(name for name, some in causes.items() if SENSITIVE in some)
        kinds[child] = str(rng.choice(own))
        if "number" not in kinds.values():
            kinds[str(rng.choice([name for name in causes if name != child]))] = "number"
        return kinds

    def _add(self, name: str, kind: str, causes: Sequence[str]) -> None:
        rng, family = self.rng, self.family
        levels = int(rng.integers(3, 7)) if kind == "nominal" else 1
        attribute = Attribute(
            name=name,
            form=_unscaled(kind, levels, rng),
            effects=self._effects(causes, levels),
            spread=float(rng.uniform(0.3, 2.0)),
        )
        attribute = replace(attribute, noise=self._noise(attribute.form))
        if family.unequal_spread and causes:
            attribute = replace(attribute, spread_by=str(rng.choice(causes)), change=_signed(rng, 0.4, 0.9))
        self._settle(attribute)

    def _settle(self, attribute: Attribute) -> None:
        """Centre an attribute on the pilot people, and add it."""
        noise = NOISES[attribute.noise].draw(self.rng, (_PILOT, attribute.form.noises))
        index, scaled = attribute.latents(self.signals, noise)
        latent = index[:, 0] + scaled[:, 0]
        if not isinstance(attribute.form, Nominal):
            form = replace(attribute.form, center=float(latent.mean()), scale=float(latent.std()))
            attribute = replace(attribute, form=form)
        message = attribute.form.message(attribute.form.cells(index, scaled))
        attribute = replace(attribute, center=float(message.mean()), scale=float(message.std()) or 1.0)
        self.attributes.append(attribute)
        self.signals[attribute.name] = attribute.signal(attribute.form.cells(index, scaled))

    def _add_group(self, share: float) -> None:
        """The sensitive attribute: a root, or with one cause, which may be hidden."""
        self.before = len(self.attributes)
        drawn = self.rng.logistic(size=_PILOT)
        self.group_cut = float(np.log(share / (1.0 - share)))
        if self.attributes:
            self.group_effects = (Effect(self.attributes[0].name, (_signed(self.rng, 0.8, 1.6),)),)
            drawn = drawn + self.group_effects[0].of(self.signals)[:, 0]
            self.group_cut = float(np.quantile(drawn, share))
        self.signals[SENSITIVE] = np.where(drawn < self.group_cut, -1.0, 1.0)

    def _effects(self, causes: Sequence[str], levels: int) -> tuple[Effect, ...]:
        rng = self.rng
        effects = [self._effect(cause, levels) for cause in causes]
        if self.family.interactions and len(effects) > 1:
            k = int(rng.integers(len(effects)))
            others = [cause for cause in causes if cause != causes[k]]
            by = SENSITIVE if SENSITIVE in others else str(rng.choice(others))
            effects[k] = replace(effects[k], by=by, change=_signed(rng, 0.5, 1.0))
        return tuple(effects)

    def _effect(self, cause: str, levels: int) -> Effect:
        rng = self.rng
        weights = tuple(_signed(rng, 0.4, 1.2) for _ in range(levels))
        if cause == SENSITIVE:
            return Effect(cause, weights)
        shape: _Shape = get_args(_Shape)[rng.integers(4)]
        heights = rng.standard_normal(len(KNOTS))
        heights = (heights - heights.mean()) / heights.std()
        return Effect(cause, weights, shape, tuple(heights.tolist()) if shape == "spline" else ())

    def _noise(self, form: Form) -> str:
        if isinstance(form, YesNo):
            return "logistic"
        if isinstance(form, Nominal):
            return "gumbel"
        if isinstance(form, Count) and form.is_poisson:
            return "normal"
        # An exponential of t3 noise has no mean
        laws = [law for law in self.family.noises if law != "t3" or not isinstance(form, LogNormal | Count)]
        return str(self.rng.choice(laws))

    def _add_copy(self) -> None:
        """A number or a rounded one again, measured once more with a little noise."""
        source = next(one for one in self.attributes if isinstance(one.form, Number))
        copy = replace(source, name=f"{source.name} again", effects=(Effect(source.name, (1.0,)),), noise="normal")
        self._settle(replace(copy, spread=_TIGHT, spread_by=None))

    def _gaps(self) -> dict[str, tuple[float, float]]:
        """About a tenth of the cells of half the columns, in every other of them depending on the group."""
        rng = self.rng
        names = rng.permutation([one.name for one in self.attributes])[: len(self.attributes) // 2]
        unequal = (_MISSING * 1.6, _MISSING * 0.8)
        return {str(name): (_MISSING, _MISSING) if k % 2 else unequal for k, name in enumerate(names)}


def _unscaled(kind: str, levels: int, rng: np.random.Generator) -> Form:
    """A form of a kind, its latent number not yet centred."""

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def power(low: float, high: float) -> float:
        return float(10.0 ** rng.uniform(low, high))

    unit, step = power(-1.0, 3.0), int(rng.choice([1, 5, 100]))
    forms: dict[str, Callable[[], Form]] = {
        "number": lambda: Number(offset=unit * between(-3.0, 3.0), unit=unit),
        "lognormal": lambda: LogNormal(unit=power(2.0, 4.0), width=between(0.4, 1.2)),
        "count": lambda: Count(base=power(0.0, 1.3), width=between(0.3, 0.8), is_poisson=bool(rng.random() < 0.5)),
        "rounded": lambda: Rounded(offset=step * between(5.0, 50.0), unit=step * between(1.5, 8.0), step=step),
        "atom": lambda: Atom(unit=power(1.0, 4.0), cut=between(0.3, 1.2)),
        "yesno": lambda: YesNo(cut=between(-1.0, 1.0), as_text=bool(rng.random() < 0.5)),
        "ordered": lambda: Ordered(cuts=_cuts(rng)),
        "nominal": lambda: Nominal(
            base=tuple(rng.uniform(-1.0, 1.0, levels).tolist()), values=tuple(rng.standard_normal(levels).tolist())
        ),
    }
    return forms[kind]()


def _cuts(rng: np.random.Generator) -> tuple[float, ...]:
    """Of a standard latent number into 3 to 6 levels, none of them tiny."""
    cuts = np.linspace(-1.2, 1.2, int(rng.integers(2, 6)))
    return tuple((cuts + rng.uniform(-0.2, 0.2, len(cuts))).tolist())


def _signed(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high) * rng.choice([-1.0, 1.0]))
