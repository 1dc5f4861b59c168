"""How near audits come to the truth on worlds of three groups or more, or of two sensitive attributes.

    OMP_NUM_THREADS=1 python benchmarks/group_truth.py --groups 3 --worlds 26 --out three.jsonl
    OMP_NUM_THREADS=1 python benchmarks/group_truth.py --groups 2 2 --worlds 8 --families mixed --most-rows 2000

The worlds are those of ``benchmarks/worlds.py``. As in ``truth.py``, the truth about each detector is counted on 20,000
new people, scored by the finished audit: here in every state that they could be in. For every ordered pair of groups it
is the share of the people of the first whose outcome changes if they belonged to the second. An interval of one pair
should hold it in 85 to 95 % of all pairs. The simultaneous intervals of all pairs of an attribute should do so together
in 90 % of all audits, and so should that of the worst pair that an audit names.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.truth import IDENTIFIED, Record, markdown, mean, measure_missing, parser, publish, settings_of, shown
from benchmarks.worlds import ANOMALY, FAMILIES, LABEL, World, draw_world
from cfad_core import Attribute, AuditConfig, CfadError, ColumnRoles, run_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import encode_people
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.states import Codes, States
from cfad_core.data.roles import joint_name
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.intervals import Interval

METHODS = ("ae", "cfad", "twin", "surprise")
_JUDGES = 20_000  # new people that the truth is counted on

# What an audit is asked, and what it says: all that knows how it says it


def roles_of(world: World) -> ColumnRoles:
    """The sensitive attributes, with all their groups: small ones are not taken together."""
    attributes = tuple(Attribute(one.name, one.groups) for one in world.sensitive)
    return ColumnRoles(attributes, label=LABEL, anomaly=ANOMALY)


def is_flagged(result: AuditResult, method: str, people: Floats) -> Bools:
    """(n,), who of encoded people (n, d) is flagged."""
    return np.asarray(score_people(result.detectors[method], people) > result.report(method).threshold)


def said_of_pairs(result: AuditResult, method: str, attribute: str) -> list[Record]:
    """Of each ordered pair of groups of a sensitive attribute."""
    found = result.group_report(method, attribute).pairs_at(result.report(method).threshold)
    assert found is not None  # an attribute has pairs of groups
    return [
        {
            "attribute": attribute,
            "source": found.names[pair.source],
            "target": found.names[pair.target],
            "ratio": pair.ratio,
            "interval": _ends(pair.interval),
            "simultaneous": _ends(pair.simultaneous),
        }
        for pair in found.pairs
    ]


def said_of_any(result: AuditResult, method: str, attribute: str) -> Record:
    """Of those whose outcome changes in any other group of a sensitive attribute."""
    found = result.report(method, attribute)
    intervals = found.intervals
    return {
        "ratio": found.metrics.changing_ratio,
        "interval": None if intervals is None else _ends(intervals.changing_ratio),
    }


def said_of_both(result: AuditResult, method: str, first: str, second: str) -> Record:
    """Of those whose outcome changes only if both sensitive attributes do."""
    report = result.group_report(method, joint_name((first, second)))
    found = report.interaction_at(result.report(method).threshold)
    assert found is not None  # two attributes have an interaction
    return {"ratio": found.only_both.value, "interval": _ends(found.only_both.interval)}


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [float(interval.low), float(interval.high)]


# What is true


@dataclass(frozen=True)
class Flags:
    """Who of n people would be flagged in each state.

    Attributes
    ----------
    state : (n,), the one that they are in
    flagged : (states, n)
    """

    states: States
    state: Codes
    flagged: Bools

    def in_group(self, attribute: int, group: int) -> Bools:
        """(n,), who belongs to a group of an attribute."""
        return np.asarray(self.states.levels[self.state, attribute] == group)

    def changed_to(self, attribute: int, group: int) -> Bools:
        """(n,), whose outcome changes if they belonged to this group."""
        moved = self.states.moved(self.state, {attribute: group})
        return np.asarray(self._in(moved) != self._in(self.state))

    def changed_in_any(self, *attributes: int) -> Bools:
        """(n,), whose outcome changes in some state that differs from theirs in all these attributes, and no other."""
        levels, wanted = self.states.levels, np.isin(np.arange(self.states.attributes), attributes)
        changed: Bools = np.zeros(len(self.state), dtype=bool)
        for state, flagged in enumerate(self.flagged):
            may = ((levels[state] != levels[self.state]) == wanted).all(axis=1)
            changed |= may & (flagged != self._in(self.state))
        return changed

    @property
    def changed_only_by_both(self) -> Floats:
        """(n,), whose outcome changes if both attributes do, but not if one of them does.

        With more than two groups, the share of all other combinations of groups: what an audit takes turns among.
        """
        own = self.states.levels[self.state].T
        sizes = self.states.sizes
        shares = []
        for numbers in product(*(range(size - 1) for size in sizes)):
            to = [number + (number >= level) for number, level in zip(numbers, own, strict=True)]
            first, second, both = (
                self._in(self.states.moved(self.state, groups)) != self._in(self.state)
                for groups in ({0: to[0]}, {1: to[1]}, {0: to[0], 1: to[1]})
            )
            shares.append(both & ~first & ~second)
        found: Floats = np.mean(shares, axis=0)
        return found

    def _in(self, state: Codes) -> Bools:
        return np.asarray(self.flagged[state, np.arange(len(state))])


def measure(world: World, config: AuditConfig, most_rows: int | None) -> Record:
    """Audit one world and compare it with the truth; what is refused is recorded as such."""
    table = world.table.head(most_rows or world.rows)
    names = [one.name for one in world.sensitive]
    record: Record = {
        "world": world.number,
        "family": world.family,
        "settings": group_settings(config, most_rows, world.states.sizes),
        "identified": world.identified,
        "rows": len(table),
        "attributes": len(world.columns),
        "smallest_state": int(table.groupby(names).size().min()),
    }
    start = time.perf_counter()
    try:
        result = run_audit(table, roles_of(world), config)
    except CfadError as error:
        return record | {"error": str(error)}
    record["seconds"] = round(time.perf_counter() - start, 2)
    people, everywhere = world.people_in_all_states(_JUDGES, seed=0)
    levels = [people[one.name].map(one.groups.index).to_numpy(dtype=np.intp) for one in world.sensitive]
    encoded = [encode_people(result.encoding, some) for some in everywhere.values()]
    methods: dict[str, Record] = {}
    for method in config.methods:
        flagged = np.stack([is_flagged(result, method, some) for some in encoded])
        flags = Flags(world.states, world.states.of_levels(levels), flagged)
        methods[method] = compare(result, method, world, flags)
    return record | {"methods": methods}


def compare(result: AuditResult, method: str, world: World, flags: Flags) -> Record:
    """One method: what the audit says, and the truth beside it."""
    tables, anywhere = {}, {}
    for k, one in enumerate(world.sensitive):
        tables[one.name] = said_of_pairs(result, method, one.name)
        for pair in tables[one.name]:
            own = flags.in_group(k, one.groups.index(pair["source"]))
            changed = flags.changed_to(k, one.groups.index(pair["target"]))
            pair |= {"people": int(own.sum()), "truth": float(changed[own].mean())}
        truth = float(flags.changed_in_any(k).mean())
        anywhere[one.name] = said_of_any(result, method, one.name) | {"truth": truth}
    both = None
    if len(world.sensitive) > 1:
        first, second = (one.name for one in world.sensitive)
        both = said_of_both(result, method, first, second) | {"truth": float(flags.changed_only_by_both.mean())}
    return {"pairs": tables, "any": anywhere, "both": both}


def group_settings(config: AuditConfig, most_rows: int | None, groups: Sequence[int]) -> Record:
    """What worlds of one file must have in common."""
    return settings_of(config, most_rows) | {"groups": list(groups)}


# What was found, by family and by method


def summarise(records: Sequence[Record]) -> dict[str, Record]:
    """By family, over all that audits can know, and of these by method."""
    done = [record for record in records if "error" not in record]
    parts = {name: [one for one in done if one["family"] == name] for name in FAMILIES}
    parts[IDENTIFIED] = [one for one in done if one["identified"]]
    for method in dict.fromkeys(method for record in parts[IDENTIFIED] for method in record["methods"]):
        parts[method] = [
            record | {"methods": {method: record["methods"][method]}}
            for record in parts[IDENTIFIED]
            if method in record["methods"]
        ]
    return {name: _summary(some) for name, some in parts.items() if some}


def _summary(records: Sequence[Record]) -> Record:
    cases = [case for record in records for case in record["methods"].values()]
    tables = [table for case in cases for table in case["pairs"].values()]
    pairs = [pair for table in tables for pair in table]
    anywhere = [one for case in cases for one in case["any"].values()]
    both = [case["both"] for case in cases if case["both"] is not None]
    sure = [[pair for pair in table if pair["simultaneous"] is not None] for table in tables]
    sure = [table for table in sure if table]
    worst = [max(table, key=lambda pair: float(pair["ratio"])) for table in sure]
    all_hold = [all(_holds(pair, "simultaneous") for pair in table) for table in sure]
    return {
        "worlds": len(records),
        "pairs": _coverage(pairs, "interval"),
        "pairs_simultaneously": _coverage(pairs, "simultaneous"),
        "worst": _coverage(worst, "simultaneous"),
        "worst_pointwise": _coverage(worst, "interval"),
        "all_pairs": {"covered": sum(all_hold), "cases": len(all_hold)},
        "any": _coverage(anywhere, "interval"),
        "both": _coverage(both, "interval"),
        "errors": {"pairs": _distances(pairs), "worst": _distances(worst), "any": _distances(anywhere)}
        | {"both": _distances(both)},
        "truth": {"pairs": mean(_known(pairs, "truth")), "any": mean(_known(anywhere, "truth"))}
        | {"both": mean(_known(both, "truth"))},
        "seconds": mean(record["seconds"] for record in records),
    }


def _known(cases: Sequence[Record], name: str) -> list[float]:
    return [case[name] for case in cases if case[name] is not None]


def _holds(case: Record, interval: str) -> bool:
    low, high = case[interval]
    return bool(low <= case["truth"] <= high)


def _coverage(cases: Sequence[Record], interval: str) -> Record:
    """How often an interval holds the truth, on which side it lies else, and how wide it is."""
    known = [case for case in cases if case[interval] is not None]
    return {
        "covered": sum(_holds(case, interval) for case in known),
        "cases": len(known),
        "too_low": sum(case[interval][1] < case["truth"] for case in known),
        "too_high": sum(case[interval][0] > case["truth"] for case in known),
        "width": mean(case[interval][1] - case[interval][0] for case in known),
    }


def _distances(cases: Sequence[Record]) -> Record:
    """Of the audit's numbers from the truth: how far they are, and on which side."""
    away = [case["ratio"] - case["truth"] for case in cases if case["ratio"] is not None]
    return {"error": mean(map(abs, away)), "bias": mean(away)}


