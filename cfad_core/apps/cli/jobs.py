"""Run an audit of the store as a job, and wait for its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfad_core.core.errors import AuditCancelled, CfadError

if TYPE_CHECKING:
    from cfad_core.core.progress import Progress
    from cfad_core.runs.store import Store


def run_job(store: Store, audit: str, progress: Progress) -> None:
    """Work on an audit that is in the queue, unless another program takes it first.

    Raises
    ------
    CfadError
        If it fails, or is cancelled.
    """
    from cfad_core.runs.child import Child
    from cfad_core.runs.executor import wait_for, work_on, worker_name

    claimed = store.claim(worker_name(), audit)
    if claimed is not None:
        work_on(store, claimed, Child(), also=progress)
    record = wait_for(store, audit)  # another program may have taken it
    if record.status == "failed":
        raise CfadError(record.error)
    if record.status in ("cancelled", "interrupted"):
        raise AuditCancelled(f"The audit was {record.status}.")
