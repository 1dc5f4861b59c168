"""gate: whether a finished audit stays within bounds, as an exit code for pipelines."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfad_core.apps.cli.opening import open_recorded
from cfad_core.apps.cli.options import Commands

_FAILED = 1


def add_to(commands: Commands) -> None:
    gate = commands.add_parser("gate", help="exit with 1 if a finished audit is not within bounds")
    gate.set_defaults(run=_gate)
    gate.add_argument("audit", metavar="AUDIT", help="audit folder, or the id of a saved audit")
    gate.add_argument("--max-changing-ratio", type=float, metavar="X", help="share of people whose outcome may change")
    gate.add_argument("--max-flag-rate-gap", type=float, metavar="X", help="largest minus smallest flag rate of groups")
    gate.add_argument("--reliable", action="store_true", help="the causal model must have passed its tests")
    gate.add_argument("--upper", action="store_true", help="hold the upper ends of intervals against the bounds")
    gate.add_argument(
        "--method", metavar="NAME", help="by default the only one, or the only one that is your own detector"
    )
    gate.add_argument("--junit", type=Path, metavar="FILE", help="write the checks as JUnit XML, too")


def _gate(options: argparse.Namespace) -> int:
    from cfad_core.apps.cli.junit import junit_file
    from cfad_core.audit.gate import Gate, check_gate, choose_method
    from cfad_core.core.files import check_file, staged_file
    from cfad_core.runs.model import operating_threshold

    gate = Gate(options.max_changing_ratio, options.max_flag_rate_gap, options.reliable, options.upper)
    if options.junit is not None:
        check_file(options.junit)
    result, record = open_recorded(options.audit)
    method = choose_method(result, options.method)
    if record is None:
        checks = check_gate(result, gate, method)
    else:
        threshold, how = operating_threshold(record, result, method)
        checks = check_gate(result, gate, method, threshold=threshold, how=how)
    if options.junit is not None:  # before anything is printed: whoever reads may have enough after a line
        with staged_file(options.junit) as path:
            path.write_bytes(junit_file(options.audit if record is None else record.name, checks))
    print("\n".join(check.line for check in checks))
    return _FAILED if any(check.holds is False for check in checks) else 0
