"""Random worlds whose twins are known, and that are harsher than any causal model that is fitted to them.

    world = draw_world(3, "mixed")
    world.table, world.twins                      # what an audit sees, and what only the world knows
    people, twins = world.people(20_000, seed=1)  # new people of the same world, to count the truth on

    world = draw_world(3, "mixed", groups=(2, 3))  # two sensitive attributes, of two and of three groups
    people, everywhere = world.people_in_all_states(20_000, seed=1)
    everywhere[1, 2]                               # the same people, had they belonged to these two groups

World 3 of a family is always the same world. It has 7 to 12 attributes, about 1.2 edges an attribute, 800 to 20,000
rows, and a sensitive attribute that acts on 2 to 4 attributes. Each attribute has its own unit and its own scale of
noise, from 0.3 to 2 where a cause weighs about 1. What a family adds is in ``FAMILIES``.

Each of three groups or more has a weight of its own on each attribute that it acts on. Two sensitive attributes depend
on each other (an odds ratio of 1.5 to 2.5 between the groups that differ most), but neither is a cause of the other;
each acts on 2 or 3 attributes, at least one of them the same, where they act together in the family ``interactions``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

import numpy as np

from benchmarks.forms import Atom, Count, Form, LogNormal, Nominal, Number, Ordered, Rounded, YesNo
from benchmarks.structural import (
    ANOMALY,
    GROUPS,
    KNOTS,
    LABEL,
    NOISES,
    SEED,
    SENSITIVE,
    Attribute,
    Effect,
    Sensitive,
    World,
    group_signals,
)
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.states import States

__all__ = ["ANOMALY", "FAMILIES", "GROUPS", "KINDS", "LABEL", "SECOND", "SENSITIVE", "Family", "World", "draw_world"]

SECOND = "region"
GROUP_NAMES = {
    SENSITIVE: (*GROUPS, "c", "d", "e", "f"),
    SECOND: ("coast", "forest", "hills", "plain", "town", "valley"),
}
KINDS = ("number", "lognormal", "count", "rounded", "atom", "yesno", "ordered", "nominal")
ROWS = (800, 20_000)
EDGES = 1.2  # an attribute, those from the sensitive attribute included
_PILOT = 4_000  # people that latent numbers and messages are centred on
_MAIN = 0.7  # share of its own kinds in a family that is not about numbers; the others are
_SMALLEST, _LARGEST = 0.1, 0.5  # share of a group, where all of them can be within
_ODDS = (1.5, 2.5)  # ratio between the groups of two sensitive attributes that differ most
_FITTING = 50  # rounds, far more than needed
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
    first_share : of people in the first group of the first sensitive attribute; None: between 0.1 and 0.5
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


def draw_world(number: int, family: str | None = None, groups: tuple[int, ...] = (2,)) -> World:
    """World ``number`` of a family; without one, the families take turns.

    ``groups`` says how many groups each sensitive attribute has; other numbers make other worlds.
    """
    name = list(FAMILIES)[number % len(FAMILIES)] if family is None else family
    if name not in FAMILIES:
        raise ValueError(f"There is no family '{name}'; choose one of: {', '.join(FAMILIES)}.")
    most = len(GROUP_NAMES[SENSITIVE])
    if len(groups) not in (1, 2) or not all(2 <= size <= most for size in groups):
        raise ValueError(
            f"A world has one or two sensitive attributes with 2 to {most} groups each; got {groups}. Name their "
            "numbers of groups, such as (3,) or (2, 2)."
        )
    seed = [SEED, number] if groups == (2,) else [SEED, number, 2, *groups]
    return _Drawing(FAMILIES[name], groups, np.random.default_rng(seed)).world(number, name)


class _Drawing:
    """A world while it is drawn: each attribute is centred on pilot people before its effects are drawn."""

    def __init__(self, family: Family, groups: tuple[int, ...], rng: np.random.Generator) -> None:
        self.family, self.rng, self.states = family, rng, States(groups)
        self.sensitive = {
            name: Sensitive(name, names[:size], _group_values(size, rng))
            for size, (name, names) in zip(groups, GROUP_NAMES.items(), strict=False)
        }
        self.signals: dict[str, Floats] = {}  # of the pilot people
        self.attributes: list[Attribute] = []
        self.group_effects: tuple[Effect, ...] = ()
        self.group_cuts: tuple[float, ...] = ()
        self.before = 0

    def world(self, number: int, name: str) -> World:
        rng, family = self.rng, self.family
        rows = round(float(np.exp(rng.uniform(*np.log(ROWS)))))
        shares = _state_shares(self.states, family.first_share, rng)
        causes = self._causes(int(rng.integers(7, 12 if family.messy else 13)))
        kinds = self._kinds(causes)
        if family.hidden_cause:
            self._add(_HIDDEN, "number", [])
            self.attributes[0] = replace(self.attributes[0], hidden=True)
        for k, (attribute, its_causes) in enumerate(causes.items()):
            if k == (1 if family.wrong_root else 0):
                self._add_groups(shares)
            self._add(attribute, kinds[attribute], its_causes)
        if family.messy:
            self._add_copy()
        return World(
            number=number,
            family=name,
            rows=rows,
            attributes=tuple(self.attributes),
            group_cuts=self.group_cuts,
            group_effects=self.group_effects,
            before=self.before,
            gaps=self._gaps() if family.messy else {},
            sensitive=tuple(self.sensitive.values()),
            identified=family.identified,
        )

    def _causes(self, d: int) -> dict[str, list[str]]:
        """By attribute, in causal order, the causes of it; names say nothing about the order."""
        rng, family = self.rng, self.family
        names = [f"x{k:02d}" for k in rng.permutation(d) + 1]
        causes: dict[str, list[str]] = {name: [] for name in names}
        may_follow = np.arange(1 if family.wrong_root else 0, d)
        several = len(self.sensitive) > 1
        children = rng.choice(may_follow, int(rng.integers(2, 4 if several else 5)), replace=False)
        pairs = [(j, i) for i in range(d) for j in range(i)]
        if family.wrong_root:  # the cause of the sensitive attribute also acts on what that acts on
            causes[names[children[0]]].append(names[0])
            pairs.remove((0, int(children[0])))
        for child in children:
            causes[names[child]].append(SENSITIVE)
        more = round(EDGES * d) - sum(map(len, causes.values()))
        for child in self._children_of_second(children, may_follow) if several else ():
            causes[names[child]].append(SECOND)
        for k in rng.choice(len(pairs), more, replace=False):
            causes[names[pairs[k][1]]].append(names[pairs[k][0]])
        if family.interactions and all(len(some) < 2 for some in causes.values()):
            causes[names[max(children)]].append(names[0])
        if family.hidden_cause:
            causes[names[int(rng.integers(d))]].append(_HIDDEN)
        return causes

    def _children_of_second(self, of_first: Rows, may_follow: Rows) -> list[int]:
        """Two or three, at least one of which the first sensitive attribute acts on, too."""
        shared = int(self.rng.choice(of_first))
        others = may_follow[may_follow != shared]
        return [shared, *map(int, self.rng.choice(others, int(self.rng.integers(1, 3)), replace=False))]

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

    def _add_groups(self, shares: Floats) -> None:
        """The sensitive attributes, with the shares of their states: roots, or with one cause, which may be hidden."""
        self.before = len(self.attributes)
        drawn = self.rng.logistic(size=_PILOT)
        below = np.cumsum(shares)[:-1]
        cuts = np.log(below / (1.0 - below))
        if self.attributes:
            self.group_effects = (Effect(self.attributes[0].name, (_signed(self.rng, 0.8, 1.6),)),)
            drawn = drawn + self.group_effects[0].of(self.signals)[:, 0]
            cuts = np.quantile(drawn, below)
        self.group_cuts = tuple(cuts.tolist())
        self.signals |= group_signals(tuple(self.sensitive.values()), np.digitize(drawn, cuts))

    def _effects(self, causes: Sequence[str], levels: int) -> tuple[Effect, ...]:
        effects = [self._effect(cause, levels) for cause in causes]
        if self.family.interactions and len(effects) > 1:
            k, by = self._acting_together(causes)
            change = _signed(self.rng, 0.5, 1.0)
            effects[k] = tuple(replace(part, by=by, change=change) for part in effects[k])
        return tuple(chain.from_iterable(effects))

    def _acting_together(self, causes: Sequence[str]) -> tuple[int, str]:
        """The position of a cause, and another one that its strength depends on: a sensitive attribute if possible."""
        roots = [cause for cause in causes if cause in self.sensitive]
        if len(roots) > 1:
            return causes.index(roots[0]), roots[1]
        k = int(self.rng.integers(len(causes)))
        others = [cause for cause in causes if cause != causes[k]]
        return k, next((cause for cause in roots if cause in others), None) or str(self.rng.choice(others))

    def _effect(self, cause: str, levels: int) -> tuple[Effect, ...]:
        """What a cause adds to all latent numbers, in one part or in one for each of them."""
        rng = self.rng
        weights = tuple(_signed(rng, 0.4, 1.2) for _ in range(levels))
        if cause in self.sensitive:
            at = tuple(sorted(self.sensitive[cause].values))
            if len(at) == 2:
                return (Effect(cause, weights),)
            each = np.diag(weights).tolist()  # groups may differ in one latent number as they do not in another
            return tuple(Effect(cause, tuple(one), "spline", _heights(len(at), rng), at) for one in each)
        shape: _Shape = get_args(_Shape)[rng.integers(4)]
        heights = _heights(len(KNOTS), rng)
        return (Effect(cause, weights, shape, heights if shape == "spline" else ()),)

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

    def _gaps(self) -> dict[str, tuple[float, ...]]:
        """About a tenth of the cells of half the columns, in every other of them depending on the group."""
        names = self.rng.permutation([one.name for one in self.attributes])[: len(self.attributes) // 2]
        equal = (_MISSING,) * self.states.count
        return {str(name): equal if k % 2 else self._unequal_gaps() for k, name in enumerate(names)}

    def _unequal_gaps(self) -> tuple[float, ...]:
        """Shares by state that depend on one of the sensitive attributes."""
        axis = int(self.rng.integers(self.states.attributes)) if self.states.attributes > 1 else 0
        shares = _MISSING * np.linspace(1.6, 0.8, self.states.sizes[axis])
        return tuple(shares[self.states.levels[:, axis]].tolist())


def _group_values(size: int, rng: np.random.Generator) -> tuple[float, ...]:
    """What each of some groups sends; no order among three or more."""
    if size == 2:
        return -1.0, 1.0
    return tuple(rng.permutation(np.linspace(-1.2, 1.2, size) + rng.uniform(-0.2, 0.2, size)).tolist())


def _heights(knots: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Of mean 0 and variance 1."""
    heights = rng.standard_normal(knots)
    return tuple(((heights - heights.mean()) / heights.std()).tolist())


