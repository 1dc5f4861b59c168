"""What is known of groups as tables: to look at, and to take away without what is about few people."""

from __future__ import annotations

import pandas as pd

from cfad_core.core.formats import HIDDEN_SIZE, number, percent
from cfad_core.evaluation.bounds import Bounds
from cfad_core.evaluation.extremes import AgainstReference, Estimate
from cfad_core.evaluation.group_metrics import GroupTable, shown
from cfad_core.evaluation.interaction import Interaction
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.metrics import GROUP_METRICS, GroupMetric
from cfad_core.evaluation.pair_table import PairTable

ALONE, TOGETHER, ALLOWED = "interval", "interval, all pairs together", "flag rates allow"


def known_metrics(table: GroupTable) -> dict[str, GroupMetric]:
    """The metrics that some group has."""
    return {
        name: metric
        for name, metric in GROUP_METRICS.items()
        if metric.compared and any(group.metrics[name].value is not None for group in table.groups)
    }


def metrics_shown(table: GroupTable) -> pd.DataFrame:
    """A row for each group: its people, and every metric with its interval, as text."""
    rows = {}
    for group in table.groups:
        row = {GROUP_METRICS["n"].label: HIDDEN_SIZE if group.n is None else f"{group.n:,}"}
        if group.n_anomaly is not None:
            row[GROUP_METRICS["n_anomaly"].label] = f"{group.n_anomaly:,}"
        for name, metric in known_metrics(table).items():
            found = group.metrics[name]
            row[metric.label] = shown(found.value, group.n, metric.is_share) + _ends(found.interval, metric)
        rows[group.name] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def _ends(found: Interval | None, metric: GroupMetric) -> str:
    return "" if found is None else f" ({_value(found.low, metric)} to {_value(found.high, metric)})"


def _value(value: float | None, metric: GroupMetric) -> str:
    return percent(value) if metric.is_share else number(value)


def between_shown(table: GroupTable) -> pd.DataFrame:
    """A row for each metric: the two groups that are furthest apart, and how far, as text."""
    rows = []
    for name, metric in known_metrics(table).items():
        found = table.between[name]
        if found is not None:
            row = {"metric": metric.label, "lowest": found.lowest, "highest": found.highest}
            rows.append(row | {"difference": _difference(found.difference, metric), "ratio": _ratio(found.ratio)})
    return pd.DataFrame(rows, columns=["metric", "lowest", "highest", "difference", "ratio"])


def against_shown(table: GroupTable, reference: str, metric: str) -> pd.DataFrame:
    """A row for each group beside the reference, in one metric, as text."""
    about = GROUP_METRICS[metric]

    def row(found: AgainstReference) -> dict[str, str]:
        return {"difference": _difference(found.difference, about), "ratio": _ratio(found.ratio)}

    rows = {name: row(found[metric]) for name, found in table.against(reference).items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["difference", "ratio"])


def _difference(found: Estimate, metric: GroupMetric) -> str:
    """In points of a percent, where it is one of shares."""
    if found.value is None:
        return "n/a"
    scale, digits, unit = (100.0, 1, " points") if metric.is_share else (1.0, 3, "")
    text = f"{scale * found.value:.{digits}f}{unit}"
    if found.interval is None:
        return text
    return f"{text} ({scale * found.interval.low:.{digits}f} to {scale * found.interval.high:.{digits}f})"


def _ratio(found: Estimate) -> str:
    if found.value is None:
        return "n/a"
    ends = found.interval
    if ends is None:
        return f"{found.value:.2f}"
    end = "any number" if ends.high == float("inf") else f"{ends.high:.2f}"
    return f"{found.value:.2f} ({ends.low:.2f} to {end})"


def pairs_shown(table: PairTable) -> pd.DataFrame:
    """A row for each ordered pair of groups, those first between which most outcomes change, as text."""
    rows = [
        {
            "people who are": table.names[pair.source],
            "had they been": table.names[pair.target],
            "people": HIDDEN_SIZE if pair.n is None else f"{pair.n:,}",
            "outcome changes": percent(pair.ratio),
            "only the twin flagged": percent(pair.newly_flagged),
            "only the person flagged": percent(pair.newly_cleared),
            ALONE: _span(pair.interval),
            TOGETHER: _span(pair.simultaneous),
            ALLOWED: _span(pair.bounds) + (", which contradicts it" if pair.is_impossible else ""),
        }
        for pair in sorted(table.pairs, key=lambda pair: -1.0 if pair.ratio is None else pair.ratio, reverse=True)
    ]
    found = pd.DataFrame(rows)
    return found.drop(columns=[name for name in (ALONE, TOGETHER, ALLOWED) if not found[name].ne("").any()])


def _span(found: Interval | Bounds | None) -> str:
    return "" if found is None else f"{percent(found.low)} to {percent(found.high)}"


def interaction_shown(found: Interaction, first: str, second: str) -> pd.DataFrame:
    """What happens if one attribute changes, the other one, or both, as text."""
    parts = {
        f"{first} changes": found.first,
        f"{second} changes": found.second,
        "both change": found.both,
        "only if both change": found.only_both,
        "if one changes, but not if both do": found.cancels,
    }
    rows = [
        {"the outcome changes if": name, "share of people": percent(share.value), "interval": _span(share.interval)}
        for name, share in parts.items()
    ]
    return pd.DataFrame(rows)


# To take away: numbers, and nothing about groups of fewer than ten people


def metrics_to_take(table: GroupTable) -> pd.DataFrame:
    """A row for each group."""
    return table.suppressed().to_frame().reset_index()


def between_to_take(table: GroupTable) -> pd.DataFrame:
    """A row for each metric, between groups that are large enough."""
    rows = []
    for name, found in table.suppressed().between.items():
        if found is not None:
            names = {"metric": name, "lowest": found.lowest, "highest": found.highest}
            rows.append({**names, **_plain("difference", found.difference), **_plain("ratio", found.ratio)})
    return pd.DataFrame(rows)


def pairs_to_take(table: PairTable) -> pd.DataFrame:
    """A row for each ordered pair of groups."""
    hidden = table.suppressed()
    rows = [
        {
            "group": hidden.names[pair.source],
            "other_group": hidden.names[pair.target],
            "n": HIDDEN_SIZE if pair.n is None else pair.n,
            "changing_ratio": pair.ratio,
            "newly_flagged": pair.newly_flagged,
            "newly_cleared": pair.newly_cleared,
            **_both_ends("interval", pair.interval),
            **_both_ends("simultaneous", pair.simultaneous),
            **_both_ends("bounds", pair.bounds),
        }
        for pair in hidden.pairs
    ]
    return pd.DataFrame(rows)


def interaction_to_take(found: Interaction) -> pd.DataFrame:
    """A row for each share of people."""
    hidden = found.suppressed()
    parts = ("first", "second", "both", "only_both", "cancels")
    shares = [(name, getattr(hidden, name)) for name in parts]
    size = HIDDEN_SIZE if hidden.n is None else hidden.n
    rows = [
        {"changes": name, "n": size, "share": share.value, **_both_ends("interval", share.interval)}
        for name, share in shares
    ]
    return pd.DataFrame(rows)


def _plain(name: str, found: Estimate) -> dict[str, float | None]:
    return {name: found.value, **_both_ends(name, found.interval)}


def _both_ends(name: str, found: Interval | Bounds | None) -> dict[str, float | None]:
    low, high = (None, None) if found is None else (found.low, found.high)
    return {f"{name}_low": low, f"{name}_high": high}
