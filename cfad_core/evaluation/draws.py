"""How many twins to draw of each person: what drawing alone adds to the error of the changing ratio.

The twin of a category, and of a number with ties, is drawn. A person's outcome then changes with a probability, and the
changing ratio is the mean of these over all people, estimated by the mean over some draws.
"""

from __future__ import annotations

import math

import numpy as np

from cfad_core.core.arrays import Floats


def monte_carlo_error(changes: Floats) -> float:
    """Standard error of the changing ratio that is due to drawing alone.

    Parameters
    ----------
    changes : (R, m), 1 where the outcome of a person (columns) changes in a draw (rows), else 0; all draws are
        independent, of one person and between people

    Returns
    -------
    float
        ``sqrt(sum_i v_i / R) / m``, with ``v_i`` the variance of person i's outcome over the draws. What the choice of
        people, and the model, add to the error is not in it.

    Raises
    ------
    ValueError
        If there are fewer than two draws, or no people.
    """
    if changes.ndim != 2 or changes.shape[0] < 2 or changes.shape[1] < 1:
        raise ValueError(
            f"Expected at least two draws (rows) of at least one person (columns); got shape {changes.shape}. "
            "Draw twins at least twice."
        )
    draws, people = changes.shape
    return float(np.sqrt(np.var(changes, axis=0, ddof=1).sum() / draws) / people)


def draws_needed(error: float, people: int, ratio: float = 0.5) -> int:
    """The fewest draws for a standard error, due to drawing alone, of at most ``error``, whatever the people.

    With probabilities ``p_i``, of mean ``ratio``, the error after R draws is ``sqrt(mean(p_i (1 - p_i)) / (R m))``. It
    is largest where all ``p_i`` are alike, so that ``ratio (1 - ratio) / (m error^2)`` draws are enough. If the ratio
    is not known, half of the people is the worst case.

    Raises
    ------
    ValueError
        If the error is not positive, there are no people, or the ratio is no share.
    """
    if not error > 0.0 or people < 1 or not 0.0 <= ratio <= 1.0:
        raise ValueError(
            "Expected an error above 0, at least one person and a ratio between 0 and 1; got "
            f"error={error}, people={people}, ratio={ratio}."
        )
    exact = ratio * (1.0 - ratio) / (people * error**2)
    return max(1, math.ceil(exact * (1.0 - 1e-12)))  # 25.000000000000004 draws are 25
