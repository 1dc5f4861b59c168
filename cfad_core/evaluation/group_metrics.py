"""The metrics of groups as they are, without any twin: what auditors are asked for, with intervals.

The groups are any partition of people: those of one sensitive attribute, or the combinations of several. Every number
is that of ``metrics.GROUP_METRICS`` by the same name.

**Intervals.** People are drawn with replacement within each group, so that a number's interval says how much the choice
of people leaves open. That nobody of ten people is flagged does not mean that nobody of the group ever is: each sample
is drawn from the group and two unknown people more, an anomaly and a normal person, either as likely to score above
everybody as below. Rates follow from four counts, whose draws are multinomial: they are drawn as such, which is the
same and takes no time; for AUC-ROC see ``auc_draws``. The threshold and the median over all people stay as they are.

**fairlearn.** ``MetricFrame`` is what the tests compare with, and is not used here: over counted cells it takes about
80 ms for twelve groups, more than moving a threshold may, and it calls a rate 0 where there is nobody to count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, number, percent
from cfad_core.evaluation.auc_draws import auc_with_draws
from cfad_core.evaluation.extremes import AgainstReference, Estimate, Spread, against_reference, estimate, spread
from cfad_core.evaluation.intervals import ENOUGH
from cfad_core.evaluation.metrics import CELLS, GROUP_METRICS, Rate, defined
from cfad_core.evaluation.pairs import FlagCounts
from cfad_core.evaluation.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

COMPARED = tuple(name for name, metric in GROUP_METRICS.items() if metric.compared)
"""The metrics that a table has besides ``n`` and ``n_anomaly``."""
RESAMPLES = 500
_FLAGGED = Rate(("true_positive", "false_positive"), among=CELLS)
_RATES = {name: metric.of for name, metric in GROUP_METRICS.items() if isinstance(metric.of, Rate)}


@dataclass(frozen=True)
class Group:
    """The numbers of one group.

    Attributes
    ----------
    n, n_anomaly : people, and anomalies among them (None without labels); both are None where they are hidden
    metrics : ``COMPARED`` by name
    draws : by metric, (B,), its values in samples of the group; none where it is undefined
    """

    name: str
    n: int | None
    n_anomaly: int | None
    metrics: Mapping[str, Estimate]
    draws: Mapping[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    def drawn(self, metric: str) -> Floats:
        return self.draws.get(metric, np.array([]))


@dataclass(frozen=True)
class ImpactRatio:
    """The lowest over the highest share, which depends on what a flag does to a person.

    Attributes
    ----------
    as_harm : of the people who are flagged
    as_benefit : of the people who are not flagged
    """

    as_harm: Spread
    as_benefit: Spread


@dataclass(frozen=True)
class GroupTable:
    """Groups at a threshold, and how far apart they are."""

    threshold: float
    groups: tuple[Group, ...]

    def group(self, name: str) -> Group:
        """The group of a name.

        Raises
        ------
        ValueError
            If there is none.
        """
        for group in self.groups:
            if group.name == name:
                return group
        names = ", ".join(f"'{group.name}'" for group in self.groups)
        raise ValueError(f"Expected the name of a group; got '{name}'. The groups are {names}.")

    @cached_property
    def between(self) -> dict[str, Spread | None]:
        """By metric, the largest difference and the smallest ratio between groups that have it; None without two."""
        names = [group.name for group in self.groups]
        return {
            metric: spread(
                names,
                [group.metrics[metric].value for group in self.groups],
                [group.drawn(metric) for group in self.groups],
            )
            for metric in COMPARED
        }

    @cached_property
    def impact_ratio(self) -> ImpactRatio | None:
        """The ratio of flag rates, and that of the shares that are not flagged; None without two groups."""
        harm = self.between["flag_rate"]
        rates = [group.metrics["flag_rate"].value for group in self.groups]
        benefit = spread(
            [group.name for group in self.groups],
            [None if rate is None else 1.0 - rate for rate in rates],
            [1.0 - group.drawn("flag_rate") for group in self.groups],
        )
        return None if harm is None or benefit is None else ImpactRatio(harm, benefit)

    def against(self, reference: str) -> dict[str, dict[str, AgainstReference]]:
        """By name of every other group and by metric, that group beside the reference."""
        base = self.group(reference)
        return {
            group.name: {
                metric: against_reference(
                    group.metrics[metric].value, base.metrics[metric].value, group.drawn(metric), base.drawn(metric)
                )
                for metric in COMPARED
            }
            for group in self.groups
            if group is not base
        }

    def suppressed(self) -> GroupTable:
        """The table for everything that leaves the house.

        Groups of fewer than ten people keep nothing but their name; what is between groups is between the others.
        """
        nothing = dict.fromkeys(COMPARED, Estimate(None))
        return GroupTable(
            self.threshold,
            tuple(
                Group(group.name, None, None, nothing) if group.n is None or group.n < SMALLEST_GROUP else group
                for group in self.groups
            ),
        )

    def to_frame(self) -> pd.DataFrame:
        """A row for each group: ``n``, ``n_anomaly``, and of each metric the value, ``..._low`` and ``..._high``."""
        import pandas as pd

        rows = []
        for group in self.groups:
            row: dict[str, Any] = {"n": _size(group), "n_anomaly": group.n_anomaly}
            for name, found in group.metrics.items():
                ends = _to_dict(found)
                row |= {name: ends["value"], f"{name}_low": ends["low"], f"{name}_high": ends["high"]}
            rows.append(row)
        return pd.DataFrame(rows, index=pd.Index([group.name for group in self.groups], name="group"))

    def to_dict(self, reference: str | None = None) -> dict[str, Any]:
        """For JSON, with the groups beside a reference, if one is given; ``low`` without ``high`` has no upper end."""
        ratio = self.impact_ratio
        found: dict[str, Any] = {
            "threshold": self.threshold,
            "groups": {
                group.name: {
                    "n": _size(group),
                    "n_anomaly": group.n_anomaly,
                    **{name: _to_dict(one) for name, one in group.metrics.items()},
                }
                for group in self.groups
            },
            "between": {metric: _spread_to_dict(one) for metric, one in self.between.items()},
            "impact_ratio": None
            if ratio is None
            else {"as_harm": _ratio_to_dict(ratio.as_harm), "as_benefit": _ratio_to_dict(ratio.as_benefit)},
        }
        if reference is not None:
            found["reference"] = reference
            found["against"] = {
                name: {
                    metric: {"difference": _to_dict(one.difference), "ratio": _to_dict(one.ratio)}
                    for metric, one in by_metric.items()
                }
                for name, by_metric in self.against(reference).items()
            }
        return found


class GroupScores:
    """The scores of groups, sorted once: a table at any threshold follows from them.

    Parameters
    ----------
    score : (n,)
    is_anomaly : (n,), or None without labels
    group : (n,), the number of everybody's group, from 0; -1 for people in none, who count in the median alone
    names : (k,), of the groups
    seed : of the draws; a group's do not depend on the other groups
    resamples : how many draws; of AUC-ROC always 200

    Raises
    ------
    ValueError
        If the arrays differ in length, names repeat, a group has no name, or there are too few draws.
    """

    def __init__(
        self,
        score: Floats,
        is_anomaly: Bools | None,
        group: NDArray[np.integer],
        names: Sequence[str],
        seed: int,
        resamples: int = RESAMPLES,
    ) -> None:
        _check(score, is_anomaly, group, names)
        if resamples < ENOUGH:
            raise ValueError(f"Expected at least {ENOUGH} resamples, as 90 % intervals need; got {resamples}.")
        self.names, self.seed, self.resamples = tuple(names), seed, resamples
        self.is_labelled = is_anomaly is not None
        self.median = float(np.median(score)) if len(score) else float("nan")
        self.normal, self.anomalies = _sorted_groups(score, is_anomaly, group, len(names))

    @staticmethod
    def counted(
        normal: Sequence[Tally],
        anomalies: Sequence[Tally] | None,
        median: float,
        names: Sequence[str],
        seed: int,
        resamples: int = RESAMPLES,
    ) -> GroupScores:
        """Of people who were counted: of each of the groups (k,), whose median over all people is known."""
        nobody = np.zeros(0)
        found = GroupScores(nobody, None, nobody.astype(np.intp), names, seed, resamples)
        found.is_labelled, found.median = anomalies is not None, median
        found.normal, found.anomalies = list(normal), list(anomalies or [Tally(nobody)] * len(names))
        return found

    def flag_counts(self, threshold: float) -> FlagCounts:
        """How many people each group has, and how many of them are flagged."""
        both = list(zip(self.normal, self.anomalies, strict=True))
        flagged = tuple(int(normal.above(threshold) + anomalies.above(threshold)) for normal, anomalies in both)
        return FlagCounts(flagged, tuple(normal.n + anomalies.n for normal, anomalies in both))

    def at(self, threshold: float) -> GroupTable:
        """The table at a threshold: flagged means score > threshold."""
        return GroupTable(float(threshold), tuple(self._group(k, threshold) for k in range(len(self.names))))

    def _group(self, k: int, threshold: float) -> Group:
        normal, anomalies = self.normal[k], self.anomalies[k]
        n, rng = normal.n + anomalies.n, np.random.default_rng([self.seed, k])
        high = int(normal.above(self.median) + anomalies.above(self.median))
        values: dict[str, float | None] = {"above_median": high / n if n else None}
        draws = {"above_median": rng.binomial(n, (high + 1.0) / (n + 2.0), self.resamples) / max(n, 1)}
        true, false = float(anomalies.above(threshold)), float(normal.above(threshold))
        counts = np.array([true, false, anomalies.n - true, normal.n - false])
        unknown = np.array([0.5, 0.5, 0.5, 0.5] if self.is_labelled else [0.0, 1.0, 0.0, 1.0])
        drawn = rng.multinomial(n, (counts + unknown) / (n + 2.0), self.resamples).astype(np.float64)
        for name, rate in {"flag_rate": _FLAGGED, **(_RATES if self.is_labelled else {})}.items():
            values[name], draws[name] = defined(rate.of_counts(counts)), rate.of_counts(drawn)
        values["auc_roc"], draws["auc_roc"] = self._auc[k]
        known = {name: some for name, some in draws.items() if values[name] is not None}
        return Group(
            name=self.names[k],
            n=n,
            n_anomaly=anomalies.n if self.is_labelled else None,
            metrics={
                name: estimate(values[name], known[name]) if name in known else Estimate(None) for name in COMPARED
            },
            draws=known,
        )

    @cached_property
    def _auc(self) -> list[tuple[float | None, Floats]]:
        """Of each group, with its draws; it does not depend on the threshold."""
        return [
            auc_with_draws(anomalies, normal, np.random.default_rng([self.seed, k, 1]))
            for k, (normal, anomalies) in enumerate(zip(self.normal, self.anomalies, strict=True))
        ]


def group_table(
    score: Floats,
    is_anomaly: Bools | None,
    group: NDArray[np.integer],
    names: Sequence[str],
    threshold: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> GroupTable:
    """The metrics of groups at one threshold; for several, keep ``GroupScores``."""
    return GroupScores(score, is_anomaly, group, names, seed, resamples).at(threshold)


def shown(value: float | None, n: int | None, is_share: bool = True) -> str:
    """``12.3 %``, ``0.812``, or for a group of n people without the number ``n/a (n = 7)``; n is None if hidden."""
    if value is None:
        return f"n/a (n < {SMALLEST_GROUP})" if n is None else f"n/a (n = {n:,})"
    return percent(value) if is_share else number(value)


def _check(score: Floats, is_anomaly: Bools | None, group: NDArray[np.integer], names: Sequence[str]) -> None:
    labels = score if is_anomaly is None else is_anomaly
    if not score.shape == labels.shape == group.shape or score.ndim != 1:
        raise ValueError(
            f"Expected a score, a label and a group for everybody; got shapes {score.shape}, {labels.shape} and "
            f"{group.shape}."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"Expected groups of different names; got {', '.join(names)}.")
    if len(group) and not -1 <= group.min() <= group.max() < len(names):
        raise ValueError(
            f"Expected group numbers from -1 to {len(names) - 1}; got {group.min()} to {group.max()}. Name every group."
        )


def _sorted_groups(
    score: Floats, is_anomaly: Bools | None, group: NDArray[np.integer], count: int
) -> tuple[list[Tally], list[Tally]]:
    """The scores of each group's normal people and of its anomalies; without labels, all are normal."""
    cell = 2 * (group.astype(np.intp) + 1)
    if is_anomaly is not None:
        cell += is_anomaly
    cell = cell.astype(np.min_scalar_type(2 * count + 1))  # small numbers are sorted in linear time
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=2 * count + 2))
    parts = [Tally.of(part) for part in np.split(score[order], ends[1:-1])[1:]]
    return parts[0::2], parts[1::2]


def _size(group: Group) -> int | str:
    return HIDDEN_SIZE if group.n is None else group.n


def _to_dict(found: Estimate) -> dict[str, float | None]:
    ends = found.interval
    low, high = (None, None) if ends is None else (ends.low, ends.high)
    return {"value": found.value, "low": low, "high": None if high == np.inf else high}


def _spread_to_dict(found: Spread | None) -> dict[str, Any] | None:
    return None if found is None else {"difference": _to_dict(found.difference), **_ratio_to_dict(found)}


def _ratio_to_dict(found: Spread) -> dict[str, Any]:
    return {"lowest": found.lowest, "highest": found.highest, "ratio": _to_dict(found.ratio)}
