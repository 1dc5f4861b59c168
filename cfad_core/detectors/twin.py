"""Twin-world scoring: judge a person by both of their worlds.

The counterfactual map is an involution, so any symmetric function of ``g(x)`` and ``g(cf(x))`` is the same for
a person and for their twin: under the SCM that scores, nobody's outcome depends on ``S``, whatever the base
detector. The price: ``S`` and the SCM are needed at scoring time, and under *another* SCM the promise is only
as good as the two models agree.
"""

from __future__ import annotations

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.config import TwinRule


def twin_score(score: Floats, score_counterfactual: Floats, rule: TwinRule) -> Floats:
    """One score from the scores (n,) of the two worlds; symmetric in them.

    ``mean`` weighs both worlds alike; ``max`` flags whoever is anomalous in either world, ``min`` only who is
    in both.
    """
    if rule == "mean":
        return 0.5 * (score + score_counterfactual)
    if rule == "max":
        return np.maximum(score, score_counterfactual)
    return np.minimum(score, score_counterfactual)
