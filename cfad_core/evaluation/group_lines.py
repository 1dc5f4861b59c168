"""How far apart groups are, in sentences."""

from __future__ import annotations

from cfad_core.core.formats import number, percent
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.group_metrics import GroupTable

_NOTHING = 0.0005  # a difference that would be printed as 0.0 points


def gap_line(table: GroupTable) -> str:
    """``Flagged most often: Black, 14.5 %; least often: White, 6.2 %: 8.3 points apart (3.0 to 13.1 points).``"""
    found = table.between["flag_rate"]
    if found is None or found.difference.value is None:
        return "There are no two groups with people to compare."
    high, low = (table.group(name).metrics["flag_rate"].value for name in (found.highest, found.lowest))
    ends, largest = found.difference.interval, ""
    if found.difference.value < _NOTHING:
        if ends is not None:
            largest = f"; a difference of up to {100.0 * ends.high:.1f} points is possible"
        return f"All groups are flagged equally often, {percent(high)}{largest}."
    if ends is not None:
        chance = ", which may be chance" if ends.low < _NOTHING else ""
        largest = f"{chance} ({100.0 * ends.low:.1f} to {100.0 * ends.high:.1f} points)"
    return (
        f"Flagged most often: {found.highest}, {percent(high)}; least often: {found.lowest}, {percent(low)}: "
        f"{100.0 * found.difference.value:.1f} points apart{largest}."
    )


def impact_line(table: GroupTable) -> str:
    """The impact ratio, whichever way a flag works for a person.

    ``Impact ratio: 0.43 (0.21 to 0.80) if a flag is a harm: the lowest share of flagged people over the highest; 0.91
    (0.85 to 0.97) if not being flagged is a benefit: the lowest share of people who are not over the highest.``
    """
    found = table.impact_ratio
    if found is None:
        return "Without two groups there is no impact ratio."
    return (
        f"Impact ratio: {_ratio(found.as_harm.ratio)} if a flag is a harm: the lowest share of flagged people over the "
        f"highest; {_ratio(found.as_benefit.ratio)} if not being flagged is a benefit: the lowest share of people who "
        "are not over the highest."
    )


def _ratio(found: Estimate) -> str:
    text = number(found.value, 2)
    return text if found.interval is None else f"{text} ({found.interval.low:.2f} to {found.interval.high:.2f})"
