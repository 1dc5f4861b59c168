"""Changing what is known of a causal graph, one step at a time, and taking steps back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfad_core.causal.graph import allowed_edges
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

_LONGEST = 200  # steps that can be taken back


@dataclass(frozen=True)
class History:
    """What is known now, and what was known before and after each step back.

    Attributes
    ----------
    past, future : the latest step is the last of ``past``, and the first of ``future``
    """

    now: Knowledge
    past: tuple[Knowledge, ...] = ()
    future: tuple[Knowledge, ...] = ()

    def changed(self, new: Knowledge) -> History:
        """With one more step; what says the same in another order is none."""
        return self if says_the_same(new, self.now) else History(new, (*self.past, self.now)[-_LONGEST:])

    def undone(self) -> History:
        """One step back."""
        return History(self.past[-1], self.past[:-1], (self.now, *self.future)) if self.past else self

    def redone(self) -> History:
        """One step on again."""
        return History(self.future[0], (*self.past, self.now), self.future[1:]) if self.future else self


def says_the_same(one: Knowledge, other: Knowledge) -> bool:
    """Whether two pieces of knowledge differ at most in the order in which they say it."""

    def parts(known: Knowledge) -> tuple[Any, ...]:
        lists = (known.roots, known.from_sensitive, known.forbidden, known.required)
        tiers = tuple(frozenset(tier) for tier in known.tiers)
        return *(frozenset(some) for some in lists), tiers, known.complete, known.sensitive_is_root

    return parts(one) == parts(other)


def edited(
    known: Knowledge, edit: Mapping[str, Any], names: Sequence[str], sensitive: str | Sequence[str]
) -> Knowledge:
    """The knowledge after one edit of the graph.

    Parameters
    ----------
    edit : ``what``: ``require``, ``forbid``, ``turn`` or ``free`` the edge from ``cause`` to ``effect``, both positions
        among ``names``; or ``place`` the ``column`` in the time order ``at`` a step (1: the first), between two steps
        (0.5: before the first), or nowhere (None)

    Raises
    ------
    InvalidConfigError
        If there is no such edit, or what is known would contradict itself, as edges in a circle do.
    """
    what = edit.get("what")
    if what == "place":
        new = known.replace(tiers=_placed(known.tiers, _name(names, edit.get("column")), edit.get("at")))
    else:
        cause, effect = _name(names, edit.get("cause")), _name(names, edit.get("effect"))
        if cause == effect:
            raise InvalidConfigError(f"An edge joins two columns; {cause} cannot cause itself.")
        if what == "require":
            new = _required(known, cause, effect)
        elif what == "turn":
            new = _required(known, effect, cause)
        elif what == "forbid":
            new = _free(known, cause, effect)
            new = new if known.complete else new.replace(forbidden=(*new.forbidden, (cause, effect)))
        elif what == "free":
            new = _free(known, cause, effect)
        else:
            raise InvalidConfigError(
                f"Expected an edit of the graph (require, forbid, turn, free or place); got {what!r}."
            )
    allowed_edges(names, sensitive, new)
    return new


def _required(known: Knowledge, cause: str, effect: str) -> Knowledge:
    """One edge more that must be; the same edge the other way round need not be any more."""
    left = _free(_free(known, cause, effect), effect, cause)
    kept = tuple(edge for edge in known.forbidden if edge != (cause, effect))
    return left.replace(required=(*left.required, (cause, effect)), forbidden=kept)


def _free(known: Knowledge, cause: str, effect: str) -> Knowledge:
    """Nothing is known of one edge."""
    return known.replace(
        required=tuple(edge for edge in known.required if edge != (cause, effect)),
        forbidden=tuple(edge for edge in known.forbidden if edge != (cause, effect)),
    )


def _placed(tiers: Sequence[Sequence[str]], name: str, at: object) -> tuple[tuple[str, ...], ...]:
    steps = [tuple(other for other in tier if other != name) for tier in tiers]
    if at is not None:
        if isinstance(at, bool) or not isinstance(at, int | float) or not 0.5 <= at <= len(steps) + 0.5 or at * 2 % 1:
            raise InvalidConfigError(f"The time order has {len(steps)} steps; got {at!r}.")
        if at == int(at):
            steps[int(at) - 1] = (*steps[int(at) - 1], name)
        else:
            steps.insert(int(at), (name,))
    return tuple(tier for tier in steps if tier)


def _name(names: Sequence[str], position: object) -> str:
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(names):
        raise InvalidConfigError(f"Expected the position of one of {len(names)} columns; got {position!r}.")
    return names[position]
