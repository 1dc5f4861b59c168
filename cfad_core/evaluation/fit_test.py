"""The fit test: is there a model that predicts a variable clearly better than its mechanism does?

Both are asked about people whom neither learned from. How well one predicts a person is the logarithm of the
probability (density) that it gives to the value that the person has. The alternative is saturated: it may use all that
can be known before the variable, without the mechanism's form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats

LARGEST = 10.0  # difference for one person; impossible values (log 0) would otherwise decide alone


@dataclass(frozen=True)
class FitComparison:
    """How much better the alternative predicts people, in nats (units of natural logarithms) a person.

    Attributes
    ----------
    gain : mean log-likelihood of the alternative minus that of the mechanism
    error : standard error of the gain, over people
    people : how many were predicted
    """

    gain: float
    error: float
    people: int

    @property
    def p_value(self) -> float:
        """Probability of as large a gain if the alternative is no better: a paired one-sided t-test over people."""
        from scipy.stats import t

        if self.people < 2 or self.gain <= 0.0:
            return 1.0
        return float(t.sf(self.gain / self.error, self.people - 1)) if self.error > 0.0 else 0.0


def compare_fit(own: Floats, saturated: Floats) -> FitComparison:
    """Compare two models of one variable by the log-likelihoods (n,) that they give to the same held-out people.

    Nobody counts for more than 10 nats, so that no single person decides; where both give a person probability 0, they
    are equally wrong.

    Raises
    ------
    ValueError
        If the two are not about the same people, there is nobody, or a log-likelihood is undefined.
    """
    if own.shape != saturated.shape or own.ndim != 1 or not len(own):
        raise ValueError(
            f"Expected log-likelihoods of the same people by both models; got shapes {own.shape}, {saturated.shape}."
        )
    if np.isnan(own).any() or np.isnan(saturated).any() or (own == np.inf).any() or (saturated == np.inf).any():
        raise ValueError("A log-likelihood is undefined (nan or +inf). Leave out people whose value is missing.")
    both_impossible = np.isneginf(own) & np.isneginf(saturated)
    difference = np.zeros(len(own))
    np.subtract(saturated, own, out=difference, where=~both_impossible)
    difference = np.clip(difference, -LARGEST, LARGEST)
    error = float(difference.std(ddof=1)) / math.sqrt(len(own)) if len(own) > 1 else 0.0
    return FitComparison(float(difference.mean()), error, len(own))


def clearly_better(
    own: Mapping[str, Floats], saturated: Mapping[str, Floats], level: float = 0.01, least_gain: float = 0.02
) -> tuple[str, ...]:
    """The variables that the alternative predicts clearly better than the mechanism, largest gain first.

    Clearly means: by at least ``least_gain`` nats a person, so that it matters; and beyond chance, with a probability
    of at most ``level`` to name any variable that is not predicted better, over all variables together (Holm).

    Parameters
    ----------
    own, saturated : by variable, the log-likelihoods (n,) of held-out people by the mechanism and by the alternative

    Raises
    ------
    ValueError
        If the two do not have the same variables, or see ``compare_fit``.
    """
    if set(own) != set(saturated):
        only = sorted(set(own) ^ set(saturated))
        raise ValueError(f"Expected the same variables from both models; only one of them has {', '.join(only)}.")
    found = {name: compare_fit(own[name], saturated[name]) for name in own}
    better: list[str] = []
    for k, name in enumerate(sorted(found, key=lambda one: (found[one].p_value, one))):
        if found[name].p_value > level / (len(found) - k):
            break
        better.append(name)
    better = [name for name in better if found[name].gain >= least_gain]
    return tuple(sorted(better, key=lambda one: (-found[one].gain, one)))