# As Markdown


def report(summary: dict[str, Record]) -> str:
    """The tables."""
    errors = {f"{part}: {name}": _error_column(part, name) for part in _PARTS for name in ("error", "bias")}
    truths = {f"true ratio, {part}": _truth_column(part) for part in ("pairs", "any", "both")}
    return "\n\n".join(
        [
            markdown(summary, "covers the truth", _COVERS),
            markdown(summary, "missed", _MISSED),
            markdown(summary, "how far away", truths | errors),
        ]
    )


def _share(part: str) -> Callable[[Record], str]:
    def column(found: Record) -> str:
        covered, cases = found[part]["covered"], found[part]["cases"]
        return f"{covered} of {cases}, {covered / cases:.0%}" if cases else "-"

    return column


def _missed_column(part: str) -> Callable[[Record], str]:
    return lambda found: f"{found[part]['too_low']}, {found[part]['too_high']} ({shown(found[part]['width'])})"


def _error_column(part: str, name: str) -> Callable[[Record], str]:
    return lambda found: shown(found["errors"][part][name], 4)


def _truth_column(part: str) -> Callable[[Record], str]:
    return lambda found: shown(found["truth"][part])


_PARTS = ("pairs", "worst", "any", "both")
_COVERS: dict[str, Callable[[Record], str]] = {
    "worlds": lambda found: str(found["worlds"]),
    "pairs, one by one (85 to 95 %)": _share("pairs"),
    "worst pair, simultaneous (90 %)": _share("worst"),
    "all pairs, simultaneous (90 %)": _share("all_pairs"),
    "worst pair, by itself": _share("worst_pointwise"),
    "any other group": _share("any"),
    "only both": _share("both"),
    "seconds": lambda found: shown(found["seconds"], 1),
}
_MISSED = {
    "pairs: too low, too high (width)": _missed_column("pairs"),
    "simultaneous": _missed_column("pairs_simultaneously"),
    "worst pair": _missed_column("worst"),
    "any other group": _missed_column("any"),
    "only both": _missed_column("both"),
}


def main() -> None:
    """Measure what is missing, print the tables."""
    asked = parser(METHODS, str(__doc__))
    asked.add_argument("--groups", nargs="+", type=int, default=[3], help="of each sensitive attribute: 3, or 2 2")
    identified = [name for name, family in FAMILIES.items() if family.identified]
    asked.set_defaults(families=identified, worlds=len(identified))
    options = asked.parse_args()
    config = AuditConfig(methods=tuple(options.methods), subsamples=options.subsamples)

    def measured(number: int, family: str) -> Record:
        world = draw_world(number, family, tuple(options.groups))
        return measure(world, config.replace(seed=number), options.most_rows)

    records = measure_missing(options, group_settings(config, options.most_rows, options.groups), measured)
    summary = summarise(records)
    publish(options, records, summary, report(summary))


if __name__ == "__main__":
    main()