def _state_shares(states: States, first_share: float | None, rng: np.random.Generator) -> Floats:
    """(states,), of people."""
    first, *others = (_group_shares(size, None if k else first_share, rng) for k, size in enumerate(states.sizes))
    if not others:
        return first
    (second,) = others
    ratio = float(np.exp(rng.uniform(*np.log(_ODDS))))
    scores = [rng.permutation(np.linspace(0.0, 1.0, size)) for size in states.sizes]
    joint = ratio ** np.outer(*scores)
    for _ in range(_FITTING):  # to the shares of both; what is multiplied does not change the odds ratios
        joint *= (first / joint.sum(axis=1))[:, None]
        joint *= second / joint.sum(axis=0)
    return joint.ravel()


def _group_shares(size: int, first: float | None, rng: np.random.Generator) -> Floats:
    """(size,), within the smallest and the largest if possible; the first one may be given."""
    if size == 2:
        share = float(rng.uniform(_SMALLEST, _LARGEST)) if first is None else first
        return np.array([share, 1.0 - share])
    given = [] if first is None else [first]
    free, rest = size - len(given), 1.0 - sum(given)
    while True:
        shares = _SMALLEST + (rest - free * _SMALLEST) * rng.dirichlet(np.ones(free))
        if shares.max() <= _LARGEST:
            return np.array([*given, *shares])


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
