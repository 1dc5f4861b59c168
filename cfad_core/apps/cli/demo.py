"""demo: an audit whose truth is known, from nothing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.options import Commands, add_settings
from cfad_core.apps.cli.output import TerminalProgress
from cfad_core.core.config import preset

if TYPE_CHECKING:
    from cfad_core.core.config import AuditConfig


def add_to(commands: Commands) -> None:
    demo = commands.add_parser("demo", help="synthesize, audit against the truth, print a summary")
    demo.set_defaults(run=_demo)
    add_settings(demo)
    demo.add_argument("--out", type=Path, metavar="DIR", help="also keep the audit folder here")


def _demo(options: argparse.Namespace) -> None:
    from cfad_core.apps.cli.summary import summary
    from cfad_core.audit.folder import save_audit
    from cfad_core.audit.run import run_audit
    from cfad_core.core.files import check_folder
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.sets.synthetic import generate_synthetic

    if options.out is not None:
        check_folder(options.out)
    config: AuditConfig = preset(options.preset, seed=options.seed)
    print("Drawing synthetic people whose twins are known ...")
    data = generate_synthetic(options.seed)
    with TerminalProgress() as progress:
        result = run_audit(
            data.train,
            ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1"),
            config,
            progress,
            test=data.test,
            test_counterfactual=data.test_counterfactual,
        )
    if options.out is not None:
        save_audit(result, options.out)
    print(summary(result))
