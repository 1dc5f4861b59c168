"""Run an audit of the store as a job, and wait for its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cfad_core.core.errors import AuditCancelled, CfadError

if TYPE_CHECKING:
    from cfad_core.core.progress import Progress
    from cfad_core.runs.model import AuditRecord
    from cfad_core.runs.store import Store

_LOOK = 0.5  # seconds between two looks whether it is its turn


def run_job(store: Store, audit: str, progress: Progress) -> None:
    """Work on an audit that is in the queue, unless another program takes it first.

    It waits while as many audits of its owner run as one person may have at once.

    Raises
    ------
    CfadError
        If it fails, or is cancelled.
    """
    from cfad_core.runs.access import PROGRAM
    from cfad_core.runs.child import Child
    from cfad_core.runs.executor import wait_for, work_on

    program = store.seen_by(PROGRAM)  # who started it may not write how it went
    claimed = _claimed(program, audit)
    if claimed is not None:
        work_on(program, claimed, Child(), also=progress)
    record = wait_for(store, audit)  # another program may have taken it
    if record.status == "failed":
        raise CfadError(record.error)
    if record.status in ("cancelled", "interrupted"):
        raise AuditCancelled(f"The audit was {record.status}.")


def _claimed(program: Store, audit: str) -> AuditRecord | None:
    """The audit, once it is its turn; None if another program took it."""
    from cfad_core.runs.executor import worker_name

    try:
        while (claimed := program.claim(worker_name(), audit)) is None:
            if program.get(audit).status != "queued":
                return None
            time.sleep(_LOOK)
    except KeyboardInterrupt:
        program.request_cancel(audit)
        raise
    return claimed
