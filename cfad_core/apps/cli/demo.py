"""demo: an audit whose truth is known, from nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from cfad_core.apps.cli.options import Commands, add_settings
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.core.config import preset


def add_to(commands: Commands) -> None:
    demo = commands.add_parser("demo", help="audit invented people, print a summary, and compare it with the truth")
    demo.set_defaults(run=_demo)
    add_settings(demo)
    demo.add_argument("--out", type=Path, metavar="DIR", help="also keep the audit folder here")
    demo.add_argument("--record", type=Path, metavar="FILE", help="only write the recording that the dashboard opens")


def _demo(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary
    from cfad_core.audit.folder import save_audit
    from cfad_core.audit.run import audit_tables
    from cfad_core.audit.truth import kept_truth
    from cfad_core.core.files import check_file, check_folder
    from cfad_core.data.sets.demo import ROLES, generate_demo
    from cfad_core.runs.recording import record_demo

    config = preset(options.preset, seed=options.seed)
    if options.record is not None:
        check_file(options.record)
        with TerminalProgress() as progress:
            record_demo(options.record, config, progress)
        return
    if options.out is not None:
        check_folder(options.out)
    print("Drawing invented taxpayers whose twins are known ...")
    tables = generate_demo()
    with TerminalProgress() as progress:
        result = audit_tables(tables, ROLES, config, progress)
    if options.out is not None:
        save_audit(result, options.out)
    print(summary(result))
    assert tables.truth is not None
    print("\nThe true twins are known, and the audit did not see them:")
    truth = kept_truth(result, tables.truth)
    for name, report in result.reports.items():
        check = truth.check(report, report.threshold)
        if check is not None:
            print(f"{name}: {check.line}")
